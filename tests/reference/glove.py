"""GloVe, slowly: the objective of Pennington, Socher and Manning (2014), its gradient, Stanford's steps; in doubles."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def weight(x: float, x_max: float, exponent: float) -> float:
    """eq. 9."""
    return (x / x_max) ** exponent if x < x_max else 1.0


def objective(
    rows: Array, columns: Array, targets: Array, weights: Array, u: Array, c: Array, a: Array, b: Array
) -> float:
    """eq. 8."""
    return sum(
        f * (u[i] @ c[j] + a[i] + b[j] - t) ** 2 for i, j, t, f in zip(rows, columns, targets, weights, strict=True)
    )


def gradient(
    rows: Array, columns: Array, targets: Array, weights: Array, u: Array, c: Array, a: Array, b: Array
) -> tuple[Array, Array, Array, Array]:
    """The derivatives of eq. 8."""
    du, dc, da, db = (np.zeros_like(part) for part in (u, c, a, b))
    for i, j, t, f in zip(rows, columns, targets, weights, strict=True):
        slope = 2 * f * (u[i] @ c[j] + a[i] + b[j] - t)
        du[i] += slope * c[j]
        dc[j] += slope * u[i]
        da[i] += slope
        db[j] += slope
    return du, dc, da, db


def adagrad(
    rows: Array,
    columns: Array,
    targets: Array,
    weights: Array,
    parts: tuple[Array, ...],
    squares: tuple[Array, ...],
    alpha: float,
) -> None:
    """One pair after another: x -= alpha·g / sqrt(s), s += (alpha·g)², with g half the gradient of the pair's term."""
    u, c, a, b = parts
    for i, j, t, f in zip(rows, columns, targets, weights, strict=True):
        step = alpha * f * (u[i] @ c[j] + a[i] + b[j] - t)
        moves = (step * c[j], step * u[i], step, step)
        for part, square, place, move in zip(parts, squares, (i, j, i, j), moves, strict=True):
            part[place] -= move / np.sqrt(square[place])
            square[place] += move**2
