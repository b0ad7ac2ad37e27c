"""Vectors of unknown words, composed of their n-grams."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from firthian import FirthianError, Vectors, Vocabulary
from firthian.errors import UnknownWordError
from firthian.vectors.subwords import Subwords
from tests.reference import subwords as twin
from tests.vectors import fasttext_models

#: Other scripts, combining marks, emoji of several code points, repeated n-grams, nothing.
WORDS = ["tea", "unhappyness", "straße", "日本語", "éé", "👩‍🚀ab", "aaaaaa", "a", "", "<x>", "n0"]


def table(words: list[str], dimension: int = 4, seed: int = 0, **settings: object) -> Subwords:
    """Return a table with a random row for every n-gram of some words."""
    empty = Subwords(np.zeros(0, np.uint32), np.zeros((0, dimension), np.float32), **settings)
    ids = np.unique(empty.hashed(words)[0])
    rows = np.random.default_rng(seed).normal(size=(ids.size, dimension)).astype(np.float32)
    return replace(empty, ids=ids, rows=rows)


def known(**settings: object) -> Vectors:
    words = ["happy", "unhappy", "happiness", "tea", "teapot"]
    matrix = np.random.default_rng(1).normal(size=(len(words), 4)).astype(np.float32)
    return Vectors(matrix, Vocabulary(words, [9, 8, 7, 6, 5]), subwords=table(words, **settings))


@pytest.mark.parametrize(("low", "high", "buckets"), [(3, 6, 2_000_000), (1, 2, 97), (2, 9, 2**32)])
def test_ngrams_and_buckets_agree_with_the_plain_twin(low: int, high: int, buckets: int) -> None:
    empty = Subwords(np.zeros(0, np.uint32), np.zeros((0, 2), np.float32), low, high, buckets)
    hashed, indptr = empty.hashed(WORDS)
    for k, word in enumerate(WORDS):
        expected = twin.ngrams(word, low, high)
        assert empty.split(word) == expected
        assert hashed[indptr[k] : indptr[k + 1]].tolist() == [twin.bucket(ngram, buckets) for ngram in expected]


def test_composed_vectors_agree_with_the_plain_twin() -> None:
    subwords = table(["tea", "happy", "unhappy", "日本"], buckets=500)
    expected = twin.incidence(WORDS, 3, 6, 500, subwords.ids) @ subwords.rows
    np.testing.assert_allclose(subwords.compose(WORDS), expected, rtol=1e-5, atol=1e-6)
    # A word does not depend on the others of its batch.
    np.testing.assert_array_equal(subwords.compose(["tea"])[0], subwords.compose(WORDS)[0])


def test_buckets_and_means_are_those_of_fasttext(tmp_path: Path) -> None:
    text = "the happy cat drinks tea in straße\n" * 50
    model = fasttext_models.train(tmp_path / "text.txt", text, bucket=1000)
    rows = model.get_input_matrix()[len(model.words) :]
    subwords = Subwords(np.arange(1000, dtype=np.uint32), rows, buckets=1000, power=1.0)
    unknown = [word for word in WORDS if word not in model.words]
    np.testing.assert_array_equal(subwords.compose(unknown), [model.get_word_vector(word) for word in unknown])


def test_an_unknown_word_works_wherever_a_word_does() -> None:
    vectors = known()
    word = "unhappyness"
    assert word not in vectors
    row = vectors[word]
    np.testing.assert_array_equal(vectors[["tea", word]], np.stack([vectors["tea"], row]))
    unit = row / np.linalg.norm(row)
    tea = vectors["tea"] / np.linalg.norm(vectors["tea"])
    assert vectors.similarity(word, "tea") == pytest.approx(float(unit @ tea), abs=1e-6)
    assert vectors.most_similar(word) == vectors.nearest_to(row)
    assert vectors.most_similar_many([word])[0] == vectors.most_similar(word)
    assert len(vectors.analogy("happy", word, "tea")) == 3
    assert vectors.doesnt_match([word, "unhappy", "tea"]) in (word, "unhappy", "tea")
    np.testing.assert_allclose(vectors.document_vector(["tea", word]), (vectors["tea"] + row) / 2, rtol=1e-6)
    assert vectors.composed[word] > 5


def test_a_word_is_spelled_as_the_corpus_has_it_before_it_is_composed() -> None:
    vectors = known()
    np.testing.assert_array_equal(vectors["Happy"], vectors["happy"])
    np.testing.assert_array_equal(vectors["UNHAPPYNESS"], vectors["unhappyness"])
    assert vectors.most_similar("Tea") == vectors.most_similar("tea")
    assert vectors.doesnt_match(["Tea", "Teapot"]) in ("Tea", "Teapot")
    assert "Happy" not in vectors
    with pytest.raises(UnknownWordError, match="did you mean happy"):
        vectors.similarity("Happy", "tea", missing="error")
    cased = Vectors(
        vectors.matrix, Vocabulary(["Happy", *list(vectors)[1:]], [9, 8, 7, 6, 5]), subwords=vectors.subwords
    )
    with pytest.raises(UnknownWordError, match="check its spelling and case"):
        cased["TEA"]


def test_missing_keeps_its_choices() -> None:
    vectors = known()
    with pytest.raises(UnknownWordError, match="did you mean"):
        vectors.similarity("unhappyy", "tea", missing="error")
    assert vectors.similarity("unhappyy", "tea", missing="zero") == 0
    assert vectors.most_similar_many(["unhappyy"], missing="skip") == [[]]
    np.testing.assert_array_equal(vectors.document_vector(["tea", "unhappyy"], missing="skip"), vectors["tea"])
    with pytest.raises(FirthianError, match="must be one of compose, error, skip, zero"):
        vectors.similarity("tea", "tea", missing="compos")
    vectors.subwords = None
    with pytest.raises(UnknownWordError):
        vectors["unhappyness"]


@pytest.mark.parametrize("word", ["", "zzz", "😀", "混ぜabc"])
def test_a_word_without_known_ngrams_is_named(word: str) -> None:
    vectors = known()
    with pytest.raises(UnknownWordError, match="none of its n-grams is known"):
        vectors[word]
    np.testing.assert_array_equal(vectors.document_vector([word, "tea"]), vectors["tea"])
    assert not vectors.document_vector([word]).any()


def test_strange_strings_are_composed_or_refused_quickly() -> None:
    vectors = known()
    begin = time.perf_counter()
    assert np.isfinite(vectors["unhappy" * 2000]).all()
    assert np.isfinite(vectors["happy\ud800"]).all()
    assert vectors.subwords is not None
    assert len(vectors.subwords.split("x" * 100_000)) < 50_000
    assert time.perf_counter() - begin < 2


def test_the_parts_of_a_vector_add_up() -> None:
    vectors = known()
    assert vectors.subwords is not None
    parts = vectors.subwords.parts("unhappyness")
    assert sum(share for _, share in parts) == pytest.approx(1)
    assert {ngram for ngram, _ in parts} <= set(vectors.subwords.split("unhappyness"))
    assert "unhapp" in dict(parts)


def test_a_folder_keeps_the_table(tmp_path: Path) -> None:
    vectors = known()
    assert vectors.subwords is not None
    vectors.subwords = replace(
        vectors.subwords, rows=vectors.subwords.rows.astype(np.float16), variance=np.ones(4, np.float32), scale=2.0
    )
    vectors.save(tmp_path / "v")
    again = Vectors.load(tmp_path / "v", verify=True)
    assert again.subwords is not None
    assert again.subwords.record() == vectors.subwords.record()
    np.testing.assert_array_equal(again["unhappyness"], vectors["unhappyness"])
    again.save(tmp_path / "w")
    assert (tmp_path / "v/vectors.json").read_bytes() == (tmp_path / "w/vectors.json").read_bytes()
    vectors.subwords = None
    vectors.save(tmp_path / "plain")
    assert "subwords" not in json.loads((tmp_path / "plain/vectors.json").read_text())


@pytest.mark.parametrize(
    "change",
    [
        {"low": 0},
        {"high": 200},
        {"buckets": 5},
        {"power": float("nan")},
        {"low": 7},
        {"scale": "x"},
        {"blend": None},
        {"fade": -1.0},
    ],
)
def test_a_damaged_table_is_refused(change: dict[str, object]) -> None:
    subwords = known().subwords
    assert subwords is not None
    with pytest.raises(ValueError, match="do not fit"):
        Subwords.from_record(subwords.record() | change, subwords.arrays(), 4)
    with pytest.raises(ValueError, match="dimensions"):
        Subwords.from_record(subwords.record(), subwords.arrays(), 5)
    with pytest.raises(ValueError, match="do not fit"):
        Subwords.from_record(subwords.record(), subwords.arrays() | {"ids": subwords.ids[::-1]}, 4)


def test_derived_vectors_keep_what_they_can() -> None:
    vectors = known()
    assert vectors.subwords is not None
    row = vectors["teapots"]
    np.testing.assert_array_equal(vectors.subset(2)["teapots"], row)
    assert vectors.normalized().similarity("teapots", "tea") == pytest.approx(vectors.similarity("teapots", "tea"))
    turned = vectors.align_to(known(seed=5)).vectors
    assert turned.similarity("teapots", "tea") == pytest.approx(vectors.similarity("teapots", "tea"), abs=1e-5)
    # A composed word would need the same shift.
    assert vectors.centered().subwords is None


def test_the_learned_vectors_come_back() -> None:
    vectors = known()
    assert vectors.subwords is not None
    learned = vectors.matrix
    share = vectors.subwords.compose(vectors.vocabulary.words)
    mixed = Vectors(learned + 2 * share, vectors.vocabulary, subwords=replace(vectors.subwords, blend=2.0))
    np.testing.assert_allclose(mixed.learned, learned, atol=1e-5)
    # A word that is seen c times has the share √(fade/(c + fade)) of the blend.
    fading = np.sqrt(5 / (np.array([9, 8, 7, 6, 5]) + 5))[:, None]
    faded = Vectors(
        learned + 2 * fading * share, vectors.vocabulary, subwords=replace(vectors.subwords, blend=2.0, fade=5.0)
    )
    np.testing.assert_allclose(faded.learned, learned, atol=1e-5)
