"""The words, or the contexts, of a text that is read in batches: their posteriors and what the batches taught."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firthian.arrays import Array
from firthian.learn.bayes.posterior import Gaussians

#: The arrays of one side that a batch changes in the rows of its words.
CHANGING = ("means", "moments", "half", "curved", "pull", "push", "positive", "negative")

#: The arrays of one side, as they are saved.
SAVED = (*CHANGING, "mass")


@dataclass
class Side:
    """The words, or the contexts: their posteriors, and what positive events taught about them.

    ``half`` (half the precision, packed) and ``pull - push`` (precision times mean) are the data's part of the natural
    parameters; ``pull`` comes from positive events, ``push`` from negative ones. They stand for ``positive`` and
    ``negative`` events in the whole text; ``mass`` is the number of positive events seen. ``curved`` is ``half`` with the
    curvature of the logistic function instead of the bound's, for words only.
    """

    means: Array
    moments: Array
    half: Array
    curved: Array
    pull: Array
    push: Array
    positive: Array
    negative: Array
    mass: Array

    @classmethod
    def of(cls, means: Array, variance: float | Array, curved: bool) -> Side:
        """Start with these means, one variance (or one for each coordinate), and nothing learned."""
        return cls.fitted(gaussians(means, variance), curved)

    @classmethod
    def fitted(cls, side: Gaussians, curved: bool) -> Side:
        """Start with these posteriors and nothing learned."""
        rows, shape = side.rows, side.means.shape
        return cls(
            side.means, side.moments, half=np.zeros_like(side.moments),
            curved=np.zeros((rows, side.width if curved else 0), dtype=np.float32), pull=np.zeros(shape), push=np.zeros(shape),
            positive=np.zeros(rows), negative=np.zeros(rows), mass=np.zeros(rows),
        )  # fmt: skip

    def append(self, other: Side) -> None:
        """Add the rows of another side after these."""
        for name in SAVED:
            setattr(self, name, np.concatenate([getattr(self, name), getattr(other, name)]))

    def posteriors(self) -> Gaussians:
        """Return the posteriors, without covariances, sharing memory with this side."""
        side = gaussians(np.zeros((0, self.means.shape[1])), 1.0)
        side.means, side.moments, side.log_determinants = self.means, self.moments, np.zeros(self.mass.size)
        return side

    def arrays(self, name: str) -> dict[str, Array]:
        """Return all arrays, for a checkpoint."""
        return {f"{name}_{part}": getattr(self, part) for part in SAVED}


def gaussians(means: Array, variance: float | Array) -> Gaussians:
    """Return Gaussians with full covariances and without biases, in float32."""
    return Gaussians(means, variance, np.arange(means.shape[1]), np.empty(0, dtype=np.int64), False, np.float32)


@dataclass(frozen=True)
class Before:
    """The rows of a side that a batch changes, as they were."""

    rows: Array
    #: Where each row of the side is among them.
    place: Array
    values: dict[str, Array]

    @classmethod
    def of(cls, side: Side, seen: Array) -> Before:
        """Copy the rows of which there are events."""
        rows = np.flatnonzero(seen > 0)
        place = np.zeros(seen.size, dtype=np.int64)
        place[rows] = np.arange(rows.size)
        return cls(rows, place, {name: getattr(side, name)[rows] for name in SAVED})

    def restore(self, side: Side, size: int) -> None:
        """Put the old values back and drop rows after ``size``."""
        for name, values in self.values.items():
            getattr(side, name)[self.rows] = values
            setattr(side, name, getattr(side, name)[:size])


@dataclass(frozen=True)
class Goal:
    """What a batch's rounds aim at: each moves a word from where it was before the batch by its step size.

    ``positive`` and ``negative`` are the events of each word in the whole text.
    """

    steps: Array
    positive: Array
    negative: Array
    before: Before

    def move(self, side: Side, rows: Array, batch: dict[str, Array]) -> None:
        """theta <- (1 - rho) theta + rho·theta of the batch, both scaled to the events of the whole text."""
        old = {name: values[self.before.place[rows]] for name, values in self.before.values.items()}
        now = self.positive[rows], self.negative[rows]
        growth = dict(zip(("pull", "push", "half"), event_growth(*now, old["positive"], old["negative"]), strict=True))
        growth["curved"] = growth["half"]
        for name, new in batch.items():
            keep = (1 - self.steps[rows]) * growth[name]
            getattr(side, name)[rows] = keep[:, None] * old[name] + self.steps[rows, None] * new
        side.positive[rows], side.negative[rows] = now


def event_growth(
    positive: Array, negative: Array, old_positive: Array, old_negative: Array
) -> tuple[Array, Array, Array]:
    """Return the factors from the old to the new number of positive, negative and all events; 0 if there were none."""
    pairs = (positive, old_positive), (negative, old_negative), (positive + negative, old_positive + old_negative)
    pulls, pushes, halves = (np.divide(new, old, out=np.zeros_like(new), where=old > 0) for new, old in pairs)
    return pulls, pushes, halves


def solve_rows(side: Side, rows: Array, prior: Array) -> int:
    """Compute the posteriors of some rows, without covariances; return the number that failed."""
    nothing, linear = np.empty((0, 0), dtype=np.float32), side.pull[rows] - side.push[rows]
    return compute_posteriors(
        side.half[rows], linear, prior, rows, side.means, side.moments, nothing, np.empty(side.mass.size)
    )


def compute_posteriors(half: Array, linear: Array, prior: Array, rows: Array, *arrays: Array) -> int:
    """Compute posteriors from their natural parameters; see the kernel ``posterior``."""
    from firthian.kernels.bayes import posterior

    no_background, none = np.zeros_like(half), np.empty(0, dtype=np.int64)
    return int(
        posterior(
            half, no_background, linear, np.zeros(half.shape[1]), np.zeros(rows.size), prior,
            np.arange(linear.shape[1]), none, False, rows, *arrays,
        )
    )  # fmt: skip
