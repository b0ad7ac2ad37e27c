"""Linear response: what mean field forgets, put back. For problems small enough for one dense system.

Mean field gives each word and each context its own Gaussian, as if they were independent, and so is over-confident
about u·c. How the means of *all* factors move together when the data are perturbed is the inverse of the Hessian of
the bound in the means; its blocks are better covariances (Giordano, Broderick and Jordan 2018; docs/derivations/bayes.md,
section 8). Covariances and the bound's own parameters are held fixed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from firthian.errors import FirthianError
from firthian.models.bayes import BayesianLogistic
from firthian.models.bounds import curvature, sigmoid
from firthian.packing import unpack
from firthian.run import one_blas_thread
from firthian.solvers.posterior import Gaussians
from firthian.solvers.variational import State

Array = np.ndarray[Any, np.dtype[Any]]

#: The largest number of unknowns of the dense system: 0.8 GB.
LARGEST = 10_000


@dataclass(frozen=True)
class Response:
    """The scores eta of all pairs: their posterior means, mean-field variances, and variances by linear response."""

    mean: Array
    mean_field: Array
    variance: Array
    #: The corrected covariances of the words' free coordinates.
    word_covariances: Array

    @property
    def inflation(self) -> float:
        """One factor for all covariances: the median of the ratio of both variances."""
        return float(np.median(self.variance / self.mean_field))


def linear_response(model: BayesianLogistic, state: State) -> Response:
    """Give the variances of all pairs' scores, mean-field and corrected."""
    words, contexts = state.words, state.contexts
    unknowns = words.rows * words.free.size + contexts.rows * contexts.free.size
    if unknowns > LARGEST or words.diagonal:
        raise FirthianError(
            f"linear response needs a dense system of {unknowns:,} unknowns with full covariances",
            hint=f"at most {LARGEST:,} are possible: use fewer words or dimensions",
        )
    own, other = _matrices(words), _matrices(contexts)
    w, z = words.means.astype(np.float64), contexts.means.astype(np.float64)
    mean = w @ z.T
    mean_field = _variance(w, z, own, other)
    weight, slope = _pairs(model, mean, mean**2 + mean_field)
    with one_blas_thread():
        # The Hessian of minus the bound: S^-1 on the diagonal, (weight·eta - slope) I + weight·z wᵀ beside it.
        n, m, p, q = words.rows, contexts.rows, words.free.size, contexts.free.size
        cross = np.einsum("ij,ja,ib->iajb", weight, z[:, words.free], w[:, contexts.free])
        same = words.free[:, None] == contexts.free[None, :]
        cross += np.einsum("ij,ab->iajb", weight * mean - slope, same.astype(np.float64))
        hessian = np.zeros((n * p + m * q, n * p + m * q))
        for side, start, size in ((words, 0, p), (contexts, n * p, q)):
            blocks = np.linalg.inv(unpack(side.covariances, size))
            for row in range(side.rows):
                here = slice(start + row * size, start + (row + 1) * size)
                hessian[here, here] = blocks[row]
        hessian[: n * p, n * p :] = cross.reshape(n * p, m * q)
        hessian[n * p :, : n * p] = hessian[: n * p, n * p :].T
        joint = np.linalg.inv(hessian)
    word_blocks = np.einsum("iaib->iab", joint[: n * p, : n * p].reshape(n, p, n, p))
    context_blocks = np.einsum("iaib->iab", joint[n * p :, n * p :].reshape(m, q, m, q))
    both = joint[: n * p, n * p :].reshape(n, p, m, q)
    variance = _variance(w, z, _widen(words, word_blocks), _widen(contexts, context_blocks))
    variance += 2 * np.einsum("ja,iajb,ib->ij", z[:, words.free], both, w[:, contexts.free])
    return Response(mean, mean_field, np.maximum(variance, 0), word_blocks)


def _variance(w: Array, z: Array, own: Array, other: Array) -> Array:
    """Var(w·z) = zᵀ S z + wᵀ T w + tr(S T), for independent w and z with covariances S and T."""
    by_word = np.einsum("ja,iab,jb->ij", z, own, z)
    by_context = np.einsum("ia,jab,ib->ij", w, other, w)
    return np.asarray(by_word + by_context + np.einsum("iab,jab->ij", own, other))


def _matrices(side: Gaussians) -> Array:
    return _widen(side, unpack(side.covariances, side.free.size))


def _widen(side: Gaussians, matrices: Array) -> Array:
    """Covariances of the free coordinates -> of all, where fixed ones have none."""
    out = np.zeros((side.rows, side.size, side.size))
    out[np.ix_(np.arange(side.rows), side.free, side.free)] = matrices
    return out


def _pairs(model: BayesianLogistic, mean: Array, square: Array) -> tuple[Array, Array]:
    """Give the weight 2·n·lam and the slope of the bound of every pair, unlisted ones with their tied parameter."""
    side = model.words
    rows = np.repeat(np.arange(side.rows), np.diff(side.indptr))
    listed = np.zeros(mean.shape, dtype=bool)
    listed[rows, side.indices] = True
    positive, total = np.zeros(mean.shape), np.outer(side.own_rate, side.other_rate)
    positive[rows, side.indices] = model.temper * np.asarray(side.positive)
    total += positive
    if side.negative.size:
        total[rows, side.indices] += model.temper * np.asarray(side.negative)
    share = np.where(listed, 0.0, side.other_rate)
    share /= np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
    psi = np.where(listed, mean, (share * mean).sum(axis=1, keepdims=True))
    tied = np.where(listed, square, (share * square).sum(axis=1, keepdims=True))
    if model.bound == "jaakkola":
        return 2 * total * curvature(tied), positive - total / 2
    return total / 4, positive - total * (sigmoid(psi) - psi / 4)
