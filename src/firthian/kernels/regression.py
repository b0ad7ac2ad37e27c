"""Regressions of many words, each independently: weighted ridge on one set of vectors, lasso on a dictionary."""

from __future__ import annotations

import numpy as np
from numba import njit

from firthian.arrays import Array

#: A ridge below this share of the mean diagonal of the smaller Gram matrix does not mask the rounding errors of a singular one.
SMALL_RIDGE = 1e-4

#: Machine epsilon of float32.
EPSILON = float(np.finfo(np.float32).eps)

#: The residual, relative to the right side, at which conjugate gradients stop, and their most steps.
SMALL_RESIDUAL, MOST_STEPS = 1e-6, 300


@njit(cache=True, nogil=True)
def _conjugate_gradients(rows: Array, weights: Array, right: Array) -> Array:
    """Solve (I + Aᵀ diag(weights) A) z = right; the matrix is positive definite though some weights may be negative."""
    z = np.zeros(rows.shape[1], np.float32)
    residual = right.copy()
    direction = residual.copy()
    square = np.float64(np.dot(residual, residual))
    enough = square * SMALL_RESIDUAL**2
    for _ in range(MOST_STEPS):
        if square <= enough:
            break
        image = np.dot(np.dot(rows, direction) * weights, rows)
        image += direction
        length = np.float32(square / np.float64(np.dot(direction, image)))
        z += length * direction
        residual -= length * image
        before = square
        square = np.float64(np.dot(residual, residual))
        direction *= np.float32(square / before)
        direction += residual
    return z


@njit(cache=True, nogil=True)
def _least_squares(rows: Array, y: Array, ridge: float) -> Array:
    """Return the minimum-norm v that minimizes |A v - y|² + mu |v|², where mu may be 0, by eigenvalues in double precision.

    Directions in which A is within rounding error of 0 are dropped, as in LAPACK: they would be pure noise.
    """
    pairs, dimension = rows.shape
    wide = rows.astype(np.float64)
    few = pairs < dimension
    values, axes = np.linalg.eigh(np.dot(wide, wide.T) if few else np.dot(wide.T, wide))
    known = np.dot(axes.T, y if few else np.dot(wide.T, y))
    least = (EPSILON * max(pairs, dimension)) ** 2 * values[-1]
    for k in range(values.size):
        known[k] = known[k] / (values[k] + ridge) if values[k] > least else 0.0
    v = np.dot(axes, known)
    return np.dot(wide.T, v) if few else v


@njit(cache=True, nogil=True)
def fold_in(
    indptr: Array,
    indices: Array,
    weights: Array,
    targets: Array,
    core: Array,
    unseen: float,
    squares: Array,
    ridge: Array,
    first: int,
    last: int,
    out: Array,
) -> None:
    """Write for each word v = (Aᵀ diag(f - w0) A + w0 UᵀU + mu I)⁻¹ Aᵀ diag(f) g; zeros for a word without pairs.

    A are the rows of U that the word occurs with, f and g their weights and targets; ``unseen`` is w0, the weight of the
    other rows, whose target is 0. UᵀU must be diagonal: ``squares``.
    """
    dimension = core.shape[1]
    largest = squares.max()
    for word in range(first, last):
        low, high = indptr[word], indptr[word + 1]
        pairs = high - low
        if pairs == 0:
            out[word] = 0
            continue
        rows = np.empty((pairs, dimension), np.float32)
        f, g = weights[low:high], targets[low:high]
        if unseen == 0:
            total = 0.0
            for p in range(pairs):
                root = np.sqrt(f[p])
                for k in range(dimension):
                    rows[p, k] = root * core[indices[low + p], k]
                    total += np.float64(rows[p, k]) ** 2
            if ridge[word] * min(pairs, dimension) <= SMALL_RIDGE * total:
                out[word] = _least_squares(rows, (np.sqrt(f) * g).astype(np.float64), ridge[word])
                continue
        # With D = w0 UᵀU + mu I and v = D^-½ z the matrix becomes I + a few rows, which conjugate gradients solve in few steps.
        scale = np.empty(dimension, np.float32)
        for k in range(dimension):
            diagonal = unseen * squares[k] + ridge[word]
            scale[k] = 1 / np.sqrt(diagonal) if diagonal > EPSILON * unseen * largest else 0.0
        for p in range(pairs):
            for k in range(dimension):
                rows[p, k] = scale[k] * core[indices[low + p], k]
        z = _conjugate_gradients(rows, f - np.float32(unseen), np.dot(f * g, rows))
        out[word] = scale * z


@njit(cache=True, nogil=True)
def descend(
    gram: Array, products: Array, codes: Array, l1: float, nonnegative: bool, sweeps: int, least: float
) -> None:
    """Lower ``1/2 |x - a D|² + l1·|a|_1`` over each row a of ``codes``, in place.

    ``gram`` is ``D D'`` and ``products`` is ``x D'``. A row has converged when a sweep changes no entry by more than ``least``.
    """
    size = gram.shape[0]
    # slope = x D' - a D D' is updated incrementally, so a coordinate that does not move costs nothing.
    slope = np.empty(size, np.float64)
    for row in range(codes.shape[0]):
        for k in range(size):
            slope[k] = products[row, k]
        for k in range(size):
            value = codes[row, k]
            if value != 0:
                for m in range(size):
                    slope[m] -= value * gram[k, m]
        for _ in range(sweeps):
            largest = 0.0
            for k in range(size):
                curvature = gram[k, k]
                if curvature <= 0:
                    continue
                old = codes[row, k]
                # The minimum over one coordinate: soft thresholding.
                goal = slope[k] + curvature * old
                if goal > l1:
                    new = (goal - l1) / curvature
                elif goal < -l1 and not nonnegative:
                    new = (goal + l1) / curvature
                else:
                    new = 0.0
                new = np.float32(new)
                if new != old:
                    step = new - old
                    codes[row, k] = new
                    for m in range(size):
                        slope[m] -= step * gram[k, m]
                    largest = max(largest, abs(step))
            if largest <= least:
                break
