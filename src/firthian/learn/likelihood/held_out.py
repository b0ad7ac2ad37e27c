"""Pairs that are kept out of a fit, to judge it by: some that were seen, and cells where nothing was seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from firthian.arrays import Array
from firthian.counts.counts import Counts
from firthian.learn.likelihood.families import Family

if TYPE_CHECKING:
    from firthian.learn.likelihood.model import Factors, SeenPairs


@dataclass(frozen=True)
class HeldOut:
    """Pairs to judge by; each stands for ``weights`` pairs like it."""

    rows: Array
    columns: Array
    values: Array
    weights: Array | float = 1.0

    def predictors(self, factors: Factors) -> Array:
        """Return eta of the pairs."""
        products = np.einsum("ik,ik->i", factors.words[self.rows], factors.contexts[self.columns], dtype=np.float64)
        eta: Array = products + factors.word_bias[self.rows] + factors.context_bias[self.columns]
        return eta

    def loss(self, family: Family, factors: Factors) -> float:
        """Add up what the pairs cost."""
        return float(np.sum(self.weights * family.loss(self.values, self.predictors(factors))))


def hidden(pairs: SeenPairs, share: float, seed: int) -> tuple[SeenPairs, HeldOut]:
    """Mark a share of the pairs as held out (negative counts); (i, j) and (j, i) together."""
    rows = np.repeat(np.arange(pairs.rows), np.diff(pairs.indptr))
    low, high = np.minimum(rows, pairs.indices), np.maximum(rows, pairs.indices)
    key = (low * pairs.rows + high).astype(np.uint64) + np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)
    # splitmix64: a number that belongs to the pair and the seed
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        key = (key ^ (key >> np.uint64(shift))) * np.uint64(factor)
    chosen = ((key ^ (key >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) < share * 2.0**53
    held = HeldOut(rows[chosen], pairs.indices[chosen], pairs.values[chosen].astype(np.float64), 1 / share)
    return replace(pairs, values=np.where(chosen, -pairs.values, pairs.values)), held


def unseen_cells(
    pairs: SeenPairs, row_sums: Array, column_sums: Array, number: int, random: np.random.Generator
) -> HeldOut:
    """Draw cells by their marginals and keep those where nothing was seen; their weights make sums over them unbiased.

    Drawn alike, nearly all cells would be those of rare words, which cost nothing: what a cell costs goes with x_i·x_j.
    """
    by_row, by_column = (np.asarray(sums, dtype=np.float64) / float(np.sum(sums)) for sums in (row_sums, column_sums))
    rows = np.sort(random.choice(by_row.size, number, p=by_row))
    columns = random.choice(by_column.size, number, p=by_column)
    seen = np.zeros(number, dtype=bool)
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    for first, last in zip(starts, [*starts[1:], number], strict=True):
        row = int(rows[first])
        seen[first:last] = np.isin(columns[first:last], pairs.indices[pairs.indptr[row] : pairs.indptr[row + 1]])
    rows, columns = rows[~seen], columns[~seen]
    weights = 1 / (number * by_row[rows] * by_column[columns])
    return HeldOut(rows, columns, np.zeros(rows.size), weights)


def without_hidden(counts: Counts, pairs: SeenPairs) -> Counts:
    """Return counts that know nothing of pairs that are held out, for a start that must not see them."""
    kept = pairs.values > 0
    indptr = np.concatenate([[0], np.cumsum(kept)])[pairs.indptr]
    indices, values = pairs.indices[kept], pairs.values[kept]
    rows = np.repeat(np.arange(pairs.rows), np.diff(indptr))
    row_sums, column_sums = (np.bincount(numbers, values, minlength=pairs.rows) for numbers in (rows, indices))
    none = np.empty(0, dtype=np.int64)
    return Counts(
        indptr, indices, values, counts.vocabulary, row_sums, column_sums, counts.options, counts.record, (none, none)
    )
