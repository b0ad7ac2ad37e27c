"""Association between words and contexts: PMI, log-entropy weights and Hellinger distances on the observed pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from firthian.arrays import Array, offsets
from firthian.counts.counts import Counts
from firthian.errors import FirthianError
from firthian.learn.linalg.operators import Centered, Operator, SparseOperator
from firthian.learn.recipe import Smoothing
from firthian.options import Option
from firthian.runtime.run import Run

#: Rows per block: small, because the first rows hold the most pairs.
BLOCK = 256


def map_pairs(
    counts: Counts, run: Run, function: Callable[[Array, Array, Array], Array], keep_zeros: bool = True
) -> Any:
    """Return a SciPy CSR array of ``function(rows, columns, counts)`` on the observed pairs.

    Without ``keep_zeros`` pairs whose new value is zero are dropped.
    """
    import scipy.sparse

    def of_rows(first: int, last: int) -> tuple[Array, Array, Array]:
        low, high = int(counts.indptr[first]), int(counts.indptr[last])
        rows, columns = counts.rows_of(first, last), counts.indices[low:high]
        values = function(rows, columns, counts.values[low:high]).astype(np.float32)
        sizes = np.diff(counts.indptr[first : last + 1])
        if not keep_zeros:
            kept = values != 0
            columns, values = columns[kept], values[kept]
            sizes = np.bincount(rows[kept] - first, minlength=last - first)
        return sizes, np.asarray(columns), values

    blocks = run.over_rows(of_rows, counts.shape[0], BLOCK, here=True)
    sizes, columns, values = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return scipy.sparse.csr_array((values, columns, offsets(sizes)), shape=counts.shape)


def logarithms(values: Array) -> Array:
    """Return the logarithms, 0 where the value is 0 (no pair refers to it)."""
    values = np.asarray(values, dtype=np.float64)
    return np.asarray(np.log(values, where=values > 0, out=np.zeros(values.shape)))


def inverse_powers(values: Array, power: float) -> Array:
    """Return ``values^-power``, 0 where the value is 0: a word without pairs gets a zero vector."""
    values = np.asarray(values, dtype=np.float64)
    return np.asarray(np.power(values, -power, where=values > 0, out=np.zeros(values.shape)))


def two_sides(counts: Counts) -> tuple[Any, Any]:
    """Return the counts of left and of right contexts, as SciPy CSR arrays.

    Directional counts hold one side; the other is its transpose, since "j is before i" is "i is after j".
    """
    side = counts.options.context
    if side == "both":
        raise FirthianError(
            "this recipe needs counts that distinguish left and right contexts",
            hint="count with `context=left`",
        )
    matrix = counts.to_scipy()
    transpose = matrix.T.tocsr()
    return (matrix, transpose) if side == "left" else (transpose, matrix)


@dataclass(eq=False, repr=False)
class PMI:
    """Positive PMI, shifted by log k: ``max(0, log(X·x / (x_i·x_j)) - log k)`` on the observed pairs.

    ``ns_exponent`` a smooths the contexts: ``x_j`` becomes ``x_j^a``, scaled to the same sum (Levy et al. 2015).
    ``smoothing`` k mixes the joint probability with chance (Jelinek and Mercer):
    ``P~(i,j) = (1 - k)·P(i,j) + k·P(i)·P(j)``. An unobserved pair would then have ``log k`` < 0, so
    the positive matrix is as sparse as without it; values of rare pairs shrink.
    """

    counts: Counts
    run: Run
    ns_exponent: Smoothing = 0.75
    shift: Annotated[float, Option("k of the shift log k; 1: no shift", low=1e-9)] = 1.0
    smoothing: Annotated[float, Option("share of chance in the joint probability", low=0, high=0.999)] = 0.0

    def matrix(self) -> Any:
        """Return the positive values as a SciPy CSR array."""
        context = np.asarray(self.counts.column_sums, dtype=np.float64) ** self.ns_exponent
        context_log = logarithms(context / max(context.sum(), 1e-300))
        row_log = logarithms(self.counts.row_sums)

        def positive_pmi(rows: Array, columns: Array, values: Array) -> Array:
            # PMI = log X - log x_i - log P(j)
            pmi = np.log(values, dtype=np.float64) - row_log[rows] - context_log[columns]
            if self.smoothing > 0:
                pmi = np.log((1 - self.smoothing) * np.exp(pmi) + self.smoothing)
            return np.asarray(np.maximum(pmi - np.log(self.shift), 0))

        return map_pairs(self.counts, self.run, positive_pmi, keep_zeros=False)

    def operator(self, dimension: int) -> SparseOperator:
        """Return the same matrix as an operator."""
        symmetric = self.counts.options.context == "both" and self.ns_exponent == 1
        return SparseOperator.of(self.matrix(), symmetric)


@dataclass(eq=False, repr=False)
class LogEntropy:
    """``log(1 + X) · g_i · g_j``: latent semantic analysis with log-entropy weights (Dumais 1991), contexts as documents.

    The global weight ``g = 1 - H / log V`` compares the entropy H of a word's distribution with the largest possible: 0
    for a word that occurs evenly with every other, 1 for one that occurs with a single word. LSA weights terms, which
    are spread over documents; here a word is spread over contexts and a context over words, so ``entropy`` selects
    which are weighted.
    """

    counts: Counts
    run: Run
    entropy: Annotated[str, Option("global weights to use", choices=("context", "word", "both"))] = "both"

    def global_weights(self) -> tuple[Array, Array]:
        """Return the weights of words and of contexts; ones for the side that is not weighted."""
        counts = self.counts
        ones = np.ones(counts.shape[0])
        if counts.shape[0] < 2:
            return ones, ones
        # H = log x_i - (1/x_i) sum_j X log X, from sums of X log X by row and by column.
        matrix = map_pairs(counts, self.run, lambda rows, columns, values: values * np.log(values, dtype=np.float64))
        log_size = np.log(counts.shape[0])

        def weights(sums: Array, entropic: Array) -> Array:
            entropy = logarithms(sums) - entropic * inverse_powers(sums, 1)
            return np.asarray(np.clip(1 - entropy / log_size, 0, 1))

        matrix = matrix.astype(np.float64)
        words = weights(counts.row_sums, matrix @ ones) if self.entropy in ("word", "both") else ones
        contexts = weights(counts.column_sums, matrix.T @ ones) if self.entropy in ("context", "both") else ones
        return words, contexts

    def operator(self, dimension: int) -> SparseOperator:
        """Return the weighted matrix."""
        words, contexts = self.global_weights()

        def weighted(rows: Array, columns: Array, values: Array) -> Array:
            return np.asarray(np.log1p(values, dtype=np.float64) * words[rows] * contexts[columns])

        symmetric = self.counts.options.context == "both" and self.entropy == "both"
        return SparseOperator.of(map_pairs(self.counts, self.run, weighted), symmetric)


@dataclass(eq=False, repr=False)
class Hellinger:
    """``sqrt(P(j|i))``, with the mean row subtracted (Lebret and Collobert 2014).

    The Euclidean distance of two such rows is (up to a constant) the Hellinger distance of the two words' context
    distributions, and the principal components keep as much of it as a dimension allows. ``contexts`` keeps only the
    most frequent words as contexts, as the paper does, and the probabilities are among them.
    """

    counts: Counts
    run: Run
    contexts: Annotated[int, Option("number of most frequent words used as contexts; 0: all", low=0)] = 0

    def matrix(self) -> Any:
        """Return the square roots before centering, as a SciPy CSR array: the squares of each row add up to 1."""
        limit = self.contexts or self.counts.shape[1]
        everything = limit >= self.counts.shape[1]
        scale = inverse_powers(self.counts.row_sums if everything else self._sums(limit), 0.5)

        def roots(rows: Array, columns: Array, values: Array) -> Array:
            return np.asarray(np.where(columns < limit, np.sqrt(values, dtype=np.float64) * scale[rows], 0))

        return map_pairs(self.counts, self.run, roots, keep_zeros=everything)

    def _sums(self, limit: int) -> Array:
        """Return each row's sum over the first ``limit`` contexts."""

        def of_rows(first: int, last: int) -> Array:
            low, high = int(self.counts.indptr[first]), int(self.counts.indptr[last])
            kept = np.where(self.counts.indices[low:high] < limit, self.counts.values[low:high], 0)
            rows = self.counts.rows_of(first, last) - first
            return np.bincount(rows, weights=kept, minlength=last - first)

        return np.concatenate(self.run.over_rows(of_rows, self.counts.shape[0], BLOCK, here=True))

    def operator(self, dimension: int) -> Operator:
        """Return the centered matrix; it is dense, so it is never formed."""
        matrix = SparseOperator.of(self.matrix())
        ones = np.ones((matrix.shape[0], 1), dtype=np.float32)
        return Centered(matrix, matrix.transposed_times(ones, self.run)[:, 0] / matrix.shape[0])
