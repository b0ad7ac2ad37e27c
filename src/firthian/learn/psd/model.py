"""PSDVec: weighted, smoothed PMI of the observed pairs, approximated by a positive semidefinite matrix of low rank.

Letters as in Li, Zhu and Miao 2015: G the smoothed PMI, f(H) = W its weights, kappa the smoothing, C_cut the square
root of a count from which the weight is 1. Unobserved pairs have weight 0, so W is as sparse as the counts.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import numpy as np

from firthian.arrays import Array, on_pattern
from firthian.counts.counts import Counts
from firthian.errors import FirthianError
from firthian.learn.linalg.operators import ROWS_AT_ONCE
from firthian.options import Option
from firthian.runtime.executor import constant
from firthian.runtime.run import Run
from firthian.vectors.psd import COLUMN_SHARES, ROW_SHARES, Scale


class WeightedPMI:
    """Targets G and weights W on the observed pairs of the core, symmetric, with an empty diagonal.

    Totals are those of all words. Without ``core``, all words belong to it.
    """

    def __init__(
        self,
        counts: Counts,
        run: Run,
        kappa: Annotated[float, Option("Jelinek-Mercer smoothing of the bigrams", low=0, high=0.99)] = 0.02,
        cut: Annotated[
            float, Option("share of all pairs with the maximum weight 1 (the paper: 0.0002)", low=0, high=1)
        ] = 0.01,
        weight_power: Annotated[float, Option("power of the count in the weight", low=0, high=2)] = 0.5,
        core: Annotated[int | None, Option("number of most frequent words fitted together", low=1)] = None,
    ) -> None:
        self.counts, self.run = counts, run
        self.words = min(core or len(counts.vocabulary), len(counts.vocabulary))
        self.indptr, self.indices, values = _corner(counts, self.words)
        if values.size == 0:
            raise FirthianError("the counts contain no pairs of words", hint="use a larger corpus or a wider `window`")
        self.scale = Scale(kappa, _root_at(values, round(cut * self.words**2), weight_power), weight_power)
        self.targets = np.empty(values.size, dtype=np.float32)
        self.weights = np.empty(values.size, dtype=np.float32)
        self._fill(values)
        if counts.options.context != "both":
            self._symmetrize(self.words)
        self.indptr, self.indices = constant(self.indptr), constant(self.indices)

    def state(self) -> dict[str, Any]:
        """Return the scalars that adding words needs."""
        return {**asdict(self.scale), "core": self.words}

    def marginals(self) -> dict[str, Array]:
        """Return x_i/x and x_j/x of every word: added words are measured by the unigrams of this text."""
        total = self.counts.total
        return {ROW_SHARES: self.counts.row_sums / total, COLUMN_SHARES: self.counts.column_sums / total}

    def _fill(self, values: Array) -> None:
        from firthian.kernels.pmi import weighted_pmi

        counts, targets, weights = self.counts, self.targets, self.weights
        pairs = self.indptr.astype(np.int64, copy=False), self.indices.astype(np.int32, copy=False), values
        marginals = np.asarray(counts.row_sums), counts.column_sums / counts.total
        scale = float(self.scale.kappa), float(self.scale.cut_root), float(self.scale.weight_power)

        def fill(first: int, last: int) -> None:
            weighted_pmi(pairs, marginals, scale, first, last, targets, weights)

        self.run.over_rows(fill, self.words, ROWS_AT_ONCE, here=True)

    def _symmetrize(self, words: int) -> None:
        """Replace (W, G) by the mean weight and the weighted mean target of both directions.

        The nearest symmetric matrix to X + W∘(G - X) is X + W'∘(G' - X) with these, so nothing is lost.
        """
        import scipy.sparse

        shape = (words, words)
        weight = scipy.sparse.csr_array((self.weights, self.indices, self.indptr), shape=shape)
        product = scipy.sparse.csr_array((self.weights * self.targets, self.indices, self.indptr), shape=shape)
        # A sum of sparse matrices drops its zeros: the diagonal, whose weights are 0, in both; and in the products
        # pairs whose two directions cancel, so that their pattern may be smaller.
        weight, product = (weight + weight.T).tocsr(), (product + product.T).tocsr()
        weight.sort_indices()
        product.sort_indices()
        self.indptr, self.indices, self.weights = weight.indptr, weight.indices, weight.data / 2
        self.targets = on_pattern(weight, product) / weight.data

    def loss(self, fitted: Array) -> float:
        """Return half of the weighted squared error on the observed pairs, eq. 14; ``fitted`` is U·Uᵀ on them."""

        def part(first: int, last: int) -> float:
            low, high = int(self.indptr[first]), int(self.indptr[last])
            error = (self.targets[low:high] - fitted[low:high]).astype(np.float64)
            return float(np.dot(self.weights[low:high] * error, error))

        return 0.5 * float(np.sum(self.run.over_rows(part, self.words, here=True)))


def _corner(counts: Counts, words: int) -> tuple[Array, Array, Array]:
    """Return (indptr, indices, values) of the rows and columns of the first words."""
    if words == len(counts.vocabulary):
        return np.asarray(counts.indptr), np.asarray(counts.indices), np.asarray(counts.values)
    end = int(counts.indptr[words])
    inside = counts.indices[:end] < words
    before = np.concatenate([[0], np.cumsum(inside)])
    return before[counts.indptr[: words + 1]], counts.indices[:end][inside], counts.values[:end][inside]


def _root_at(values: Array, pairs: int, power: float) -> float:
    """Return X^power of the pair of rank ``pairs``, so that at least one pair has weight 1."""
    rank = min(max(pairs, 1), values.size)
    if rank == values.size:
        return float(values.min() ** power)
    return float(np.partition(values, values.size - rank)[values.size - rank] ** power)
