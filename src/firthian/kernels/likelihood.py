"""Losses of the exponential families and their derivatives, pair by pair, over compressed rows.

eta = u·c + a + b is the linear predictor. ``rho`` is the pair's noise share, the factor of the loss that every pair has, seen
or not: the expected noise k·x_i·x_j^a/Z of the binomial family, exp((2 - p)(a + b)) with a log link, a weight of the Gaussian.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from firthian.arrays import Array
from firthian.kernels.sparse import row_sum

GAUSSIAN, POISSON, TWEEDIE, BINOMIAL, NEGATIVE_BINOMIAL = 0, 1, 2, 3, 4

#: What is subtracted from a seen pair, because the treatment of unseen pairs adds it for *every* pair: nothing, a
#: quadratic in u·c, or the loss the pair would have unseen.
NOTHING, QUADRATIC, UNSEEN = 0, 1, 2


@njit(cache=True, nogil=True, inline="always")
def pair_slopes(family: int, parameter: float, x: float, eta: float, rho: float, top: float) -> tuple[float, float]:
    """Return the first derivative of a pair's loss by eta, and the expected second one.

    With a log link the weight of a mean above e^top is that of e^top, h(top), and the derivative is h(top)·(1 - x/mu).
    """
    if family == BINOMIAL:
        sigma = 1 / (1 + np.exp(-eta))
        n = rho + x
        return n * sigma - x, n * sigma * (1 - sigma)
    if family == GAUSSIAN:
        return rho * (eta - x), rho
    if eta > top:
        limit = pair_slopes_below(family, parameter, 0.0, top)[1]
        return limit * (1 - x * np.exp(-eta)), limit
    return pair_slopes_below(family, parameter, x, eta)


@njit(cache=True, nogil=True, inline="always")
def pair_slopes_below(family: int, parameter: float, x: float, eta: float) -> tuple[float, float]:
    """Return the derivatives of families with a log link, for means below the limit."""
    if family == TWEEDIE:
        first = np.exp((2 - parameter) * eta)
        return first - x * np.exp((1 - parameter) * eta), first
    mu = np.exp(eta)
    if family == POISSON:
        return mu - x, mu
    ratio = 1 / (1 + mu / parameter)
    return (mu - x) * ratio, mu * ratio


@njit(cache=True, nogil=True, inline="always")
def pair_loss(family: int, parameter: float, x: float, eta: float, rho: float, top: float) -> float:
    """Return a pair's loss, the negative log likelihood without terms that do not depend on eta.

    Above ``top`` it continues with the integral of ``pair_slopes``, h(top)·(eta + x/mu).
    """
    if family == BINOMIAL:
        # (rho + x)·log(1 + e^eta) - x·eta, with the binomial's n = rho + x (EMF's Q)
        return (rho + x) * (max(eta, 0.0) + np.log1p(np.exp(-abs(eta)))) - x * eta
    if family == GAUSSIAN:
        return 0.5 * rho * (eta - x) ** 2
    if eta > top:
        limit = pair_slopes_below(family, parameter, 0.0, top)[1]
        rest = (eta - top) + x * (np.exp(-eta) - np.exp(-top))
        return pair_loss_below(family, parameter, x, top) + limit * rest
    return pair_loss_below(family, parameter, x, eta)


@njit(cache=True, nogil=True, inline="always")
def pair_loss_below(family: int, parameter: float, x: float, eta: float) -> float:
    """Return the loss of families with a log link, for means below the limit."""
    if family == TWEEDIE:
        # mu^(2-p)/(2-p) - x·(mu^(1-p) - 1)/(1-p), mu = e^eta: the 1 keeps it small as p approaches 1
        power = parameter
        return np.exp((2 - power) * eta) / (2 - power) - x * np.expm1((1 - power) * eta) / (1 - power)
    if family == POISSON:
        return np.exp(eta) - x * eta
    # (x + theta)·log(1 + mu/theta) - x·eta
    return (x + parameter) * np.log1p(np.exp(eta) / parameter) - x * eta


@njit(cache=True, nogil=True, inline="always")
def unseen_terms(family: int, parameter: float, product: float) -> tuple[float, float, float]:
    """Return phi(u·c), its slope and its curvature, where the loss of an unseen pair is rho·phi.

    The negative binomial's theta·log(1 + mu/theta) does not split like this; Poisson's mu bounds it from above.
    """
    if family == BINOMIAL:
        sigma = 1 / (1 + np.exp(-product))
        return max(product, 0.0) + np.log1p(np.exp(-abs(product))), sigma, sigma * (1 - sigma)
    if family == GAUSSIAN:
        return 0.5 * product * product, product, 1.0
    if family == TWEEDIE:
        rest = 2 - parameter
        mu = np.exp(rest * product)
        return mu / rest, mu, rest * mu
    mu = np.exp(product)
    return mu, mu, mu


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def row_products(indices: Array, begin: int, number: int, vector: Array, right: Array, out: Array) -> None:
    """``out[p] = vector · right[indices[begin + p]]``, eight at a time to read the vector once."""
    width = vector.size
    whole = number - number % 8
    for p in range(0, whole, 8):
        i0, i1 = np.uint64(indices[begin + p]), np.uint64(indices[begin + p + 1])
        i2, i3 = np.uint64(indices[begin + p + 2]), np.uint64(indices[begin + p + 3])
        i4, i5 = np.uint64(indices[begin + p + 4]), np.uint64(indices[begin + p + 5])
        i6, i7 = np.uint64(indices[begin + p + 6]), np.uint64(indices[begin + p + 7])
        s0, s1, s2, s3 = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
        s4, s5, s6, s7 = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
        for k in range(width):
            value = vector[k]
            s0 += value * np.float32(right[i0, k])
            s1 += value * np.float32(right[i1, k])
            s2 += value * np.float32(right[i2, k])
            s3 += value * np.float32(right[i3, k])
            s4 += value * np.float32(right[i4, k])
            s5 += value * np.float32(right[i5, k])
            s6 += value * np.float32(right[i6, k])
            s7 += value * np.float32(right[i7, k])
        out[p], out[p + 1], out[p + 2], out[p + 3] = s0, s1, s2, s3
        out[p + 4], out[p + 5], out[p + 6], out[p + 7] = s4, s5, s6, s7
    for p in range(whole, number):
        i0 = np.uint64(indices[begin + p])
        s0 = np.float32(0)
        for k in range(width):
            s0 += vector[k] * np.float32(right[i0, k])
        out[p] = s0


@njit(cache=True, nogil=True)
def quadratic(
    family: int,
    parameter: float,
    moments: Array,
    seen: tuple[float, float, float],
    nodes: Array,
    node_weights: Array,
) -> tuple[float, float, float, float]:
    """Return the total share of a row's unseen contexts, and their mean loss, intercept and curvature.

    ``moments`` and ``seen`` are the sums of q_j, q_j·s and q_j·s², s = u·c, over all and over the seen contexts; their
    difference gives mean and variance of s over the unseen ones. For a normal s, E[phi'(s)·c] = E[phi']·E[c] +
    E[phi'']·Cov(c, s) (Stein's lemma): that is the quadratic.
    """
    rest = moments[0] - seen[0]
    if rest > 1e-6 * moments[0]:
        mean = (moments[1] - seen[1]) / rest
        variance = (moments[2] - seen[2]) / rest - mean * mean
    else:
        rest = 0.0
        mean = moments[1] / moments[0]
        variance = moments[2] / moments[0] - mean * mean
    deviation = np.sqrt(max(variance, 0.0))
    level, slope, curvature = 0.0, 0.0, 0.0
    for n in range(nodes.size):
        terms = unseen_terms(family, parameter, mean + deviation * nodes[n])
        level += node_weights[n] * terms[0]
        slope += node_weights[n] * terms[1]
        curvature += node_weights[n] * terms[2]
    return rest, level, slope - curvature * mean, curvature


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def seen_rows(
    family: int,
    parameter: float,
    top: float,
    indptr: Array,
    indices: Array,
    values: Array,
    weights: Array,
    held_out: Array,
    left: Array,
    right: Array,
    left_bias: Array,
    right_bias: Array,
    left_share: Array,
    right_share: Array,
    subtracted: int,
    moments: Array,
    nodes: Array,
    node_weights: Array,
    active: Array,
    with_value: bool,
    with_slope: bool,
    first: int,
    last: int,
    gradient: Array,
    sums: Array,
) -> None:
    """Sum over the seen pairs of each row, and fit the quadratic that stands for the unseen ones.

    ``gradient`` gets the derivatives by the rows of ``left``; the columns of ``sums`` get the loss, the derivative by
    the bias, the sum of curvatures, and intercept and curvature of the ``quadratic``, for which ``moments`` are needed.
    ``weights``, unless empty, replace the shares. Pairs marked in ``held_out``, unless that is empty, have no loss, seen or
    unseen. Rows that are not ``active`` are skipped.
    """
    longest = 0
    for row in range(first, last):
        longest = max(longest, indptr[row + 1] - indptr[row])
    products = np.empty(longest, dtype=np.float32)
    for row in range(first, last):
        if not active[row]:
            continue
        begin = indptr[row]
        number = indptr[row + 1] - begin
        share = left_share[row]
        zeroth, first_moment, second_moment = 0.0, 0.0, 0.0
        row_products(indices, begin, number, left[row], right, products)
        if subtracted == QUADRATIC:
            for p in range(number):
                product = np.float64(products[p])
                q = right_share[np.uint64(indices[begin + p])]
                zeroth += q
                first_moment += q * product
                second_moment += q * product * product
        intercept, curvature, total = 0.0, 0.0, 0.0
        if subtracted == QUADRATIC:
            seen = zeroth, first_moment, second_moment
            rest, level, intercept, curvature = quadratic(family, parameter, moments[row], seen, nodes, node_weights)
            total = share * rest * level
        bias_sum, mass = 0.0, 0.0
        for p in range(number):
            other = np.uint64(indices[begin + p])
            product = np.float64(products[p])
            eta = product + left_bias[row] + right_bias[other]
            noise = share * right_share[other]
            rho = np.float64(weights[begin + p]) if weights.size > 0 else noise
            x = np.float64(values[begin + p])
            is_fitted = held_out.size == 0 or not held_out[begin + p]
            if with_value:
                if is_fitted:
                    total += pair_loss(family, parameter, x, eta, rho, top)
                if subtracted == UNSEEN and eta > top:
                    total -= pair_loss(family, parameter, 0.0, eta, rho, top)
                elif subtracted == UNSEEN:
                    total -= noise * unseen_terms(family, parameter, product)[0]
            if with_slope:
                derivative, second = 0.0, 0.0
                if is_fitted:
                    derivative, second = pair_slopes(family, parameter, x, eta, rho, top)
                if subtracted == QUADRATIC:
                    derivative -= noise * (intercept + curvature * product)
                    second -= noise * curvature
                elif subtracted == UNSEEN and eta > top:
                    above = pair_slopes(family, parameter, 0.0, eta, rho, top)
                    derivative -= above[0]
                    second -= above[1]
                elif subtracted == UNSEEN:
                    terms = unseen_terms(family, parameter, product)
                    derivative -= noise * terms[1]
                    second -= noise * terms[2]
                bias_sum += derivative
                mass += second
                products[p] = derivative
        sums[row, 0] = total
        sums[row, 1] = bias_sum
        sums[row, 2] = mass
        sums[row, 3] = intercept
        sums[row, 4] = curvature
        if with_slope:
            row_sum(indices[begin : begin + number], products, right, gradient[row])


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def conjugate_rows(
    indptr: Array,
    indices: Array,
    targets: Array,
    weights: Array,
    left: Array,
    right: Array,
    left_bias: Array,
    right_bias: Array,
    penalty: Array,
    steps: int,
    first: int,
    last: int,
    out: Array,
) -> None:
    """Take steps of conjugate gradients towards each row's minimum of sum h·(l·r + a + b - z)² + l'·penalty·l.

    ``out`` gets the new rows of ``left``. The weighted error never rises: each step is optimal in its direction.
    """
    width = left.shape[1]
    longest = 0
    for row in range(first, last):
        longest = max(longest, indptr[row + 1] - indptr[row])
    products = np.empty(longest, dtype=np.float32)
    residual, direction = np.empty(width, dtype=np.float32), np.empty(width, dtype=np.float32)
    image = np.empty(width, dtype=np.float32)
    for row in range(first, last):
        begin = indptr[row]
        number = indptr[row + 1] - begin
        row_products(indices, begin, number, left[row], right, products)
        for p in range(number):
            other = np.uint64(indices[begin + p])
            error = targets[begin + p] - (products[p] + left_bias[row] + right_bias[other])
            products[p] = weights[begin + p] * error
        row_sum(indices[begin : begin + number], products, right, residual)
        square = 0.0
        for k in range(width):
            out[row, k] = left[row, k]
            residual[k] -= penalty[k] * left[row, k]
            direction[k] = residual[k]
            square += np.float64(residual[k]) * residual[k]
        start = square
        for _ in range(steps):
            if square <= 1e-12 * start or square == 0:
                break
            row_products(indices, begin, number, direction, right, products)
            for p in range(number):
                products[p] *= weights[begin + p]
            row_sum(indices[begin : begin + number], products, right, image)
            curvature = 0.0
            for k in range(width):
                image[k] += penalty[k] * direction[k]
                curvature += np.float64(direction[k]) * image[k]
            if curvature <= 0:
                break
            length = np.float32(square / curvature)
            before = square
            square = 0.0
            for k in range(width):
                out[row, k] += length * direction[k]
                residual[k] -= length * image[k]
                square += np.float64(residual[k]) * residual[k]
            ratio = np.float32(square / before)
            for k in range(width):
                direction[k] = residual[k] + ratio * direction[k]


@njit(cache=True, nogil=True)
def seen_products(
    indptr: Array, indices: Array, left: Array, right: Array, first: int, last: int, products: Array
) -> None:
    """``products[p] = left[row] · right[indices[p]]`` for the pairs of some rows."""
    for row in range(first, last):
        begin, end = indptr[row], indptr[row + 1]
        row_products(indices, begin, end - begin, left[row], right, products[begin:end])


@njit(cache=True, nogil=True)
def mark_seen(indptr: Array, indices: Array, rows: Array, columns: Array, first: int, last: int, seen: Array) -> None:
    """Set ``seen[p]`` to whether a pair is among compressed sparse rows with sorted columns."""
    for p in range(first, last):
        low, high = indptr[rows[p]], indptr[rows[p] + 1]
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < columns[p]:
                low = middle + 1
            else:
                high = middle
        seen[p] = low < indptr[rows[p] + 1] and indices[low] == columns[p]
