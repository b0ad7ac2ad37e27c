"""Exponential dispersion families: the distribution of a count, given its mean.

A family has a link, which maps the mean mu to the linear predictor eta, and a variance for each mean. These define the weights
h of iteratively reweighted least squares, and the loss of a count x with its derivatives. The binomial family has n = rho + x
trials, and mu = n·pi. Counts may be any non-negative real numbers.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from firthian.errors import FirthianError


class Family:
    """The interface of a family. ``rho`` is a pair's noise share (``firthian.kernels.likelihood``)."""

    name: str = ""
    #: The family's number in the kernels.
    code: int = -1
    #: The biases it supports: none if the link is not the logarithm.
    biases: tuple[str, ...] = ("none", "row", "base", "both")
    #: p or theta, passed to the kernels.
    parameter: float = 0.0
    #: The loss of an unseen pair is exp(share_power·(a + b))·phi(u·c).
    share_power: float = 0.0
    #: The log of the mean from which on weights are constant (``Truncated``).
    top: float = np.inf

    def kernel(self) -> Callable[..., None]:
        """Return the kernel that sums over seen pairs."""
        from firthian.kernels.likelihood import seen_rows

        return seen_rows  # type: ignore[no-any-return]

    def link(self, mu: Any) -> Any:
        """Return the predictor of a mean."""
        return np.log(mu)

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

    def link(self, mu: Any) -> Any:
        """mu."""
        return mu

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


class Truncated(Family):
    """A family with a log link whose weights stop growing at the mean ``x_max``: h = h(min(mu, x_max)).

    Its variance is the family's up to x_max, and mu²/h(x_max) above, as that of a gamma distribution: large counts are
    fitted by their logarithms.
    """

    def __init__(self, family: Family, x_max: float) -> None:
        self.family, self.x_max, self.top = family, x_max, float(np.log(x_max))
        self.name, self.code, self.biases = family.name, family.code, family.biases
        self.parameter, self.share_power = family.parameter, family.share_power
        self.limit = float(family.weight(x_max))

    def weight(self, mu: Any) -> Any:
        """h(min(mu, x_max))."""
        return self.family.weight(np.minimum(mu, self.x_max))

    def loss(self, x: Any, eta: Any, rho: Any = 0.0) -> Any:
        """The family's, and above x_max the integral of the slope."""
        low, above = np.minimum(eta, self.top), np.maximum(eta, self.top)
        rest = (above - self.top) + x * (np.exp(-above) - np.exp(-self.top))
        return self.family.loss(x, low, rho) + np.where(eta > self.top, self.limit * rest, 0)

    def slope(self, x: Any, eta: Any, rho: Any = 0.0) -> Any:
        """The family's, and h(x_max)·(1 - x/mu) above x_max."""
        above = self.limit * (1 - x * np.exp(-np.maximum(eta, self.top)))
        return np.where(eta > self.top, above, self.family.slope(x, np.minimum(eta, self.top), rho))

    def unseen(self, product: Any) -> tuple[Any, Any, Any]:
        """The family's: means of unseen pairs are far below x_max."""
        return self.family.unseen(product)


@dataclass(frozen=True)
class Link:
    """A link by functions of one number that numba compiles: eta of a mean, the mean of eta, and d mean / d eta."""

    link: Callable[[float], float]
    mean: Callable[[float], float]
    slope: Callable[[float], float]


def _log(mu: Any) -> Any:
    return np.log(mu)


def _exp(eta: Any) -> Any:
    return np.exp(eta)


#: The log link.
LOG = Link(_log, _exp, _exp)


class OwnFamily(Family):
    """A family of your own: a link, a variance and a loss, by functions of numbers that numba compiles.

    ``loss(x, eta)`` is the negative log likelihood of a count; its derivative must be (mu - x)·mu'/V(mu), which is checked.
    ``share_power`` is k if the loss of an unseen pair is proportional to e^(k·eta), as with a log link and a variance mu^(2-k);
    only then can there be biases.
    """

    def __init__(
        self,
        name: str,
        link: Link,
        variance: Callable[[float], float],
        loss: Callable[[float, float], float],
        share_power: float = 0.0,
    ) -> None:
        from numba import njit, vectorize

        self.name, self.share_power = name, share_power
        self.biases = Family.biases if share_power else ("none",)
        plain = [getattr(f, "py_func", f) for f in (link.link, link.mean, link.slope, variance, loss)]
        self._jitted = [njit(nogil=True)(f) for f in plain]
        self._link, self._mean, self._change, self._variance, self._loss = (vectorize(nopython=True)(f) for f in plain)
        eta = self.link(np.array([0.5, 1.0, 2.0, 4.0]))
        step = 1e-4
        for x in (0.0, 3.0):
            measured = (self.loss(x, eta + step) - self.loss(x, eta - step)) / (2 * step)
            if not np.allclose(measured, self.slope(x, eta), rtol=1e-3, atol=1e-6):
                raise FirthianError(
                    f"the loss of the family {name} does not have the derivative (mu - x)·mu'/V(mu)",
                    hint="check loss, variance and the slope of the link",
                )
        if share_power and not np.allclose(self.loss(0.0, eta + 1), np.exp(share_power) * self.loss(0.0, eta)):
            raise FirthianError(
                f"the loss of the family {name} at x = 0 is not proportional to e^(share_power·eta)",
                hint="omit share_power, and set `bias=none`",
            )

    def link(self, mu: Any) -> Any:
        """Return the predictor of a mean."""
        return self._link(mu)

    def weight(self, mu: Any) -> Any:
        """Return h = mu'²/V(mu)."""
        return self._change(self._link(mu)) ** 2 / self._variance(mu)

    def loss(self, x: Any, eta: Any, rho: Any = 0.0) -> Any:
        """Return the loss."""
        return self._loss(x, eta)

    def slope(self, x: Any, eta: Any, rho: Any = 0.0) -> Any:
        """(mu - x)·mu'/V(mu)."""
        mu = self._mean(eta)
        return (mu - x) * self._change(eta) / self._variance(mu)

    def curvature(self, x: Any, eta: Any, rho: Any = 0.0) -> Any:
        """mu'²/V(mu)."""
        return self._change(eta) ** 2 / self._variance(self._mean(eta))

    def unseen(self, product: Any) -> tuple[Any, Any, Any]:
        """Return the loss at x = 0 with its derivatives, the second one by a difference."""
        first, last = (self.slope(0.0, product + step) for step in (1e-3, -1e-3))
        return self.loss(0.0, product), 0.5 * (first + last), (first - last) / 2e-3

    @functools.cache  # noqa: B019  families are few and live long
    def kernel(self) -> Callable[..., None]:
        """Return ``seen_rows`` compiled with this family's functions in place of the built-in ones."""
        from numba import njit

        from firthian.kernels import likelihood

        jit = njit(nogil=True)
        _, mean, change, variance, loss = self._jitted

        @jit
        def pair_slopes(family, parameter, x, eta, rho, top):  # type: ignore[no-untyped-def]
            weight = change(eta) / variance(mean(eta))
            return (mean(eta) - x) * weight, change(eta) * weight

        @jit
        def pair_loss(family, parameter, x, eta, rho, top):  # type: ignore[no-untyped-def]
            return loss(x, eta)

        @jit
        def unseen_terms(family, parameter, product):  # type: ignore[no-untyped-def]
            first = pair_slopes(family, parameter, 0.0, product + 1e-3, 0.0, 0.0)[0]
            last = pair_slopes(family, parameter, 0.0, product - 1e-3, 0.0, 0.0)[0]
            return loss(0.0, product), 0.5 * (first + last), (first - last) / 2e-3

        own: dict[str, Any] = {"pair_slopes": pair_slopes, "pair_loss": pair_loss, "unseen_terms": unseen_terms}
        for name in ("quadratic", "seen_rows"):
            plain = getattr(likelihood, name).py_func
            function = types.FunctionType(plain.__code__, {**plain.__globals__, **own}, name)
            own[name] = njit(nogil=True, fastmath={"reassoc", "contract"})(function)
        return own["seen_rows"]  # type: ignore[no-any-return]


def _is_zero(x: Any) -> bool:
    """Return whether all counts are 0: mu^(1-p) may then overflow, and 0 times infinity is NaN."""
    return bool(np.ndim(x) == 0 and x == 0)


def _sigma(eta: Any) -> Any:
    # e^-eta overflows float32 below -88, to an infinity whose inverse is 0, as it should be
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-eta))


def _softplus(eta: Any) -> Any:
    return np.maximum(eta, 0) + np.log1p(np.exp(-np.abs(eta)))
