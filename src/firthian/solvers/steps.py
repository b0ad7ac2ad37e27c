"""How far to go, given a gradient: rules that move one side of a model.

With a shared matrix M = sum_j q_j c_j c_j' / sum q, the Hessian of row i is nearly mass_i·M, so one d×d problem serves all
rows. Which mass is a matter of taste. The true curvature (``newton``) reaches the lowest loss. The number of draws behind a
row (``damped``) is larger, so rows with confident predictors move slowly; stopped after a few sweeps this regularises, and
the vectors are better at every task we have (docs/derivations/exponential_family.md).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from firthian.models.exponential_family import Side
from firthian.run import Run
from firthian.solvers.tall import eigh, inner, times_small
from firthian.solvers.unseen import Gradient, Unseen

Array = np.ndarray[Any, np.dtype[Any]]

#: How often a step is halved before the old place is kept.
MOST_HALVINGS = 12

#: The longest step of a bias at a time, so that means change by less than a factor of e.
LONGEST_BIAS_STEP = 1.0


class Step(Protocol):
    """A rule."""

    #: Whether it needs the loss at the place where the gradient is taken.
    needs_value: bool
    #: How often it had to be more careful than it wanted.
    halvings: int

    def move(self, side: Side, gradient: Gradient, unseen: Unseen, run: Run, turn: int, ridge: float) -> None:
        """Change ``side.left`` (and its bias, where it is fitted) in place."""
        ...


class Damped:
    """``(damping·M + floor)⁻¹ · gradient / draws``: no line search, and regularised by its slowness."""

    needs_value = False

    def __init__(self, damping: float = 0.1, floor: float = 0.1) -> None:
        self.damping, self.floor = damping, floor
        self.halvings = 0

    def move(self, side: Side, gradient: Gradient, unseen: Unseen, run: Run, turn: int, ridge: float) -> None:
        """Take the step."""
        direction, bias = directions(side, gradient, side.events, ridge, self.damping, self.damping * self.floor, run)
        np.subtract(side.left, direction, out=side.left)
        if side.learns_bias:
            side.left_bias[:] -= bias


class Newton:
    """Rows scaled by their true curvature, halved until the loss falls."""

    needs_value = True

    def __init__(self, floor: float = 1e-3) -> None:
        self.floor = floor
        self.halvings = 0

    def move(self, side: Side, gradient: Gradient, unseen: Unseen, run: Run, turn: int, ridge: float) -> None:
        """Take the longest step of 1, 1/2, 1/4, ... that lowers the loss."""
        mass = np.maximum(gradient.curvature, 1e-6 * side.events)
        direction, bias = directions(side, gradient, mass, ridge, 1.0, self.floor, run)
        old, old_bias = side.left.copy(), side.left_bias.copy()
        before = gradient.loss + penalty(side.left, ridge)
        for halving in range(MOST_HALVINGS + 1):
            part = 0.5**halving if halving < MOST_HALVINGS else 0.0
            np.subtract(old, np.float32(part) * direction, out=side.left)
            if side.learns_bias:
                side.left_bias[:] = old_bias - part * bias
            if part == 0 or unseen.loss(side, run, turn) + penalty(side.left, ridge) < before:
                break
            self.halvings += 1


class Descent:
    """Plain gradient descent with one step for all rows, as AMEMF; ``auto`` is 1/L, with which the loss never rises.

    sigma' <= 1/4, so the Hessian of row i is below sum_j Q_ij c_j c_j' / 4, and that below sum_j max_i Q_ij c_j c_j' / 4
    for every row: its largest eigenvalue is L.
    """

    needs_value = False

    def __init__(self, rate: float | str = "auto") -> None:
        self.rate = rate
        self.halvings = 0

    def move(self, side: Side, gradient: Gradient, unseen: Unseen, run: Run, turn: int, ridge: float) -> None:
        """Take the step."""
        rate = 1 / (lipschitz(side, run) + ridge) if self.rate == "auto" else float(self.rate)
        side.left[:] -= np.float32(rate) * (gradient.vectors + np.float32(ridge) * side.left)


def directions(
    side: Side, gradient: Gradient, mass: Array, ridge: float, damping: float, floor: float, run: Run
) -> tuple[Array, Array]:
    """Give ``(damping·M + floor + ridge/mass)⁻¹·g/mass`` for each row, and the bias's step."""
    mass = np.maximum(mass, 1e-12)
    share = side.right_share / side.right_share.sum()
    gram = inner(side.right, share.astype(np.float32)[:, np.newaxis] * side.right, run)
    values, axes = eigh(damping * gram)
    inverse = 1 / (np.maximum(values, 0) + floor + (ridge / mass)[:, np.newaxis])
    slope = (gradient.vectors + np.float32(ridge) * side.left) / mass[:, np.newaxis].astype(np.float32)
    turned = times_small(slope, axes, run)
    direction = times_small(np.multiply(turned, inverse, out=turned), axes.T, run)
    return direction, np.clip(gradient.bias / mass, -LONGEST_BIAS_STEP, LONGEST_BIAS_STEP)


def lipschitz(side: Side, run: Run) -> float:
    """Bound the largest eigenvalue of every row's Hessian of the binomial loss."""
    largest = np.zeros(len(side.right))
    np.maximum.at(largest, side.pairs.indices, side.pairs.values)
    largest += side.left_share.max() * side.right_share
    gram = inner(side.right, largest.astype(np.float32)[:, np.newaxis] * side.right, run)
    return max(float(eigh(gram)[0][-1]) / 4, 1e-12)


def penalty(vectors: Array, ridge: float) -> float:
    """ridge/2·|A|²."""
    return 0.5 * ridge * float(np.square(vectors, dtype=np.float64).sum()) if ridge > 0 else 0.0


def choose(step: str, damping: float = 0.1) -> Step:
    """Find a rule by its name."""
    return Newton() if step == "newton" else Damped(damping)
