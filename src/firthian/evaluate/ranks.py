"""Spearman's correlation, its bootstrap, and tests of a difference between two models.

A resample is a row of multiplicities: how often each pair was drawn. Its mid-ranks follow from a running sum of the
multiplicities in sorted order, so the values are sorted once.
"""

from __future__ import annotations

import math

import numpy as np

from firthian.arrays import Array

#: Bootstrap resamples, and how many are computed at once.
RESAMPLES = 2000
_BATCH = 100


def spearman(one: Array, other: Array) -> float:
    """Return Spearman's rank correlation, with mid-ranks for ties; NaN if a side is constant.

    >>> spearman(np.array([1, 2, 3, 4]), np.array([10, 30, 20, 40]))
    0.8
    """
    if len(one) < 2:
        return math.nan
    ones = np.ones((1, len(one)))
    return float(np.round(_correlations(_Ranked(one), _Ranked(other), ones)[0], 15))


class _Ranked:
    """Sorted values, ready for mid-ranks under any multiplicities."""

    def __init__(self, values: Array) -> None:
        _, inverse = np.unique(values, return_inverse=True)
        self.order = np.argsort(inverse, kind="stable")
        self.group = inverse
        self.starts = np.searchsorted(inverse[self.order], np.arange(inverse.max() + 1))

    def ranks(self, times: Array) -> Array:
        """Return each value's mid-rank for each row of multiplicities."""
        sums = np.add.reduceat(times[:, self.order], self.starts, axis=1)
        middle: Array = np.cumsum(sums, axis=1) - (sums - 1) / 2
        ranks: Array = middle[:, self.group]
        return ranks


def _correlations(one: _Ranked, other: _Ranked, times: Array) -> Array:
    """Return the rank correlation for each row of multiplicities; NaN if a side is constant."""
    drawn = times.sum(axis=1, keepdims=True)
    # The mean of mid-ranks is (n + 1)/2 with or without ties.
    left, right = one.ranks(times) - (drawn + 1) / 2, other.ranks(times) - (drawn + 1) / 2
    weighted = times * left
    covariance = np.einsum("ij,ij->i", weighted, right)
    variance = np.einsum("ij,ij->i", weighted, left) * np.einsum("ij,ij,ij->i", times, right, right)
    result = np.full(len(times), np.nan)
    np.divide(covariance, np.sqrt(variance), out=result, where=variance > 0)
    return result


def bootstrap(human: Array, models: list[Array], random: np.random.Generator, resamples: int = RESAMPLES) -> Array:
    """Return Spearman's correlation of each model with human ratings, on the same resamples of the pairs for every model.

    The result has one row per resample and one column per model.
    """
    pairs = len(human)
    people, ranked = _Ranked(human), [_Ranked(model) for model in models]
    result = np.empty((resamples, len(models)))
    for first in range(0, resamples, _BATCH):
        last = min(first + _BATCH, resamples)
        drawn = random.integers(0, pairs, size=(last - first, pairs))
        drawn += np.arange(last - first)[:, None] * pairs
        times = np.bincount(drawn.ravel(), minlength=(last - first) * pairs).reshape(-1, pairs).astype(np.float64)
        for column, model in enumerate(ranked):
            result[first:last, column] = _correlations(people, model, times)
    return result


def interval(samples: Array, level: float = 0.95) -> tuple[float, float] | None:
    """Return the percentile interval of bootstrap samples; None if none is finite."""
    samples = samples[np.isfinite(samples)]
    if not samples.size:
        return None
    low, high = np.quantile(samples, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def williams(human_one: float, human_other: float, one_other: float, pairs: int) -> float:
    """Return the two-sided p-value of Williams' test that two correlations with the same third variable are equal.

    Williams' t (1959), recommended by Steiger (1980, eq. 7); an approximation for Spearman's correlation.

    >>> round(williams(0.7, 0.5, 0.6, 100), 4)
    0.0029
    >>> williams(0.5, 0.5, 1.0, 100)
    1.0
    >>> round(williams(0.4, -0.4, -1.0, 4), 4)
    0.738
    """
    from scipy.special import stdtr

    if human_one == human_other:
        return 1.0
    if pairs <= 3:
        return math.nan
    if one_other <= -1:
        # Opposite orders: numerator and denominator of t vanish, and the limit is r·sqrt((n - 3)/(1 - r^2)).
        spread = 1 - human_one**2
        t = human_one * math.sqrt((pairs - 3) / spread) if spread > 0 else math.inf
        return float(2 * stdtr(pairs - 3, -abs(t)))
    determinant = 1 - human_one**2 - human_other**2 - one_other**2 + 2 * human_one * human_other * one_other
    mean = (human_one + human_other) / 2
    numerator = (pairs - 1) * (1 + one_other)
    denominator = 2 * (pairs - 1) / (pairs - 3) * max(determinant, 0.0) + mean**2 * (1 - one_other) ** 3
    if denominator <= 0:
        return 0.0
    t = (human_one - human_other) * math.sqrt(numerator / denominator)
    return float(2 * stdtr(pairs - 3, -abs(t)))


def mcnemar(only_one: int, only_other: int) -> float:
    """Return the exact two-sided p-value of McNemar's test, from how often only one model is right.

    >>> mcnemar(5, 5), round(mcnemar(0, 6), 5)
    (1.0, 0.03125)
    """
    from scipy.special import bdtr

    discordant = only_one + only_other
    if only_one == only_other:
        return 1.0
    return float(min(1.0, 2 * bdtr(min(only_one, only_other), discordant, 0.5)))
