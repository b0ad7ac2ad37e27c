"""Quadratic lower bounds of the logistic log-likelihood: with them, Gaussian posteriors stay Gaussian.

A pair with n+ positive and n- negative events, n = n+ + n-, has the log-likelihood n+·eta - n·log(1 + exp(eta)).
"""

from __future__ import annotations

import numpy as np

from firthian.arrays import Array


def curvature(square: Array) -> Array:
    """Jaakkola's lam(xi) = tanh(xi/2)/(4 xi), from xi²; 1/8 at 0.

    >>> curvature(np.array([0.0, 4.0])).round(4)
    array([0.125 , 0.0952])
    """
    xi = np.sqrt(np.maximum(square, 0))
    safe = np.maximum(xi, 1e-3)
    return np.where(xi < 1e-3, 0.125 - square / 96, np.tanh(safe / 2) / (4 * safe))


def height(square: Array) -> Array:
    """log(2 cosh(xi/2)), from xi²: the loss of the bound of one event at its optimal xi."""
    xi = np.sqrt(np.maximum(square, 0))
    return np.asarray(xi / 2 + np.log1p(np.exp(-xi)))


def logistic_curvature(mean: Array, variance: Array) -> Array:
    """E[sigma(eta)(1 - sigma(eta))] for Gaussian eta: the exact curvature, which the bounds overstate.

    >>> logistic_curvature(np.array([0.0, 4.0]), np.array([0.0, 1.0])).round(3)
    array([0.25 , 0.026])
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    eta = mean[..., None] + np.sqrt(np.maximum(variance, 0))[..., None] * nodes
    return np.asarray(sigmoid(eta) * sigmoid(-eta) @ (weights / weights.sum()))


def softplus(eta: Array) -> Array:
    """log(1 + exp(eta)), without overflow."""
    return np.asarray(np.logaddexp(0, eta))


def sigmoid(eta: Array) -> Array:
    """1/(1 + exp(-eta)), without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(eta / 2)))


class Background:
    """The bound of each row's unlisted pairs, which share one variational parameter.

    ``rate`` is nu_i: a pair has nu_i·p_j negative events and no positive ones. ``mass`` is the sum of p_j over unlisted
    contexts; ``square`` and ``mean`` are the averages of E[eta²] and E[eta] over them, weighted by p_j. The optimum of
    Jaakkola's bound is xi_i² = square, that of Böhning's psi_i = mean (docs/derivations/bayes.md, eqs. 5 and 9). A row
    without unlisted pairs (``mass`` 0) has no background.
    """

    def __init__(self, bound: str, rate: Array, mass: Array, square: Array, mean: Array) -> None:
        rate = np.where(mass > 0, rate, 0.0)
        if bound == "jaakkola":
            #: A pair adds ``quadratic``·p_j times E[z zᵀ] to half the precision, and -``linear``·p_j times E[z] to S^-1 m.
            self.quadratic = rate * curvature(square)
            self.linear = rate / 2
            self.value = -rate * mass * (height(square) + mean / 2)
        elif bound == "logistic":
            self.quadratic = rate * logistic_curvature(mean, square - mean**2) / 2
            self.linear = self.value = np.zeros_like(rate)
        else:
            self.quadratic = rate / 8
            self.linear = rate * (sigmoid(mean) - mean / 4)
            spread = np.maximum(square - mean**2, 0)
            self.value = -rate * mass * (softplus(mean) + spread / 8)
