"""Observed word-context pairs in compressed sparse rows, and pairs held out of a fit to validate it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from firthian.arrays import Array
from firthian.counts.counts import Counts
from firthian.errors import FirthianError
from firthian.learn.likelihood.families import Family
from firthian.runtime.executor import constant

if TYPE_CHECKING:
    from firthian.learn.likelihood.model import Factors


@dataclass(frozen=True)
class SeenPairs:
    """Counts in compressed sparse rows.

    ``weights`` is empty or holds one weight per pair; ``held_out`` is empty or marks the pairs excluded from the fit.
    """

    indptr: Array
    indices: Array
    values: Array
    weights: Array = field(default_factory=partial(np.empty, 0, dtype=np.float32))
    held_out: Array = field(default_factory=partial(np.empty, 0, dtype=np.bool_))

    def __post_init__(self) -> None:
        for name, array in vars(self).items():
            object.__setattr__(self, name, constant(array))

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return int(self.indptr.size - 1)

    @property
    def fitted(self) -> Array:
        """Which pairs take part in the fit."""
        return ~self.held_out if self.held_out.size else np.ones(self.values.size, dtype=np.bool_)

    @cached_property
    def events(self) -> Array:
        """Each row's sum of weights, or of counts that are not held out; cached because every half sweep needs it."""
        if self.weights.size:
            return self.row_sums(self.weights)
        return self.row_sums(np.where(self.held_out, np.float32(0), self.values) if self.held_out.size else self.values)

    def row_ids(self) -> Array:
        """Return the row of each pair."""
        return np.repeat(np.arange(self.row_count, dtype=np.int32), np.diff(self.indptr))

    def row_sums(self, numbers: Array) -> Array:
        """Sum one number per pair over each row."""
        sums = np.zeros(self.row_count)
        nonempty = np.diff(self.indptr) > 0
        if nonempty.any():
            sums[nonempty] = np.add.reduceat(numbers, self.indptr[:-1][nonempty], dtype=np.float64)
        return sums

    def marginals(self, columns: int) -> tuple[Array, Array]:
        """Return the sums of the counts over rows and over columns."""
        rows = np.bincount(self.row_ids(), self.values, minlength=self.row_count)
        return rows, np.bincount(self.indices, self.values, minlength=columns)

    def only(self, kept: Array) -> SeenPairs:
        """Return the pairs where a boolean mask is true."""
        indptr = np.concatenate([[0], np.cumsum(kept)])[self.indptr]
        return SeenPairs(indptr, self.indices[kept], self.values[kept])


@dataclass(frozen=True)
class HeldOut:
    """Pairs that validate a fit; each stands for ``weights`` pairs like it."""

    rows: Array
    columns: Array
    values: Array
    weights: Array | float = 1.0

    def predictors(self, factors: Factors) -> Array:
        """Return the linear predictor eta of each pair."""
        products = np.einsum("ik,ik->i", factors.words[self.rows], factors.contexts[self.columns], dtype=np.float64)
        eta: Array = products + factors.word_bias[self.rows] + factors.context_bias[self.columns]
        return eta

    def loss(self, family: Family, factors: Factors, shares: tuple[Array, Array]) -> float:
        """Return the weighted sum of the losses of the pairs; ``shares`` are the noise shares of words and contexts."""
        rho = shares[0][self.rows] * shares[1][self.columns]
        return float(np.sum(self.weights * family.loss(self.values, self.predictors(factors), rho)))


def pairs_of(counts: Counts, truncate: float, diagonal: bool) -> SeenPairs:
    """Return counts in the types the kernels are compiled for, truncated and without the diagonal if requested."""
    pairs = SeenPairs(
        np.asarray(counts.indptr).astype(np.int64, copy=False),
        np.asarray(counts.indices).astype(np.int32, copy=False),
        np.asarray(counts.values).astype(np.float32, copy=False),
    )
    if truncate < np.inf:
        pairs = replace(pairs, values=np.minimum(pairs.values, np.float32(truncate)))
    if not diagonal:
        pairs = pairs.only(pairs.indices != pairs.row_ids())
        if pairs.values.size == 0:
            raise FirthianError("no pairs are left without the diagonal", hint="use a larger corpus or `diagonal=true`")
    return pairs


def transpose(columns: int, *parts: SeenPairs) -> SeenPairs:
    """Return the columns of matrices stacked vertically, as rows."""
    import scipy.sparse

    matrices = [
        scipy.sparse.csr_array((part.values, part.indices, part.indptr), shape=(part.row_count, columns))
        for part in parts
    ]
    matrix = (scipy.sparse.vstack(matrices) if len(matrices) > 1 else matrices[0]).tocsc()
    return SeenPairs(
        matrix.indptr.astype(np.int64, copy=False),
        matrix.indices.astype(np.int32, copy=False),
        matrix.data.astype(np.float32, copy=False),
    )


def hold_out(pairs: SeenPairs, share: float, seed: int) -> tuple[SeenPairs, HeldOut]:
    """Mark a share of the pairs as held out, (i, j) always together with (j, i); return the marked pairs and those held out."""
    rows = pairs.row_ids().astype(np.int64)
    low, high = np.minimum(rows, pairs.indices), np.maximum(rows, pairs.indices)
    key = (low * pairs.row_count + high).astype(np.uint64) + np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)
    # splitmix64: a number that depends only on the pair and the seed
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        key = (key ^ (key >> np.uint64(shift))) * np.uint64(factor)
    mask = ((key ^ (key >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) < share * 2.0**53
    held = HeldOut(rows[mask], pairs.indices[mask], pairs.values[mask].astype(np.float64), 1 / share)
    return replace(pairs, held_out=mask), held


def draw_unseen(
    pairs: SeenPairs, row_sums: Array, column_sums: Array, number: int, generator: np.random.Generator
) -> HeldOut:
    """Draw cells by their marginals and keep those without a count, weighted so that sums over them are unbiased.

    Under a uniform draw nearly all cells would belong to rare words, which cost nothing: the loss of a cell grows with x_i·x_j.
    """
    by_row, by_column = (np.asarray(sums, dtype=np.float64) / float(np.sum(sums)) for sums in (row_sums, column_sums))
    rows = np.sort(generator.choice(by_row.size, number, p=by_row))
    columns = generator.choice(by_column.size, number, p=by_column)
    seen = np.zeros(number, dtype=np.bool_)
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    for first, last in zip(starts, [*starts[1:], number], strict=True):
        row = int(rows[first])
        seen[first:last] = np.isin(columns[first:last], pairs.indices[pairs.indptr[row] : pairs.indptr[row + 1]])
    rows, columns = rows[~seen], columns[~seen]
    weights = 1 / (number * by_row[rows] * by_column[columns])
    return HeldOut(rows, columns, np.zeros(rows.size), weights)


def without_held_out(counts: Counts, pairs: SeenPairs) -> Counts:
    """Return counts of the fitted pairs only, for a start that must not depend on the others."""
    kept = pairs.only(pairs.fitted)
    none = np.empty(0, dtype=np.int64)
    return Counts(
        kept.indptr, kept.indices, kept.values, counts.vocabulary, *kept.marginals(pairs.row_count),
        counts.options, counts.record, (none, none),
    )  # fmt: skip
