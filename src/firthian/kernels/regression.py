"""Regressions of many words, each independently: weighted ridge on one set of vectors, lasso on a dictionary."""

from __future__ import annotations

import numpy as np
from numba import njit

from firthian.arrays import Array

#: Added to the ridge, as a share of the mean diagonal of the smaller Gram matrix.
TINY = 1e-7

#: A ridge below this share of the mean diagonal does not mask rounding errors of a singular Gram matrix in float32.
SMALL_RIDGE = 1e-4

#: Machine epsilon of float32.
EPSILON = float(np.finfo(np.float32).eps)

#: The number of pairs from which on conjugate gradients are faster than a factorization, the residual, relative to the right
#: side, at which they stop, and their most steps.
MANY_PAIRS, SMALL_RESIDUAL, MOST_STEPS = 64, 1e-6, 300


@njit(cache=True, nogil=True)
def _solve_positive(matrix: Array, right: Array) -> Array:
    """Solve ``matrix @ x = right`` for a positive definite matrix, through its Cholesky factor."""
    lower = np.linalg.cholesky(matrix)
    size = right.size
    x = right.copy()
    for r in range(size):
        total = x[r]
        for k in range(r):
            total -= lower[r, k] * x[k]
        x[r] = total / lower[r, r]
    for r in range(size - 1, -1, -1):
        x[r] /= lower[r, r]
        for k in range(r):
            x[k] -= lower[r, k] * x[r]
    return x


@njit(cache=True, nogil=True)
def _conjugate_gradients(rows: Array, y: Array, ridge: float) -> Array:
    """Solve (AᵀA + mu I) v = Aᵀy by matrix-vector products; the ridge keeps the number of steps small."""
    residual = np.dot(y, rows)
    v = np.zeros(rows.shape[1], np.float32)
    direction = residual.copy()
    square = np.float64(np.dot(residual, residual))
    enough = square * SMALL_RESIDUAL**2
    for _ in range(MOST_STEPS):
        if square <= enough:
            break
        image = np.dot(np.dot(rows, direction), rows)
        image += np.float32(ridge) * direction
        length = np.float32(square / np.float64(np.dot(direction, image)))
        v += length * direction
        residual -= length * image
        before = square
        square = np.float64(np.dot(residual, residual))
        direction *= np.float32(square / before)
        direction += residual
    return v


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
    ridge: Array,
    first: int,
    last: int,
    out: Array,
) -> None:
    """Write for each word v = (Uᵀ diag(f) U + mu I)⁻¹ Uᵀ diag(f) g; zeros for a word without pairs.

    With fewer pairs n than dimensions d the same v is Aᵀ(A Aᵀ + mu I)⁻¹ y, A = diag(√f) U, y = √f g: an n×n problem.
    """
    dimension = core.shape[1]
    for word in range(first, last):
        low, high = indptr[word], indptr[word + 1]
        pairs = high - low
        if pairs == 0:
            out[word] = 0
            continue
        rows = np.empty((pairs, dimension), np.float32)
        y = np.empty(pairs, np.float64)
        for p in range(pairs):
            root = np.sqrt(weights[low + p])
            other = indices[low + p]
            y[p] = root * targets[low + p]
            for k in range(dimension):
                rows[p, k] = root * core[other, k]
        if pairs >= MANY_PAIRS and ridge[word] > 0:
            out[word] = _conjugate_gradients(rows, y.astype(np.float32), ridge[word])
            continue
        if ridge[word] * min(pairs, dimension) <= SMALL_RIDGE * np.square(rows).sum():
            out[word] = _least_squares(rows, y, ridge[word])
            continue
        if pairs < dimension:
            gram = np.dot(rows, rows.T).astype(np.float64)
        else:
            gram = np.dot(rows.T, rows).astype(np.float64)
        mean = 0.0
        for k in range(gram.shape[0]):
            mean += gram[k, k]
        mean /= gram.shape[0]
        added = ridge[word] + TINY * mean + 1e-30
        for k in range(gram.shape[0]):
            gram[k, k] += added
        if pairs < dimension:
            z = _solve_positive(gram, y)
            for k in range(dimension):
                total = 0.0
                for p in range(pairs):
                    total += rows[p, k] * z[p]
                out[word, k] = total
        else:
            right = np.zeros(dimension)
            for p in range(pairs):
                for k in range(dimension):
                    right[k] += rows[p, k] * y[p]
            v = _solve_positive(gram, right)
            for k in range(dimension):
                out[word, k] = v[k]


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
