"""Tests of one word between slices: distance of its means, and permutations of the units between the slices.

A unit d has the mean image y_d of the word's contexts there, with weight w_d. The mean of slice s is a_s = sum w_d·y_d / W_s,
W_s = sum w_d, with the variance (in all dimensions together) t_s = sum w_d²·|y_d - a_s|² / (W_s² - sum w_d²). The statistic
is the mean of |a_s - a_t|² over pairs of slices, divided by the mean of t_s + t_t. Because of this division, a word that is
only more frequent in one slice, whose mean there is more precise, is not called changed. Labels enter only as 0 and 1, so
all permutations are products with the Gram matrix of the units.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from firthian.arrays import Array
from firthian.runtime.run import Run

#: Permutations continue, in rounds, until this many are as extreme as the slices, or for MOST_ROUNDS.
ENOUGH, MOST_ROUNDS = 10, 20

#: Ties: a permutation that moves nothing of the word must not count as less extreme because of rounding.
TOLERANCE = 1e-4

_PERMUTATIONS = "change: permutations"


class Labels:
    """The slices of the units, observed and permuted; round n depends only on the seed and n."""

    def __init__(self, observed: Array, slices: int, permutations: int, run: Run) -> None:
        self.observed, self.slices, self.permutations = observed.astype(np.int8), slices, permutations
        self._run, self._lock = run, threading.Lock()
        self._rounds: dict[int, Array] = {}

    def round(self, number: int) -> Array:
        """Return a row of slices per permutation."""
        with self._lock:
            if number not in self._rounds:
                generator = self._run.generator(_PERMUTATIONS, number)
                rows = np.tile(self.observed, (self.permutations, 1))
                self._rounds[number] = generator.permuted(rows, axis=1)
            return self._rounds[number]


class _Moments(NamedTuple):
    """Of the units of a slice, for each labeling: number, W, |sum w·y|², sum w²·y · sum w·y, sum w²·|y|², sum w²."""

    units: Array
    weight: Array
    square: Array
    cross: Array
    noise: Array
    weight2: Array

    def variance(self) -> Array:
        """Return t_s, and NaN where fewer than two units are in the slice."""
        free = self.weight**2 - self.weight2
        with np.errstate(invalid="ignore", divide="ignore"):
            sums = self.noise - 2 * self.cross / self.weight + self.square * self.weight2 / self.weight**2
            return np.asarray(np.where(self.units > 1.5, np.maximum(sums, 0) / free, np.nan))


class UnitMeans:
    """The means of one word in the units where it occurs, centered, and their weights."""

    def __init__(self, means: Array, weights: Array) -> None:
        self.weights = weights.astype(np.float64)
        total = self.weights.sum()
        center = self.weights @ means / total
        self.means = means.astype(np.float64) - center
        first, second = self.weights[:, None] * self.means, np.square(self.weights)[:, None] * self.means
        # Scaled, so that single precision is enough for any word.
        self._scale = float(np.sqrt(np.square(first).sum() / max(len(means), 1))) or 1.0
        first, second = first / self._scale, second / self._scale
        self._gram = np.concatenate([first @ first.T, second @ first.T], axis=1).astype(np.float32)
        noise = np.square(self.weights) * np.square(self.means).sum(axis=1)
        self._columns = np.stack(
            [
                np.ones(self.weights.size), self.weights, noise, np.square(self.weights),
                first @ second.sum(axis=0) * self._scale**2,
            ],
            axis=1,
        )  # fmt: skip

    def _inside(self, inside: Array) -> tuple[_Moments, Array]:
        units = self.weights.size
        products = inside @ self._gram
        square, cross = (
            np.einsum("bi,bi->b", products[:, part], inside).astype(np.float64) * self._scale**2
            for part in (slice(0, units), slice(units, None))
        )
        # In double precision: differences of these decide whether a slice has units at all.
        number, weight, noise, weight2, rest = (inside.astype(np.float64) @ self._columns).T
        return _Moments(number, weight, square, cross, noise, weight2), rest

    def distances(self, labels: Array, slices: int) -> tuple[Array, Array]:
        """Return the mean squared distance of two slices and its expectation without a change, for each row of labels.

        Both are NaN if fewer than two slices have two units with the word.
        """
        if slices == 2:
            inside = np.ascontiguousarray(labels == 0).astype(np.float32)
            one, rest = self._inside(inside)
            totals = self._columns.sum(axis=0)
            # All units together have mean 0, so the sums of the slices are opposite.
            other = _Moments(
                totals[0] - one.units, totals[1] - one.weight, one.square, one.cross - rest, totals[2] - one.noise,
                totals[3] - one.weight2,
            )  # fmt: skip
            with np.errstate(invalid="ignore", divide="ignore"):
                distance = one.square * (1 / one.weight + 1 / other.weight) ** 2
            expected = one.variance() + other.variance()
            return np.where(np.isnan(expected), np.nan, distance), expected
        count, squares, variances = (np.zeros(len(labels)) for _ in range(3))
        sums = np.zeros(labels.shape, dtype=np.float32)
        for number in range(slices):
            inside = np.ascontiguousarray(labels == number).astype(np.float32)
            part, _ = self._inside(inside)
            variance = part.variance()
            used = ~np.isnan(variance)
            inverse = np.divide(1, part.weight, out=np.zeros_like(variance), where=used)
            count += used
            variances += np.where(used, variance, 0)
            squares += part.square * inverse**2
            sums += inside * inverse[:, None].astype(np.float32)
        together = np.einsum("bi,bi->b", sums @ self._gram[:, : self.weights.size], sums) * self._scale**2
        with np.errstate(invalid="ignore", divide="ignore"):
            # sum over pairs of |a_s - a_t|² = k·sum |a_s|² - |sum a_s|²
            distance = (count * squares - together) / (count * (count - 1) / 2)
            expected = 2 * variances / count
        return np.where(count < 2, np.nan, distance), np.where(count < 2, np.nan, expected)

    def statistics(self, labels: Array, slices: int) -> Array:
        """Return the statistic for each row of labels; NaN where it is not defined."""
        distance, expected = self.distances(labels, slices)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where(expected > 0, distance / expected, np.where(distance > 0, np.inf, np.nan)))

    def standard_error(self, labels: Array, slices: int) -> float:
        """Return the standard error of the mean squared distance, from the covariance C of the slices' means.

        For two slices with difference D it is sqrt(4·D'CD + 2·tr C²).
        """
        variance, pairs = 0.0, 0
        covariances = [self._covariance(labels == number) for number in range(slices)]
        for first in range(slices):
            for second in range(first):
                (a, p), (b, r) = covariances[first], covariances[second]
                if p is None or r is None:
                    continue
                rows = np.concatenate([p, r])
                difference = a - b
                gram = rows @ rows.T
                along = np.square(rows @ difference).sum()
                variance += 4 * along + 2 * np.square(gram).sum()
                pairs += 1
        return float(np.sqrt(variance) / pairs) if pairs else float("nan")

    def _covariance(self, inside: Array) -> tuple[Array, Array | None]:
        weights, means = self.weights[inside], self.means[inside]
        free = weights.sum() ** 2 - np.square(weights).sum()
        if weights.size < 2 or free <= 0:
            return np.zeros(means.shape[1]), None
        mean = weights @ means / weights.sum()
        return mean, weights[:, None] * (means - mean) / np.sqrt(free)


@dataclass(frozen=True)
class WordTest:
    """How far apart the slices of a word are: mean squared distance of two, the part that chance explains, p."""

    distance: float
    expected: float
    se: float
    p: float
    #: Permutations for which the statistic is defined.
    permutations: int


def test_word(units: UnitMeans, present: Array, labels: Labels) -> WordTest | None:
    """Test a word that occurs in the units ``present``; None if fewer than two slices have two units with it.

    Permutations without a statistic are left out: p is conditional on there being one. Words with a small p are permuted up
    to MOST_ROUNDS times as often, until ENOUGH permutations are as extreme (Besag and Clifford 1991).
    """
    observed = labels.observed[present]
    distance, expected = (float(part[0]) for part in units.distances(observed[None], labels.slices))
    statistic = float(units.statistics(observed[None], labels.slices)[0])
    if np.isnan(statistic):
        return None
    bound = statistic - TOLERANCE * abs(statistic)
    extreme = valid = 0
    for number in range(MOST_ROUNDS):
        found = units.statistics(labels.round(number)[:, present], labels.slices)
        extreme += int(np.count_nonzero(found >= bound))
        valid += int(np.count_nonzero(~np.isnan(found)))
        if extreme >= ENOUGH:
            break
    se = units.standard_error(observed, labels.slices)
    return WordTest(distance, expected, se, (1 + extreme) / (1 + valid), valid)


test_word.__test__ = False  # type: ignore[attr-defined]
