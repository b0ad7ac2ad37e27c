"""Small vectors with known answers."""

from __future__ import annotations

import numpy as np
import pytest

from firthian.text.vocabulary import Vocabulary
from firthian.vectors.vectors import Vectors


def random_vectors(words=200, size=20, seed=0, nonnegative=False):
    matrix = np.random.default_rng(seed).normal(size=(words, size)).astype(np.float32)
    names = [f"w{number}" for number in range(words)]
    return Vectors(np.abs(matrix) if nonnegative else matrix, Vocabulary(names))


def planted(countries=30, noise=300, size=40, seed=1):
    """Vectors in which capital - country is one direction, among words of noise."""
    random = np.random.default_rng(seed)
    places = random.normal(size=(countries, size))
    capitals = places + 2 * random.normal(size=size)
    matrix = np.concatenate([places, capitals, random.normal(size=(noise, size))]).astype(np.float32)
    words = [f"land{n}" for n in range(countries)] + [f"city{n}" for n in range(countries)]
    return Vectors(matrix, Vocabulary(words + [f"noise{n}" for n in range(noise)]))


@pytest.fixture
def vectors():
    return random_vectors()
