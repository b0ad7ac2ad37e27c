"""Automatic relevance determination: a precision for each dimension, learned, that switches unused ones off.

alpha_k ~ Gamma(a0, b0) is the prior precision of dimension k of every context vector. Its posterior is
Gamma(a0 + V/2, b0 + 1/2 sum_j E[c_jk²]), for each k (the thesis prints one sum over all k; see docs/derivations/bayes.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firthian.arrays import Array


@dataclass(frozen=True)
class Relevance:
    """The Gamma posterior of each precision: a shape that all share, a rate for each dimension.

    >>> Relevance.start(2, 1e-3, 1e-3).update(10, np.array([10.0, 1e-4])).mean.round(-1)
    array([   0., 4760.])
    """

    shape0: float
    rate0: float
    shape: float
    rates: Array

    @classmethod
    def start(cls, dimension: int, shape0: float, rate0: float) -> Relevance:
        """Begin with a mean precision of 1."""
        return cls(shape0, rate0, 1.0, np.ones(dimension))

    @property
    def mean(self) -> Array:
        """E[alpha]."""
        return self.shape / self.rates

    @property
    def mean_log(self) -> Array:
        """E[log alpha]."""
        from scipy.special import digamma

        return np.asarray(digamma(self.shape) - np.log(self.rates))

    def update(self, rows: int, squares: Array) -> Relevance:
        """Return the posterior after ``rows`` vectors with ``squares[k]`` = sum_j E[c_jk²]."""
        return Relevance(self.shape0, self.rate0, self.shape0 + rows / 2, self.rate0 + squares / 2)

    def divergence(self) -> float:
        """KL(q(alpha) || p(alpha)), summed over the dimensions."""
        from scipy.special import digamma, gammaln

        a, a0, b, b0 = self.shape, self.shape0, self.rates, self.rate0
        terms = (a - a0) * digamma(a) - gammaln(a) + gammaln(a0) + a0 * (np.log(b) - np.log(b0)) + a * (b0 - b) / b
        return float(np.sum(terms))
