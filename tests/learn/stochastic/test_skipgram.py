"""Skip-gram and CBOW on text: kernels against slow twins, the same bytes for any workers, known answers found."""

from __future__ import annotations

import tempfile

import numpy as np
import pytest

import firthian as ft
from firthian.counts.counting import CountingContext, CountJob
from firthian.counts.streams import probability_bounds
from firthian.counts.tokens import Tokens
from firthian.kernels import skipgram as kernel
from firthian.learn.stochastic import skipgram as model_module
from firthian.learn.stochastic.skipgram import SkipGram
from firthian.runtime.executor import Threads
from firthian.runtime.memory import check_budget
from firthian.runtime.progress import Silent
from firthian.runtime.run import Run
from tests.learn.texts import TOPIC, two_topics
from tests.reference import skipgram as slow

PARTS, WORDS, SEED, EPOCH, NEGATIVE = 4, 23, 7, 2, 3
COUNTING = {"min_count": 1, "sample": 0}


def alias(words=WORDS, seed=0):
    weights = np.random.default_rng(seed).random(words) ** 3
    bounds, aliases = np.empty(words, dtype=np.uint64), np.empty(words, dtype=np.int32)
    kernel.alias_table(weights, bounds, aliases)
    return weights, bounds, aliases


def random_stream(length=200, seed=0):
    """Words with document ends and holes among them."""
    rng = np.random.default_rng(seed)
    stream = rng.integers(0, WORDS, length).astype(np.int32)
    stream[rng.random(length) < 0.05] = -1
    stream[rng.random(length) < 0.05] = -2
    return stream


def draw(stream, first, last, position, reaches, before=True, after=True):
    _, bounds, aliases = alias()
    room = (last - first) * 2 * reaches.size * (1 + NEGATIVE) + 1
    raw, samples = np.empty((room, 2), np.int32), np.empty((room, 2), np.int32)
    starts = np.empty(PARTS * PARTS + 1, np.int64)
    pairs = kernel.draw_samples(
        (stream, first, last, position, np.uint64(SEED), np.uint64(EPOCH)),
        (reaches, before, after, bounds, aliases, NEGATIVE), PARTS, raw, samples, starts,
    )  # fmt: skip
    return pairs, samples[: starts[-1]], starts


def by_cells(drawn):
    """Samples in the order of their cells; inside a cell as they were."""
    return sorted(drawn, key=lambda sample: (sample[0] % PARTS, max(sample[1], ~sample[1]) % PARTS))


REACHES = probability_bounds(np.array([1.0, 0.75, 0.5, 0.25]))


@pytest.mark.parametrize(("before", "after"), [(True, True), (True, False), (False, True)])
def test_samples_agree_with_the_twin(before, after):
    stream = random_stream()
    pairs, samples, starts = draw(stream, 20, 180, 1000, REACHES, before, after)
    _, bounds, aliases = alias()
    expected = slow.samples(
        stream.tolist(),
        20,
        180,
        1000,
        SEED,
        EPOCH,
        REACHES,
        before,
        after,
        bounds=bounds,
        aliases=aliases,
        negative=NEGATIVE,
    )
    assert list(map(tuple, samples.tolist())) == by_cells(expected)
    assert pairs == sum(context >= 0 for _, context in expected)
    for cell in range(PARTS * PARTS):
        inside = samples[starts[cell] : starts[cell + 1]]
        contexts = np.maximum(inside[:, 1], ~inside[:, 1])
        assert ((inside[:, 0] % PARTS) * PARTS + contexts % PARTS == cell).all()


def test_cuts_change_no_sample():
    stream = random_stream()
    _, whole, _ = draw(stream, 0, 200, 0, REACHES)
    pieces = [draw(stream, first, first + 50, first, REACHES)[1] for first in range(0, 200, 50)]
    assert sorted(map(tuple, whole.tolist())) == sorted(map(tuple, np.concatenate(pieces).tolist()))


def test_alias_table_gives_the_distribution():
    weights, bounds, aliases = alias(words=500)
    np.testing.assert_allclose(slow.probabilities(bounds, aliases), weights / weights.sum(), atol=1e-9)


def test_noise_follows_the_distribution():
    weights, *_ = alias()
    _, samples, _ = draw(random_stream(4000), 0, 4000, 0, REACHES)
    noise = ~samples[samples[:, 1] < 0, 1]
    found = np.bincount(noise, minlength=WORDS) / noise.size
    # Noise that hits the neighbor is left out, which takes a little from every word alike in this uniform text.
    assert np.abs(found - weights / weights.sum()).max() < 0.01


def test_windows_reach_as_often_as_the_weights_say():
    stream = np.arange(40_000, dtype=np.int32) % WORDS
    _, samples, _ = draw(stream, 0, stream.size, 0, REACHES)
    pairs = samples[samples[:, 1] >= 0]
    distance = (pairs[:, 1] - pairs[:, 0]) % WORDS
    found = [np.count_nonzero(distance == d) / stream.size for d in (1, 2, 3, 4)]
    np.testing.assert_allclose(found, [1, 0.75, 0.5, 0.25], atol=0.01)


def parameters(width=5, seed=1):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(2, WORDS, width)) / 2).astype(np.float32)


def test_skip_gram_steps_agree_with_the_twin():
    _, samples, starts = draw(random_stream(), 0, 200, 0, REACHES)
    words, contexts = parameters()
    exact_words, exact_contexts = words.astype(np.float64), contexts.astype(np.float64)
    met = sum(
        kernel.logistic_steps(samples[None], starts[None], cell, words, contexts, np.float32(0.1))
        for cell in range(PARTS * PARTS)
    )
    expected = slow.skip_gram(list(map(tuple, samples.tolist())), exact_words, exact_contexts, 0.1)
    assert met == pytest.approx(expected, rel=1e-4)
    np.testing.assert_allclose(words, exact_words, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(contexts, exact_contexts, rtol=1e-3, atol=1e-4)


def test_cbow_steps_agree_with_the_twin():
    stream = random_stream()
    _, bounds, aliases = alias()
    words, contexts = parameters()
    exact_words, exact_contexts = words.astype(np.float64), contexts.astype(np.float64)
    met = kernel.cbow_steps(
        (stream, 0, 200, 0, np.uint64(SEED), np.uint64(EPOCH)), (REACHES, True, True, bounds, aliases, NEGATIVE),
        words, contexts, np.float32(0.1),
    )  # fmt: skip
    expected = slow.cbow(
        stream.tolist(), 0, 200, 0, SEED, EPOCH, REACHES, True, True,
        bounds=bounds, aliases=aliases, negative=NEGATIVE, words=exact_words, contexts=exact_contexts, alpha=0.1,
    )  # fmt: skip
    assert met == pytest.approx(expected, rel=1e-4)
    np.testing.assert_allclose(words, exact_words, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(contexts, exact_contexts, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("label", [0, 1])
def test_a_step_goes_down_the_slope(label):
    words, contexts = parameters()
    u, c = words[3].astype(np.float64), contexts[5].astype(np.float64)
    samples = np.array([[[3, 5 if label else ~5]]], dtype=np.int32)
    kernel.logistic_steps(samples, np.array([[0, 1]]), 0, words, contexts, np.float32(1e-2))
    for k in range(u.size):
        shift = np.eye(u.size)[k] * 1e-6
        for_u = (slow.loss(u + shift, c, label) - slow.loss(u - shift, c, label)) / 2e-6
        for_c = (slow.loss(u, c + shift, label) - slow.loss(u, c - shift, label)) / 2e-6
        assert (words[3, k] - u[k]) / -1e-2 == pytest.approx(for_u, abs=1e-4)
        assert (contexts[5, k] - c[k]) / -1e-2 == pytest.approx(for_c, abs=1e-4)


def test_huge_logits_stay_finite():
    words, contexts = parameters() * np.float32(1000)
    samples = np.array([[[word, coded] for word in range(WORDS) for coded in (word, ~word)]], dtype=np.int32)
    loss = kernel.logistic_steps(samples, np.array([[0, samples.shape[1]]]), 0, words, contexts, np.float32(1e-9))
    assert np.isfinite(loss)
    assert np.isfinite(words).all()


@pytest.mark.parametrize("cbow", [False, True])
def test_workers_change_nothing_and_seeds_do(cbow, monkeypatch):
    monkeypatch.setattr(model_module, "LEAST_TOKENS", 100)
    options = {"vector_size": 10, "epochs": 2, "cbow": cbow, "counting": {"min_count": 1, "sample": 1e-2}}
    one, two, three = (ft.train(two_topics(), "sgns-sgd", workers=n, **options) for n in (1, 2, 3))
    assert one.matrix.tobytes() == two.matrix.tobytes() == three.matrix.tobytes()
    assert one.contexts.tobytes() == two.contexts.tobytes() == three.contexts.tobytes()
    assert one.provenance == two.provenance == three.provenance
    other = ft.train(two_topics(), "sgns-sgd", seed=2, **options)
    assert not np.array_equal(one.matrix, other.matrix)


@pytest.mark.parametrize("cbow", [False, True])
def test_length_of_stretches_changes_no_window(cbow, monkeypatch):
    found = []
    for length in (1024, 300, 77):
        monkeypatch.setattr(model_module, "LEAST_TOKENS", length)
        vectors = ft.train(
            two_topics(), "sgns-sgd", vector_size=4, epochs=1, cbow=cbow, counting=COUNTING | {"window": 9}
        )
        found.append(vectors.provenance.stats["pairs"])
    assert found[0] == found[1] == found[2]


def test_memory_changes_nothing():
    small, large = (
        ft.train(two_topics(), "sgns-sgd", vector_size=10, epochs=1, counting=COUNTING, memory=size)
        for size in ("256MB", "2GB")
    )
    assert small.matrix.tobytes() == large.matrix.tobytes()


@pytest.mark.parametrize("cbow", [False, True])
def test_topics_are_found_and_the_loss_falls(cbow):
    vectors = ft.train(two_topics(), "sgns-sgd", vector_size=8, epochs=30, alpha=0.1, cbow=cbow, counting=COUNTING)
    history = vectors.provenance.objective
    assert len(history) == 30
    assert history[-1] < history[0] - 0.1
    unit = vectors.matrix / np.linalg.norm(vectors.matrix, axis=1, keepdims=True)
    topic = np.array([TOPIC[word] for word in vectors.vocabulary.words])
    a, b = unit[topic == 0], unit[topic == 1]
    within, across = min((a @ a.T).mean(), (b @ b.T).mean()), (a @ b.T).mean()
    assert within > across + 0.3


def test_first_loss_is_that_of_zero_context_vectors():
    """Context vectors begin at zero, so every sample of the first steps costs log 2."""
    vectors = ft.train(two_topics(), "sgns-sgd", vector_size=4, epochs=1, alpha=1e-9, min_alpha=0, counting=COUNTING)
    stats = vectors.provenance.stats
    per_pair = vectors.provenance.objective[0] / np.log(2)
    assert stats["tokens"] == 60 * 30
    assert 5 < per_pair <= 6, "one pair and five noise words, less those that hit the neighbor"


def test_objective_is_that_of_the_result():
    """A short text is its own excerpt, so the twin can work out the objective from the finished vectors."""
    options = {"vector_size": 4, "epochs": 3, "alpha": 0.1}
    vectors = ft.train(two_topics(documents=6), "sgns-sgd", **options, counting=COUNTING)
    job = CountJob.create(two_topics(documents=6), min_count=1)
    with Tokens.read(job, CountingContext(Threads(1), check_budget(None), Silent())) as tokens:
        reaches, before, after, bounds, aliases, negative = SkipGram(tokens, Run()).drawing
        (group,) = tokens.groups()
    drawn = slow.samples(
        [*group.stream.tolist(), -1], 0, group.stream.size, 0, 1, model_module.OBJECTIVE_EPOCH, reaches, before, after,
        bounds=bounds, aliases=aliases, negative=negative,
    )  # fmt: skip
    loss = slow.skip_gram(drawn, vectors.matrix.astype(np.float64), vectors.contexts.astype(np.float64), 0.0)
    pairs = sum(context >= 0 for _, context in drawn)
    assert vectors.provenance.objective[-1] == pytest.approx(loss / pairs, rel=1e-5)


def test_excerpts_come_from_everywhere(monkeypatch):
    monkeypatch.setattr(model_module, "LEAST_TOKENS", 100)
    with read() as tokens:
        model = SkipGram(tokens, Run())
        excerpts = [(stretch.position, model.excerpt(stretch)) for stretch in model.stretches(0, 1)]
    assert excerpts[-1][0] > 1700
    assert 100 <= sum(part.size for _, part in excerpts) < 150


def test_record_says_the_same_as_for_counts():
    counting = {"min_count": 2, "window": 3, "weighting": "flat", "sample": 0.01}
    by_text = ft.train(two_topics(), "sgns-sgd", vector_size=4, counting=counting).provenance
    by_counts = ft.train(two_topics(), "glove", vector_size=4, counting=counting).provenance
    assert by_text.counts == by_counts.counts
    assert by_text.to_dict().keys() == by_counts.to_dict().keys()


def test_sub_sampling_is_redrawn_in_each_epoch():
    with read(sample=1e-3) as tokens:
        first, again, second = ([group.stream.tolist() for group in tokens.groups(epoch)] for epoch in (0, 0, 1))
    assert first == again
    assert first != second
    with read(sample=0) as tokens:
        first, second = ([group.stream.tolist() for group in tokens.groups(epoch)] for epoch in (0, 1))
    assert first == second


def read(**settings):
    job = CountJob.create(two_topics(), min_count=1, **settings)
    return Tokens.read(job, CountingContext(Threads(2), check_budget(None), Silent()))


def test_stretches_cover_the_text_once():
    with read() as tokens:
        model = SkipGram(tokens, Run())
        stretches = list(model.stretches(0, 1))
        stream = np.concatenate([group.stream[slice(*group.core)] for group in tokens.groups()])
    assert len(stretches) > 1
    assert sum(stretch.tokens for stretch in stretches) == model.epoch_tokens == 60 * 30
    pieces = [stretch.stream[stretch.first : stretch.last] for stretch in stretches]
    assert np.array_equal(np.concatenate(pieces), stream)
    assert [s.position for s in stretches] == np.cumsum([0, *map(len, pieces)])[:-1].tolist()


def test_nothing_is_left_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ft.train(two_topics(), "sgns-sgd", vector_size=4, counting=COUNTING)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ft.FirthianError, match="larger than the vocabulary"):
        ft.train(two_topics(), "sgns-sgd", vector_size=400, counting=COUNTING)
    with pytest.raises(ft.FirthianError, match="min_count=10000"):
        ft.train(two_topics(), "sgns-sgd", counting={"min_count": 10_000})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("cbow", [False, True])
def test_without_pairs_there_is_nothing_to_learn(cbow):
    with pytest.raises(ft.FirthianError, match="the text contains no pairs of words"):
        ft.train(["a", "b", "c"], "sgns-sgd", vector_size=1, cbow=cbow, counting={"min_count": 1, "sample": 0.0})


def test_counts_are_refused(tmp_path):
    counts = ft.count(two_topics(), tmp_path / "counts")
    for source in (counts, str(tmp_path / "counts"), tmp_path / "counts"):
        with pytest.raises(ft.FirthianError, match=r"learns from text.*pass the corpus"):
            ft.train(source, "sgns-sgd")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"counting": {"sample": 0.1, "sample_mode": "expected"}}, "sample_mode"),
        ({"alpha": 0.01, "min_alpha": 0.02}, "min_alpha"),
        ({"negative": -1}, "negative"),
        ({"cbow": "perhaps"}, "cbow"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ft.FirthianError, match=message):
        ft.train(two_topics(), "sgns-sgd", vector_size=4, **options)
