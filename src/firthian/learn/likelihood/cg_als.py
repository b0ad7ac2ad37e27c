"""Weighted alternating least squares, each row by a few steps of conjugate gradients (Takács, Pilászy and Tikk 2011).

The steps are preconditioned: coordinates are turned and scaled so that M = sum_j h_j c_j c_j' / sum h, which all rows share
roughly, is the identity. A row's bias is one more coordinate, so it is fitted together with the vector.
"""

from __future__ import annotations

import numpy as np

from firthian.learn.likelihood.model import Side
from firthian.learn.likelihood.unseen import ROWS_AT_ONCE, Gradient, Unseen
from firthian.learn.linalg.tall import eigh, inner, times_small
from firthian.runtime.run import Run

#: Directions in which contexts vary less than this part of the mean are not blown up further.
FLOOR = 0.1


class ConjugateGradients:
    """A rule for ``sweep``: rows move towards the minimum of their weighted squares, ridge included."""

    needs_gradient = needs_value = False

    def __init__(self, steps: int = 1) -> None:
        self.steps = steps
        self.halved = self.kept = 0

    def move(self, side: Side, gradient: Gradient, unseen: Unseen, run: Run, turn: int, ridge: float) -> None:
        """Take the steps for every row."""
        solve_rows(side, self.steps, ridge, run)


def solve_rows(side: Side, steps: int, ridge: float, run: Run) -> None:
    """Change ``side.left`` and its bias in place; ``side.pairs`` holds targets and weights."""
    from firthian.kernels.likelihood import conjugate_rows

    pairs, dimension = side.pairs, side.left.shape[1]
    share = side.right_share / max(float(side.right_share.sum()), 1e-300)
    values, axes = eigh(inner(side.right, share.astype(np.float32)[:, np.newaxis] * side.right, run))
    scale = np.sqrt(np.maximum(values, 0) + max(FLOOR * float(values.mean()), 1e-12))
    right = np.zeros((len(side.right), dimension + 1), dtype=np.float32)
    right[:, :dimension] = times_small(side.right, axes / scale, run)
    right[:, dimension] = float(side.learns_bias)
    left = np.zeros((len(side.left), dimension + 1), dtype=np.float32)
    left[:, :dimension] = times_small(side.left, axes * scale, run)
    out = np.empty_like(left)
    penalty = np.append(ridge / scale**2, 0).astype(np.float32)
    left_bias, right_bias = side.left_bias.astype(np.float32), side.right_bias.astype(np.float32)

    def block(begin: int, end: int) -> None:
        conjugate_rows(
            pairs.indptr,
            pairs.indices,
            pairs.values,
            pairs.weights,
            left,
            right,
            left_bias,
            right_bias,
            penalty,
            steps,
            begin,
            end,
            out,
        )

    run.over_rows(block, len(left), ROWS_AT_ONCE, writes=[out])
    side.left[:] = times_small(out[:, :dimension], (axes / scale).T, run)
    side.left_bias[:] += out[:, dimension]
