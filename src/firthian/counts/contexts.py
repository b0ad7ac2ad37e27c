"""The company a word keeps: its contexts by count, PMI, log-likelihood ratio or log-odds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError, suggest
from firthian.runtime.table import Column, Listing

if TYPE_CHECKING:
    from firthian.counts.counts import Counts

ORDERS = ("pmi", "count", "llr", "log_odds")

_COLUMNS = (
    Column("word"), Column("count", float, ",.4g"), Column("pmi", float, ".3f"), Column("llr", float, ",.1f"),
    Column("log_odds", float, ".3f"),
)  # fmt: skip


@dataclass(frozen=True)
class Context:
    """A context word: its (weighted) count with the word, and three measures of how strongly the two attract each other.

    ``pmi`` is the pointwise mutual information in nats; ``llr`` the log-likelihood ratio G² (Dunning 1993), negative where
    the pair is rarer than by chance; ``log_odds`` the logarithm of the odds ratio, 0.5 added to each cell.
    """

    word: str
    count: float
    pmi: float
    llr: float
    log_odds: float


def context_words(
    counts: Counts, word: str, topn: int = 30, min_count: float = 5.0, order: str = "pmi", skip_frequent: int = 0
) -> Listing[Context]:
    """Return the context words of a word, strongest first, among those counted at least ``min_count`` times with it.

    The ``skip_frequent`` most frequent words of the vocabulary, mostly function words, are excluded.

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
    measures = association(values, float(counts.row_sums[row]), counts.column_sums[columns], counts.total)
    best = np.argsort(-measures[order], kind="stable")[: max(0, topn)]
    words = counts.vocabulary.words
    found = [
        Context(words[int(columns[at])], *(float(measures[name][at]) for name in ("count", "pmi", "llr", "log_odds")))
        for at in best
    ]
    return Listing(found, f"Contexts of {word}", _COLUMNS)


def association(pairs: Array, row: float, columns: Array, total: float) -> dict[str, Array]:
    """Return the measures of association of a word with its contexts, by name.

    ``pairs`` are the counts X_ij of the pairs, ``row`` is x_i, ``columns`` are the x_j, and ``total`` is x.

    >>> association(np.array([8.0]), 10.0, np.array([10.0]), 20.0)["llr"].round(3).tolist()
    [7.71]
    """
    # The 2 × 2 table of a pair: with and without the word, with and without the context.
    cells = [pairs, row - pairs, columns - pairs, total - row - columns + pairs]
    rows, sides = (
        [np.full_like(pairs, row)] * 2 + [np.full_like(pairs, total - row)] * 2,
        [columns, total - columns] * 2,
    )
    # Rounding of weighted counts may leave a cell just below zero.
    cells = [np.maximum(cell, 0.0) for cell in cells]
    with np.errstate(divide="ignore", invalid="ignore"):
        # PMI = log(X·x / (x_i·x_j))
        pmi = np.log(pairs * total / (row * columns))
        # G² = 2 Σ observed · log(observed / expected)
        terms = [
            np.where(cell > 0, cell * np.log(cell * total / (by_row * side)), 0.0)
            for cell, by_row, side in zip(cells, rows, sides, strict=True)
        ]
        llr = np.maximum(0.0, 2 * np.sum(terms, axis=0)) * np.where(pmi < 0, -1.0, 1.0)
    a, b, c, d = (cell + 0.5 for cell in cells)
    return {"count": pairs, "pmi": pmi, "llr": np.nan_to_num(llr), "log_odds": np.log(a * d / (b * c))}
