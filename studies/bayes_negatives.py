"""Which negative events? Chosen on text that no table uses: the end of enwiki70m, part of it held out."""

from __future__ import annotations

import lzma
import random
from collections import Counter
from typing import Any

import numpy as np

import firthian as ft
from firthian.datasets import locate
from studies.bayes_data import Data
from studies.common import Study, table

#: k and the exponent of the noise distribution; the recipe's first, the thesis's second.
SETTINGS = ((5.0, 0.75), (2.0, 0.0), (5.0, 0.0), (2.0, 0.75), (2.0, 0.5), (1.0, 0.0))

#: The last bytes of enwiki70m, and how many words are split in two.
BYTES, TWINS = 14_000_000, 500


def texts() -> tuple[list[str], list[str], list[str]]:
    """Return lines to learn from, lines held out, and the words whose occurrences were split at random in two."""
    end = b""
    with lzma.open(locate("enwiki70m")) as file:
        while piece := file.read(BYTES):
            end = (end + piece)[-BYTES:]
    documents = [line.split() for line in end.decode("utf-8", "ignore").split("\n") if line]
    kept = [document for number, document in enumerate(documents) if number % 10]
    counts = Counter(word for document in kept for word in document)
    middle = sorted(word for word, number in counts.items() if 100 <= number <= 2000)
    twins = set(np.random.default_rng(5).choice(middle, TWINS, replace=False))
    coin = random.Random(1)

    def split(word: str) -> str:
        return word if word not in twins else word + ("_one" if coin.random() < 0.5 else "_two")

    return (
        [" ".join(map(split, words)) for words in kept],
        [" ".join(words) for words in documents[::10]],
        sorted(twins),
    )


def measure(data: Data) -> dict[str, Any]:
    """Return, for each setting, how often a word's other half is its nearest neighbor, and held-out text's likelihood.

    The likelihood is normalized over the vocabulary, so that it does not depend on the negative events by definition:
    log p(j | i) with p(j | i) ~ p_j exp(u_i·c_j), in nats per pair.
    """
    lines, held_lines, twins = texts()
    counting = {**data.counting, "min_count": 20}
    counts = ft.count(lines, **counting)
    held = ft.count(held_lines, **{**counting, "min_count": 1})
    words = counts.vocabulary
    common = [word for word in held.vocabulary.words if word in words]
    ours, theirs = ([vocabulary[word] for word in common] for vocabulary in (words, held.vocabulary))
    rows = np.random.default_rng(5).choice(len(common), 2000, replace=False)
    seen = held.to_scipy().tocsr()[theirs][:, theirs][rows].toarray()
    pairs = [(word + a, word + b) for word in twins for a, b in (("_one", "_two"), ("_two", "_one"))]
    pairs = [pair for pair in pairs if pair[0] in words and pair[1] in words]
    mass = np.asarray(counts.column_sums, dtype=np.float64)
    found: dict[str, Any] = {
        "words": len(words),
        "unigram": _mean(seen, np.log(mass[ours] / mass[ours].sum())[None, :]),
    }
    for k, exponent in SETTINGS:
        vectors = ft.train(counts, "bayes", vector_size=50, negative=k, ns_exponent=exponent)
        unit = vectors.matrix / np.linalg.norm(vectors.matrix, axis=1, keepdims=True)
        ranks = []
        for one, other in pairs:
            scores = unit @ unit[words[one]]
            scores[words[one]] = -2
            ranks.append(1 + int(np.sum(scores > scores[words[other]])))
        score = vectors.matrix[np.array(ours)[rows]].astype(np.float64) @ vectors.contexts[ours].astype(np.float64).T
        score += np.log(mass[ours] ** exponent)
        score -= np.logaddexp.reduce(score, axis=1, keepdims=True)
        found[f"{k:g}, {exponent:g}"] = {
            "reciprocal": float(np.mean(1 / np.array(ranks))),
            "first": float(np.mean(np.array(ranks) == 1)),
            "held_out": _mean(seen, score),
        }
    return found


def _mean(weights: Any, values: Any) -> float:
    return float(np.sum(weights * values) / weights.sum())


def compute(study: Study, data: Data) -> None:
    """Compute the missing row of this part."""
    if not data.quick:
        study.row("negatives held out", lambda: measure(data))


def page(study: Study) -> str:
    """Write this part of the page."""
    found = study.rows.get("negatives held out")
    if found is None:
        return "Not measured.\n"
    lines = []
    for k, exponent in SETTINGS:
        row = found[f"{k:g}, {exponent:g}"]
        kind = "uniform" if exponent == 0 else f"unigram^{exponent:g}"
        lines.append(
            [f"{kind}, k = {k:g}", f"{row['reciprocal']:.3f}", f"{row['first']:.3f}", f"{row['held_out']:.3f}"]
        )
    lines.append(["unigram model", "–", "–", f"{found['unigram']:.3f}"])
    return table(["negative events", "other half, mean reciprocal rank", "other half first", "held-out nats"], lines)
