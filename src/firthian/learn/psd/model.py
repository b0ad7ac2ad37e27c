"""PSDVec: the smoothed PMI of seen pairs, weighted, to be approximated by a positive semidefinite matrix of low rank.

Letters as in Li, Zhu and Miao 2015: G the smoothed PMI, f(H) = W its weights, kappa the smoothing, C_cut the count's
square root from which a weight is 1. Pairs that were never seen have weight 0, so W is as sparse as the counts.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from firthian.arrays import Array, on_pattern
from firthian.counts.counts import Counts
from firthian.errors import FirthianError
from firthian.runtime.executor import constant
from firthian.runtime.run import Run

#: Names of x_i/x and x_j/x beside the vectors.
ROW_SHARES, COLUMN_SHARES = "row_shares", "column_shares"


@dataclass(frozen=True)
class Scale:
    """What later words need to be measured as the first ones were: part of the trained model."""

    kappa: float
    cut_root: float
    weight_power: float

    def targets(self, counts: Array, expected: Array) -> Array:
        """G = log((1 - kappa)·P(i,j) / (P(i)·P(j)) + kappa), eq. 7; ``expected`` is x_i·x_j/x."""
        return np.log((1 - self.kappa) * counts / expected + self.kappa)

    def weights(self, counts: Array) -> Array:
        """f(H) = min(sqrt(X) / C_cut, 1); the paper's square root is ``weight_power`` 0.5."""
        return np.minimum(counts**self.weight_power / self.cut_root, 1.0)


class WeightedPMI:
    """Targets G and weights W on the pairs that were seen, symmetric, with an empty diagonal.

    With ``core``, only the most frequent words are part of it; totals are those of all words.
    """

    def __init__(
        self,
        counts: Counts,
        run: Run,
        kappa: float = 0.02,
        cut: float = 0.01,
        weight_power: float = 0.5,
        core: int | None = None,
    ) -> None:
        self.counts = counts
        self.run = run
        self.words = min(core or len(counts.vocabulary), len(counts.vocabulary))
        self.indptr, self.indices, values = _corner(counts, self.words)
        if values.size == 0:
            raise FirthianError("the counts hold no pair of words", hint="use a larger corpus or a wider window")
        self.scale = Scale(kappa, _root_at(values, round(cut * self.words**2), weight_power), weight_power)
        self.targets = np.empty(values.size, dtype=np.float32)
        self.weights = np.empty(values.size, dtype=np.float32)
        run.over_rows(lambda first, last: self._fill(values, first, last), self.words, here=True)
        if counts.options.context != "both":
            self._symmetrize(self.words)
        self.indptr, self.indices = constant(self.indptr), constant(self.indices)

    def stats(self) -> dict[str, Any]:
        """Return what words that are added later need to know."""
        return {**asdict(self.scale), "core": self.words}

    def marginals(self) -> dict[str, Array]:
        """Return x_i/x and x_j/x of every word: words that are added later are measured by the unigrams of this text."""
        total = self.counts.total
        return {ROW_SHARES: self.counts.row_sums / total, COLUMN_SHARES: self.counts.column_sums / total}

    def _fill(self, values: Array, first: int, last: int) -> None:
        counts = self.counts
        low, high = int(self.indptr[first]), int(self.indptr[last])
        rows = np.repeat(np.arange(first, last), np.diff(self.indptr[first : last + 1]))
        columns = self.indices[low:high]
        value = values[low:high].astype(np.float64)
        expected = counts.row_sums[rows] * (counts.column_sums[columns] / counts.total)
        self.targets[low:high] = self.scale.targets(value, expected)
        self.weights[low:high] = np.where(rows == columns, 0.0, self.scale.weights(value))

    def _symmetrize(self, words: int) -> None:
        """Replace (W, G) by the mean weight and the weighted mean target of both directions.

        The nearest symmetric matrix to X + W∘(G - X) is X + W'∘(G' - X) with these, so nothing is lost.
        """
        import scipy.sparse

        shape = (words, words)
        weight = scipy.sparse.csr_array((self.weights, self.indices, self.indptr), shape=shape)
        product = scipy.sparse.csr_array((self.weights * self.targets, self.indices, self.indptr), shape=shape)
        # A sum of sparse matrices leaves out its zeros: the diagonal, whose weights are 0, of both; and of the products a
        # pair whose two directions cancel, so that theirs may be the smaller pattern.
        weight, product = (weight + weight.T).tocsr(), (product + product.T).tocsr()
        weight.sort_indices()
        product.sort_indices()
        self.indptr, self.indices, self.weights = weight.indptr, weight.indices, weight.data / 2
        self.targets = on_pattern(weight, product) / weight.data

    def loss(self, fitted: Array) -> float:
        """Half of the weighted squared error on the seen pairs, eq. 14; ``fitted`` is U·Uᵀ on the pattern."""

        def part(first: int, last: int) -> float:
            low, high = int(self.indptr[first]), int(self.indptr[last])
            error = (self.targets[low:high] - fitted[low:high]).astype(np.float64)
            return float(np.dot(self.weights[low:high] * error, error))

        return 0.5 * float(np.sum(self.run.over_rows(part, self.words, here=True)))


def _corner(counts: Counts, words: int) -> tuple[Array, Array, Array]:
    """Return (indptr, indices, values) of the first words' rows and columns."""
    if words == len(counts.vocabulary):
        return np.asarray(counts.indptr), np.asarray(counts.indices), np.asarray(counts.values)
    end = int(counts.indptr[words])
    inside = counts.indices[:end] < words
    before = np.concatenate([[0], np.cumsum(inside)])
    return before[counts.indptr[: words + 1]], counts.indices[:end][inside], counts.values[:end][inside]


def _root_at(values: Array, pairs: int, power: float) -> float:
    """Return X^power of the pair with so many at or above it: at least one pair has weight 1."""
    rank = min(max(pairs, 1), values.size)
    return float(np.partition(values, values.size - rank)[values.size - rank] ** power)
