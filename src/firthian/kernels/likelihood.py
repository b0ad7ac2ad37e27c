"""Losses of the exponential families and their derivatives, pair by pair, over compressed rows.

eta = u·c + a + b is the linear predictor; ``rho`` is the pair's share of what is not seen: the expected noise count
k·x_i·x_j^a/Z of the binomial family, exp((2 - p)(a + b)) of those with a log link, 1 of the Gaussian.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

Array = np.ndarray[Any, np.dtype[Any]]

GAUSSIAN, POISSON, TWEEDIE, BINOMIAL, NEGATIVE_BINOMIAL = 0, 1, 2, 3, 4

#: How the pairs that were not seen are treated: left out, by a quadratic in u·c, or one by one.
IGNORED, EXPANDED, EXACT = 0, 1, 2


@njit(cache=True, nogil=True, inline="always")
def pair_terms(family: int, parameter: float, x: float, eta: float, rho: float) -> tuple[float, float, float]:
    """Give (loss, its derivative by eta, its expected curvature) of one pair; constants are left out."""
    if family == BINOMIAL:
        # (rho + x)·log(1 + e^eta) - x·eta, with the binomial's n = rho + x (EMF's Q)
        if eta > 0:
            small = np.exp(-eta)
            soft = eta + np.log1p(small)
            sigma = 1 / (1 + small)
        else:
            small = np.exp(eta)
            soft = np.log1p(small)
            sigma = small / (1 + small)
        n = rho + x
        return n * soft - x * eta, n * sigma - x, n * sigma * (1 - sigma)
    if family == GAUSSIAN:
        return 0.5 * (x - eta) ** 2, eta - x, 1.0
    if family == TWEEDIE:
        # mu^(2-p)/(2-p) - x·mu^(1-p)/(1-p), mu = e^eta
        first = np.exp((2 - parameter) * eta)
        second = x * np.exp((1 - parameter) * eta)
        return first / (2 - parameter) - second / (1 - parameter), first - second, first
    mu = np.exp(eta)
    if family == POISSON:
        return mu - x * eta, mu - x, mu
    # Negative binomial with shape theta: (x + theta)·log(theta + mu) - x·eta
    ratio = mu / (1 + mu / parameter)
    loss = (x + parameter) * np.log1p(mu / parameter) - x * eta
    return loss, ratio - x / (1 + mu / parameter), ratio


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def seen_rows(
    family: int,
    parameter: float,
    indptr: Array,
    indices: Array,
    values: Array,
    left: Array,
    right: Array,
    left_bias: Array,
    right_bias: Array,
    left_share: Array,
    right_share: Array,
    treatment: int,
    point: Array,
    level: Array,
    slope: Array,
    bend: Array,
    first: int,
    last: int,
    gradient: Array,
    bias_gradient: Array,
    mass: Array,
    loss: Array,
) -> None:
    """Add up the pairs that were seen, row by row: gradient by u, by a, sum of curvatures, loss.

    What the treatment of the unseen pairs will add for *every* pair is taken off here, so that seen ones count exactly.
    """
    width = left.shape[1]
    for row in range(first, last):
        total_bias = 0.0
        total_mass = 0.0
        total_loss = 0.0
        for k in range(width):
            gradient[row, k] = 0
        for p in range(indptr[row], indptr[row + 1]):
            other = np.uint64(indices[p])
            product = np.float32(0)
            for k in range(width):
                product += left[row, k] * right[other, k]
            eta = np.float64(product) + left_bias[row] + right_bias[other]
            rho = left_share[row] * right_share[other]
            value, derivative, curvature = pair_terms(family, parameter, np.float64(values[p]), eta, rho)
            if treatment == EXPANDED:
                step = product - point[row]
                value -= rho * (level[row] + slope[row] * step + 0.5 * bend[row] * step * step)
                derivative -= rho * (slope[row] + bend[row] * step)
                curvature -= rho * bend[row]
            elif treatment == EXACT:
                zero_value, zero_derivative, zero_curvature = pair_terms(family, parameter, 0.0, eta, rho)
                value -= zero_value
                derivative -= zero_derivative
                curvature -= zero_curvature
            total_loss += value
            total_bias += derivative
            total_mass += curvature
            factor = np.float32(derivative)
            for k in range(width):
                gradient[row, k] += factor * right[other, k]
        bias_gradient[row] = total_bias
        mass[row] = total_mass
        loss[row] = total_loss
