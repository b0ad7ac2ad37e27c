"""Canonical correlation analysis between words and contexts: Stratos et al.'s, and the two of Eigenwords.

A token is a pair of indicator vectors: its word, and its context. Their covariances are counts: of the words
``diag(x_i)``, of the contexts (assumed diagonal, as in both papers) ``diag(x_j)``, between them ``X``. CCA whitens
both sides and takes the singular value decomposition of

    Omega = diag(x_i)^(-1/2) · X · diag(x_j)^(-1/2)

whose left singular vectors are the words. Its first singular value is 1 and belongs to the vectors
``sqrt(x_i)``, ``sqrt(x_j)``: chance.

Counts are heavy-tailed, so every count, marginals included, is first raised to ``count_power`` (Stratos et al. 2015:
the square root makes the variance of a Poisson count constant): ``X^a / sqrt(x_i^a·x_j^a)``; 1 is plain CCA. These are no
longer correlations (a singular value may exceed 1). Eigenwords' second step needs correlations, so there the
marginals are sums of the transformed counts: plain CCA of ``X^a``.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from firthian.arrays import Array
from firthian.counts.counts import Counts
from firthian.learn.linalg.krylov import top_singular
from firthian.learn.linalg.operators import DenseOperator, SideBySide, SparseOperator
from firthian.learn.linalg.tall import eigh, times_small
from firthian.learn.recipe import Smoothing
from firthian.learn.spectral.association import inverse_powers, map_pairs, two_sides
from firthian.options import Option
from firthian.runtime.run import Run

CountPower = Annotated[float, Option("power of every count before whitening; 1: plain CCA", low=0.01, high=2)]


class CCA:
    """``X^a / sqrt(x_i^a · x_j^(a·ns_exponent))``: word against context (Stratos, Collins and Hsu 2015)."""

    def __init__(self, counts: Counts, run: Run, count_power: CountPower = 0.5, ns_exponent: Smoothing = 1.0) -> None:
        self.counts, self.run = counts, run
        self.count_power, self.ns_exponent = count_power, ns_exponent

    def operator(self, dimension: int) -> SparseOperator:
        """Return Omega."""
        counts, power = self.counts, self.count_power
        rows_scale = inverse_powers(counts.row_sums, power / 2)
        columns_scale = inverse_powers(counts.column_sums, power * self.ns_exponent / 2)

        def omega(rows: Array, columns: Array, values: Array) -> Array:
            return np.asarray(np.power(values, power, dtype=np.float64) * rows_scale[rows] * columns_scale[columns])

        symmetric = counts.options.context == "both" and self.ns_exponent == 1
        return SparseOperator.of(map_pairs(counts, self.run, omega), symmetric)


class _Eigenwords:
    """The whitened counts of left and of right contexts."""

    contexts_are_words: ClassVar[bool] = False

    def __init__(self, counts: Counts, run: Run, count_power: CountPower = 0.5) -> None:
        self.run = run
        self.left, self.right = (_whitened(side, count_power) for side in two_sides(counts))


class OneStepCCA(_Eigenwords):
    """OSCCA of Eigenwords (Dhillon, Foster and Ungar 2015): the word against its left and right contexts.

    The context of a token is the pair (left words, right words), so Omega is ``[Omega_left, Omega_right]``, twice as
    wide. The paper distinguishes every position of the window; here the positions of a side are one (weighted) sum.
    """

    def operator(self, dimension: int) -> SideBySide:
        """Return Omega."""
        return SideBySide(SparseOperator.of(self.left), SparseOperator.of(self.right))


class TwoStepCCA(_Eigenwords):
    """TSCCA of Eigenwords: first left against right contexts, then the word against what they share.

    Step one is the CCA of the left words L and the right words R of a token. Their covariance is the number of times
    a word stands before another, which the directional counts hold (neighboring words too, which the paper
    omits). It yields projections ``P_L``, ``P_R`` to d dimensions and canonical correlations s. Step two is the CCA of the
    word and the state ``S = [P_L'L, P_R'R]``. In canonical coordinates the covariance of the state needs no counting:

        C_SS = [ I       diag(s) ]        so that  C_SS^(-1/2)  mixes only the two numbers of one canonical pair.
               [ diag(s) I       ]
    """

    def operator(self, dimension: int) -> DenseOperator:
        """Return the whitened covariance of words and states, one row per word and 2·``dimension`` columns."""
        run = self.run
        # Omega_left has one row per word and one column per preceding word: left against right contexts.
        left = SparseOperator.of(self.left)
        after, correlations, before = top_singular(left, dimension, run, name="left-and-right")
        states = np.concatenate([left.times(before, run), SparseOperator.of(self.right).times(after, run)], axis=1)
        return DenseOperator(times_small(states, state_whitening(correlations), run))


def state_whitening(correlations: Array) -> Array:
    """Return ``C_SS^(-1/2)`` for canonical correlations; zero for directions without variance.

    >>> np.round(state_whitening(np.array([0.0])), 3)
    array([[1., 0.],
           [0., 1.]])
    """
    off = np.diag(np.minimum(correlations, 1.0))
    identity = np.eye(correlations.size)
    values, vectors = eigh(np.block([[identity, off], [off, identity]]))
    return np.asarray((vectors * inverse_powers(np.where(values > 1e-6, values, 0), 0.5)) @ vectors.T)


def _whitened(matrix: Any, power: float) -> Any:
    """Return ``X^a`` of a SciPy CSR array, divided by the square roots of its row and column sums."""
    import scipy.sparse

    values = np.power(matrix.data, power, dtype=np.float64)
    ones = np.ones(matrix.shape[0])
    transformed = scipy.sparse.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)
    rows, columns = (inverse_powers(sums, 0.5) for sums in (transformed @ ones, transformed.T @ ones))
    values *= np.repeat(rows, np.diff(matrix.indptr))
    values *= columns[matrix.indices]
    return transformed.astype(np.float32)
