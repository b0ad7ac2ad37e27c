"""The company a word keeps: its contexts in counts, with how often and how much more often than by chance."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from firthian.counts.counts import Counts
from firthian.errors import FirthianError, suggest

ORDERS = ("pmi", "count")


@dataclass(frozen=True)
class Context:
    """A context word: its (weighted) count and its pointwise mutual information with the word, a natural logarithm."""

    word: str
    count: float
    pmi: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return asdict(self)


def context_words(
    counts: Counts, word: str, topn: int = 30, min_count: float = 5.0, order: str = "pmi", skip_frequent: int = 0
) -> list[Context]:
    """Return a word's contexts, the strongest first, among those counted at least ``min_count`` times with it.

    The ``skip_frequent`` most frequent words of the vocabulary, function words mostly, are left out.

    >>> import firthian as ft
    >>> counts = ft.count(["hot tea", "hot tea", "cold tea", "hot sun"], window=1, min_count=1)
    >>> [(one.word, one.count, round(one.pmi, 3)) for one in context_words(counts, "tea", min_count=1)]
    [('cold', 1.0, 0.981), ('hot', 2.0, 0.575)]
    """
    if order not in ORDERS:
        raise FirthianError(f"contexts cannot be ordered by {order!r}", hint=suggest(order, ORDERS))
    row = counts.vocabulary[word]
    low, high = int(counts.indptr[row]), int(counts.indptr[row + 1])
    columns, values = np.asarray(counts.indices[low:high]), counts.values[low:high].astype(np.float64)
    frequent = np.argsort(-counts.vocabulary.counts, kind="stable")[:skip_frequent]
    kept = (values >= max(min_count, 1e-12)) & ~np.isin(columns, frequent)
    columns, values = columns[kept], values[kept]
    # PMI = log(X·x / (x_i·x_j))
    pmi = np.log(values * counts.total / (counts.row_sums[row] * counts.column_sums[columns]))
    best = np.argsort(-(pmi if order == "pmi" else values), kind="stable")[:topn]
    words = counts.vocabulary.words
    return [Context(words[int(columns[i])], float(values[i]), float(pmi[i])) for i in best]
