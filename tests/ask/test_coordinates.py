"""Coordinates of means: units of a word at distance 1, no matter how the input is rotated; what words differ in counts more."""

from __future__ import annotations

import numpy as np
import pytest

from firthian.ask.coordinates import LEAST_WORDS, Moments, unit_means

WORDS, UNITS, DIMENSION = 60, 24, 5


def draw(seed=0, transform=None, shift=0.0, words=WORDS):
    """Words that differ along the first direction only, in units that vary along the second most, and share ``shift``."""
    generator = np.random.default_rng(seed)
    mass = generator.uniform(5, 90, (words, UNITS)).astype(np.float32)
    means = generator.normal(size=(words, UNITS, DIMENSION)) * [1, 4, 1, 1, 1]
    means[..., 0] += 3 * generator.normal(size=(words, 1))
    means += shift * generator.normal(size=(1, UNITS, DIMENSION))
    if transform is not None:
        means = means @ transform
    return means * mass[..., None], mass


def joined(scores, mass):
    parts = []
    for place in range(0, len(scores), 7):
        part = Moments.of(UNITS, DIMENSION)
        for one, other in zip(scores[place : place + 7], mass[place : place + 7], strict=True):
            part.add(one, other)
        parts.append(part)
    return Moments.joined(parts)


def spread(scores, mass, axes):
    """The mean squared distance of units from the mean of their word, by weight."""
    found = []
    for one, other in zip(scores, mass, strict=True):
        means, weights = unit_means(one, other)
        away = (means - weights @ means / weights.sum()) @ axes
        found.append(weights @ np.square(away).sum(axis=1) / weights.sum())
    return float(np.mean(found))


@pytest.mark.parametrize("words", [WORDS, LEAST_WORDS - 1])
def test_a_unit_is_at_distance_one_and_directions_of_words_count_more(words):
    scores, mass = draw(words=words)
    axes, _ = joined(scores, mass).coordinates()
    assert spread(scores, mass, axes) == pytest.approx(1, rel=0.1)
    # In units of the scatter within words.
    weights = np.square(np.linalg.norm(axes, axis=1) * [1, 4, 1, 1, 1]) * DIMENSION
    if words < LEAST_WORDS:
        np.testing.assert_allclose(weights, 1, rtol=0.3)
    else:
        assert weights[0] > 3 * weights[1:].max()


def test_distances_do_not_depend_on_the_coordinates_of_the_input():
    transform = np.random.default_rng(1).normal(size=(DIMENSION, DIMENSION))
    one, other = draw(), draw(transform=transform)
    axes, turned = joined(*one).coordinates()[0], transform @ joined(*other).coordinates()[0]
    np.testing.assert_allclose(axes @ axes.T, turned @ turned.T, rtol=1e-6, atol=1e-9)


def test_what_all_words_of_a_unit_have_in_common_is_its_shift():
    scores, mass = draw(shift=3.0)
    axes, shifts = joined(scores, mass).coordinates()
    means = scores / mass[..., None] - shifts
    assert spread(means * mass[..., None], mass, axes) == pytest.approx(1, rel=0.2)
    assert spread(scores, mass, axes) > 3


def test_words_in_few_units_are_left_out():
    scores, mass = draw()
    mass[3, 5:] = 0
    assert len(joined(scores, mass).centers) == WORDS - 1
