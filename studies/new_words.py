"""Words added to PSDVec by regression, beside the same words trained with all others. ``python -m studies.new_words``

Hides words, trains psd without them, adds them, and counts how many of their 10 nearest neighbors are those of psd
trained on everything. ``--choose`` prints how the weight w0 of unseen pairs and the ridge mu were chosen: by the most
shared neighbors of words added from the same text and from a tenth of it, on text outside the reported one.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import firthian as ft
from firthian.counts.counts import Counts
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.psd import add_words
from studies.common import arguments, corpus_path, table

#: Neighbors per word.
NEAREST = 10

#: The grid of w0 and mu.
UNSEEN, RIDGES = (0.0, 0.03, 0.05, 0.1, 0.15, 0.2, 0.3), (0.0, 1.0, 4.0)


def text(first: int, last: int) -> list[str]:
    """Return the lines between two bytes of enwiki17m."""
    with Path(corpus_path(False)).open("rb") as file:
        file.seek(first)
        return file.read(last - first).decode().split("\n")


def without(counts: Counts, hidden: np.ndarray[Any, Any]) -> Counts:
    """Return the counts of all words but the hidden ones."""
    kept = np.setdiff1d(np.arange(len(counts.vocabulary)), hidden)
    matrix = counts.to_scipy()[kept][:, kept].tocsr()
    matrix.sort_indices()
    words = [counts.vocabulary.words[n] for n in kept]
    return Counts(
        matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data,
        Vocabulary(words, counts.vocabulary.counts[kept]),
        np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel(), np.asarray(matrix.sum(axis=0, dtype=np.float64)).ravel(),
        counts.options, counts.record, (np.empty(0, np.int64), np.empty(0, np.int64)),
    )  # fmt: skip


def compare(whole: ft.Vectors, grown: ft.Vectors, words: Sequence[str], added: Sequence[str]) -> dict[str, float]:
    """Compare the neighbors and lengths of words in two models; ``added`` are all added words."""
    shared, own, chosen = [], [], set(added)
    for word in words:
        right, found = ({other for other, _ in vectors.most_similar(word, topn=NEAREST)} for vectors in (whole, grown))
        shared.append(len(right & found))
        own.append(len(found & chosen))
    lengths = [float(np.mean([np.linalg.norm(vectors[word]) for word in words])) for vectors in (whole, grown)]
    chance = NEAREST * (len(added) - 1) / (len(grown) - 1)
    return {
        "shared": float(np.mean(shared)), "own": float(np.mean(own)), "chance": chance,
        "length": lengths[1], "length_whole": lengths[0],
    }  # fmt: skip


class Hidden:
    """Words of a text that a model was trained without."""

    def __init__(self, lines: list[str], words: int, dimension: int, min_count: int, seed: int = 1) -> None:
        self.counts = ft.count(lines, min_count=min_count)
        size = len(self.counts.vocabulary)
        self.ids = np.sort(np.random.default_rng(seed).choice(size, words, replace=False))
        self.words = [self.counts.vocabulary.words[n] for n in self.ids]
        self.whole = ft.train(self.counts, "psd", vector_size=dimension)
        self.base = ft.train(without(self.counts, self.ids), "psd", vector_size=dimension)

    def add(self, counts: Counts | None = None, **options: float) -> dict[str, float]:
        """Add the hidden words, from the whole text unless other counts are passed, and compare them with ``whole``."""
        grown = add_words(self.base, counts or self.counts, **options)
        return compare(self.whole, grown.vectors, [word for word in grown.new if word in self.words], grown.new)


def choose() -> str:
    """Return a table over w0 and mu: words added from all of the text, and from a tenth of it."""
    lines = text(20_000_000, 40_000_000)
    hidden = Hidden(lines, 300, 100, 50)
    part = ft.count(lines[: len(lines) // 10], min_count=5)
    rows = []
    for unseen, ridge in itertools.product(UNSEEN, RIDGES):
        if unseen == ridge == 0:
            continue
        cells = [f"{unseen:g}", f"{ridge:g}"]
        for counts in (None, part):
            row = hidden.add(counts, unseen_weight=unseen, ridge=ridge)
            cells += [
                f"{row['shared']:.2f}",
                f"{row['own'] / row['chance']:.1f}",
                f"{row['length'] / row['length_whole']:.2f}",
            ]
        rows.append(cells)
    head = ["shared of 10", "among added, × chance", "length"]
    return table(["w0", "mu", *head, *(f"{name}, from a tenth" for name in head)], rows)


def report(quick: bool = False) -> dict[str, dict[str, float]]:
    """Compare added words with and without a weight of unseen pairs, on the first 20 million bytes."""
    hidden = Hidden(text(0, 5_000_000 if quick else 20_000_000), 300, 100, 50)
    return {"w0 = 0, mu = 4 (the paper)": hidden.add(unseen_weight=0.0, ridge=4.0), "default": hidden.add()}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--choose", action="store_true", help="compare all w0 and mu")
    chosen = parser.parse_args()
    if chosen.choose:
        print(choose())
    else:
        print(report(chosen.quick))


if __name__ == "__main__":
    main()
