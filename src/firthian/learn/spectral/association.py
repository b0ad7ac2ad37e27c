"""Association between words and contexts: pointwise mutual information and its relatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.counts.counts import Counts
from firthian.learn.linalg.operators import SparseOperator
from firthian.learn.weighting import logarithms, seen_pairs
from firthian.runtime.run import Run


class PMI:
    """Positive PMI, shifted by log k: ``max(0, log(X·x / (x_i·x_j)) - log k)`` on the pairs that were seen.

    ``ns_exponent`` a smooths the contexts: ``x_j`` becomes ``x_j^a``, scaled to the same sum (Levy et al. 2015).
    ``smoothing`` k mixes the joint probability with that of chance, as Jelinek and Mercer do:
    ``P~(i,j) = (1 - k)·P(i,j) + k·P(i)·P(j)``. A pair that was never seen would then have ``log k``, below zero, so
    the positive matrix is as sparse as without it; values of rare pairs shrink.
    """

    def __init__(
        self, counts: Counts, run: Run, ns_exponent: float = 0.75, shift: float = 1.0, smoothing: float = 0.0
    ) -> None:
        self.counts = counts
        self.run = run
        self.ns_exponent = ns_exponent
        self.shift = shift
        self.smoothing = smoothing

    @property
    def symmetric(self) -> bool:
        """Whether the matrix equals its transpose: words and contexts are then counted and treated alike."""
        return self.counts.options.context == "both" and self.ns_exponent == 1

    def matrix(self) -> Any:
        """Return the positive values, as a SciPy CSR array."""
        context = np.asarray(self.counts.column_sums, dtype=np.float64) ** self.ns_exponent
        context_log = logarithms(context / max(context.sum(), 1e-300))
        row_log = logarithms(self.counts.row_sums)

        def positive_pmi(rows: Array, columns: Array, values: Array) -> Array:
            # PMI = log X - log x_i - log P(j)
            pmi = np.log(values, dtype=np.float64) - row_log[rows] - context_log[columns]
            if self.smoothing > 0:
                pmi = np.log((1 - self.smoothing) * np.exp(pmi) + self.smoothing)
            positive: Array = np.maximum(pmi - np.log(self.shift), 0)
            return positive

        return seen_pairs(self.counts, self.run, positive_pmi, keep_zeros=False)

    def operator(self, dimension: int) -> SparseOperator:
        """Return the same matrix for products."""
        return SparseOperator.of(self.matrix(), self.symmetric)
