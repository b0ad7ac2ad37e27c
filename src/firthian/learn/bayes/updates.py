"""Updates of the posteriors of all words, or all contexts, given the other side.

A pair with n+ positive and n- negative events, n = n+ + n-, has the log-likelihood n+·eta - n·log(1 + exp(eta)). With a
quadratic lower bound of it, Gaussian posteriors stay Gaussian. Each update maximizes the bound over its posteriors with all
else fixed. The pass that updates the words also computes the bound of the state it starts from.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.learn.bayes.model import Events
from firthian.learn.bayes.posterior import BLOCK, Gaussians, Moments, VariationalState
from firthian.runtime.run import Run

#: Columns per tile: all rows of a block use the moments of one tile before the next.
_TILE = 256

#: The kernels' codes of the bounds.
_BOUNDS = {"jaakkola": 0, "boehning": 1, "logistic": 2}


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


class LogisticModel(Protocol):
    """What updates need of a model: the events of both sides, the bound and the priors."""

    words: Events
    contexts: Events
    temper: float
    bound: str
    bias_precision: float


def gather_block(
    events: Events, own: Gaussians, other: Moments, weights: Array, temper: float, bound: str,
    first: int, last: int, fold: bool = False, curved: bool = False,
) -> tuple[Array, ...]:  # fmt: skip
    """Sum over the listed pairs of each row from ``first`` to ``last``; see the kernel ``gather``."""
    from firthian.kernels.bayes import gather

    rows, width = last - first, own.width
    outputs = (
        np.empty((rows, width), dtype=own.moments.dtype),
        np.empty((rows, width), dtype=own.moments.dtype),
        np.empty((rows, own.size)),
        np.empty((rows, own.size)),
        np.empty(rows),
        np.empty((rows if curved else 0, width), dtype=own.moments.dtype),
    )
    gather(
        events.indptr, events.indices, events.positive, events.negative, temper, events.own_rate, events.other_rate,
        weights, _BOUNDS[bound], fold, own.diagonal, own.means, own.moments, other.means, other.moments,
        first, last, _TILE, *outputs,
    )  # fmt: skip
    return outputs


def background_of(
    bound: str, rate: Array, own: Gaussians, masses: Array, sums: tuple[Array, Array],
    listed: Array, listed_linear: Array, first: int, last: int,
) -> Background:  # fmt: skip
    """Bound the unlisted pairs of rows ``first`` to ``last``: sums over all contexts minus those over listed ones."""
    mass = masses[first:last]
    safe = np.where(mass > 0, mass, 1.0)
    moments = own.packed_moments(first, last)
    square = np.einsum("ik,ik->i", moments, sums[0] - listed) / safe
    mean = np.einsum("ik,ik->i", own.means[first:last].astype(np.float64), sums[1] - listed_linear) / safe
    return Background(bound, rate[first:last], mass, np.maximum(square, 0), mean)


def word_precision(model: LogisticModel, state: VariationalState) -> Array:
    """Return the prior precision of each free coordinate of the words: 1, and that of the biases."""
    precision = np.ones(state.words.free.size)
    precision[state.dimension :] = model.bias_precision
    return precision


def context_precision(model: LogisticModel, state: VariationalState) -> Array:
    """Return the expected prior precision of each free coordinate of the contexts: E[alpha], and that of the biases."""
    precision = np.full(state.contexts.free.size, model.bias_precision)
    precision[: state.dimension] = state.relevance.mean
    return precision


def update_words(
    model: LogisticModel, state: VariationalState, masses: Array, run: Run, evaluate: bool = False
) -> tuple[list[Background], float]:
    """Update every word; return the background of each block after it, and the bound of the data *before* it.

    With ``evaluate`` nothing changes, and the background is that of before.
    """
    from firthian.kernels.bayes import posterior

    words, contexts, noise = state.words, state.contexts, model.words.other_rate
    sums = contexts.weighted_sums(noise, noise, run)
    weights = np.stack([noise, noise], axis=1)
    prior = word_precision(model, state)
    events, other, temper, bound = model.words, contexts.moment_view, model.temper, model.bound

    def block(first: int, last: int) -> tuple[Background, float, int]:
        pairs, listed, linear, listed_linear, value, _ = gather_block(
            events, words, other, weights, temper, bound, first, last
        )
        unlisted = (words, masses, sums, listed, listed_linear, first, last)
        before = background_of(bound, events.own_rate, *unlisted)
        total = value.sum() + before.value.sum()
        if bound == "jaakkola":
            total += np.sum(linear * words.means[first:last])
        if evaluate:
            return before, float(total), 0
        linear -= before.linear[:, None] * (sums[1] - listed_linear)
        failed = posterior(
            pairs, listed, linear, sums[0], before.quadratic, prior, words.free, words.fixed, words.diagonal,
            np.arange(first, last), *words.arrays,
        )  # fmt: skip
        return background_of(bound, events.own_rate, *unlisted), float(total), failed

    results = run.over_rows(block, words.rows, BLOCK, updates=() if evaluate else words.arrays)
    check_failures(sum(failed for _, _, failed in results))
    return [background for background, _, _ in results], sum(total for _, total, _ in results)


def update_contexts(model: LogisticModel, state: VariationalState, background: list[Background], run: Run) -> float:
    """Update every context, given the words' background; return the bound of the data before it."""
    from firthian.kernels.bayes import posterior

    words, contexts, events = state.words, state.contexts, model.contexts
    quadratic = np.concatenate([part.quadratic for part in background])
    linear_weight = np.concatenate([part.linear for part in background])
    sums = words.weighted_sums(quadratic, linear_weight, run)
    weights = np.stack([quadratic, linear_weight], axis=1)
    prior = context_precision(model, state)
    other, temper, bound = words.moment_view, model.temper, model.bound

    def block(first: int, last: int) -> tuple[float, int]:
        pairs, listed, linear, listed_linear, value, _ = gather_block(
            events, contexts, other, weights, temper, bound, first, last, fold=True
        )
        total = value.sum()
        if bound == "jaakkola":
            total += np.sum(linear * contexts.means[first:last])
        noise = events.own_rate[first:last]
        linear -= noise[:, None] * (sums[1] - listed_linear)
        failed = posterior(
            pairs, listed, linear, sums[0], noise, prior, contexts.free, contexts.fixed, contexts.diagonal,
            np.arange(first, last), *contexts.arrays,
        )  # fmt: skip
        return float(total), failed

    results = run.over_rows(block, contexts.rows, BLOCK, updates=contexts.arrays)
    check_failures(sum(failed for _, failed in results))
    return sum(total for total, _ in results) + float(sum(part.value.sum() for part in background))


def prior_bound(model: LogisticModel, state: VariationalState) -> float:
    """Return the priors' part of the bound: minus the divergences of all factors."""
    words, contexts, relevance = state.words, state.contexts, state.relevance
    precision = word_precision(model, state)
    total = words.divergence(precision, np.log(precision))
    log_precision = np.log(np.full(contexts.free.size, model.bias_precision))
    log_precision[: state.dimension] = relevance.mean_log
    return -(total + contexts.divergence(context_precision(model, state), log_precision) + relevance.divergence())


def calibrate(model: LogisticModel, state: VariationalState, run: Run) -> None:
    """Recompute all covariances with the curvature of the logistic function instead of the bound's; means stay.

    The bounds are tight where they touch, but their curvature 2·lam(xi) exceeds sigma(1 - sigma), the more so the larger
    the score: at eta = 3 it is 0.151 instead of 0.045. Means are unaffected (the slopes agree at the point of contact), but
    covariances are too small. The optimal Gaussian posterior without a bound has the precision

        S_i^-1 = prior + sum_j n·E[sigma(eta)(1 - sigma(eta))] E[z_j z_jᵀ]          (docs/derivations/bayes.md, eq. 14)
    """
    words, contexts, noise = state.words, state.contexts, model.words.other_rate
    masses = model.words.unlisted_mass(run)
    sums = contexts.weighted_sums(noise, noise, run)
    prior = word_precision(model, state)
    events, other, temper = model.words, contexts.moment_view, model.temper
    weights = np.stack([noise, noise], axis=1)

    def word_block(first: int, last: int) -> Array:
        pairs, listed, _, listed_linear, *_ = gather_block(
            events, words, other, weights, temper, "logistic", first, last
        )
        unlisted = background_of("logistic", events.own_rate, words, masses, sums, listed, listed_linear, first, last)
        _replace_covariances(words, pairs, listed, sums[0], unlisted.quadratic, prior, first)
        return unlisted.quadratic

    quadratic = np.concatenate(run.over_rows(word_block, words.rows, BLOCK, updates=words.arrays))
    shared = words.weighted_sums(quadratic, quadratic, run)[0]
    prior = context_precision(model, state)
    context_events, updated = model.contexts, words.moment_view
    weights = np.stack([quadratic, quadratic], axis=1)

    def context_block(first: int, last: int) -> None:
        pairs, listed, *_ = gather_block(context_events, contexts, updated, weights, temper, "logistic", first, last)
        _replace_covariances(contexts, pairs, listed, shared, context_events.own_rate[first:last], prior, first)

    run.over_rows(context_block, contexts.rows, BLOCK, updates=contexts.arrays)
    state.calibrated = True


def _replace_covariances(
    own: Gaussians, pairs: Array, listed: Array, shared: Array, factor: Array, prior: Array, first: int
) -> None:
    from firthian.kernels.bayes import posterior

    here = slice(first, first + pairs.shape[0])
    means, moments = own.means[here].copy(), np.empty_like(own.moments[here])
    failed = posterior(
        pairs, listed, np.zeros(means.shape), shared, factor, prior, own.free, own.fixed, own.diagonal,
        np.arange(means.shape[0]), means, moments, own.covariances[here], own.log_determinants[here],
    )  # fmt: skip
    check_failures(failed)


def check_failures(failures: int) -> None:
    """Raise if posteriors could not be computed."""
    if failures:
        raise FirthianError(
            f"the precisions of {failures} words are not positive definite: the counts are too large for float32",
            hint="lower `temper`, for example `temper=0.1`, or use bayes with `dtype=float64`",
        )
