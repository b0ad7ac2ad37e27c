"""Row updates of variational logistic factorization.

A symmetric matrix is packed as its upper triangle, row by row, off-diagonal entries times sqrt(2): then
``tr(A B)`` is the dot product of the packed A and B. Packed rows are padded with zeros to a multiple of 16.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from firthian.arrays import Array

_ROOT2 = np.sqrt(2.0)

#: What replaces log(1 + exp(eta)): Jaakkola's bound, Böhning's bound, or its own expected curvature.
JAAKKOLA, BOEHNING, LOGISTIC = 0, 1, 2

#: Gauss-Hermite nodes and weights of a standard Gaussian.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@njit(cache=True, nogil=True)
def jaakkola(square: float) -> tuple[float, float]:
    """Return lam(xi) = tanh(xi/2)/(4 xi) and log(2 cosh(xi/2)) for xi = sqrt(square)."""
    square = max(square, 0.0)
    xi = np.sqrt(square)
    small = np.exp(-xi)
    curvature = 0.125 - square / 96.0 if xi < 1e-3 else (1.0 - small) / ((1.0 + small) * 4.0 * xi)
    return curvature, 0.5 * xi + np.log1p(small)


@njit(cache=True, nogil=True)
def logistic_curvature(mean: float, variance: float) -> float:
    """Return E[sigma(eta)(1 - sigma(eta))] for a Gaussian eta."""
    deviation = np.sqrt(max(variance, 0.0))
    total = 0.0
    for k in range(_NODES.size):
        small = np.exp(-abs(mean + deviation * _NODES[k]))
        total += _WEIGHTS[k] * small / ((1.0 + small) * (1.0 + small))
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def dot(left: Array, right: Array) -> float:
    """Return the dot product, summed in the arrays' own precision."""
    total = left[0] * right[0]
    for k in range(1, left.size):
        total += left[k] * right[k]
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def add_four(weights: Array, rows: Array, at: int, source: Array, out: Array) -> None:
    """Add ``weights[at + m]·source[rows[at + m]]`` to ``out`` for m = 0 to 3: one pass over ``out`` for four rows."""
    kind = source.dtype.type
    w0, w1, w2, w3 = kind(weights[at]), kind(weights[at + 1]), kind(weights[at + 2]), kind(weights[at + 3])
    x0, x1 = source[np.uint64(rows[at])], source[np.uint64(rows[at + 1])]
    x2, x3 = source[np.uint64(rows[at + 2])], source[np.uint64(rows[at + 3])]
    for k in range(out.size):
        out[k] += w0 * x0[k] + w1 * x1[k] + w2 * x2[k] + w3 * x3[k]


@njit(cache=True, nogil=True)
def add_rows(weights: Array, rows: Array, number: int, source: Array, out: Array) -> None:
    """Add ``weights[m]·source[rows[m]]`` to ``out``; ``weights`` and ``rows`` have room for three more entries."""
    for m in range(number, number + 3):
        weights[m] = 0.0
        rows[m] = rows[0]
    for at in range(0, number, 4):
        add_four(weights, rows, at, source, out)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def expected_square(own_mean: Array, own_variance: Array, other_mean: Array, other_variance: Array) -> float:
    """E[eta²] of two vectors with diagonal covariances: (m·m')² + sum of m²s' + s·m'² + s·s'."""
    score = own_mean[0] * other_mean[0]
    spread = own_mean[0] ** 2 * other_variance[0] + own_variance[0] * (other_mean[0] ** 2 + other_variance[0])
    for k in range(1, own_mean.size):
        score += own_mean[k] * other_mean[k]
        spread += own_mean[k] * own_mean[k] * other_variance[k]
        spread += own_variance[k] * (other_mean[k] * other_mean[k] + other_variance[k])
    return score * score + spread


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def add_four_products(weights: Array, rows: Array, at: int, means: Array, variances: Array, out: Array) -> None:
    """Add w·(m mᵀ + diag(s)) of four rows to a packed matrix that lacks its factors sqrt(2)."""
    kind = means.dtype.type
    w0, w1, w2, w3 = kind(weights[at]), kind(weights[at + 1]), kind(weights[at + 2]), kind(weights[at + 3])
    r0, r1, r2, r3 = rows[at], rows[at + 1], rows[at + 2], rows[at + 3]
    size = means.shape[1]
    start = 0
    for a in range(size):
        x0, x1, x2, x3 = means[r0, a:], means[r1, a:], means[r2, a:], means[r3, a:]
        c0, c1, c2, c3 = w0 * x0[0], w1 * x1[0], w2 * x2[0], w3 * x3[0]
        line = out[start : start + size - a]
        for k in range(line.size):
            line[k] += c0 * x0[k] + c1 * x1[k] + c2 * x2[k] + c3 * x3[k]
        line[0] += w0 * variances[r0, a] + w1 * variances[r1, a] + w2 * variances[r2, a] + w3 * variances[r3, a]
        start += size - a


@njit(cache=True, nogil=True)
def add_moments(
    weights: Array, rows: Array, number: int, means: Array, moments: Array, diagonal: bool, out: Array
) -> None:
    """Add ``weights[m]·E[z zᵀ]`` of ``rows`` to ``out``; with ``diagonal``, ``moments`` are variances."""
    if not diagonal:
        add_rows(weights, rows, number, moments, out)
        return
    for m in range(number, number + 3):
        weights[m] = 0.0
        rows[m] = rows[0]
    for at in range(0, number, 4):
        add_four_products(weights, rows, at, means, moments, out)


@njit(cache=True, nogil=True)
def scale_off_diagonal(packed: Array, size: int) -> None:
    """Multiply the off-diagonal entries of packed matrices by sqrt(2)."""
    for row in range(packed.shape[0]):
        k = 0
        for a in range(size):
            for b in range(a, size):
                if a != b:
                    packed[row, k] *= _ROOT2
                k += 1


@njit(cache=True, nogil=True)
def gather(
    indptr: Array, indices: Array, positive: Array, negative: Array, temper: float, own_rate: Array, other_rate: Array,
    other_background: Array, bound: int, fold: bool, diagonal: bool,
    own_means: Array, own_moments: Array, other_means: Array, other_moments: Array, first: int, last: int, tile: int,
    pairs: Array, background: Array, linear: Array, background_linear: Array, value: Array, curved: Array,
) -> None:  # fmt: skip
    """Sum over the listed pairs of each row from ``first`` to ``last``; outputs have one row for each.

    A listed pair has n+ = temper·positive and n- = temper·negative + own_rate·other_rate, n = n+ + n-.

    ``pairs`` = sum n·lam(xi) E[z zᵀ]            ``linear`` = sum r·E[z], r the slope of the bound
    ``background`` = sum g E[z zᵀ], g the first column of ``other_background``; with ``fold`` it stays 0, and own_rate
    times the sum is subtracted from ``pairs`` instead
    ``background_linear`` = sum g E[z], g the second column
    ``value`` = the bound of the listed pairs at its optimal xi, without the part r·E[eta] for Jaakkola's bound
    ``curved``, unless empty = ``pairs`` with half the expected curvature of log(1 + exp(eta)) in place of lam; not with
    ``fold`` or ``diagonal``

    With LOGISTIC, lam is half the expected curvature of log(1 + exp(eta)) itself; there is no bound and no slope.

    With ``diagonal``, the arrays of moments hold variances, one per coordinate; the sums are packed all the same.
    Columns are processed in tiles, so that the moments of a tile stay in the cache while every row uses them.
    """
    cursor = indptr[first:last].copy()
    weights, slopes = np.empty(tile + 3), np.empty(tile + 3)
    quadratic, straight, true_weights = np.empty(tile + 3), np.empty(tile + 3), np.empty(tile + 3)
    others = np.empty(tile + 3, np.int64)
    pairs[:] = 0
    background[:] = 0
    linear[:] = 0
    background_linear[:] = 0
    value[:] = 0
    curved[:] = 0
    for start in range(0, other_moments.shape[0], tile):
        for at in range(last - first):
            row = first + at
            p, end, number = cursor[at], indptr[row + 1], 0
            while p < end and indices[p] < start + tile:
                other = indices[p]
                seen = temper * positive[p]
                total = seen + own_rate[row] * other_rate[other]
                if negative.size > 0:
                    total += temper * negative[p]
                if diagonal:
                    square = expected_square(own_means[row], own_moments[row], other_means[other], other_moments[other])
                else:
                    square = dot(own_moments[row], other_moments[other])
                if bound == LOGISTIC:
                    psi = float(dot(own_means[row], other_means[other]))
                    weights[number] = 0.5 * total * logistic_curvature(psi, square - psi * psi)
                    slopes[number] = 0.0
                elif bound == BOEHNING:
                    # The bound of curvature 1/4, at psi = E[eta].
                    psi = float(dot(own_means[row], other_means[other]))
                    small = np.exp(-abs(psi))
                    sigma = 1.0 / (1.0 + small) if psi >= 0 else small / (1.0 + small)
                    weights[number] = 0.125 * total
                    slopes[number] = seen - total * (sigma - 0.25 * psi)
                    variance = max(square - psi * psi, 0.0)
                    value[at] += seen * psi - total * (max(psi, 0.0) + np.log1p(small) + 0.125 * variance)
                else:
                    curvature, height = jaakkola(square)
                    weights[number] = total * curvature
                    slopes[number] = seen - 0.5 * total
                    value[at] -= total * height
                if curved.size > 0:
                    psi = float(dot(own_means[row], other_means[other]))
                    true_weights[number] = 0.5 * total * logistic_curvature(psi, square - psi * psi)
                quadratic[number] = other_background[other, 0]
                if fold:
                    weights[number] -= own_rate[row] * quadratic[number]
                straight[number] = other_background[other, 1]
                others[number] = other
                number += 1
                p += 1
            cursor[at] = p
            if number > 0:
                add_moments(weights, others, number, other_means, other_moments, diagonal, pairs[at])
                if not fold:
                    add_moments(quadratic, others, number, other_means, other_moments, diagonal, background[at])
                if curved.size > 0:
                    add_rows(true_weights, others, number, other_moments, curved[at])
                add_rows(slopes, others, number, other_means, linear[at])
                add_rows(straight, others, number, other_means, background_linear[at])
    if diagonal:
        scale_off_diagonal(pairs, own_means.shape[1])
        scale_off_diagonal(background, own_means.shape[1])


@njit(cache=True, nogil=True)
def invert(matrix: Array) -> float:
    """Invert a symmetric positive definite matrix in place by Gauss-Jordan elimination; return its log-determinant.

    Positive definite matrices need no pivoting. Return NaN if the matrix is not positive definite.
    """
    size = matrix.shape[0]
    log_determinant = 0.0
    for k in range(size):
        pivot = matrix[k, k]
        if not pivot > 0:
            return np.nan
        log_determinant += np.log(pivot)
        matrix[k, k] = 1.0
        for c in range(size):
            matrix[k, c] /= pivot
        for r in range(size):
            if r != k:
                factor = matrix[r, k]
                matrix[r, k] = 0.0
                for c in range(size):
                    matrix[r, c] -= factor * matrix[k, c]
    return log_determinant


@njit(cache=True, nogil=True)
def posterior(
    pairs: Array, background: Array, linear: Array, shared: Array, factor: Array, prior: Array,
    free: Array, fixed: Array, diagonal: bool, rows: Array,
    means: Array, moments: Array, covariances: Array, log_determinants: Array,
) -> int:  # fmt: skip
    """Compute posteriors from sums: precision = prior + 2·pairs + 2·factor·(shared - background), mean = S·(linear - rest).

    ``free`` coordinates have a distribution, ``fixed`` ones are always 1 (they are multiplied by biases). ``covariances``
    gets the packed covariance of the free coordinates; with ``diagonal`` it gets their variances, and so does ``moments``.
    Sums have one row for each of ``rows``, the rows of the posteriors that are computed; ``covariances`` may be empty.
    Return the number of rows whose precision is not positive definite; they keep their old posterior.
    """
    size, unknown = linear.shape[1], free.size
    full = np.empty((size, size))
    precision = np.empty((unknown, unknown))
    right = np.empty(unknown)
    failures = 0
    for at in range(pairs.shape[0]):
        row = rows[at]
        k = 0
        for a in range(size):
            for b in range(a, size):
                value = 2.0 * pairs[at, k] + 2.0 * factor[at] * (shared[k] - background[at, k])
                if a != b:
                    value /= _ROOT2
                full[a, b] = value
                full[b, a] = value
                k += 1
        for a in range(unknown):
            for b in range(unknown):
                precision[a, b] = full[free[a], free[b]]
            precision[a, a] += prior[a]
            right[a] = linear[at, free[a]]
            for b in fixed:
                right[a] -= full[free[a], b]
        variances = np.empty(unknown)
        if diagonal:
            for a in range(unknown):
                variances[a] = 1.0 / precision[a, a]
        log_determinant = invert(precision)
        if np.isnan(log_determinant):
            failures += 1
            continue
        for a in range(unknown):
            mean = 0.0
            for b in range(unknown):
                mean += precision[a, b] * right[b]
            means[row, free[a]] = mean
        if diagonal:
            log_determinants[row] = np.sum(np.log(variances))
            for a in range(unknown):
                moments[row, free[a]] = variances[a]
                covariances[row, a] = variances[a]
            continue
        log_determinants[row] = -log_determinant
        # Moments E[w wᵀ] of all coordinates; fixed ones have no variance.
        full[:] = 0
        for a in range(unknown):
            for b in range(unknown):
                full[free[a], free[b]] = precision[a, b]
        k = 0
        for a in range(size):
            for b in range(a, size):
                value = full[a, b] + np.float64(means[row, a]) * np.float64(means[row, b])
                moments[row, k] = value if a == b else value * _ROOT2
                k += 1
        if covariances.size == 0:
            continue
        k = 0
        for a in range(unknown):
            for b in range(a, unknown):
                covariances[row, k] = precision[a, b] if a == b else precision[a, b] * _ROOT2
                k += 1
    return failures
