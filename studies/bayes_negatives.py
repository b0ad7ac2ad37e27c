"""Which negative events? Chosen on text that no table uses: the end of enwiki70m, part of it held out."""

from __future__ import annotations

import functools
import lzma
import random
from collections import Counter
from typing import Any

import numpy as np

import firthian as ft
from firthian.datasets import locate
from studies.bayes_data import Data
from studies.common import Study, table, timed

#: k and the exponent of the noise distribution; the recipe's first, the thesis's second.
SETTINGS = ((5.0, 0.75), (2.0, 0.0), (5.0, 0.0), (2.0, 0.75), (2.0, 0.5), (1.0, 0.0))

#: Batches of ``bayes-svi`` and rounds over each.
BATCHES = ((600_000, 1), (600_000, 2), (600_000, 4), (150_000, 1), (150_000, 2), (150_000, 4))

BATCHES_TEXT = """Rounds over a batch, judged on the text that chose the [negative events](#negative-events), by the same two
measures (times with other jobs running). The default is four for batches below 200,000 tokens, for the sake of the
relative variances, and two for larger ones."""

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


class Judge:
    """Vectors are judged by how often a word's other half is its nearest neighbor, and by held-out text's likelihood.

    The likelihood is normalized over the vocabulary, so that it does not depend on the negative events by definition:
    log p(j | i) with p(j | i) ~ p_j exp(u_i·c_j), in nats per pair.
    """

    def __init__(self, data: Data) -> None:
        self.lines, held_lines, twins = texts()
        self.counting = {**data.counting, "min_count": 20}
        self.counts = ft.count(self.lines, **self.counting)
        held = ft.count(held_lines, **{**self.counting, "min_count": 1})
        self.words = words = self.counts.vocabulary
        common = [word for word in held.vocabulary.words if word in words]
        self.ours, theirs = ([vocabulary[word] for word in common] for vocabulary in (words, held.vocabulary))
        self.rows = np.random.default_rng(5).choice(len(common), 2000, replace=False)
        self.seen = held.to_scipy().tocsr()[theirs][:, theirs][self.rows].toarray()
        pairs = [(word + a, word + b) for word in twins for a, b in (("_one", "_two"), ("_two", "_one"))]
        self.pairs = [pair for pair in pairs if pair[0] in words and pair[1] in words]
        self.mass = np.asarray(self.counts.column_sums, dtype=np.float64)[self.ours]

    def unigram(self) -> float:
        """Return the likelihood of held-out pairs by the frequencies of contexts."""
        return _mean(self.seen, np.log(self.mass / self.mass.sum())[None, :])

    def __call__(self, vectors: ft.Vectors, exponent: float) -> dict[str, float]:
        """Judge vectors learned with negative events of this exponent."""
        if vectors.vocabulary.words != self.words.words:
            raise ValueError("the vectors have another vocabulary")
        unit = vectors.matrix / np.linalg.norm(vectors.matrix, axis=1, keepdims=True)
        ranks = []
        for one, other in self.pairs:
            scores = unit @ unit[self.words[one]]
            scores[self.words[one]] = -2
            ranks.append(1 + int(np.sum(scores > scores[self.words[other]])))
        left, right = vectors.matrix[np.array(self.ours)[self.rows]], vectors.contexts[self.ours]
        score = left.astype(np.float64) @ right.astype(np.float64).T + np.log(self.mass**exponent)
        score -= np.logaddexp.reduce(score, axis=1, keepdims=True)
        return {
            "reciprocal": float(np.mean(1 / np.array(ranks))),
            "first": float(np.mean(np.array(ranks) == 1)),
            "held_out": _mean(self.seen, score),
        }


judge_of = functools.cache(Judge)


def measure(data: Data) -> dict[str, Any]:
    """Judge each choice of negative events."""
    judge = judge_of(data)
    found: dict[str, Any] = {"words": len(judge.words), "unigram": judge.unigram()}
    for k, exponent in SETTINGS:
        vectors = ft.train(judge.counts, "bayes", vector_size=50, negative=k, ns_exponent=exponent)
        found[f"{k:g}, {exponent:g}"] = judge(vectors, exponent)
    return found


def measure_batches(data: Data, batch_tokens: int, inner: int) -> dict[str, Any]:
    """Judge ``bayes-svi`` with batches of this size and this number of rounds."""
    judge = judge_of(data)
    options = {"batch_tokens": batch_tokens, "inner": inner}
    vectors, seconds = timed(
        lambda: ft.train(judge.lines, "bayes-svi", vector_size=50, counting=judge.counting, **options)
    )
    return {**judge(vectors, 0.75), "seconds": seconds, "batches": vectors.provenance.stats["batches"]}


def _mean(weights: Any, values: Any) -> float:
    return float(np.sum(weights * values) / weights.sum())


def compute(study: Study, data: Data) -> None:
    """Compute the missing row of this part."""
    if not data.quick:
        study.row("negatives held out", lambda: measure(data))
        for tokens, inner in BATCHES:
            study.row(f"batches held out {tokens} {inner}", functools.partial(measure_batches, data, tokens, inner))


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


def batches_page(study: Study) -> str:
    """Write how batches and rounds were chosen."""
    rows = [
        [f"{found['batches']} of {tokens:,} tokens", str(inner), f"{found['reciprocal']:.3f}", f"{found['first']:.3f}",
         f"{found['held_out']:.3f}", f"{found['seconds']:.0f}"]
        for tokens, inner in BATCHES
        if (found := study.rows.get(f"batches held out {tokens} {inner}"))
    ]  # fmt: skip
    head = ["batches", "rounds", "other half, mean reciprocal rank", "other half first", "held-out nats", "seconds"]
    return f"{BATCHES_TEXT}\n\n{table(head, rows)}" if rows else ""
