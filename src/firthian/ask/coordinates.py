"""Coordinates for means of contexts, in which a word's units vary equally in all directions, weighted by how words differ.

A plain distance would be dominated by topic and style, in which documents differ whatever the word. A changed word moves to
where other words are, so each direction is weighted by the square root of the variance between words: halfway between a test
for changes in any direction and one for changes distributed like differences between words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from firthian.arrays import Array

#: The weight of a unit with n contexts is n / (1 + n / SATURATION): a unit says no more than this many contexts, because
#: contexts within a document are alike. A slice's vector is held by a prior worth as many.
SATURATION = 50.0

#: Minimum units of a word that determines the coordinates; with fewer than LEAST_WORDS such words, directions are not weighted.
LEAST_UNITS, LEAST_WORDS = 10, 30


def unit_means(scores: Array, mass: Array) -> tuple[Array, Array]:
    """Return the mean of each unit, and the weight of the unit."""
    return scores / mass[:, None], (mass / (1 + mass / SATURATION)).astype(np.float64)


@dataclass
class Moments:
    """Sums over words: of products of units' means within a word and between words, and of units' means."""

    squares: Array
    sums: Array
    weight: Array
    share: Array
    #: Products of the errors of the words' centers.
    noise: Array
    centers: list[Array] = field(default_factory=list)

    @classmethod
    def of(cls, units: int, dimension: int) -> Moments:
        """Return empty sums."""
        square = (dimension, dimension)
        return cls(np.zeros(square), np.zeros((units, dimension)), np.zeros(units), np.zeros(units), np.zeros(square))

    @classmethod
    def joined(cls, parts: Sequence[Moments]) -> Moments:
        """Add up parts, in their order."""
        whole = parts[0]
        for part in parts[1:]:
            for name in ("squares", "sums", "weight", "share", "noise"):
                setattr(whole, name, getattr(whole, name) + getattr(part, name))
            whole.centers += part.centers
        return whole

    def add(self, scores: Array, mass: Array) -> None:
        """Add a word: the sums of its contexts in each unit, and their mass."""
        present = mass > 0
        if present.sum() < LEAST_UNITS:
            return
        means, weights = unit_means(scores[present], mass[present])
        total = weights.sum()
        center = weights @ means / total
        away = means - center
        self.squares += (away * weights[:, None]).T @ away / total
        self.noise += (away * np.square(weights / total)[:, None]).T @ away
        self.sums[present] += weights[:, None] * away
        self.weight[present] += weights
        self.share[present] += weights / total
        self.centers.append(center)

    def coordinates(self) -> tuple[Array, Array]:
        """Return the axes, such that a unit is on average at a squared distance of 1 from the mean of its word, and the shifts.

        The shift of a unit is what the means of all words there have in common: it says something about the unit, not about any
        word.
        """
        used, dimension = len(self.centers), len(self.squares)
        shifts = self.sums / np.maximum(self.weight, 1e-12)[:, None]
        # What is left around the shifts, approximately: they are common to all words.
        covariance = self.squares - (shifts * self.share[:, None]).T @ shifts
        if np.trace(covariance) <= 1e-3 * np.trace(self.squares):
            # The shifts explain all, as in a few words that always occur together: take how units vary with their shifts.
            covariance = self.squares
        values, axes = np.linalg.eigh(covariance / used)
        values = np.maximum(values, max(1e-4 * values.mean(), 1e-12))
        axes = axes / np.sqrt(values * dimension)
        if used < LEAST_WORDS:
            return axes, shifts
        between = np.cov(np.array(self.centers), rowvar=False) - self.noise / used
        variances, directions = np.linalg.eigh(axes.T @ between @ axes)
        weights = np.sqrt(np.maximum(variances, 0))
        if not weights.any():
            return axes, shifts
        return axes @ (directions * np.sqrt(weights / weights.mean())), shifts
