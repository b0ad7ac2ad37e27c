"""Families against SciPy, statsmodels, finite differences and each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from firthian.errors import FirthianError
from firthian.kernels import likelihood as kernel
from firthian.learn.likelihood.families import (
    LOG,
    Binomial,
    Gaussian,
    LogGaussian,
    NegativeBinomial,
    OwnFamily,
    Poisson,
    Truncated,
    Tweedie,
)
from firthian.learn.likelihood.iwlrls import tweedie_logs
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
        args = (family.code, family.parameter, x, eta, rho, family.top)
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


@pytest.mark.parametrize("family", [Poisson(), Tweedie(1.25), NegativeBinomial(2.0)], ids=lambda family: family.name)
def test_truncated_weights_have_a_loss_whose_derivative_they_are(family):
    """h = h(min(mu, x_max)) and the slope h·(mu - x)/mu, on both sides of the limit, in the kernels too."""
    cut = Truncated(family, 5.0)
    eta, step = np.log(np.array([0.5, 4.9, 5.1, 40.0])), 1e-6
    mu = np.exp(eta)
    expected = family.weight(np.minimum(mu, 5.0))
    assert np.allclose(cut.weight(mu), expected)
    assert np.allclose(cut.curvature(X, eta), expected)
    assert np.allclose(cut.slope(X, eta), expected * (mu - X) / mu)
    assert np.allclose(cut.slope(X, eta), (cut.loss(X, eta + step) - cut.loss(X, eta - step)) / (2 * step), atol=1e-6)
    for x, one in zip(X, eta, strict=True):
        args = (cut.code, cut.parameter, x, one, 0.0, cut.top)
        assert np.isclose(kernel.pair_loss(*args), cut.loss(x, one))
        assert np.allclose(kernel.pair_slopes(*args), (cut.slope(x, one), cut.curvature(x, one)))


@pytest.mark.parametrize(("p", "phi", "mu"), [(1.1, 1.0, 0.3), (1.5, 0.5, 2.0), (1.8, 2.0, 1.0), (1.5, 0.01, 3.0)])
def test_tweedie_densities_and_p_of_zero_are_those_of_sums_of_gammas(p, phi, mu):
    """P(0) and the density integrate to 1, with mean mu and variance phi·mu^p."""
    x = np.concatenate([np.geomspace(1e-12, 1e-3, 2000)[:-1], np.geomspace(1e-3, 60 * max(mu, phi), 20_000)])
    density = np.exp(tweedie_logs(p, x, np.full(x.size, mu), phi))
    zero = math.exp(-(mu ** (2 - p)) / (phi * (2 - p)))
    assert np.exp(tweedie_logs(p, np.zeros(1), np.array([mu]), phi))[0] == pytest.approx(zero)
    assert zero + np.trapezoid(density, x) == pytest.approx(1, abs=0.01)
    assert np.trapezoid(density * x, x) == pytest.approx(mu, rel=0.01)
    assert np.trapezoid(density * (x - mu) ** 2, x) + zero * mu**2 == pytest.approx(phi * mu**p, rel=0.02)


def own(power=1.25, **changed):
    """Tweedie's family, written by hand."""

    def variance(mu):
        return mu**power

    def loss(x, eta):
        return np.exp((2 - power) * eta) / (2 - power) - x * np.exp((1 - power) * eta) / (1 - power)

    return OwnFamily("mine", **{"link": LOG, "variance": variance, "loss": loss, "share_power": 2 - power, **changed})


def test_an_own_family_has_the_formulas_of_the_built_in_one():
    mine, theirs = own(), Tweedie(1.25)
    eta = np.array([-1.0, 0.3, 1.0, 2.0])
    assert np.allclose(mine.slope(X, eta), theirs.slope(X, eta))
    assert np.allclose(mine.curvature(X, eta), theirs.curvature(X, eta))
    assert np.allclose(mine.weight(MU), theirs.weight(MU))
    assert np.allclose(mine.unseen(eta), theirs.unseen(eta), rtol=1e-4)


def test_mistakes_in_an_own_family_are_reported():
    with pytest.raises(FirthianError, match="does not have the derivative"):
        own(variance=lambda mu: mu)
    with pytest.raises(FirthianError, match="not proportional to"):
        own(share_power=1.0)
    assert own(share_power=0.0).biases == ("none",)
