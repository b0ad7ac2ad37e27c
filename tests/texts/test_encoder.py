"""The encoder agrees with plain numpy, gives the same bytes however texts are divided, and refuses bad input in one line."""

from __future__ import annotations

import numpy as np
import pytest

import firthian as ft
from firthian import Encoder, FirthianError, Tokenizer, Vectors, Vocabulary
from firthian.texts import pooling
from firthian.vectors.subwords import Subwords
from tests.reference import pooling as plain

WORDS = [f"w{n}" for n in range(50)]


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    rng = np.random.default_rng(1)
    counts = (1000 / np.arange(1, 51)).astype(int)
    return Vectors(rng.normal(size=(50, 6)) + 0.5, Vocabulary(WORDS, counts))


@pytest.fixture(scope="module")
def texts() -> list[str]:
    rng = np.random.default_rng(2)
    return [" ".join(f"W{n}" for n in rng.geometric(0.1, rng.integers(0, 12)) - 1) for _ in range(300)]


def split(texts):
    return [Tokenizer().tokens(text) for text in texts]


def test_agrees_with_plain_numpy(vectors, texts):
    rows = dict(zip(WORDS, vectors.matrix, strict=True))
    p = vectors.vocabulary.counts / vectors.vocabulary.counts.sum()
    weights = dict(zip(WORDS, 0.01 / (0.01 + p), strict=True))
    zero, same = np.zeros(6), np.eye(6)
    mean = plain.encode(split(texts), rows, dict.fromkeys(WORDS, 1.0), zero, same)
    np.testing.assert_allclose(Encoder(vectors, "mean").encode(texts), mean, atol=1e-6)
    weighted = plain.encode(split(texts), rows, weights, zero, same)
    encoder = Encoder(vectors, "sif", smoothing=0.01, components=2)
    np.testing.assert_allclose(encoder.encode(texts), weighted, atol=1e-6)
    np.testing.assert_allclose(encoder.fit(texts).encode(texts), plain.without_components(weighted, 2), atol=1e-5)


def test_equals_document_vector(vectors, texts):
    encoded = Encoder(vectors, "sif").encode(texts)
    each = [vectors.document_vector(text, weighting="sif") for text in texts]
    np.testing.assert_allclose(encoded, each, atol=1e-6)


def test_same_bytes_for_any_workers_batches_and_forms(vectors, texts, monkeypatch):
    encoder = Encoder(vectors, "sif", workers=1).fit(texts)
    expected = encoder.encode(texts)
    assert all(np.array_equal(encoder.encode(text), row) for text, row in zip(texts, expected, strict=True))
    np.testing.assert_array_equal(encoder.encode(iter(texts)), expected)
    np.testing.assert_array_equal(encoder.encode(split(texts)), expected)
    np.testing.assert_array_equal(encoder.encode(np.array(texts, object)), expected)
    np.testing.assert_array_equal(encoder.encode([text.replace(" ", "\n") for text in texts]), expected)
    monkeypatch.setattr(pooling, "BLOCK_CHARACTERS", 100)
    one, three = (Encoder(vectors, "sif", workers=workers).fit(texts) for workers in (1, 3))
    np.testing.assert_array_equal(one.encode(texts), three.encode(texts))
    np.testing.assert_array_equal(encoder.encode(texts), expected)


def test_unknown_words_are_composed_once_or_left_out(vectors):
    table = Subwords(np.arange(8, dtype=np.uint32), np.eye(8, 6, dtype=np.float32), low=3, high=3, buckets=8)
    with_subwords = Vectors(vectors.matrix, vectors.vocabulary, subwords=table)
    text = "w1 unknown w2 unknown"
    encoder = Encoder(with_subwords, "mean")
    expected = with_subwords.document_vector(text)
    np.testing.assert_allclose(encoder.encode(text), expected, atol=1e-6)
    assert (encoder.coverage.composed, encoder.coverage.unknown) == (2, 0)
    skipping = Encoder(with_subwords, "mean", missing="skip")
    np.testing.assert_allclose(skipping.encode(text), vectors.matrix[1:3].mean(axis=0), atol=1e-6)
    assert (skipping.coverage.composed, skipping.coverage.unknown) == (0, 2)


def test_phrases_of_the_corpus_are_joined():
    words = Vocabulary(["new_york", "york", "in"], [2, 2, 5])
    vectors = Vectors(np.eye(3), words, state={"phrase_passes": 1})
    np.testing.assert_array_equal(Encoder(vectors, "mean").encode(["in New York", "york"]), [[0.5, 0, 0.5], [0, 1, 0]])


def test_texts_without_a_known_word_are_zeros_and_counted_or_an_error(vectors):
    encoder = Encoder(vectors, "sif", normalize=True).fit(["w1 w2", "", "w3"])
    assert not encoder.encode(["", "w1", "?", "nothing known"])[[0, 2, 3]].any()
    assert (encoder.coverage.texts, encoder.coverage.empty, encoder.coverage.unknown) == (4, 3, 2)
    assert encoder.encode([]).shape == (0, 6)
    assert np.linalg.norm(encoder.encode("w1")) == pytest.approx(1)
    with pytest.raises(FirthianError, match=r"text 2 has no known word: drop it, or use empty=zero"):
        Encoder(vectors, "mean", empty="error").encode(["w1", "?"])


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["w1", None], "text 2 is missing"),
        (["w1", float("nan")], "text 2 is missing"),
        (["w1", 3], "text 2 is a int, not a string"),
        ([b"w1"], "text 1 is a bytes, not a string"),
        (["w1", ["w1"]], "text 2 is a list, unlike the first one"),
        ([["w1", 2]], "text 1 is a list, not a string"),
        (b"w1", "expected texts, got a bytes"),
        (3, "expected texts, got a int"),
    ],
)
def test_refuses_what_is_not_text(vectors, texts, message):
    with pytest.raises(FirthianError, match=message):
        Encoder(vectors, "mean").encode(texts)


def test_takes_any_characters(vectors):
    odd = ["w1 \ud800 w2", "w1\0w2", "w1\rw2", "w1\x1fw2", "W1 W2"]
    expected = vectors.matrix[1:3].mean(axis=0)
    np.testing.assert_allclose(Encoder(vectors, "mean").encode(odd), np.tile(expected, (5, 1)), atol=1e-6)
    long = "w1 w2 " * 500_000
    np.testing.assert_allclose(Encoder(vectors, "mean").encode(long), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "sief"}, "`?method`? must be one of"),
        ({"smoothing": 0}, "`?smoothing`? must be a number"),
        ({"components": -1}, "`?components`? must be an integer"),
        ({"empty": "drop"}, "`?empty`? must be one of zero, error"),
        ({"workers": 0}, "`?workers`? must be an integer of at least 1"),
    ],
)
def test_refuses_impossible_options(vectors, options, message):
    with pytest.raises(FirthianError, match=message):
        Encoder(vectors, **options)


def test_a_weighting_by_frequency_needs_counts():
    with pytest.raises(FirthianError, match="no word counts: use method=mean"):
        Encoder(Vectors(np.eye(2), Vocabulary(["a", "b"])), "sif")


def test_is_public():
    assert ft.Encoder is Encoder
