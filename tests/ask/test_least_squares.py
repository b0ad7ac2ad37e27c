"""Closed forms equal refits: coefficients, debiasing, the jackknife by cluster, the permutation statistic, signs."""

from __future__ import annotations

import numpy as np
import pytest

from firthian.ask.least_squares import (
    Fit,
    PermutationStatistic,
    Units,
    blocks_of,
    bootstrap_norms,
    permutation_p,
    sign_flip_p,
)  # fmt: skip
from tests.reference import regression as slow


def problem(seed: int, n: int = 60, clusters: int = 15, d: int = 7, varying: bool = False):
    """Occurrences with a year that conditions the design badly, and their clusters."""
    generator = np.random.default_rng(seed)
    cluster = np.sort(np.concatenate([np.arange(clusters), generator.integers(0, clusters, n - clusters)]))
    level = n if varying else clusters
    year, sex = 1840.0 + generator.integers(0, 80, level), generator.integers(0, 2, level).astype(float)
    rows = np.column_stack([np.ones(level), sex, year, sex * year])
    x = rows if varying else rows[cluster]
    return x, generator.normal(size=(n, d)) + 0.3 * x[:, 1:2], cluster


def units_of(x, y, clusters) -> Units:
    return Units.of(y, np.ones(len(y)), x, clusters)


@pytest.mark.parametrize("varying", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_closed_forms_equal_refits(seed, varying):
    x, y, clusters = problem(seed, varying=varying)
    estimate = Fit(units_of(x, y, clusters)).estimate()
    np.testing.assert_allclose(estimate.raw, slow.norms(x, y), rtol=1e-8)
    np.testing.assert_allclose(estimate.se, slow.jackknife_se(x, y, clusters), rtol=1e-7)
    np.testing.assert_allclose(estimate.bias, slow.bias(x, y, clusters), rtol=1e-7)


def test_the_jackknife_of_single_occurrences_equals_refits_to_rounding():
    x, y, _ = problem(9)
    x = x[:, :2]
    every = np.arange(len(y))
    estimate = Fit(units_of(x, y, every)).estimate()
    np.testing.assert_allclose(estimate.se, slow.jackknife_se(x, y, every), rtol=1e-12)
    np.testing.assert_allclose(estimate.bias, slow.bias(x, y, every), rtol=1e-12)


def test_sums_over_units_give_what_single_occurrences_give():
    # Several units per cluster and one unit per cluster take different paths.
    x, y, clusters = problem(3)
    single = Fit(units_of(x, y, clusters))
    merged = Fit(single.units.merged())
    assert merged.units.sizes.size == 15
    np.testing.assert_allclose(merged.beta, single.beta, rtol=1e-6)
    for one, other in zip(vars(merged.estimate()).values(), vars(single.estimate()).values(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7)


@pytest.mark.parametrize("d", [3, 30])
def test_the_permutation_statistic_equals_refits(d):
    x, y, clusters = problem(5, d=d)
    fit = Fit(units_of(x, y, clusters).merged())
    statistic = PermutationStatistic(fit)
    assert (statistic.gram is None) == (d == 3)
    orders = np.stack([np.random.default_rng(n).permutation(15) for n in range(6)])
    expected = [slow.ratios(slow.permuted(x, clusters, order), y, clusters) for order in orders]
    np.testing.assert_allclose(statistic(orders), expected, rtol=1e-6)


def test_p_values_equal_brute_permutations():
    x, y, clusters = problem(6, clusters=12)
    x = x[:, :2]
    fit = Fit(units_of(x, y, clusters).merged())
    p = permutation_p(fit, 200, np.random.default_rng(1))
    generator = np.random.default_rng(2)
    observed = slow.ratios(x, y, clusters)
    brute = [slow.ratios(slow.permuted(x, clusters, generator.permutation(12)), y, clusters) for _ in range(200)]
    expected = (1 + (np.array(brute) >= observed * (1 - 1e-9)).sum(axis=0)) / 201
    # Two samples of permutations: within four standard deviations of a binomial share.
    assert np.abs(p - expected).max() < 4 * np.sqrt(2 * 0.25 / 200)


def test_bootstrap_resamples_are_refits_of_resampled_clusters():
    x, y, clusters = problem(7)
    x = x[:, :2]
    norms = bootstrap_norms(Fit(units_of(x, y, clusters)), 50, np.random.default_rng(4))
    weights = np.random.default_rng(4).multinomial(15, np.full(15, 1 / 15), 50)
    for one, weight in zip(norms, weights, strict=True):
        rows = np.concatenate([np.repeat(np.flatnonzero(clusters == c), w) for c, w in enumerate(weight)])
        np.testing.assert_allclose(one, slow.norms(x[rows], y[rows]), rtol=1e-7)


def test_signs_of_scores_find_an_effect_that_varies_within_clusters():
    x, y, clusters = problem(8, n=200, clusters=30, varying=True)
    x = x[:, :2]
    y = y - 0.3 * x[:, 1:2]
    strong = y + x[:, 1:2]
    assert sign_flip_p(Fit(units_of(x, strong, clusters)), 500, np.random.default_rng(1))[1] < 0.01
    ps = []
    for seed in range(200):
        noise = np.random.default_rng(seed).normal(size=(30, 4))[clusters]
        noise += np.random.default_rng(seed + 1000).normal(size=noise.shape)
        ps.append(sign_flip_p(Fit(units_of(x, noise, clusters)), 99, np.random.default_rng(seed))[1])
    # 200 null tests at 5 %: 10 rejections, standard deviation 3.1.
    assert 2 <= (np.array(ps) <= 0.05).sum() <= 20


def test_permutations_of_a_null_are_uniform():
    x, _, clusters = problem(11, n=90, clusters=30)
    x, ps = x[:, :2], []
    for seed in range(300):
        noise = np.random.default_rng(seed).normal(size=(30, 4))[clusters] * (1 + clusters[:, None] / 10)
        ps.append(permutation_p(Fit(units_of(x, noise, clusters).merged()), 99, np.random.default_rng(seed))[1])
    assert 5 <= (np.array(ps) <= 0.05).sum() <= 28
    assert abs(np.mean(ps) - 0.5) < 0.06


def test_a_cluster_that_alone_carries_a_level_can_be_left_out():
    x = np.column_stack([np.ones(6), [0, 0, 0, 0, 1, 1]])
    y = np.random.default_rng(1).normal(size=(6, 3))
    estimate = Fit(units_of(x, y, np.array([0, 1, 2, 3, 4, 4]))).estimate()
    assert np.isfinite(estimate.se).all()


def test_blocks_cover_everything_once():
    assert blocks_of(10, 1 << 19) == [(0, 2), (2, 4), (4, 6), (6, 8), (8, 10)]
    x, y, clusters = problem(2)
    units = units_of(x, y, clusters)
    parts = list(units.blocks(1 << 18))
    assert len(parts) > 1
    assert [units.clusters[part][starts].tolist() for part, starts in parts] == [
        sorted(set(units.clusters[part].tolist())) for part, _ in parts
    ]
    assert np.concatenate([np.arange(60)[part] for part, _ in parts]).tolist() == list(range(60))
