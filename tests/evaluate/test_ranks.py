"""Spearman, its bootstrap, and the paired tests, against SciPy and against chance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from firthian.evaluate.ranks import bootstrap, interval, mcnemar, spearman, williams


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(-3, 3)), min_size=2, max_size=40))
def test_spearman_is_scipys_also_with_ties(pairs):
    one, other = np.array(pairs, dtype=float).T
    if len(set(one)) == 1 or len(set(other)) == 1:
        assert np.isnan(spearman(one, other))
    else:
        assert spearman(one, other) == pytest.approx(stats.spearmanr(one, other).statistic, abs=1e-12)


def test_spearman_knows_infinity_as_the_lowest():
    assert spearman(np.array([1.0, 2, 3]), np.array([-np.inf, 0, 1])) == 1


def test_a_resample_is_ranked_as_if_it_were_a_sample():
    random = np.random.default_rng(3)
    human, model = random.integers(0, 8, 30).astype(float), random.normal(size=30).round(1)
    fast = bootstrap(human, [model], np.random.default_rng(7), 150)[:, 0]
    # The same draws: one batch of 100 and one of 50.
    draws = np.random.default_rng(7)
    drawn = np.concatenate([draws.integers(0, 30, size=(100, 30)), draws.integers(0, 30, size=(50, 30))])
    slow = [stats.spearmanr(human[rows], model[rows]).statistic for rows in drawn]
    np.testing.assert_allclose(fast, slow, atol=1e-12)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    random, r = np.random.default_rng(5), 0.6
    # Spearman's correlation of a bivariate normal is (6/π) asin(r/2).
    truth, hits, trials = 6 / np.pi * np.arcsin(r / 2), 0, 200
    for _ in range(trials):
        x, noise = random.normal(size=(2, 80))
        low, high = interval(bootstrap(x, [r * x + np.sqrt(1 - r * r) * noise], random, 300)[:, 0])
        hits += low <= truth <= high
    assert 0.88 <= hits / trials <= 0.99


def test_an_interval_of_nothing_is_none():
    assert interval(np.array([np.nan, np.nan])) is None


def test_williams_under_the_null_is_right_about_as_often_as_it_says():
    random, below, trials = np.random.default_rng(11), 0, 400
    for _ in range(trials):
        human, one, other = random.normal(size=(3, 60))
        one, other = one + human, other + human
        below += (
            williams(np.corrcoef(human, one)[0, 1], np.corrcoef(human, other)[0, 1], np.corrcoef(one, other)[0, 1], 60)
            < 0.05
        )
    assert 0.02 <= below / trials <= 0.09


def test_williams_at_its_limits():
    assert williams(0.3, 0.3, 0.9, 50) == 1
    assert np.isnan(williams(0.3, 0.4, 0.5, 3))
    assert williams(0.9, 0.1, 0.3, 200) < 1e-6
    assert williams(0.5, 0.4, 0.6, 80) == pytest.approx(williams(0.4, 0.5, 0.6, 80))
    # Opposite orders are the limit of nearly opposite ones.
    assert williams(0.4, -0.4, -1.0, 20) == pytest.approx(williams(0.4, -0.4, -1 + 1e-9, 20), rel=1e-6)
    assert williams(1.0, -1.0, -1.0, 4) == 0


@settings(deadline=None)
@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_exact_binomial_test(one, other):
    expected = stats.binomtest(one, one + other).pvalue if one + other else 1.0
    assert mcnemar(one, other) == pytest.approx(expected)
