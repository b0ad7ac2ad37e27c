"""Covariances that cover: the curvature of the logistic function in place of the bound's.

The bounds are tight where they touch, but their curvature 2·lam(xi) is larger than sigma(1 - sigma), the more so the larger
the score: at eta = 3 it is 0.151 instead of 0.045. Means do not suffer (the slopes agree at the point of contact), but
covariances come out too small. A Gaussian posterior that is best without a bound has the precision

    S_i^-1 = prior + sum_j n·E[sigma(eta)(1 - sigma(eta))] E[z_j z_jᵀ]          (docs/derivations/bayes.md, eq. 14)

so one more pass with these weights, the means left alone, mends the intervals.
"""

from __future__ import annotations

import numpy as np

from firthian.arrays import Array
from firthian.kernels.packing import unpack
from firthian.learn.bayes.model import BayesianLogistic, Side
from firthian.learn.bayes.posterior import BLOCK, Gaussians, Moments, State
from firthian.learn.bayes.variational import background_of, check_failures, gather_block
from firthian.runtime.run import Run


def calibrate(model: BayesianLogistic, state: State, run: Run) -> None:
    """Compute the covariances of all words and contexts anew; means and moments stay as they are."""
    words, contexts, noise = state.words, state.contexts, model.words.other_rate
    masses = model.words.unlisted_mass(run)
    sums = contexts.weighted_sums(noise, noise, run)
    prior = np.ones(words.free.size)
    prior[state.dimension :] = model.bias_precision
    side, others, temper = model.words, contexts.others, model.temper

    def block(first: int, last: int) -> Array:
        pairs, listed, _, listed_linear, _ = _gather(temper, side, words, others, noise, first, last)
        found = background_of("logistic", side.own_rate, words, masses, sums, listed, listed_linear, first, last)
        _renew(words, pairs, listed, sums[0], found.quadratic, prior, first)
        return found.quadratic

    quadratic = np.concatenate(run.over_rows(block, words.rows, BLOCK, updates=words.arrays))
    shared = words.weighted_sums(quadratic, quadratic, run)[0]
    prior = np.full(contexts.free.size, model.bias_precision)
    prior[: state.dimension] = state.relevance.mean
    context_side, words_there = model.contexts, words.others

    def context_block(first: int, last: int) -> None:
        pairs, listed, _, _, _ = _gather(temper, context_side, contexts, words_there, quadratic, first, last)
        _renew(contexts, pairs, listed, shared, context_side.own_rate[first:last], prior, first)

    run.over_rows(context_block, contexts.rows, BLOCK, updates=contexts.arrays)
    state.calibrated = True


def _gather(
    temper: float, side: Side, own: Gaussians, other: Moments, weights: Array, first: int, last: int
) -> tuple[Array, ...]:
    return gather_block(side, own, other, np.stack([weights, weights], axis=1), temper, "logistic", first, last)


def _renew(
    side: Gaussians, pairs: Array, listed: Array, shared: Array, factor: Array, prior: Array, first: int
) -> None:
    from firthian.kernels.bayes import posterior

    here = slice(first, first + pairs.shape[0])
    means, moments = side.means[here].copy(), np.empty_like(side.moments[here])
    failed = posterior(
        pairs, listed, np.zeros(means.shape), shared, factor, prior, side.free, side.fixed, side.diagonal, 0,
        means, moments, side.covariances[here], side.log_determinants[here],
    )  # fmt: skip
    check_failures(failed)


def score_moments(state: State) -> tuple[Array, Array]:
    """Return the posterior mean and variance of every score eta = w_i·z_j, as dense matrices: for small problems."""
    w, z = state.words.means.astype(np.float64), state.contexts.means.astype(np.float64)
    own, other = dense_covariances(state.words), dense_covariances(state.contexts)
    # Var(w·z) = zᵀ S z + wᵀ T w + tr(S T), for independent w and z
    by_word = np.einsum("ja,iab,jb->ij", z, own, z, optimize=True)
    by_context = np.einsum("ia,jab,ib->ij", w, other, w, optimize=True)
    return w @ z.T, by_word + by_context + np.einsum("iab,jab->ij", own, other)


def dense_covariances(side: Gaussians) -> Array:
    """Return the covariances of all coordinates, dense: for small problems; fixed coordinates have none."""
    out = np.zeros((side.rows, side.size, side.size))
    if side.diagonal:
        out[:, side.free, side.free] = side.covariances
    else:
        out[np.ix_(np.arange(side.rows), side.free, side.free)] = unpack(side.covariances, side.free.size)
    return out
