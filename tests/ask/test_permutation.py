"""Permutation tests of one word: equal to brute force, valid for bursts and frequency, honest with few units."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from firthian.ask.permutation import Labels, UnitMeans, test_word
from firthian.runtime.run import Run
from tests.reference import change as slow


def draw(units, dimension=6, seed=0):
    generator = np.random.default_rng(seed)
    return generator.normal(size=(units, dimension)), generator.uniform(0.5, 9, units)


@pytest.mark.parametrize("slices", [2, 3, 5])
def test_distances_equal_those_computed_one_by_one(slices):
    means, weights = draw(14)
    labels = np.random.default_rng(1).integers(0, slices, (40, 14))
    labels[0] = 0
    labels[1] = np.r_[[1], np.zeros(13)]
    distance, expected = UnitMeans(means, weights).distances(labels, slices)
    known = np.array([slow.distances(means, weights, row, slices) for row in labels])
    assert np.isnan(known[:2]).all()
    np.testing.assert_allclose(np.stack([distance, expected], axis=1), known, rtol=2e-5, atol=1e-6)


def test_p_of_permutations_is_that_of_all_splits():
    means, weights = draw(9, seed=3)
    labels = np.array([0, 1, 1, 0, 1, 0, 0, 0, 1])
    means[labels == 1] += 0.5

    def statistic(row):
        distance, expected = slow.distances(means, weights, row, 2)
        return distance / expected

    every = [statistic(np.isin(np.arange(9), chosen).astype(int)) for chosen in combinations(range(9), 4)]
    exact = np.mean(np.array(every) >= statistic(labels) - 1e-9)
    test = test_word(UnitMeans(means, weights), np.arange(9), Labels(labels, 2, 20_000, Run()))
    assert test.p == pytest.approx(exact, abs=0.01)
    assert test.permutations >= 20_000


def test_p_is_uniform_without_a_change_whatever_the_weights():
    generator = np.random.default_rng(5)
    labels = np.repeat([0, 1], [8, 12])
    p = []
    for _ in range(400):
        means, weights = generator.standard_t(3, size=(20, 4)), generator.exponential(size=20) + 0.05
        p.append(
            test_word(
                UnitMeans(means, weights),
                np.arange(20),
                Labels(labels, 2, 199, Run(seed=int(1e9 * generator.random()))),
            ).p
        )
    assert 0.025 <= np.mean(np.array(p) <= 0.05) <= 0.08
    assert np.mean(p) == pytest.approx(0.5, abs=0.05)


def test_a_word_in_four_units_cannot_have_a_small_p():
    means = np.array([[0.0], [0.01], [9.0], [9.01]])
    labels = Labels(np.repeat([0, 1], [20, 20]), 2, 2000, Run())
    test = test_word(UnitMeans(means, np.ones(4)), np.array([0, 1, 20, 21]), labels)
    # Of the splits in two and two, one in three is as extreme.
    assert test.p == pytest.approx(1 / 3, abs=0.08)


def test_words_that_cannot_be_compared_have_no_test():
    means, weights = draw(4)
    labels = Labels(np.repeat([0, 1], [10, 10]), 2, 99, Run())
    assert test_word(UnitMeans(means, weights), np.array([0, 1, 2, 15]), labels) is None


def test_a_burst_in_one_unit_is_not_a_change():
    means, weights = draw(30, seed=8)
    means *= 0.1
    means[3] += 20
    labels = Labels(np.repeat([0, 1], [15, 15]), 2, 999, Run())
    assert test_word(UnitMeans(means, weights), np.arange(30), labels).p > 0.2


def test_a_difference_in_precision_is_not_a_change():
    generator = np.random.default_rng(2)
    labels, p = np.repeat([0, 1], [30, 10]), []
    for number in range(200):
        # Eight times as noisy in the small slice.
        means = generator.normal(size=(40, 5)) * np.where(labels == 1, 2.8, 1.0)[:, None]
        p.append(test_word(UnitMeans(means, np.ones(40)), np.arange(40), Labels(labels, 2, 199, Run(seed=number))).p)
    assert np.mean(np.array(p) <= 0.05) <= 0.1


def test_the_standard_error_is_that_of_repeated_draws():
    generator = np.random.default_rng(4)
    labels, weights = np.repeat([0, 1], [40, 60]), generator.uniform(0.5, 2, 100)
    found, errors = [], []
    for _ in range(500):
        means = generator.normal(size=(100, 3)) + np.where(labels == 1, 0.4, 0.0)[:, None]
        units = UnitMeans(means, weights)
        distance, expected = units.distances(labels[None], 2)
        found.append(distance[0] - expected[0])
        errors.append(units.standard_error(labels, 2))
    assert np.mean(found) == pytest.approx(3 * 0.16, rel=0.1)
    assert np.mean(errors) == pytest.approx(np.std(found), rel=0.2)


def test_permutations_depend_on_the_seed_alone():
    observed = np.repeat([0, 1, 2], 5)
    first, second = Labels(observed, 3, 50, Run(seed=3)), Labels(observed, 3, 50, Run(seed=3))
    second.round(1)
    assert np.array_equal(first.round(0), second.round(0))
    assert not np.array_equal(first.round(0), first.round(1))
    assert (np.sort(first.round(0), axis=1) == observed).all()
