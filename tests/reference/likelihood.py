"""Exponential families, slowly: every pair of a dense matrix, one after another, in doubles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def pair_loss(name: str, parameter: float, x: float, eta: float, rho: float) -> float:
    """Minus the log likelihood of a pair, without what does not depend on eta."""
    if name == "gaussian":
        return 0.5 * rho * (x - eta) ** 2
    if name == "binomial":
        return (rho + x) * math.log(1 + math.exp(eta)) - x * eta
    mu = math.exp(eta)
    if name == "poisson":
        return mu - x * eta
    if name == "gaussian-log":
        return 0.5 * (x - mu) ** 2 - 0.5 * x**2 + x
    if name == "tweedie":
        return mu ** (2 - parameter) / (2 - parameter) - x * (mu ** (1 - parameter) - 1) / (1 - parameter)
    return (x + parameter) * math.log(1 + mu / parameter) - x * eta


def total_loss(family: Any, x: Array, u: Array, c: Array, a: Array, b: Array, rho: Array) -> float:
    """The loss of all pairs."""
    return math.fsum(
        pair_loss(family.name, family.parameter, x[i, j], u[i] @ c[j] + a[i] + b[j], rho[i, j])
        for i in range(len(x))
        for j in range(x.shape[1])
    )


def sgns_expected_loss(x: Array, u: Array, c: Array, negative: float, exponent: float) -> float:
    """SGNS as Levy and Goldberg write it: each pair seen, and k noise contexts drawn for it (their eq. 4)."""
    noise = x.sum(axis=0) ** exponent
    noise = noise / noise.sum()
    total = 0.0
    for i in range(len(x)):
        for j in range(x.shape[1]):
            total -= x[i, j] * math.log(1 / (1 + math.exp(-u[i] @ c[j])))
            total -= negative * x[i].sum() * noise[j] * math.log(1 / (1 + math.exp(u[i] @ c[j])))
    return total
