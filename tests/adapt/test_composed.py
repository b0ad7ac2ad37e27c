"""Training words that the vectors lack are composed of n-grams, where the vectors have them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from firthian import Vectors, Vocabulary
from firthian.adapt import PAClassifier, RPAClassifier
from firthian.adapt.store import load, save
from firthian.vectors.subwords import Subwords

GOOD = ["happy", "happily", "happiest"]
BAD = ["gloomy", "gloomily", "gloomiest"]


@pytest.fixture
def morphology() -> Vectors:
    """Vectors in which the stems decide: n-grams of happ- point one way, those of gloom- the other."""
    empty = Subwords(np.zeros(0, np.uint32), np.zeros((0, 2), np.float32))
    stems = {"<hap": (1, 0), "happ": (1, 0), "<glo": (0, 1), "gloo": (0, 1), "loom": (0, 1)}
    buckets = {int(empty.hashed([word])[0][empty.split(word).index(ngram)]): row for ngram, row in stems.items()
               for word in (GOOD[0] if "hap" in ngram else BAD[0],)}  # fmt: skip
    ids = np.array(sorted(buckets), np.uint32)
    table = Subwords(ids, np.array([buckets[int(n)] for n in ids], np.float32))
    words = Vocabulary(["happy", "gloomy", "weather"], [3, 2, 1])
    return Vectors(np.array([[1, 0], [0, 1], [1, 1]], np.float32), words, subwords=table)


@pytest.mark.parametrize("kind", [PAClassifier, RPAClassifier])
def test_words_without_a_vector_are_composed(morphology: Vectors, kind: type, tmp_path: Path) -> None:
    texts, labels = [*GOOD[1:], *BAD[1:], "zzz qqq"], ["good", "good", "bad", "bad", "bad"]
    model = kind(morphology, random_state=1).fit(texts, labels)
    assert (model.n_composed_words_, model.n_unknown_words_) == (4, 2)
    rows = dict(zip(model.vocabulary_.words, model.base_, strict=True))
    np.testing.assert_allclose(rows["happily"], morphology["happily"], rtol=1e-6)
    assert not rows["zzz"].any()
    save(model, tmp_path / "model")
    assert load(tmp_path / "model").n_composed_words_ == 4


def test_without_subwords_nothing_is_composed(morphology: Vectors) -> None:
    plain = PAClassifier(Vectors(morphology.matrix, morphology.vocabulary), random_state=1)
    plain.fit([*GOOD[1:], *BAD[1:]], ["good", "good", "bad", "bad"])
    assert (plain.n_composed_words_, plain.n_unknown_words_) == (0, 4)
    assert not plain.base_.any()


def test_a_stream_composes_new_words_too(morphology: Vectors) -> None:
    model = RPAClassifier(morphology, random_state=1)
    model.partial_fit(["happy", "gloomy"], ["good", "bad"], classes=["good", "bad"])
    assert model.n_composed_words_ == 0
    model.partial_fit(["happily", "gloomily"], ["good", "bad"])
    assert model.n_composed_words_ == 2


def test_features_of_several_words_are_not_composed(morphology: Vectors) -> None:
    model = RPAClassifier(morphology, ngrams=2, random_state=1).fit(
        ["happily happiest", "happily happiest", "gloomily"], ["good", "good", "bad"]
    )
    rows = dict(zip(model.vocabulary_.words, model.base_, strict=True))
    assert not rows["happily happiest"].any()
    assert model.n_composed_words_ == 3
