"""Exponential dispersion families: the distribution of a count, given its mean.

A family has a link, which maps the mean mu to the linear predictor eta, and a variance for each mean. These define the weights
h of iteratively reweighted least squares, and the loss of a count x with its derivatives. The binomial family has n = rho + x
trials, and mu = n·pi. Counts may be any non-negative real numbers.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from firthian.errors import FirthianError


class Family:
    """The interface of a family. ``rho`` is a pair's noise share (``firthian.kernels.likelihood``)."""

    name: ClassVar[str] = ""
    #: The family's number in the kernels.
    code: ClassVar[int] = -1
    #: The biases it supports: none if the link is not the logarithm.
    biases: ClassVar[tuple[str, ...]] = ("none", "row", "both")
    #: p or theta, passed to the kernels.
    parameter: float = 0.0
    #: The loss of an unseen pair is exp(share_power·(a + b))·phi(u·c).
    share_power: float = 0.0

    def weight(self, mu: Any) -> Any:
        """Return h = (d mu / d eta)² / variance."""
        raise NotImplementedError

    def loss(self, x: Any, eta: Any, rho: Any = 0.0) -> Any:
        """Return the negative log likelihood, without terms that do not depend on eta."""
        raise NotImplementedError

    def slope(self, x: Any, eta: Any, rho: Any = 0.0) -> Any:
        """Return the derivative of the loss by eta."""
        raise NotImplementedError

    def curvature(self, x: Any, eta: Any, rho: Any = 0.0) -> Any:
        """Return the expected second derivative of the loss by eta."""
        return self.weight(np.exp(eta))

    def unseen(self, product: Any) -> tuple[Any, Any, Any]:
        """Return phi(u·c), its slope and its curvature, where the loss of an unseen pair is rho·phi."""
        raise NotImplementedError


class Gaussian(Family):
    """Constant variance, identity link: least squares."""

    name, code, biases = "gaussian", 0, ("none",)

    def weight(self, mu: Any) -> Any:
        """1, for every pair, seen or not."""
        return np.ones_like(mu)

    def loss(self, x: Any, eta: Any, rho: Any = 1.0) -> Any:
        """rho·(x - eta)²/2, where rho is a weight."""
        return 0.5 * rho * (x - eta) ** 2

    def slope(self, x: Any, eta: Any, rho: Any = 1.0) -> Any:
        """rho·(eta - x)."""
        return rho * (eta - x)

    def curvature(self, x: Any, eta: Any, rho: Any = 1.0) -> Any:
        """rho."""
        return rho + np.zeros_like(eta)

    def unseen(self, product: Any) -> tuple[Any, Any, Any]:
        """phi = s²/2."""
        return 0.5 * product**2, product, np.ones_like(product)


class Poisson(Family):
    """Variance mu, log link."""

    name, code, share_power = "poisson", 1, 1.0

    def weight(self, mu: Any) -> Any:
        """mu."""
        return mu

    def loss(self, x: Any, eta: Any, rho: Any = 0.0) -> Any:
        """mu - x·eta."""
        return np.exp(eta) - x * eta

    def slope(self, x: Any, eta: Any, rho: Any = 0.0) -> Any:
        """mu - x."""
        return np.exp(eta) - x

    def unseen(self, product: Any) -> tuple[Any, Any, Any]:
        """phi = e^s."""
        value = np.exp(product)
        return value, value, value


class Tweedie(Family):
    """Variance mu^p with 1 < p < 2, log link: sums of a Poisson number of gamma variables, so counts may be real numbers."""

    name, code = "tweedie", 2

    def __init__(self, power: float = 1.25) -> None:
        if not 1 <= power <= 2:
            raise FirthianError(f"`power` must be a number from 1 to 2, got {power!r}", hint="the paper uses 1.25")
        if power in (1, 2):
            raise FirthianError(
                f"a Tweedie family needs a `power` between 1 and 2, got {power:g}",
                hint="use the recipe poisson for 1" if power == 1 else "choose a value below 2, such as 1.9",
            )
        self.parameter = power
        self.share_power = 2 - power

    def weight(self, mu: Any) -> Any:
        """mu^(2-p)."""
        return mu ** (2 - self.parameter)

    def deviance(self, x: Any, mu: Any) -> Any:
        """2·(x^(2-p)/((1-p)(2-p)) - x·mu^(1-p)/(1-p) + mu^(2-p)/(2-p))."""
        p = self.parameter
        return 2 * (x ** (2 - p) / ((1 - p) * (2 - p)) - x * mu ** (1 - p) / (1 - p) + mu ** (2 - p) / (2 - p))

    def loss(self, x: Any, eta: Any, rho: Any = 0.0) -> Any:
        """mu^(2-p)/(2-p) - x·(mu^(1-p) - 1)/(1-p); the 1 keeps it bounded as p approaches 1."""
        p = self.parameter
        first = np.exp((2 - p) * eta) / (2 - p)
        return first if _is_zero(x) else first - x * np.expm1((1 - p) * eta) / (1 - p)

    def slope(self, x: Any, eta: Any, rho: Any = 0.0) -> Any:
        """mu^(2-p) - x·mu^(1-p)."""
        p = self.parameter
        first = np.exp((2 - p) * eta)
        return first if _is_zero(x) else first - x * np.exp((1 - p) * eta)

    def unseen(self, product: Any) -> tuple[Any, Any, Any]:
        """phi = e^((2-p)s)/(2-p)."""
        slope = np.exp(self.share_power * product)
        return slope / self.share_power, slope, self.share_power * slope


class LogGaussian(Tweedie):
    """Constant variance with a log link: Tweedie's formulas at p = 0, so h = mu² and the loss is (x - mu)²/2 + constant."""

    name = "gaussian-log"

    def __init__(self) -> None:
        self.parameter, self.share_power = 0.0, 2.0


class NegativeBinomial(Family):
    """Variance mu + mu²/theta, log link. The paper uses Poisson's weight; the correct one is mu/(1 + mu/theta)."""

    name, code, share_power = "negative-binomial", 4, 1.0

    def __init__(self, theta: float = 1.0) -> None:
        if not theta > 0:
            raise FirthianError(f"`theta` must be positive, got {theta!r}", hint="large values approach Poisson")
        self.parameter = theta

    def weight(self, mu: Any) -> Any:
        """mu/(1 + mu/theta)."""
        return mu / (1 + mu / self.parameter)

    def loss(self, x: Any, eta: Any, rho: Any = 0.0) -> Any:
        """(x + theta)·log(1 + mu/theta) - x·eta."""
        return (x + self.parameter) * np.log1p(np.exp(eta) / self.parameter) - x * eta

    def slope(self, x: Any, eta: Any, rho: Any = 0.0) -> Any:
        """(mu - x) / (1 + mu/theta)."""
        mu = np.exp(eta)
        return (mu - x) / (1 + mu / self.parameter)

    def unseen(self, product: Any) -> tuple[Any, Any, Any]:
        """phi = e^s: Poisson's, an upper bound on its own."""
        value = np.exp(product)
        return value, value, value


class Binomial(Family):
    """n trials with probability pi, logit link; n = rho + x is SGNS and EMF. The paper's weight lacks the n."""

    name, code, biases = "binomial", 3, ("none",)

    def loss(self, x: Any, eta: Any, rho: Any = 0.0) -> Any:
        """(rho + x)·log(1 + e^eta) - x·eta."""
        return (rho + x) * _softplus(eta) - x * eta

    def slope(self, x: Any, eta: Any, rho: Any = 0.0) -> Any:
        """(rho + x)·sigma(eta) - x."""
        return (rho + x) * _sigma(eta) - x

    def curvature(self, x: Any, eta: Any, rho: Any = 0.0) -> Any:
        """(rho + x)·sigma(eta)·sigma(-eta)."""
        sigma = _sigma(eta)
        return (rho + x) * sigma * (1 - sigma)

    def unseen(self, product: Any) -> tuple[Any, Any, Any]:
        """phi = log(1 + e^s)."""
        sigma = _sigma(product)
        return _softplus(product), sigma, sigma * (1 - sigma)


def _is_zero(x: Any) -> bool:
    """Return whether all counts are 0: mu^(1-p) may then overflow, and 0 times infinity is NaN."""
    return bool(np.ndim(x) == 0 and x == 0)


def _sigma(eta: Any) -> Any:
    # e^-eta overflows float32 below -88, to an infinity whose inverse is 0, as it should be
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-eta))


def _softplus(eta: Any) -> Any:
    return np.maximum(eta, 0) + np.log1p(np.exp(-np.abs(eta)))
