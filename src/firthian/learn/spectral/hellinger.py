"""Hellinger PCA (Lebret and Collobert 2014)."""

from __future__ import annotations

from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.counts.counts import Counts
from firthian.learn.linalg.operators import Centered, Operator, SparseOperator
from firthian.learn.weighting import BLOCK, inverse_powers, seen_pairs
from firthian.runtime.run import Run


class Hellinger:
    """``sqrt(P(j|i))``, with the mean row taken off.

    The Euclidean distance of two such rows is (up to a constant) the Hellinger distance of the two words' context
    distributions, and the principal components keep as much of it as a dimension allows. ``contexts`` keeps only the
    most frequent words as contexts, as the paper does, and the probabilities are among them; 0 keeps all.
    """

    def __init__(self, counts: Counts, run: Run, contexts: int = 0) -> None:
        self.counts, self.run, self.contexts = counts, run, contexts

    def matrix(self) -> Any:
        """Return the square roots before centering, as a SciPy CSR array: the squares of each row add up to 1."""
        limit = self.contexts or self.counts.shape[1]
        everything = limit >= self.counts.shape[1]
        scale = inverse_powers(self.counts.row_sums if everything else self._sums(limit), 0.5)

        def roots(rows: Array, columns: Array, values: Array) -> Array:
            result: Array = np.where(columns < limit, np.sqrt(values, dtype=np.float64) * scale[rows], 0)
            return result

        return seen_pairs(self.counts, self.run, roots, keep_zeros=everything)

    def _sums(self, limit: int) -> Array:
        """Add up each row's counts of the first contexts."""

        def of_rows(first: int, last: int) -> Array:
            low, high = int(self.counts.indptr[first]), int(self.counts.indptr[last])
            kept = np.where(self.counts.indices[low:high] < limit, self.counts.values[low:high], 0)
            rows = self.counts.rows_of(first, last) - first
            return np.bincount(rows, weights=kept, minlength=last - first)

        return np.concatenate(self.run.over_rows(of_rows, self.counts.shape[0], BLOCK, here=True))

    def operator(self, dimension: int) -> Operator:
        """Return the centered matrix for products; it is never formed, since it is not sparse."""
        matrix = SparseOperator.of(self.matrix())
        ones = np.ones((matrix.shape[0], 1), dtype=np.float32)
        return Centered(matrix, matrix.transposed_times(ones, self.run)[:, 0] / matrix.shape[0])
