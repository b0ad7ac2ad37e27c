"""Updates: rules that move one side of a model, most of them along a gradient.

With a shared matrix M = sum_j q_j c_j c_j' / sum q, the Hessian of row i is nearly mass_i·M, so one d×d problem serves all
rows. The mass is a choice. The true curvature (``newton``) reaches the lowest loss. The number of events behind a row
(``damped``) is larger, so rows with confident predictors move slowly; stopped after a few sweeps this regularizes, and
the vectors are better at every task tried (docs/derivations/exponential_family.md).
"""

from __future__ import annotations

import numpy as np

from firthian.arrays import Array
from firthian.learn.likelihood.losses import ROWS_AT_ONCE, Gradient, Loss
from firthian.learn.likelihood.model import Side
from firthian.learn.linalg.tall import BLOCK, eigh, times_small, weighted_gram
from firthian.runtime.run import Run

#: How often a row's step is halved before the row stays where it was.
MOST_HALVINGS = 8

#: The longest step of a bias: means change by a factor of at most e^2.
LONGEST_BIAS_STEP = 2.0

#: ``prior_events`` are at most this share of a row's mean events: in a small corpus all words are rare.
PRIOR_SHARE = 0.1

#: ``damping=auto``: the minimum, the number of counts that reaches it (15 M tokens in windows of 5), the maximum, and the
#: exponent of its growth below that number.
LEAST_DAMPING, ENOUGH_COUNTS, MOST_DAMPING, DAMPING_POWER = 0.1, 6e7, 0.3, 0.4

#: Conjugate gradients do not magnify directions whose variance is below this share of the mean.
VARIANCE_FLOOR = 0.1


class Update:
    """A rule that changes ``side.left``, and its bias if that is fitted, in place."""

    #: Whether the rule needs the gradient, and the loss at the same point.
    needs_gradient = True
    needs_value = False
    #: Rows whose steps were halved, and rows that stayed where they were, over all turns.
    halved = 0
    kept = 0

    def move(self, side: Side, gradient: Gradient, loss: Loss, run: Run, turn: int, ridge: float) -> None:
        """Take one step."""
        raise NotImplementedError


class Preconditioned(Update):
    """``(damping·M + floor)⁻¹ · gradient / (mass + prior)``.

    ``prior`` events added to a row's own shorten the steps of rare words, which would otherwise be overfitted after as many
    sweeps as frequent ones need. ``line_search`` halves a row's step until the row's own loss does not rise: rows do not
    depend on each other, so the objective cannot rise either.
    """

    def __init__(
        self,
        damping: float = 0.1,
        floor: float = 0.01,
        curvature: bool = False,
        line_search: bool = False,
        prior: float = 0.0,
    ) -> None:
        self.damping, self.floor, self.curvature, self.prior = damping, floor, curvature, prior
        self.needs_value = line_search

    def move(self, side: Side, gradient: Gradient, loss: Loss, run: Run, turn: int, ridge: float) -> None:
        """Take one step."""
        mass = side.events
        if self.curvature:
            mass = np.maximum(gradient.curvature, 1e-6 * mass)
        mass = mass + min(self.prior, PRIOR_SHARE * float(mass.mean()))
        direction = self._directions(side, gradient, mass, ridge, run)
        bias = bias_step(gradient) if side.learns_bias else None
        if self.needs_value:
            self._search(side, gradient, direction, bias, loss, run, turn, ridge)
            return
        run.over_rows(
            lambda a, b: np.subtract(side.left[a:b], direction[a:b], out=side.left[a:b]), len(direction), here=True
        )
        if bias is not None:
            side.left_bias[:] -= bias

    def _directions(self, side: Side, gradient: Gradient, mass: Array, ridge: float, run: Run) -> Array:
        """Return ``(damping·M + floor + ridge/mass)⁻¹·g/mass`` for each row."""
        mass = np.maximum(mass, 1e-12)
        share = side.right_share / side.right_share.sum()
        gram = weighted_gram(side.right, share, run)[1]
        values, axes = eigh(self.damping * gram)
        curvatures, axes = np.maximum(values, 0) + self.floor, np.ascontiguousarray(axes, dtype=np.float32)
        out = np.empty_like(side.left)

        def fill(begin: int, end: int) -> None:
            part, masses = slice(begin, end), mass[begin:end, np.newaxis]
            slope = gradient.vectors[part]
            if ridge > 0:
                slope = slope + np.float32(ridge) * side.left[part]
            rotated = (slope / masses.astype(np.float32)) @ axes
            np.multiply(rotated, 1 / (curvatures + ridge / masses) if ridge > 0 else 1 / curvatures, out=rotated)
            np.matmul(rotated, axes.T, out=out[part])

        run.over_rows(fill, len(out), BLOCK, here=True)
        return out

    def _search(
        self,
        side: Side,
        gradient: Gradient,
        direction: Array,
        bias: Array | None,
        loss: Loss,
        run: Run,
        turn: int,
        ridge: float,
    ) -> None:
        old, old_bias = side.left.copy(), side.left_bias.copy()
        before = gradient.losses + penalties(old, ridge)
        length = np.ones(len(old))
        active = np.ones(len(old), dtype=np.bool_)
        for halving in range(MOST_HALVINGS + 1):
            if halving == MOST_HALVINGS:
                # not a step of length 0: the direction may be infinite or NaN
                side.left[active], side.left_bias[active] = old[active], old_bias[active]
                self.kept += int(active.sum())
                break
            side.left[active] = old[active] - length[active, np.newaxis].astype(np.float32) * direction[active]
            if bias is not None:
                side.left_bias[active] = old_bias[active] - length[active] * bias[active]
            # the loss of unseen pairs depends on the bias, too
            now = loss.values(side.refresh_shares(), run, turn, active) + penalties(side.left, ridge)
            # NaN counts as risen
            active &= ~(np.isfinite(now) & (now <= before + 1e-6 * np.abs(before)))
            if not active.any():
                break
            self.halved += int(active.sum())
            length[active] /= 2


class ConjugateGradients(Update):
    """Weighted alternating least squares by ``steps`` of conjugate gradients per row (Takács, Pilászy and Tikk 2011).

    ``side.pairs`` holds targets and weights. The steps are preconditioned: coordinates are rotated and scaled so that
    M = sum_j h_j c_j c_j' / sum h, which all rows roughly share, is the identity. A row's bias is one more coordinate, so
    it is fitted together with the vector.
    """

    needs_gradient = False

    def __init__(self, steps: int = 1) -> None:
        self.steps = steps

    def move(self, side: Side, gradient: Gradient, loss: Loss, run: Run, turn: int, ridge: float) -> None:
        """Move each row towards the minimum of its weighted squares, ridge included."""
        from firthian.kernels.likelihood import conjugate_rows

        pairs, dimension = side.pairs, side.left.shape[1]
        share = side.right_share / max(float(side.right_share.sum()), 1e-300)
        values, axes = eigh(weighted_gram(side.right, share, run)[1])
        scale = np.sqrt(np.maximum(values, 0) + max(VARIANCE_FLOOR * float(values.mean()), 1e-12))
        right = np.zeros((len(side.right), dimension + 1), dtype=np.float32)
        right[:, :dimension] = times_small(side.right, axes / scale, run)
        right[:, dimension] = float(side.learns_bias)
        left = np.zeros((len(side.left), dimension + 1), dtype=np.float32)
        left[:, :dimension] = times_small(side.left, axes * scale, run)
        out = np.empty_like(left)
        penalty = np.append(ridge / scale**2, 0).astype(np.float32)
        left_bias, right_bias = side.left_bias.astype(np.float32), side.right_bias.astype(np.float32)
        steps = self.steps

        def block(begin: int, end: int) -> None:
            conjugate_rows(
                pairs.indptr, pairs.indices, pairs.values, pairs.weights, left, right, left_bias, right_bias, penalty,
                steps, begin, end, out,
            )  # fmt: skip

        run.over_rows(block, len(left), ROWS_AT_ONCE, writes=[out])
        side.left[:] = times_small(out[:, :dimension], (axes / scale).T, run)
        side.left_bias[:] += out[:, dimension]


def bias_step(gradient: Gradient) -> Array:
    """Return the step of the biases to their optimum for fixed vectors.

    With a log link the derivative by a is T1 - T2, T1 = sum mu^(2-p) (the curvature) and T2 = sum x·mu^(1-p), which a
    change of the bias by t multiplies by e^((2-p)t) and e^((1-p)t). It is 0 for t = log(T2/T1). (The curvature of unseen pairs
    by a quadratic is (2-p)·mu^(2-p), so a Tweedie family's steps are slightly long; the line search shortens them.)
    """
    curvature = np.maximum(gradient.curvature, 1e-12)
    ratio = np.clip(1 - gradient.bias / curvature, np.exp(-LONGEST_BIAS_STEP), np.exp(LONGEST_BIAS_STEP))
    step: Array = -np.log(ratio)
    return step


def penalties(vectors: Array, ridge: float) -> Array:
    """Return ridge/2·|a|² of each row."""
    if ridge == 0:
        return np.zeros(len(vectors))
    lengths: Array = 0.5 * ridge * np.square(vectors, dtype=np.float64).sum(axis=1)
    return lengths


def auto_damping(counts: float) -> float:
    """Return ``damping=auto`` for a sum of counts: the fewer there are, the sooner they are overfitted.

    >>> [round(auto_damping(tokens * 4.2), 2) for tokens in (1e6, 3e6, 1.7e7, 7e7)]
    [0.29, 0.19, 0.1, 0.1]
    """
    return float(
        np.clip(LEAST_DAMPING * (ENOUGH_COUNTS / max(counts, 1)) ** DAMPING_POWER, LEAST_DAMPING, MOST_DAMPING)
    )


def choose_update(step: str, damping: float = 0.1, prior: float = 0.0) -> Preconditioned:
    """Return the rule for ``step``: ``damped``, or ``newton``, which needs neither a damping nor a prior."""
    if step == "newton":
        return Preconditioned(1.0, 1e-3, curvature=True, line_search=True)
    return Preconditioned(damping, 0.1 * damping, prior=prior)
