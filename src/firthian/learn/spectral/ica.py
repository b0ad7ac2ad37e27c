"""Independent component analysis of spectral vectors, by FastICA (Hyvärinen 1999; on words: Väyrynen and Honkela 2005).

The axes of an SVD have no meaning of their own. ICA rotates and rescales them so that each is as far from Gaussian as
possible; for words, axes then tend to be topics or grammatical features that a person can name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from firthian.arrays import Array
from firthian.learn.linalg.krylov import top_singular
from firthian.learn.linalg.tall import BLOCK, eigh, inner, times_small
from firthian.learn.solver import Solution
from firthian.learn.spectral.solvers import HasOperator
from firthian.options import Option
from firthian.runtime.executor import constant
from firthian.runtime.run import Run, one_blas_thread

#: E[log cosh z] of a standard normal z, the reference for components.
GAUSSIAN_LOG_COSH = 0.37456720749143797

#: Variances below this fraction of the largest are rounding errors of float32 products.
NO_VARIANCE = 1e-6


@dataclass
class ICA:
    """FastICA with ``tanh``, all components at once, on the singular vectors of a model's ``operator``.

    Components are ordered by approximate negentropy, the least Gaussian first, and signed so that their long tail is
    positive.
    """

    epochs: Annotated[int, Option("maximum iterations of FastICA", low=1)] = 200
    tolerance: Annotated[float, Option("axis movement below which it stops", low=0, high=1)] = 1e-4

    def solve(self, model: HasOperator, dimension: int, run: Run) -> Solution:
        """Compute the singular vectors, then their independent axes."""

        def space() -> dict[str, Array]:
            left, values, _ = top_singular(model.operator(dimension), dimension, run, name="svd")
            return {"white": whitened(left * values.astype(np.float32), run)}

        white = run.remember("space", space)["white"]
        rotation, moved, objective = fast_ica(white, self.epochs, self.tolerance, run)
        components = times_small(white, rotation.T, run)
        sums = _sums(components, run)
        order = np.argsort(-np.abs(sums[0] / components.shape[0] - GAUSSIAN_LOG_COSH), kind="stable")
        signs = np.where(sums[1] < 0, -1, 1).astype(np.float32)
        words = np.ascontiguousarray((components * signs)[:, order])
        status = "converged" if moved <= self.tolerance else "stopped"
        return Solution(words, objective=objective, status=status, stats={"iterations": len(objective)})


def whitened(vectors: Array, run: Run) -> Array:
    """Return centered vectors with identity covariance; directions without variance become zero."""
    rows = vectors.shape[0]
    ones = np.ones((rows, 1), dtype=np.float32)
    centered = vectors - (inner(ones, vectors, run) / rows).astype(np.float32)
    values, axes = eigh(inner(centered, centered, run) / rows)
    alive = values > NO_VARIANCE * max(float(values[-1]), 1e-300)
    scale = np.where(alive, 1 / np.sqrt(np.where(alive, values, 1)), 0)
    return times_small(centered, axes * scale, run)


def fast_ica(white: Array, epochs: int, tolerance: float, run: Run) -> tuple[Array, float, list[float]]:
    """Return the rotation W, the last movement of its axes, and the summed negentropy after each iteration.

    One step is ``W <- E[g(Wx) x'] - diag(E[g'(Wx)]) W`` with g = tanh, then ``W <- (W W')^(-1/2) W``.
    """
    rows, size = white.shape
    white = constant(white)
    rotation = _decorrelated(run.generator(0x1CA).standard_normal((size, size)))
    objective: list[float] = []
    moved = np.inf
    stage = run.stage("ica")
    state = stage.restore()
    if state is not None:
        rotation = np.array(state.arrays["rotation"])
        objective, moved = list(state.values["objective"]), float(state.values["moved"])
        run.progress.advance(len(objective))
    while len(objective) < epochs and moved > tolerance:
        small = np.ascontiguousarray(rotation.T, dtype=np.float32)

        def step(first: int, last: int, small: Array = small) -> tuple[Array, Array, Array]:
            part = white[first:last]
            projected = part @ small
            squashed = np.tanh(projected)
            return squashed.T @ part, (1 - np.square(squashed, dtype=np.float64)).sum(axis=0), _log_cosh(projected)

        gradient, slope, contrast = np.zeros((size, size)), np.zeros(size), np.zeros(size)
        for part in run.over_rows(step, rows, BLOCK):
            gradient, slope, contrast = gradient + part[0], slope + part[1], contrast + part[2]
        objective.append(float(np.square(contrast / rows - GAUSSIAN_LOG_COSH).sum()))
        turned = _decorrelated(gradient / rows - (slope / rows)[:, np.newaxis] * rotation)
        moved = float(np.abs(np.abs((turned * rotation).sum(axis=1)) - 1).max())
        rotation = turned
        run.progress.advance(1, f"moved {moved:.1e}")
        stage.save(len(objective), {"rotation": rotation}, objective=objective, moved=moved)
    return rotation, moved, objective


def _decorrelated(matrix: Array) -> Array:
    """Return ``(W W')^(-1/2) W``."""
    with one_blas_thread():
        values, vectors = eigh(matrix @ matrix.T)
        scale = 1 / np.sqrt(np.maximum(values, 1e-12 * max(float(values[-1]), 1e-300)))
        result: Array = (vectors * scale) @ vectors.T @ matrix
    return result


def _log_cosh(values: Array) -> Array:
    size = np.abs(values, dtype=np.float64)
    return np.asarray((size + np.log1p(np.exp(-2 * size)) - np.log(2)).sum(axis=0))


def _sums(components: Array, run: Run) -> Array:
    """Return the sums of log cosh and of cubes of each component."""

    def part(first: int, last: int) -> Array:
        block = components[first:last]
        return np.stack([_log_cosh(block), np.power(block, 3, dtype=np.float64).sum(axis=0)])

    total = np.zeros((2, components.shape[1]))
    for sums in run.over_rows(part, components.shape[0], BLOCK, here=True):
        total += sums
    return total
