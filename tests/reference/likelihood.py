"""Exponential families by their definitions, pair by pair, in double precision."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def link(family: Any, mu: Any, trials: Any = 1.0) -> Any:
    """Return eta of a mean."""
    if family.name == "gaussian":
        return mu
    return np.log(mu) - (np.log(trials - mu) if family.name == "binomial" else 0)


def inverse(family: Any, eta: Any, trials: Any = 1.0) -> Any:
    """Return the mean of eta."""
    if family.name == "gaussian":
        return eta
    return trials / (1 + np.exp(-eta)) if family.name == "binomial" else np.exp(eta)


def variance(family: Any, mu: Any, trials: Any = 1.0) -> Any:
    """Return the variance of a count with this mean, up to the dispersion."""
    formulas = {
        "poisson": lambda: mu,
        "tweedie": lambda: mu**family.parameter,
        "negative-binomial": lambda: mu + mu**2 / family.parameter,
        "binomial": lambda: mu * (trials - mu) / trials,
    }
    return formulas.get(family.name, lambda: np.ones_like(mu))()


def response(family: Any, x: Any, mu: Any) -> Any:
    """Return the pseudo-response z = eta + (x - mu)·(d eta / d mu) of a log link."""
    return link(family, mu) + (x - mu) / mu


def deviance(family: Any, x: Any, mu: Any, trials: Any = 1.0) -> Any:
    """Return twice the difference in log likelihood between mu = x and this mean."""
    theta = family.parameter
    formulas = {
        "gaussian": lambda: (x - mu) ** 2,
        "gaussian-log": lambda: (x - mu) ** 2,
        "poisson": lambda: 2 * (_x_log(x, mu) - x + mu),
        "tweedie": lambda: family.deviance(x, mu),
        "negative-binomial": lambda: 2 * (_x_log(x, mu) - (x + theta) * np.log((x + theta) / (mu + theta))),
        "binomial": lambda: 2 * (_x_log(x, mu) + _x_log(trials - x, trials - mu)),
    }
    return formulas[family.name]()


def _x_log(x: Any, mu: Any) -> Any:
    """Return x·log(x/mu), 0 where x is 0."""
    ratio = np.divide(x, mu, out=np.ones(np.broadcast(x, mu).shape), where=np.asarray(x) > 0)
    return x * np.log(ratio)


def pair_loss(name: str, parameter: float, x: float, eta: float, rho: float) -> float:
    """Return the negative log likelihood of a pair, without terms that do not depend on eta."""
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


def truncated_loss(family: Any, x: float, eta: float) -> float:
    """Return the loss of a family whose weights are constant from a mean of e^top on: the integral of h·(mu - x)/mu."""
    low = min(eta, family.top)
    rest = (eta - low) + x * (math.exp(-eta) - math.exp(-low))
    return pair_loss(family.name, family.parameter, x, low, 0.0) + float(family.weight(math.exp(family.top))) * rest


def total_loss(family: Any, x: Array, u: Array, c: Array, a: Array, b: Array, rho: Array) -> float:
    """Return the loss of all pairs."""

    def one(x: float, eta: float, rho: float) -> float:
        if math.isfinite(family.top):
            return truncated_loss(family, x, eta)
        return pair_loss(family.name, family.parameter, x, eta, rho)

    return math.fsum(
        one(x[i, j], u[i] @ c[j] + a[i] + b[j], rho[i, j]) for i in range(len(x)) for j in range(x.shape[1])
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
