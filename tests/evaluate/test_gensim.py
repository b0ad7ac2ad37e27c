"""Where gensim defines the same figures, ours are equal."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import firthian as ft
from firthian.evaluate.analogy import answer
from firthian.evaluate.words import Lookup
from firthian.runtime.run import Run
from tests.evaluate.conftest import planted

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    keyedvectors = pytest.importorskip("gensim.models.keyedvectors", reason="gensim is not installed")


@pytest.fixture
def both():
    vectors = planted(noise=100)
    theirs = keyedvectors.KeyedVectors(vectors.vector_size)
    theirs.add_vectors(vectors.vocabulary.words, vectors.matrix)
    return vectors, theirs


@pytest.mark.parametrize("oov", ["skip", "zero"])
def test_similarity(both, tmp_path, oov):
    vectors, theirs = both
    random = np.random.default_rng(3)
    words = [*vectors.vocabulary.words, "Unknown", "absent"]
    lines = [f"{one}\t{two}\t{random.integers(0, 9)}" for one, two in random.choice(words, size=(80, 2))]
    path = tmp_path / "mine.txt"
    path.write_text("\n".join([*lines, "LAND3\tcity4\t3", "absent\tland1\t9", ""]))
    expected = theirs.evaluate_word_pairs(str(path), dummy4unknown=oov == "zero")
    facts = ft.evaluate(vectors, sets=[path], oov=oov).to_dict()["similarity"]["mine"]
    assert facts["spearman"] == pytest.approx(expected[1].statistic, abs=1e-6)
    assert 100 * (1 - facts["covered"] / facts["pairs"]) == pytest.approx(expected[2])


def analogies(vectors):
    random = np.random.default_rng(4)
    lines = [": capital-places"]
    for _ in range(120):
        i, j = random.choice(32, 2, replace=False)
        lines.append(f"Land{i} City{i} Land{j} City{j}")
    noise = [" ".join(random.choice(vectors.vocabulary.words, 4, replace=False)) for _ in range(60)]
    return [*lines, ": gram1-noise", *noise]


@pytest.mark.parametrize("oov", ["skip", "zero"])
def test_analogies_by_adding(both, tmp_path, oov):
    vectors, theirs = both
    path = tmp_path / "mine.txt"
    path.write_text("\n".join(analogies(vectors)) + "\n")
    facts = ft.evaluate(vectors, sets=[path], oov=oov).to_dict()["analogy"]["mine"]
    score, sections = theirs.evaluate_word_analogies(str(path), dummy4unknown=oov == "zero")
    assert facts["3cosadd"] == pytest.approx(score)
    for section in sections[:-1]:
        right, wrong = len(section["correct"]), len(section["incorrect"])
        assert facts["sections"][section["section"]]["3cosadd"] == pytest.approx(right / (right + wrong))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_answers_by_multiplying(both):
    """gensim evaluates 3CosAdd only, so its 3CosMul is asked question by question, with its own ε."""
    vectors, theirs = both
    asked = [line.lower().split() for line in analogies(vectors) if ":" not in line]
    asked = [words for words in asked if all(word in theirs for word in words)]
    ids = np.array([[vectors.vocabulary[word] for word in words[:3]] for words in asked])
    ours = answer(vectors, ids, Lookup(vectors), Run.create(), epsilon=1e-6)[:, 1]
    expected = [theirs.most_similar_cosmul(positive=[b, c], negative=[a], topn=1)[0][0] for a, b, c, _ in asked]
    assert [vectors.vocabulary.words[word] for word in ours] == expected
