"""Posteriors of batches are as wide as those of the whole text; batches that cannot be learned change nothing."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import firthian as ft
from firthian.datasets import locate
from firthian.disk.artifact import _canonical, sha256
from firthian.kernels.packing import unpack
from firthian.learn.bayes import streaming
from firthian.learn.bayes.stream import STREAM, BayesStream, RepeatedBatchError, follow, stream_settings
from firthian.learn.recipes import find_recipe
from firthian.text.readers import open_corpus
from firthian.vectors.uncertainty import variances


def relative(vectors: ft.Vectors, words: list[str]) -> np.ndarray:
    """The variance of each word relative to its squared length."""
    rows = [vectors.vocabulary[word] for word in words]
    return variances(vectors, rows).sum(axis=1) / np.sum(vectors.matrix[rows].astype(np.float64) ** 2, axis=1)


def topics(seed: int, documents: int, extra: str = "") -> list[str]:
    """Documents of ten words, most of them of one of four topics; the others keep all scores finite."""
    random = np.random.default_rng(seed)
    weights = 1 / np.arange(1, 13)

    def document(topic: int) -> str:
        own = np.where(random.random(10) < 0.6, topic, random.integers(4, size=10))
        words = random.choice(12, 10, p=weights / weights.sum())
        return " ".join(f"t{t}w{k}" for t, k in zip(own, words, strict=True)) + extra.format(topic=topic)

    return [document(topic) for topic in random.integers(4, size=documents)]


COUNTING = {"min_count": 5, "window": 3, "sample": 0.0}


def bursty_text() -> list[str]:
    """Each of eight further words occurs in one twelfth of the text only: some in the first, some in the last."""
    return [
        line
        for part in range(12)
        for line in topics(part, 100, " b{topic} b{topic}" if part == 0 else " e{topic} e{topic}" if part == 11 else "")
    ]


@pytest.mark.parametrize(
    "negatives", [{}, {"ns_exponent": 0.0, "negative": 2.0}, {"ns_exponent": 0.75, "negative": 5.0}]
)
def test_bursty_words_are_as_certain_in_batches_as_in_full_sweeps(negatives):
    lines = bursty_text()
    batches = ft.train(lines, "bayes-svi", vector_size=4, counting=COUNTING, batch_tokens=1000, **negatives)
    sweeps = ft.train(lines, "bayes", vector_size=4, counting=COUNTING, **negatives)
    assert batches.provenance.stats["batches"] >= 10
    assert batches.provenance.stats["calibrated"]
    words = sweeps.vocabulary.words
    ratio = dict(zip(words, relative(batches, words) / relative(sweeps, words), strict=True))
    assert np.mean([1 / 1.5 < value < 1.5 for value in ratio.values()]) >= 0.95
    assert all(1 / 1.5 < ratio[f"{kind}{topic}"] < 1.5 for kind in "be" for topic in range(4))


@pytest.mark.realdata
def test_words_of_an_encyclopedia_are_as_certain_in_small_batches_as_in_full_sweeps():
    """Its articles are in alphabetical order, so that most names occur in one batch."""
    with locate("enwiki17m").open(encoding="utf-8") as file:
        lines = file.readlines(2_000_000)
    counting = {"min_count": 20}
    batches = ft.train(lines, "bayes-svi", vector_size=10, counting=counting, batch_tokens=20_000)
    sweeps = ft.train(lines, "bayes", vector_size=10, counting=counting)
    assert batches.provenance.stats["batches"] >= 8
    words = sweeps.vocabulary.words
    ratio = relative(batches, words) / relative(sweeps, words)
    # two rounds over each batch: 0.90
    assert np.mean((ratio > 1 / 1.5) & (ratio < 1.5)) >= 0.95


def test_posteriors_of_a_steady_stream_are_those_of_the_text_so_far():
    """Yesterday's posterior is today's prior: as wide as the posterior of all text at once, and narrowing with it."""
    counting = {"weighting": "dynamic", "sample": 0.0}
    stream = BayesStream(vector_size=4, min_count=5, window=3, counting=counting)
    lines: list[str] = []
    widths = {}
    for number in range(16):
        part = topics(number, 120)
        lines += part
        stream.partial_fit(part)
        if number + 1 in (4, 16):
            whole = ft.train(lines, "bayes", vector_size=4, counting={**COUNTING, **counting})
            words = whole.vocabulary.words
            widths[number + 1] = np.sqrt(relative(stream.vectors(), words))
            ratio = widths[number + 1] / np.sqrt(relative(whole, words))
            assert np.all(np.abs(np.quantile(ratio, [0.1, 0.5, 0.9]) - 1) < 0.1)
    # four times the text: half the width
    assert np.median(widths[4] / widths[16]) == pytest.approx(2, rel=0.15)


def test_a_known_length_narrows_posteriors_to_it():
    """Half of a stream whose length is known has the posterior of all of it, also of words that never come back."""
    counting = {"weighting": "dynamic", "sample": 0.0}
    first, rest = bursty_text()[:600], topics(50, 600)
    widths = []
    for population in (0, 12_000 + 800):
        stream = BayesStream(vector_size=4, min_count=5, window=3, counting=counting, population=population)
        for part in (first[:300], first[300:]):
            stream.partial_fit(part)
        half = relative(stream.vectors(), ["t0w0", "b0"])
        for part in (rest[:300], rest[300:]):
            stream.partial_fit(part)
        widths.append((half, relative(stream.vectors(), ["t0w0", "b0"])))
    (half, whole), (lifted_half, lifted_whole) = widths
    assert np.all(lifted_half < 0.7 * half)
    np.testing.assert_allclose(lifted_whole, whole, rtol=0.15)


def snapshot(stream: BayesStream) -> dict[str, object]:
    arrays = {name: array.tobytes() for name, array in stream._stream.arrays().items()}
    return {
        **arrays, **stream._stream.values(), "words": list(stream._words), "totals": dict(stream._totals),
        "tokens": stream.tokens, "scores": list(stream.scores), "learned": list(stream._learned),
    }  # fmt: skip


def begun() -> BayesStream:
    return BayesStream(vector_size=4, min_count=5, window=3).partial_fit(topics(0, 120))


def test_a_batch_is_learned_only_once():
    stream = begun()
    before = snapshot(stream)
    with pytest.raises(RepeatedBatchError, match="already learned, as batch 1 of the stream"):
        stream.partial_fit(topics(0, 120))
    assert snapshot(stream) == before


@pytest.mark.parametrize("empty", [[], [""], ["* * *"]])
def test_an_empty_batch_changes_nothing(empty):
    stream = begun()
    before = snapshot(stream)
    with pytest.raises(ft.FirthianError):
        stream.partial_fit(empty)
    assert snapshot(stream) == before


@pytest.mark.parametrize("failure", [MemoryError, KeyboardInterrupt])
@pytest.mark.parametrize("call", [1, 2, 4])
def test_a_failed_batch_changes_nothing(monkeypatch, failure, call):
    """Whether it fails while words or contexts are updated, in the first round or the last."""
    stream, calls = begun(), 0
    before, vectors = snapshot(stream), stream.vectors()
    solve = streaming.solve_rows

    def fail(*arguments):
        nonlocal calls
        calls += 1
        if calls == call:
            raise failure
        return solve(*arguments)

    new = topics(1, 120, " n{topic} n{topic}")
    monkeypatch.setattr(streaming, "solve_rows", fail)
    with pytest.raises(failure):
        stream.partial_fit(new)
    monkeypatch.undo()
    assert snapshot(stream) == before
    assert stream.vectors().matrix.tobytes() == vectors.matrix.tobytes()
    # and it can be learned after all
    assert stream.partial_fit(new).vectors().matrix.tobytes() == begun().partial_fit(new).vectors().matrix.tobytes()


def test_text_that_is_read_again_after_an_interruption_is_learned_once(tmp_path):
    settings = stream_settings(find_recipe("bayes-svi"), {"batch_tokens": 1200}, {"min_count": 5, "window": 3}, 4, 1)
    lines = [line for seed in range(3) for line in topics(seed, 120)]
    follow(open_corpus(lines[:240]), tmp_path / "stream", settings)
    again = follow(open_corpus(lines), tmp_path / "stream", settings)
    assert again.repeated_batches == 2
    whole = follow(open_corpus(lines), tmp_path / "whole", settings)
    assert again.vectors().matrix.tobytes() == whole.vectors().matrix.tobytes()
    with pytest.raises(ft.FirthianError, match="has already learned this text"):
        follow(open_corpus(lines), tmp_path / "stream", settings)


def reseal(folder, change) -> None:
    """Change the manifest of a stream and make its checksum right again, as an attacker would."""
    path = folder / STREAM.manifest
    body = json.loads(path.read_text())
    body.pop("checksum")
    change(body)
    path.write_text(json.dumps({**body, "checksum": sha256(_canonical(body))}))


@pytest.mark.parametrize("name", ["hostile_module:f", "whitespace:f", "unicode:f", "hostile_module.evil:f"])
def test_a_saved_stream_never_imports_code(tmp_path, monkeypatch, name):
    module = name.partition(":")[0].partition(".")[0]
    (tmp_path / module).mkdir()
    for file in ("__init__", "evil"):
        (tmp_path / module / f"{file}.py").write_text("f = str.split\nopen('ran', 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    begun().save(tmp_path / "stream")
    reseal(tmp_path / "stream", lambda body: body["options"]["counting"].update(tokenizer=name))
    with pytest.raises(ft.FirthianError, match="which is not loaded from a file"):
        BayesStream.load(tmp_path / "stream")
    assert not (tmp_path / "ran").exists()
    assert module not in sys.modules


def test_a_stream_with_a_tokenizer_of_ones_own_needs_its_name_again(tmp_path, monkeypatch):
    (tmp_path / "own_tokenizer.py").write_text("f = str.split\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    own = {"tokenizer": "own_tokenizer:f"}
    stream = BayesStream(vector_size=4, min_count=5, window=3, counting=own).partial_fit(topics(0, 120))
    stream.save(tmp_path / "stream")
    with pytest.raises(ft.FirthianError, match=r"not loaded from a file.*pass tokenizer=own_tokenizer:f"):
        BayesStream.load(tmp_path / "stream")
    loaded = BayesStream.load(tmp_path / "stream", tokenizer="own_tokenizer:f")
    assert snapshot(loaded) == snapshot(stream)


def edits():
    """Ways to change a manifest so that its fields have other types or sizes than we wrote."""
    for field in ("options", "words", "totals", "tokens", "scores", "learned", "batches", "shape"):
        for value in (None, "x", -1, [1], {"a": "b"}, True):
            yield field, lambda body, field=field, value=value: body.__setitem__(field, value)
    for option in (
        "vector_size",
        "window",
        "min_count",
        "seed",
        "population",
        "negative",
        "counting",
        "bound",
        "inner",
    ):
        for value in (None, "x", -1, [1], {"a": "b"}, 1e308):
            yield option, lambda body, option=option, value=value: body["options"].__setitem__(option, value)
    yield "words", lambda body: body["words"].pop()
    yield "words", lambda body: body["words"].append("another")
    yield "counting", lambda body: body["options"]["counting"].update(vocabulary="/etc/passwd")
    yield "counting", lambda body: body["options"]["counting"].update(tokenizer=["a"])
    yield "unknown", lambda body: body["options"].update(evil=1)


def test_a_changed_manifest_is_an_error_in_one_line(tmp_path):
    begun().save(tmp_path / "stream")
    original = (tmp_path / "stream" / STREAM.manifest).read_text()
    accepted, messages = [], []
    for name, change in edits():
        (tmp_path / "stream" / STREAM.manifest).write_text(original)
        reseal(tmp_path / "stream", change)
        try:
            BayesStream.load(tmp_path / "stream")
            accepted.append(name)
        except ft.FirthianError as error:
            messages.append(str(error))
    assert not accepted
    assert not any("\n" in message for message in messages)


def test_algorithm_3_steps_as_printed():
    """eps is (beta + kappa)^tau of the word's last batch, and scales what the batch says against what was known."""
    from firthian.learn.bayes.model import Likelihood
    from firthian.learn.bayes.printed import PrintedPosterior
    from firthian.runtime.run import Run

    names = [f"t{topic}w{k}" for topic in range(4) for k in range(12)]
    one, two = (
        ft.count([*topics(seed, 80), " ".join(names)], min_count=1, window=3, vocabulary=names) for seed in (0, 1)
    )
    posterior = PrintedPosterior(Likelihood(negative=2.0, ns_exponent=0.0), 4, Run.create(), 3, kappa=1.0, tau=-0.5)
    posterior.step(one, lift=2.0)
    first = posterior.words.half.copy()
    np.testing.assert_allclose(posterior.eps[0], (2.0 + 1.0) ** -0.5)
    posterior.step(two, lift=1.0)
    beta = posterior.words.mass / two.row_sums
    np.testing.assert_allclose(posterior.eps[0], (beta + 1.0) ** -0.5)
    # the second batch alone, from the same state, would have moved all the way
    moved = (posterior.words.half - (1 - 3.0**-0.5) * first) / 3.0**-0.5
    assert np.linalg.eigvalsh(unpack(moved, 4)).min() > -1e-3
    assert not posterior.calibrates


def test_algorithm_3_learns_and_is_refused_for_streams():
    lines = [line for seed in range(6) for line in topics(seed, 100)]
    options = {"algorithm": "printed", "negative": 2.0, "ns_exponent": 0.0, "inner": 5, "batch_tokens": 1000}
    vectors = ft.train(lines, "bayes-svi", vector_size=4, counting=COUNTING, **options)
    assert vectors.provenance.stats["batches"] >= 4
    topic = np.array([word[1] for word in vectors.vocabulary.words])
    same = topic[:, None] == topic[None, :]
    unit = vectors.matrix / np.linalg.norm(vectors.matrix, axis=1, keepdims=True)
    cosines = unit @ unit.T
    assert np.median(cosines[same]) > np.median(cosines[~same]) + 0.3
    with pytest.raises(ft.FirthianError, match="needs the whole text"):
        stream_settings(find_recipe("bayes-svi"), {"algorithm": "printed"}, {}, 4, 1)
