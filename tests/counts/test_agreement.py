"""Fast counting gives what the slow definition gives, for every choice there is."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import firthian as ft
from firthian.counts.counting import CountJob
from firthian.counts.counts import Counts
from firthian.counts.tokens import Tokens
from tests.counts.jobs import as_dict, count_with, how
from tests.reference import counting as slow


def random_documents(seed: int, documents: int = 40, words: int = 12, longest: int = 30) -> list[list[str]]:
    """Documents with a Zipfian choice of words; some are empty."""
    generator = np.random.default_rng(seed)
    share = 1 / np.arange(1, words + 1)
    names = [f"w{number}" for number in range(words)]
    lengths = generator.integers(0, longest, documents)
    return [[str(word) for word in generator.choice(names, size, p=share / share.sum())] for size in lengths]


def same(counts: Counts, wanted: dict[tuple[str, str], Any], exact: bool = True) -> None:
    found = as_dict(counts)
    assert found.keys() == {pair for pair, value in wanted.items() if value}
    for pair, value in found.items():
        if exact:
            assert value == float(np.float32(float(wanted[pair]))), pair
        else:
            assert value == pytest.approx(float(wanted[pair]), rel=1e-6), pair


CHOICES = list(
    itertools.product((1, 2, 5, 25, 100), ("flat", "harmonic", "dynamic"), ("both", "left", "right"), (False, True))
)


@pytest.mark.parametrize(("window", "weighting", "context", "keep_positions"), CHOICES)
def test_every_window(window: int, weighting: str, context: str, keep_positions: bool) -> None:
    documents = random_documents(window)
    words = slow.vocabulary(documents, min_count=20)
    options: dict[str, Any] = {
        "window": window,
        "weighting": weighting,
        "context": context,
        "keep_positions": keep_positions,
    }
    counts = ft.count(documents, min_count=20, **options)
    assert dict(zip(counts.vocabulary.words, counts.vocabulary.counts, strict=True)) == words
    assert list(counts.vocabulary) == list(words)
    same(counts, slow.count(documents, words, **options))


@pytest.mark.parametrize("sample_mode", ["drop", "expected"])
@pytest.mark.parametrize("keep_positions", [False, True])
@pytest.mark.parametrize("context", ["both", "left"])
def test_sub_sampling(sample_mode: str, keep_positions: bool, context: str) -> None:
    documents = random_documents(7, documents=60)
    words = slow.vocabulary(documents, min_count=10)
    options: dict[str, Any] = {
        "window": 4,
        "context": context,
        "keep_positions": keep_positions,
        "sample": 0.02,
        "sample_mode": sample_mode,
        "seed": 99,
    }
    counts = ft.count(documents, min_count=10, **options)
    same(counts, slow.count(documents, words, **options), exact=sample_mode == "drop")


@pytest.mark.parametrize(
    "limits",
    [
        {"max_vocab": 5},
        {"stop_words": ["w0", "w3", "absent"]},
        {"only": ["w1", "w2", "w9", "absent"]},
        {"only": ["w1", "w2", "w9"], "min_count": 30},
        {"only": ["w1", "w2", "w9"], "stop_words": ["w2"], "max_vocab": 1},
        {"min_count": 15, "max_vocab": 3, "stop_words": ["w1"]},
    ],
)
@pytest.mark.parametrize("keep_positions", [False, True])
def test_limits_of_the_vocabulary(limits: dict[str, Any], keep_positions: bool) -> None:
    documents = random_documents(3)
    words = slow.vocabulary(documents, **{"min_count": 1, **limits})
    mine = {"vocabulary" if name == "only" else name: value for name, value in limits.items()}
    counts = ft.count(documents, window=3, keep_positions=keep_positions, **{"min_count": 1, **mine})
    assert list(counts.vocabulary) == list(words)
    same(counts, slow.count(documents, words, window=3, keep_positions=keep_positions))


def test_words_of_a_list_that_do_not_occur_are_told() -> None:
    counts = ft.count(random_documents(3), vocabulary=["w1", "absent", "gone"])
    assert counts.record["vocabulary"] == {"words": 1, "tokens": int(counts.vocabulary.counts[0]), "absent": 2}


@pytest.mark.parametrize("score", ["npmi", "word2vec"])
@pytest.mark.parametrize("passes", [1, 2])
def test_phrases(score: str, passes: int) -> None:
    documents = [
        [*document, "new", "york", "city"] if number % 2 else ["los", "angeles", *document]
        for number, document in enumerate(random_documents(5))
    ]
    threshold = {"npmi": 0.5, "word2vec": 5.0}[score]
    joined: Any = documents
    for _ in range(passes):
        joined = slow.join_phrases(joined, score, threshold)
    assert any("new_york" in document or "new_york_city" in document for document in joined)
    counts = ft.count(documents, min_count=1, phrases=score, phrase_threshold=threshold, phrase_passes=passes)
    words = slow.vocabulary(joined)
    assert list(counts.vocabulary) == list(words)
    same(counts, slow.count(joined, words))


def test_phrases_of_a_corpus_too_small_for_any() -> None:
    counts = ft.count(["a b c"], min_count=1, phrases="npmi")
    assert counts.record["phrases"] == 0
    assert list(counts.vocabulary) == ["a", "b", "c"]


@given(
    st.lists(st.lists(st.sampled_from("abcde"), max_size=9), min_size=1, max_size=9).filter(any),
    st.integers(1, 12),
    st.sampled_from(["flat", "harmonic", "dynamic"]),
    st.sampled_from(["both", "left", "right"]),
    st.booleans(),
)
def test_any_documents(
    documents: list[list[str]], window: int, weighting: str, context: str, keep_positions: bool
) -> None:
    words = slow.vocabulary(documents, stop_words=["c"])
    if not words:
        return
    options: dict[str, Any] = {
        "window": window,
        "weighting": weighting,
        "context": context,
        "keep_positions": keep_positions,
    }
    same(ft.count(documents, min_count=1, stop_words=["c"], **options), slow.count(documents, words, **options))


def test_marginals_and_symmetry() -> None:
    documents = random_documents(11)
    for context in ("both", "left", "right"):
        counts = ft.count(documents, min_count=1, context=context, weighting="harmonic", window=3)
        dense = counts.to_scipy().toarray()
        words = slow.vocabulary(documents)
        exact = slow.count(documents, words, window=3, weighting="harmonic", context=context)
        for axis, sums in ((0, counts.row_sums), (1, counts.column_sums)):
            for number, word in enumerate(words):
                wanted = sum(value for pair, value in exact.items() if pair[axis] == word)
                assert sums[number] == pytest.approx(float(wanted), rel=1e-15)
        if context == "both":
            assert np.array_equal(dense, dense.T)
    left = ft.count(documents, min_count=1, context="left").to_scipy().toarray()
    right = ft.count(documents, min_count=1, context="right").to_scipy().toarray()
    assert np.array_equal(left, right.T)


def test_expected_counts_are_symmetric_in_float64() -> None:
    documents = random_documents(11, words=40)
    options: dict[str, Any] = {"min_count": 1, "sample": 0.01, "sample_mode": "expected", "dtype": "float64"}
    both, left, right = (
        ft.count(documents, context=context, **options).to_scipy().toarray() for context in ("both", "left", "right")
    )
    assert np.array_equal(both, both.T)
    assert np.array_equal(left, right.T)


def test_a_word_next_to_itself_counts_twice_on_the_diagonal() -> None:
    assert ft.count(["echo echo"], min_count=1)["echo", "echo"] == 2.0


def test_float64_keeps_what_float32_rounds(tmp_path: Path) -> None:
    documents = [["a", "b", "c"] * 40] * 30
    words = slow.vocabulary(documents)
    wanted = slow.count(documents, words, window=7, weighting="harmonic")
    found = as_dict(count_with(documents, tmp_path / "c", window=7, weighting="harmonic", dtype="float64"))
    assert found == {pair: float(value) for pair, value in wanted.items()}


def test_random_numbers_of_places_are_uniform_and_independent() -> None:
    from firthian.kernels.selection import counter_random

    bits = np.array(
        [[counter_random(np.uint64(1), np.uint64(d), np.uint64(p)) for p in range(300)] for d in range(300)],
        dtype=np.uint64,
    )
    assert len(np.unique(bits)) == bits.size
    assert int(bits[3, 5]) / 2**64 == slow.random_number(1, 3, 5)
    for shift in range(64):
        share = float(((bits >> np.uint64(shift)) & np.uint64(1)).mean())
        assert abs(share - 0.5) < 5 * 0.5 / np.sqrt(bits.size), shift
    uniform = bits / 2.0**64
    table, _ = np.histogram(uniform, bins=100, range=(0, 1))
    chi2 = float(((table - 900) ** 2 / 900).sum())
    assert 50 < chi2 < 160  # 99 degrees of freedom: beyond either bound lies less than 1 in 10,000
    for one, two in ((uniform[:, :-1], uniform[:, 1:]), (uniform[:-1], uniform[1:])):
        assert abs(np.corrcoef(one.ravel(), two.ravel())[0, 1]) < 5 / np.sqrt(one.size)


def test_sub_sampling_keeps_the_share_it_promises() -> None:
    generator = np.random.default_rng(0)
    documents = [list(map(str, line)) for line in generator.choice(["a", "b", "c"], (2000, 40), p=[0.9, 0.09, 0.01])]
    words = slow.vocabulary(documents)
    total = sum(words.values())
    options: dict[str, Any] = {"min_count": 1, "window": 1, "weighting": "flat", "context": "right"}
    with Tokens.read(CountJob.create(documents, sample=0.05, **options), how()) as tokens:
        kept = sum(np.bincount(group.stream[group.stream >= 0], minlength=3) for group in tokens.groups())
        names = tokens.vocabulary.words
    for (word, n), found in zip(words.items(), kept, strict=True):
        p = slow.keep_probability(n, total, 0.05)
        assert abs(found - n * p) <= 5 * np.sqrt(n * p * (1 - p)) + 1e-9, word
    assert names == list(words)
    counts = ft.count(documents, sample=0.05, **options)
    # Each kept word but the last of its document has one to its right.
    assert kept.sum() - len(documents) <= counts.total < kept.sum()
    assert counts.total < ft.count(documents, **options).total
    assert ft.count(documents, sample=0.05, seed=2, **options).total != counts.total
