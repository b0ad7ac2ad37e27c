"""Latent semantic analysis, with contexts in the place of documents."""

from __future__ import annotations

import numpy as np

from firthian.arrays import Array
from firthian.counts.counts import Counts
from firthian.learn.linalg.operators import SparseOperator
from firthian.learn.weighting import inverse_powers, logarithms, seen_pairs
from firthian.runtime.run import Run


class LogEntropy:
    """``log(1 + X) · g_i · g_j``: the log-entropy weighting of Dumais (1991) on counts of words and contexts.

    The global weight ``g = 1 - H / log V`` compares the entropy H of a word's distribution with the largest possible: 0
    for a word that goes with everything alike, 1 for one that goes with a single other word. LSA weights terms, which
    are spread over documents; here a word is spread over contexts and a context over words, so ``entropy`` says
    which are weighted: ``context``, ``word`` or ``both``.
    """

    def __init__(self, counts: Counts, run: Run, entropy: str = "both") -> None:
        self.counts, self.run, self.entropy = counts, run, entropy

    def global_weights(self) -> tuple[Array, Array]:
        """Return the weights of words and of contexts; ones for the side that is not weighted."""
        counts = self.counts
        ones = np.ones(counts.shape[0])
        if counts.shape[0] < 2:
            return ones, ones
        # H = log x_i - (1/x_i) sum_j X log X, from sums of X log X by row and by column.
        matrix = seen_pairs(counts, self.run, lambda rows, columns, values: values * np.log(values, dtype=np.float64))
        log_size = np.log(counts.shape[0])

        def weights(sums: Array, entropic: Array) -> Array:
            entropy = logarithms(sums) - entropic * inverse_powers(sums, 1)
            result: Array = np.clip(1 - entropy / log_size, 0, 1)
            return result

        matrix = matrix.astype(np.float64)
        words = weights(counts.row_sums, matrix @ ones) if self.entropy in ("word", "both") else ones
        contexts = weights(counts.column_sums, matrix.T @ ones) if self.entropy in ("context", "both") else ones
        return words, contexts

    def operator(self, dimension: int) -> SparseOperator:
        """Return the weighted matrix."""
        words, contexts = self.global_weights()

        def weighted(rows: Array, columns: Array, values: Array) -> Array:
            result: Array = np.log1p(values, dtype=np.float64) * words[rows] * contexts[columns]
            return result

        symmetric = self.counts.options.context == "both" and self.entropy == "both"
        return SparseOperator.of(seen_pairs(self.counts, self.run, weighted), symmetric)
