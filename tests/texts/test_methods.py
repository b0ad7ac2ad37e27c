"""What methods learn: components, agreements of neighboring spans, words from their texts; planted topics are recovered."""

from __future__ import annotations

import numpy as np
import pytest

from firthian import Encoder, FirthianError, Vectors, Vocabulary
from firthian.texts.fitting import SPAN, divide_spans
from firthian.texts.methods import METHODS, Moments, agreement_map, remove_components, word_weights
from firthian.vectors.subwords import Subwords
from tests.reference import pooling as plain

TOPICS, WORDS = 5, 40


def planted(seed: int, documents: int = 200, length: int = 60) -> tuple[list[str], np.ndarray]:
    """Return documents of one topic each, as one line, and their topics."""
    rng = np.random.default_rng(seed)
    topics = rng.integers(TOPICS, size=documents)
    words = [[f"t{topic}w{n}" for n in rng.integers(WORDS, size=length)] for topic in topics]
    return [" ".join(line) for line in words], topics


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    """Words share a weak direction with their topic; stronger ones are noise that no topic has in common."""
    rng = np.random.default_rng(1)
    names = [f"t{topic}w{n}" for topic in range(TOPICS) for n in range(WORDS)]
    rows = rng.normal(size=(len(names), 20)) * np.r_[np.full(TOPICS, 0.3), np.full(20 - TOPICS, 8.0)]
    rows[np.arange(len(names)), np.repeat(np.arange(TOPICS), WORDS)] += 1
    return Vectors(rows + 0.5, Vocabulary(names, np.arange(len(names), 0, -1)))


def same_topic_nearest(encoder: Encoder, texts: list[str], topics: np.ndarray) -> float:
    encoded = encoder.encode(texts)
    unit = encoded / np.linalg.norm(encoded, axis=1, keepdims=True)
    cosines = unit @ unit.T - 2 * np.eye(len(unit))
    return float((topics[cosines.argmax(axis=1)] == topics).mean())


def test_learned_methods_separate_planted_topics_better(vectors):
    texts, _ = planted(1)
    short, topics = planted(2, length=6)
    mean = same_topic_nearest(Encoder(vectors, "mean"), short, topics)
    spans = same_topic_nearest(Encoder(vectors, "spans").fit(texts), short, topics)
    learned = same_topic_nearest(Encoder(vectors, "topics").fit(texts), short, topics)
    assert mean < 0.7
    assert spans > 0.8
    assert learned > 0.95


def test_the_map_maximizes_agreement(vectors):
    rng = np.random.default_rng(3)
    common = rng.normal(size=(500, 6)) * np.r_[3, 2, 1, 0, 0, 0]
    left, right = (common + rng.normal(size=(500, 6)) + 1 for _ in range(2))
    moments = Moments.of_pairs(left[:200], right[:200]) + Moments.of_pairs(left[200:], right[200:])
    center, weights, values = agreement_map(moments, 0.0)
    expected, directions = plain.agreement(left, right, 1e-4)
    np.testing.assert_allclose(values, np.clip(expected, 0, 1), atol=1e-9)
    positive = values > 1e-3
    cosines = (
        np.einsum("ij,ij->j", weights, directions)
        / np.linalg.norm(weights, axis=0)
        / np.linalg.norm(directions, axis=0)
    )
    np.testing.assert_allclose(np.abs(cosines[positive]), 1, atol=1e-6)
    np.testing.assert_allclose(center, np.concatenate([left, right]).mean(axis=0))
    spread = np.concatenate([left, right]) - center
    np.testing.assert_allclose(weights.T @ (spread.T @ spread / 1000) @ weights, np.eye(6), atol=1e-3)
    agreed = [np.corrcoef(left @ column, right @ column)[0, 1] for column in weights.T]
    assert np.argmax(agreed) == 0
    assert agreed[0] > np.corrcoef(left[:, 0], right[:, 0])[0, 1] - 0.01
    _, scaled, _ = agreement_map(moments, 0.5)
    np.testing.assert_allclose(scaled, weights * np.sqrt(values), atol=1e-12)


@pytest.mark.parametrize("components", [1, 3])
def test_removed_components_are_those_of_the_papers(components):
    rows = np.random.default_rng(4).normal(size=(50, 6)) + 1
    moments = Moments.of(rows)
    expected = plain.without_components(rows, components)
    np.testing.assert_allclose(rows @ remove_components(moments, components, False), expected, atol=1e-10)
    _, strengths, directions = np.linalg.svd(rows)
    shares = strengths[:components] ** 2 / (strengths[:components] ** 2).sum()
    parts = [share * np.outer(rows @ c, c) for share, c in zip(shares, directions, strict=False)]
    np.testing.assert_allclose(rows @ remove_components(moments, components, True), rows - sum(parts), atol=1e-10)


def test_usif_weighs_without_a_parameter():
    vocabulary = Vocabulary.from_counts({f"w{n}": count for n, count in enumerate([900, 50, 30, 10, 5, 5])})
    weights = word_weights(vocabulary, "usif", 1e-3, length=2.0)
    p = vocabulary.counts / 1000
    alpha = np.mean(p > 1 - (1 - 1 / 6) ** 2)
    a = (1 - alpha) / (alpha * 3)
    np.testing.assert_allclose(weights.words, a / (a / 2 + p))
    assert weights.unknown == pytest.approx(a / (a / 2))


def test_spans_are_about_equally_long_and_stay_in_their_text():
    lengths = np.array([5, 8, SPAN, 2 * SPAN, 5 * SPAN + 7, 0])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    begins, first = divide_spans(starts)
    sizes = np.diff(begins)
    assert set(starts) <= set(begins)
    assert sizes.sum() == lengths.sum()
    assert np.histogram(begins[:-2], starts[:-1])[0].tolist() == [1, 2, 2, 2, 5]
    assert not set(begins[first + 1]) & set(starts)
    assert sizes[first].min() >= 4


def test_topics_average_the_texts_of_words_also_of_new_ones(vectors):
    texts, _ = planted(5, documents=60)
    texts = [f"{text} new{n % 3} once{n}" for n, text in enumerate(texts)]
    spans = Encoder(vectors, "spans", normalize=True).fit(texts)
    learned = Encoder(vectors, "topics").fit(texts)
    words = learned.vectors.vocabulary
    assert words.words[len(vectors) :] == ["new0", "new1", "new2"]
    sums = plain.word_means([text.split() for text in texts], spans.encode(texts))
    counts = {word: sum(word in text.split() for text in texts) for word in sums}
    np.testing.assert_allclose(learned.vectors["new1"], sums["new1"] / (counts["new1"] + 1), atol=1e-5)
    seen = [word for word in vectors.vocabulary if word in counts]
    usual = np.mean([np.linalg.norm(sums[word] / counts[word]) for word in [*seen, "new0", "new1", "new2"]])
    for word in seen[:20]:
        own = (vectors[word] - spans.pooling.center) @ spans.pooling.map
        expected = (sums[word] + usual * own / np.linalg.norm(own)) / (counts[word] + 1)
        np.testing.assert_allclose(learned.vectors[word], expected, atol=1e-4)
    assert np.abs(learned.encode(texts).mean(axis=0)).max() < 1e-5


@pytest.mark.parametrize("method", METHODS)
def test_same_bytes_for_any_workers_fitted_again_and_loaded(method, vectors, tmp_path, monkeypatch):
    from firthian.texts import pooling

    monkeypatch.setattr(pooling, "BLOCK_CHARACTERS", 2000)
    table = Subwords(np.arange(8, dtype=np.uint32), np.eye(8, 20, dtype=np.float32), low=3, high=3, buckets=8)
    with_subwords = Vectors(vectors.matrix, vectors.vocabulary, subwords=table)
    texts, _ = planted(6, documents=50)
    texts = [f"{text} unheard unheard{n}" for n, text in enumerate(texts)]
    one, two = (Encoder(with_subwords, method, workers=workers).fit(texts) for workers in (1, 2))
    expected = one.encode([*texts, "unseen t1w1"])
    np.testing.assert_array_equal(two.fit(texts).encode([*texts, "unseen t1w1"]), expected)
    assert np.isfinite(expected).all()
    assert one.coverage.composed > 50
    one.save(tmp_path / "encoder")
    np.testing.assert_array_equal(Encoder.load(tmp_path / "encoder").encode([*texts, "unseen t1w1"]), expected)


def test_refuses_texts_from_which_nothing_can_be_learned(vectors):
    with pytest.raises(FirthianError, match="no text has two spans of 4 words"):
        Encoder(vectors, "spans").fit(["t1w1 t1w2", ""])
    with pytest.raises(FirthianError, match="expected texts, got a str: pass a list of strings"):
        Encoder(vectors, "spans").fit("t1w1 t1w2")
    with pytest.raises(FirthianError, match="one-shot iterator, and are read several times: pass a list"):
        Encoder(vectors, "topics").fit(iter(planted(1)[0]))
    with pytest.raises(FirthianError, match=r"`?components`? has no effect with method=spans"):
        Encoder(vectors, "spans", components=2)
