"""The slow twin of variational logistic factorization: dense arrays, one equation a line, no background trick.

Equation numbers are those of docs/derivations/bayes.md. ``tied`` marks the pairs of a row that share one xi.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, expit, gammaln


def lam(xi):
    return np.where(xi < 1e-3, 0.125 - xi**2 / 96, np.tanh(np.maximum(xi, 1e-3) / 2) / (4 * np.maximum(xi, 1e-3)))


@dataclass
class Dense:
    """Everything about a small problem, as dense arrays; biases are the last coordinates, as in the solver."""

    positive: np.ndarray
    negative: np.ndarray
    tied: np.ndarray
    bound: str
    word_mean: np.ndarray
    word_cov: np.ndarray
    context_mean: np.ndarray
    context_cov: np.ndarray
    word_free: np.ndarray
    context_free: np.ndarray
    dimension: int
    bias_precision: float
    a0: float
    b0: float
    shape: float
    rates: np.ndarray
    diagonal: bool = False

    @property
    def total(self):
        return self.positive + self.negative

    def eta(self):
        """E[eta] and E[eta²] of every pair."""
        mean = self.word_mean @ self.context_mean.T
        first = self.word_cov + np.einsum("ia,ib->iab", self.word_mean, self.word_mean)
        second = self.context_cov + np.einsum("ja,jb->jab", self.context_mean, self.context_mean)
        return mean, np.einsum("iab,jab->ij", first, second)

    def parameters(self):
        """The best curvature and slope of the bound of each pair."""
        mean, square = self.eta()
        for i in range(len(mean)):
            weight = np.where(self.tied[i], self.negative[i], 0)
            if weight.sum() > 0:
                square[i, self.tied[i]] = weight @ square[i] / weight.sum()
                mean[i, self.tied[i]] = weight @ mean[i] / weight.sum()
        if self.bound == "jaakkola":
            return lam(np.sqrt(square)), self.positive - self.total / 2
        return np.full(mean.shape, 0.125), self.positive - self.total * (expit(mean) - mean / 4)

    def word_prior(self):
        return np.where(np.arange(self.word_free.size) < self.dimension, 1.0, self.bias_precision)

    def context_prior(self):
        prior = np.full(self.context_free.size, self.bias_precision)
        prior[: self.dimension] = self.shape / self.rates
        return prior

    def update_words(self):
        curvature, slope = self.parameters()
        self._update(2 * self.total * curvature, slope, self.word_prior(), True)

    def update_contexts(self):
        curvature, slope = self.parameters()
        self._update((2 * self.total * curvature).T, slope.T, self.context_prior(), False)
        squares = np.einsum("jaa->a", self.context_cov) + np.sum(self.context_mean**2, axis=0)
        self.shape = self.a0 + len(self.context_mean) / 2
        self.rates = self.b0 + squares[: self.dimension] / 2

    def _update(self, weight, slope, prior, words):
        own, cov, free = (
            (self.word_mean, self.word_cov, self.word_free)
            if words
            else (self.context_mean, self.context_cov, self.context_free)
        )
        other, other_cov = (self.context_mean, self.context_cov) if words else (self.word_mean, self.word_cov)
        fixed = np.setdiff1d(np.arange(own.shape[1]), free)
        moments = other_cov + np.einsum("ja,jb->jab", other, other)
        for i in range(len(own)):
            matrix = np.einsum("j,jab->ab", weight[i], moments)
            precision = np.diag(prior) + matrix[np.ix_(free, free)]
            inverse = np.linalg.inv(precision)
            right = (slope[i] @ other)[free] - matrix[np.ix_(free, fixed)].sum(axis=1)
            own[i, free] = inverse @ right
            cov[i] = 0
            cov[i][np.ix_(free, free)] = np.diag(1 / np.diag(precision)) if self.diagonal else inverse

    def elbo(self):
        """Data, then minus the divergence of each factor."""
        mean, square = self.eta()
        tied_mean, tied_square = mean.copy(), square.copy()
        for i in range(len(mean)):
            weight = np.where(self.tied[i], self.negative[i], 0)
            if weight.sum() > 0:
                tied_square[i, self.tied[i]] = weight @ square[i] / weight.sum()
                tied_mean[i, self.tied[i]] = weight @ mean[i] / weight.sum()
        if self.bound == "jaakkola":
            xi = np.sqrt(tied_square)
            value = np.sum((self.positive - self.total / 2) * mean - self.total * np.log(2 * np.cosh(xi / 2)))
        else:
            spread = tied_square - tied_mean**2
            value = np.sum(self.positive * mean - self.total * (np.logaddexp(0, tied_mean) + spread / 8))
        log_alpha = digamma(self.shape) - np.log(self.rates)
        log_prior = np.log(self.context_prior())
        log_prior[: self.dimension] = log_alpha
        for own, cov, free, prior, logs in (
            (self.word_mean, self.word_cov, self.word_free, self.word_prior(), np.log(self.word_prior())),
            (self.context_mean, self.context_cov, self.context_free, self.context_prior(), log_prior),
        ):
            for m, s in zip(own[:, free], cov[:, free][:, :, free], strict=True):
                square_sum = m**2 + np.diag(s)
                value -= 0.5 * (prior @ square_sum - free.size - np.linalg.slogdet(s)[1] - logs.sum())
        a, a0, b, b0 = self.shape, self.a0, self.rates, self.b0
        entropy = a - np.log(b) + gammaln(a) + (1 - a) * digamma(a)
        return value + np.sum((a0 - 1) * log_alpha - b0 * a / b + a0 * np.log(b0) - gammaln(a0) + entropy)
