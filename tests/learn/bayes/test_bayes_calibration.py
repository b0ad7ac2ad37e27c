"""Intervals against data drawn from the model: the bound's covariances cover too little, the calibrated ones nearly enough."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from firthian.kernels.bayes import logistic_curvature as kernel_curvature
from firthian.kernels.packing import unpack
from firthian.learn.bayes.model import BayesianLogistic, Events
from firthian.learn.bayes.updates import calibrate, logistic_curvature
from firthian.learn.bayes.variational import VariationalSweeps
from firthian.runtime.run import Run
from studies.bayes_synthetic import score_moments


def simulated(seed: int, size: int = 40, true: int = 3, events: float = 8.0):
    """Draw u, c from the prior and events from the model."""
    random = np.random.default_rng(seed)
    eta = random.standard_normal((size, true)) @ random.standard_normal((true, size))
    total = random.poisson(events, eta.shape)
    positive = random.binomial(total, expit(eta))
    return eta, positive, total - positive


def coverage(eta, state) -> float:
    mean, variance = score_moments(state)
    return float(np.mean(np.abs(eta - mean) < 1.645 * np.sqrt(variance)))


def test_calibration_repairs_the_coverage():
    raw, calibrated = [], []
    run = Run.create()
    for seed in range(3):
        eta, positive, negative = simulated(seed)
        model = BayesianLogistic(Events.from_dense(positive, negative), run)
        state = VariationalSweeps(60, start="noise", dtype="float64").fit(model, 4, run)
        raw.append(coverage(eta, state))
        means = state.words.means.copy()
        calibrate(model, state, run)
        np.testing.assert_array_equal(state.words.means, means)
        calibrated.append(coverage(eta, state))
    assert np.mean(raw) < 0.85
    assert 0.85 <= np.mean(calibrated) <= 0.95


@pytest.mark.parametrize(("mean", "variance"), [(0.0, 0.0), (1.5, 0.3), (-3.0, 2.0)])
def test_the_expected_curvature_is_the_integral(mean, variance):
    exact = expit(mean) * expit(-mean)
    if variance:
        exact = quad(lambda x: expit(x) * expit(-x) * norm.pdf(x, mean, np.sqrt(variance)), mean - 12, mean + 12)[0]
    assert logistic_curvature(np.array(mean), np.array(variance)) == pytest.approx(exact, rel=1e-3)
    assert kernel_curvature(mean, variance) == pytest.approx(
        float(logistic_curvature(np.array(mean), np.array(variance)))
    )


@pytest.mark.parametrize("bias", ["none", "both"])
def test_calibrated_precisions_are_the_formula(bias):
    run = Run.create()
    _, positive, negative = simulated(1, 9, 2, 5.0)
    model = BayesianLogistic(Events.from_dense(positive, negative), run, bias=bias)
    state = VariationalSweeps(20, start="noise", dtype="float64").fit(model, 2, run)
    mean, variance = score_moments(state)
    z = state.contexts.means
    weight = (positive + negative) * logistic_curvature(mean, variance)
    moments = np.einsum("ja,jb->jab", z, z)
    free = state.contexts.free
    moments[np.ix_(np.arange(9), free, free)] += unpack(state.contexts.covariances, free.size)
    calibrate(model, state, run)
    own = state.words.free
    prior = np.diag(np.where(np.arange(own.size) < 2, 1.0, model.bias_precision))
    expected = np.linalg.inv(prior + np.einsum("ij,jab->iab", weight, moments)[:, own][:, :, own])
    np.testing.assert_allclose(unpack(state.words.covariances, own.size), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_calibration_only_widens(covariance):
    run = Run.create()
    _, positive, negative = simulated(2, 12, 2)
    model = BayesianLogistic(Events.from_dense(positive, negative), run)
    state = VariationalSweeps(20, covariance, "noise", dtype="float64").fit(model, 2, run)
    before = state.words.log_determinants.copy()
    calibrate(model, state, run)
    assert (state.words.log_determinants > before).all()
