"""How far to go, given a gradient: rules that move one side of a model.

With a shared matrix M = sum_j q_j c_j c_j' / sum q, the Hessian of row i is nearly mass_i·M, so one d×d problem serves all
rows. Which mass is a matter of taste. The true curvature (``newton``) reaches the lowest loss. The number of draws behind a
row (``damped``) is larger, so rows with confident predictors move slowly; stopped after a few sweeps this regularizes, and
the vectors are better at every task we have (docs/derivations/exponential_family.md).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from firthian.arrays import Array
from firthian.learn.likelihood.model import Side
from firthian.learn.likelihood.unseen import Gradient, Unseen
from firthian.learn.linalg.tall import BLOCK, eigh, inner
from firthian.runtime.run import Run

#: How often a row's step is halved before the row stays where it was.
MOST_HALVINGS = 8

#: The longest step of a bias at a time: means change by at most e^2.
LONGEST_BIAS_STEP = 2.0

#: ``prior_events`` are at most this part of what a row has on average: on a small text all words are rare.
PRIOR_PART = 0.1

#: ``damping=auto``: the least, from so many counts on (15 M tokens in windows of 5), the most, and how it grows for fewer.
LEAST_DAMPING, ENOUGH_COUNTS, MOST_DAMPING, DAMPING_POWER = 0.1, 6e7, 0.3, 0.4


class Step(Protocol):
    """A rule."""

    #: Whether it needs the gradient, and the loss at the place where that is taken.
    needs_gradient: bool
    needs_value: bool
    #: How many rows' steps were halved, and how many rows stayed where they were, over all turns.
    halved: int
    kept: int

    def move(self, side: Side, gradient: Gradient, unseen: Unseen, run: Run, turn: int, ridge: float) -> None:
        """Change ``side.left`` (and its bias, where it is fitted) in place."""
        ...


class Preconditioned:
    """``(damping·M + floor)⁻¹ · gradient / (mass + prior)``.

    A ``prior`` of so many events beside a row's own shortens the steps of rare words, which would be fitted too closely after
    as many sweeps as frequent ones need. ``careful`` halves a row's step until the row's own loss does not rise: rows do not
    depend on each other, so the objective cannot rise either.
    """

    needs_gradient = True

    def __init__(
        self,
        damping: float = 0.1,
        floor: float = 0.01,
        curvature: bool = False,
        careful: bool = False,
        prior: float = 0.0,
    ) -> None:
        self.damping, self.floor, self.curvature, self.prior = damping, floor, curvature, prior
        self.needs_value = careful
        self.halved = self.kept = 0

    def move(self, side: Side, gradient: Gradient, unseen: Unseen, run: Run, turn: int, ridge: float) -> None:
        """Take the step."""
        mass = side.events
        if self.curvature:
            mass = np.maximum(gradient.curvature, 1e-6 * mass)
        mass = mass + min(self.prior, PRIOR_PART * float(mass.mean()))
        direction = directions(side, gradient, mass, ridge, self.damping, self.floor, run)
        bias = bias_step(gradient) if side.learns_bias else None
        if not self.needs_value:
            np.subtract(side.left, direction, out=side.left)
            if bias is not None:
                side.left_bias[:] -= bias
            return
        self._search(side, gradient, direction, bias, unseen, run, turn, ridge)

    def _search(
        self,
        side: Side,
        gradient: Gradient,
        direction: Array,
        bias: Array | None,
        unseen: Unseen,
        run: Run,
        turn: int,
        ridge: float,
    ) -> None:
        old, old_bias = side.left.copy(), side.left_bias.copy()
        before = gradient.losses + penalties(old, ridge)
        part = np.ones(len(old))
        waiting = np.ones(len(old), dtype=bool)
        for halving in range(MOST_HALVINGS + 1):
            if halving == MOST_HALVINGS:
                # not by a step of length 0: the direction may be infinite or no number
                side.left[waiting], side.left_bias[waiting] = old[waiting], old_bias[waiting]
                self.kept += int(waiting.sum())
                break
            side.left[waiting] = old[waiting] - part[waiting, np.newaxis].astype(np.float32) * direction[waiting]
            if bias is not None:
                side.left_bias[waiting] = old_bias[waiting] - part[waiting] * bias[waiting]
            # what unseen pairs cost goes with the bias, too
            now = unseen.losses(side.renewed(), run, turn, waiting) + penalties(side.left, ridge)
            # a loss that is not a number counts as risen
            waiting &= ~(np.isfinite(now) & (now <= before + 1e-6 * np.abs(before)))
            if not waiting.any():
                break
            self.halved += int(waiting.sum())
            part[waiting] /= 2


class Descent:
    """Plain gradient descent, as AMEMF; ``auto`` takes 1/L_i for row i, with which the loss never rises.

    Rows do not depend on each other while the other side is held, so each may have a step of its own. One step for all must be
    as short as the most frequent word needs: after 200 turns the vectors of other words have hardly left their start.
    """

    needs_gradient, needs_value = True, False

    def __init__(self, rate: float | str = "auto") -> None:
        self.rate = rate
        self.halved = self.kept = 0

    def move(self, side: Side, gradient: Gradient, unseen: Unseen, run: Run, turn: int, ridge: float) -> None:
        """Take the step."""
        rate = 1 / (lipschitz(side, run) + ridge) if self.rate == "auto" else np.full(len(side.left), float(self.rate))
        side.left[:] -= rate.astype(np.float32)[:, np.newaxis] * (gradient.vectors + np.float32(ridge) * side.left)


def directions(
    side: Side, gradient: Gradient, mass: Array, ridge: float, damping: float, floor: float, run: Run
) -> Array:
    """Return ``(damping·M + floor + ridge/mass)⁻¹·g/mass`` for each row."""
    mass = np.maximum(mass, 1e-12)
    share = side.right_share / side.right_share.sum()
    gram = inner(side.right, share.astype(np.float32)[:, np.newaxis] * side.right, run)
    values, axes = eigh(damping * gram)
    bends, turn = np.maximum(values, 0) + floor, np.ascontiguousarray(axes, dtype=np.float32)
    out = np.empty_like(side.left)

    def fill(begin: int, end: int) -> None:
        part, masses = slice(begin, end), mass[begin:end, np.newaxis]
        slope = gradient.vectors[part]
        if ridge > 0:
            slope = slope + np.float32(ridge) * side.left[part]
        turned = (slope / masses.astype(np.float32)) @ turn
        np.multiply(turned, 1 / (bends + ridge / masses) if ridge > 0 else 1 / bends, out=turned)
        np.matmul(turned, turn.T, out=out[part])

    run.over_rows(fill, len(out), BLOCK, here=True)
    return out


def bias_step(gradient: Gradient) -> Array:
    """Return the step of the biases: to their optimum, if the vectors stayed.

    With a log link the derivative by a is T1 - T2, T1 = sum mu^(2-p) (the curvature) and T2 = sum x·mu^(1-p), which a
    change of the bias by t multiplies by e^((2-p)t) and e^((1-p)t). It is 0 for t = log(T2/T1). (The curvature of unseen pairs
    by a quadratic is (2-p)·mu^(2-p), so a Tweedie family's steps come out a little long; the search shortens them.)
    """
    curvature = np.maximum(gradient.curvature, 1e-12)
    ratio = np.clip(1 - gradient.bias / curvature, np.exp(-LONGEST_BIAS_STEP), np.exp(LONGEST_BIAS_STEP))
    step: Array = -np.log(ratio)
    return step


def lipschitz(side: Side, run: Run) -> Array:
    """Bound the largest eigenvalue of each row's Hessian of the binomial loss.

    sigma' <= 1/4 and Q_ij = X_ij + s_i·t_j, so the Hessian is below (sum_j X_ij c_j c_j' + s_i·sum_j t_j c_j c_j') / 4. The
    first sum is bounded by its trace; of the second, one matrix for all rows, the largest eigenvalue is known.
    """
    lengths = np.square(side.right, dtype=np.float64).sum(axis=1).astype(np.float32)
    seen = side.pairs.row_sums(side.pairs.values * lengths[side.pairs.indices])
    gram = inner(side.right, side.right_share.astype(np.float32)[:, np.newaxis] * side.right, run)
    bounds: Array = np.maximum(0.25 * (seen + side.left_share * float(eigh(gram)[0][-1])), 1e-12)
    return bounds


def penalties(vectors: Array, ridge: float) -> Array:
    """ridge/2·|a|² of each row."""
    if ridge == 0:
        return np.zeros(len(vectors))
    lengths: Array = 0.5 * ridge * np.square(vectors, dtype=np.float64).sum(axis=1)
    return lengths


def usual_damping(counts: float) -> float:
    """Return the damping for so many counts in all: fewer of them are fitted too closely sooner.

    >>> [round(usual_damping(tokens * 4.2), 2) for tokens in (1e6, 3e6, 1.7e7, 7e7)]
    [0.29, 0.19, 0.1, 0.1]
    """
    return float(
        np.clip(LEAST_DAMPING * (ENOUGH_COUNTS / max(counts, 1)) ** DAMPING_POWER, LEAST_DAMPING, MOST_DAMPING)
    )


def choose(step: str, damping: float = 0.1, prior: float = 0.0) -> Step:
    """Find a rule by its name: ``damped`` or ``newton``, which needs neither a damping nor a prior."""
    if step == "newton":
        return Preconditioned(1.0, 1e-3, curvature=True, careful=True)
    return Preconditioned(damping, 0.1 * damping, prior=prior)
