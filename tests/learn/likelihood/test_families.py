"""Families against SciPy, statsmodels, finite differences and each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from firthian.errors import FirthianError
from firthian.kernels import likelihood as kernel
from firthian.learn.likelihood.families import Binomial, Gaussian, LogGaussian, NegativeBinomial, Poisson, Tweedie
from tests.reference import likelihood as twin

FAMILIES = [Gaussian(), LogGaussian(), Poisson(), Tweedie(1.25), Tweedie(1.7), Binomial(), NegativeBinomial(2.0)]
IDS = [f"{family.name} {family.parameter:g}" for family in FAMILIES]
TRIALS = 12.0
MU = np.array([0.3, 1.0, 2.5, 7.0])
X = np.array([0.0, 1.0, 4.0, 9.0])


@pytest.mark.parametrize("family", FAMILIES, ids=IDS)
def test_the_link_and_its_inverse(family):
    assert np.allclose(twin.inverse(family, twin.link(family, MU, TRIALS), TRIALS), MU)


@pytest.mark.parametrize("family", FAMILIES, ids=IDS)
def test_weights_and_responses_follow_from_link_and_variance(family):
    step = 1e-6
    eta = twin.link(family, MU, TRIALS)
    change = (twin.inverse(family, eta + step, TRIALS) - twin.inverse(family, eta - step, TRIALS)) / (2 * step)
    # the weight of the binomial family depends on its trials, rho + x
    weight = family.curvature(X, eta, TRIALS - X) if family.name == "binomial" else family.weight(MU)
    assert np.allclose(weight, change**2 / twin.variance(family, MU, TRIALS), rtol=1e-6)
    if family.share_power:
        assert np.allclose(twin.response(family, X, MU), eta + (X - MU) / change, rtol=1e-6)


@pytest.mark.parametrize("family", FAMILIES, ids=IDS)
def test_derivatives_of_the_loss(family):
    eta, rho, step = np.array([-1.5, 0.2, 1.1, 2.0]), np.array([0.5, 1.0, 2.0, 0.1]), 1e-5
    slope = (family.loss(X, eta + step, rho) - family.loss(X, eta - step, rho)) / (2 * step)
    assert np.allclose(family.slope(X, eta, rho), slope, atol=1e-8)
    # the expected curvature is the curvature at x = mu
    mean = twin.inverse(family, eta, rho + X)
    total = X + rho - mean if family.name == "binomial" else rho
    curvature = (family.slope(mean, eta + step, total) - family.slope(mean, eta - step, total)) / (2 * step)
    assert np.allclose(family.curvature(X, eta, rho), curvature, rtol=1e-6)


@pytest.mark.parametrize("family", FAMILIES, ids=IDS)
def test_deviance_is_twice_the_loss_gained(family):
    if family.name == "binomial":
        loss = family.loss(X, twin.link(family, MU, TRIALS), TRIALS - X)
        # x = 0 has eta = -infinity and loss 0
        best = np.append(0.0, family.loss(X[1:], twin.link(family, X[1:], TRIALS), TRIALS - X[1:]))
    elif family.name == "gaussian":
        loss, best = family.loss(X, MU), np.zeros(4)
    else:
        loss, best = family.loss(X, np.log(MU)), np.append(0.0, family.loss(X[1:], np.log(X[1:])))
    assert np.allclose(twin.deviance(family, X, MU, TRIALS), 2 * (loss - best))


def test_losses_are_scipys_log_likelihoods_up_to_a_constant():
    one, two, theta = 0.7, 1.9, 2.0
    for family, density in (
        (Poisson(), lambda eta: scipy.stats.poisson.logpmf(X, math.exp(eta))),
        (Gaussian(), lambda eta: scipy.stats.norm.logpdf(X, eta)),
        (NegativeBinomial(theta), lambda eta: scipy.stats.nbinom.logpmf(X, theta, theta / (theta + math.exp(eta)))),
    ):
        gained = family.loss(X, np.full(4, one), 1.0) - family.loss(X, np.full(4, two), 1.0)
        assert np.allclose(gained, density(two) - density(one)), family.name
    chance = [1 / (1 + math.exp(-eta)) for eta in (one, two)]
    gained = Binomial().loss(X, one, TRIALS - X) - Binomial().loss(X, two, TRIALS - X)
    expected = scipy.stats.binom.logpmf(X, TRIALS, chance[1]) - scipy.stats.binom.logpmf(X, TRIALS, chance[0])
    assert np.allclose(gained, expected)


def test_variance_weight_and_deviance_are_statsmodels():
    families = pytest.importorskip("statsmodels.api").families
    pairs = (
        (Gaussian(), families.Gaussian()),
        (Poisson(), families.Poisson()),
        (Tweedie(1.25), families.Tweedie(var_power=1.25)),
        (NegativeBinomial(2.0), families.NegativeBinomial(alpha=0.5)),
    )
    for ours, theirs in pairs:
        log = families.links.Log() if ours.name != "gaussian" else families.links.Identity()
        theirs.link = log
        assert np.allclose(twin.variance(ours, MU), theirs.variance(MU)), ours.name
        assert np.allclose(ours.weight(MU), theirs.weights(MU)), ours.name
        assert np.isclose(twin.deviance(ours, X, MU).sum(), theirs.deviance(X, MU)), ours.name


def test_poisson_is_the_limit_of_tweedie_and_of_the_negative_binomial():
    eta = np.array([-2.0, 0.0, 1.0, 2.0])
    for near in (Tweedie(1 + 1e-7), NegativeBinomial(1e8)):
        assert np.allclose(near.slope(X, eta), Poisson().slope(X, eta), rtol=1e-5)
        assert np.allclose(near.weight(MU), MU, rtol=1e-5)
        assert np.allclose(twin.deviance(near, X, MU), twin.deviance(Poisson(), X, MU), atol=1e-4)


@pytest.mark.parametrize("family", FAMILIES, ids=IDS)
def test_kernels_agree_with_the_family_and_with_the_slow_twin(family):
    rng = np.random.default_rng(0)
    for x, eta, rho in zip(rng.poisson(2, 30) * 1.0, rng.normal(0, 2, 30), rng.random(30), strict=True):
        assert np.isclose(family.loss(x, eta, rho), twin.pair_loss(family.name, family.parameter, x, eta, rho))
        args = (family.code, family.parameter, x, eta, rho)
        assert np.isclose(kernel.pair_loss(*args), family.loss(x, eta, rho))
        slope, curvature = kernel.pair_slopes(*args)
        assert np.isclose(slope, family.slope(x, eta, rho))
        assert np.isclose(curvature, family.curvature(x, eta, rho))
        level, slope, curvature = kernel.unseen_terms(family.code, family.parameter, eta)
        assert np.allclose((level, slope, curvature), family.unseen(eta))
        ahead, behind = (kernel.unseen_terms(family.code, family.parameter, eta + step)[1] for step in (1e-5, -1e-5))
        assert np.isclose(curvature, (ahead - behind) / 2e-5, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize(
    "family", [Poisson(), Tweedie(1.25), LogGaussian(), NegativeBinomial(1.0)], ids=lambda family: family.name
)
def test_an_unseen_pair_costs_its_share_of_phi(family):
    product, bias = np.array([-1.0, 0.5, 1.5]), np.array([-3.0, -1.0, 0.2])
    bound = np.exp(family.share_power * bias) * family.unseen(product)[0]
    cost = family.loss(0.0, product + bias)
    if family.name == "negative-binomial":
        assert (cost <= bound).all()
    else:
        assert np.allclose(cost, bound)


def test_extreme_predictors_do_no_harm():
    eta = np.array([-200.0, 200.0], dtype=np.float32)
    assert np.isfinite(Binomial().loss(np.float32(1), eta, np.float32(1))).all()
    assert np.allclose(Binomial().slope(np.float32(0), eta, np.float32(1)), [0, 1])
    # mu^(1-p) is beyond a float, and an unseen pair has none of it
    low = np.float32([-200])
    assert np.allclose([Tweedie(1.95).loss(np.float32(0), low), Tweedie(1.95).slope(np.float32(0), low)], 0, atol=1e-3)


def test_bad_parameters_are_reported():
    for power in (0.9, 2.1, 1.0, 2.0):
        with pytest.raises(FirthianError, match="power"):
            Tweedie(power)
    with pytest.raises(FirthianError, match="theta"):
        NegativeBinomial(0.0)
