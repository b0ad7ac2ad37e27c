"""Small texts with a planted answer."""

from __future__ import annotations

import numpy as np
import pytest

from firthian.text.vocabulary import Vocabulary
from firthian.vectors.vectors import Vectors

TOPICS = {
    "animals": ["cat", "dog", "horse", "cow", "sheep", "goat", "mouse", "hen"],
    "colors": ["red", "green", "blue", "white", "black", "yellow", "brown", "grey"],
    "numbers": ["one", "two", "three", "four", "five", "six", "seven", "eight"],
}
COMMON = ["the", "a", "and", "of", "it", "was", "with", "so"]


def make_texts(documents: int, topics: int, seed: int) -> tuple[list[str], list[str]]:
    """Each text has a few words of its topic among common ones."""
    random = np.random.default_rng(seed)
    names = sorted(TOPICS)[:topics]
    labels = [names[n] for n in random.integers(0, topics, documents)]
    texts = []
    for label in labels:
        words = [*random.choice(TOPICS[label], 3), *random.choice(COMMON, 6)]
        texts.append(" ".join(random.permutation(words)))
    return texts, labels


@pytest.fixture(scope="session")
def two_topics():
    return *make_texts(120, 2, 1), *make_texts(60, 2, 2)


@pytest.fixture(scope="session")
def three_topics():
    return *make_texts(200, 3, 3), *make_texts(60, 3, 4)


@pytest.fixture(scope="session")
def vectors() -> Vectors:
    """Vectors of the common words and half of the topics' words, that know nothing of the topics."""
    random = np.random.default_rng(5)
    words = [*COMMON, *(word for topic in TOPICS.values() for word in topic[:4])]
    return Vectors(random.normal(size=(len(words), 12)).astype(np.float32), Vocabulary(words))
