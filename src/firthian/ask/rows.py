"""The vector of a word in a slice: a convex problem, since the context vectors are fixed.

The loss is that of SGNS as a likelihood, sum_j (rho_j + x_j)·log(1 + e^(u·c_j)) - x_j·u·c_j with rho_j = k·n·q_j, plus a prior
toward a given vector: events/2·(u - u_0)'(H + h·I)(u - u_0), where H is the curvature of one event and h the mean of its
eigenvalues, so that directions of which the contexts say little stay where they were.
"""

from __future__ import annotations

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError

#: Iterations end when half the squared Newton step in the curvature of the loss is below this share of the events.
TOLERANCE, MOST_ITERATIONS, MOST_HALVINGS = 1e-10, 200, 30


class RowProblem:
    """The rows of one word against fixed contexts; ``noise`` is q, ``negative`` is k."""

    def __init__(self, contexts: Array, noise: Array, negative: float, prior: Array, rates: Array) -> None:
        self.contexts, self.prior = np.asarray(contexts, dtype=np.float32), np.asarray(prior, dtype=np.float64)
        self.noise = negative * np.asarray(noise, dtype=np.float64)
        # The curvature of one event, at the prior vector.
        sigma = _sigma(self._products(self.prior))
        weights = (self.noise + rates) * sigma * (1 - sigma)
        self.curvature = (self.contexts.T @ (weights.astype(np.float32)[:, None] * self.contexts)).astype(np.float64)
        mean = np.trace(self.curvature) / len(self.prior)
        #: The curvature of the prior of one event.
        self.penalty = self.curvature + mean * np.eye(len(self.prior))

    def _products(self, vector: Array) -> Array:
        return (self.contexts @ vector.astype(np.float32)).astype(np.float64)

    def loss(self, vector: Array, counts: Array, events: float) -> float:
        """Return the loss of a vector, with a prior worth ``events`` events."""
        products = self._products(vector)
        trials = self.noise * counts.sum() + counts
        away = vector - self.prior
        fit = trials @ np.logaddexp(0, products) - counts @ products
        return float(fit + 0.5 * events * away @ self.penalty @ away)

    def gradient(self, vector: Array, counts: Array, events: float) -> Array:
        """Return the gradient of the loss."""
        slopes = (self.noise * counts.sum() + counts) * _sigma(self._products(vector)) - counts
        fit = (slopes.astype(np.float32) @ self.contexts).astype(np.float64)
        return np.asarray(fit + events * self.penalty @ (vector - self.prior))

    def solve(self, counts: Array, events: float) -> Array:
        """Return the vector of least loss, by quasi-Newton steps with the curvature of the prior vector."""
        total = float(counts.sum())
        if not total + events > 0:
            raise FirthianError("a row without counts", hint="choose a word that occurs")
        inverse = np.linalg.inv(total * self.curvature + events * self.penalty)
        vector, loss = self.prior.copy(), self.loss(self.prior, counts, events)
        for _ in range(MOST_ITERATIONS):
            gradient = self.gradient(vector, counts, events)
            step = inverse @ gradient
            if 0.5 * float(gradient @ step) < TOLERANCE * (total + events):
                break
            length = 1.0
            for _ in range(MOST_HALVINGS):
                moved = vector - length * step
                now = self.loss(moved, counts, events)
                if now < loss:
                    break
                length /= 2
            else:
                break
            vector, loss = moved, now
        return vector


def _sigma(products: Array) -> Array:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * products)))
