"""Numbers from numpy are taken everywhere and written as JSON knows them; what is no number is refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import firthian as ft
from firthian.text.phrases import PhraseOptions

TEXT = ["a b c d a b", "c d a b"] * 5


def test_numbers_of_numpy(tmp_path: Path) -> None:
    settings = {"window": 2, "min_count": 2, "max_vocab": 3, "seed": 4}
    given: dict[str, Any] = {name: np.int64(value) for name, value in settings.items()}
    counts = ft.count(TEXT, tmp_path / "counts", sample=np.float32(0.5), workers=np.int32(1), **given)
    assert counts.record["settings"].items() >= settings.items()
    vectors = ft.train(counts, "svd", vector_size=np.int64(2), seed=np.int64(3), output=tmp_path / "v")
    assert json.loads(json.dumps(vectors.provenance.to_dict()))["seed"] == 3
    assert ft.load(tmp_path / "v").vector_size == 2


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"window": 2.5}, "window must be a whole number, got 2.5: 5 is usual"),
        ({"window": "3"}, "window must be a whole number, got '3'"),
        ({"min_count": 1.5}, "min_count must be a whole number"),
        ({"max_vocab": "all"}, "max_vocab must be a whole number"),
        ({"seed": 1.5}, "seed must be a whole number"),
        ({"sample": "1e-3"}, "sample must be a number, got '1e-3'"),
        ({"workers": "2"}, "workers must be a whole number"),
        ({"memory": 2.5e9}, "memory must be a whole number"),
        ({"strict": "no"}, "strict must be True or False, got 'no'"),
        ({"keep_case": None}, "keep_case must be True or False"),
        ({"phrases": True}, "phrases are scored by npmi or word2vec, not True"),
        ({"vocabulary": [1]}, "a list of words holds something else"),
        ({"stop_words": 5}, "a list of words holds something else"),
        ({"format": None, "corpus": "x.txt"}, "there is no corpus format None"),
        ({"weighting": ["flat"]}, "weighting must be one of"),
    ],
)
def test_what_is_no_number_or_choice_is_refused(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(ft.FirthianError, match=message):
        ft.count(**{"corpus": TEXT, **setting})


def test_vectors_of_half_a_dimension() -> None:
    with pytest.raises(ft.FirthianError, match=r"vector_size must be a whole number, got 2\.5"):
        ft.train(TEXT, "svd", vector_size=2.5)  # type: ignore[arg-type]


def test_choices_of_numpy(tmp_path: Path) -> None:
    names = ("strict", "keep_case", "fold_numbers", "keep_positions")
    given: dict[str, Any] = dict.fromkeys(names, np.bool_(True))
    counts = ft.count(TEXT, tmp_path / "counts", min_count=1, **given)
    assert counts.record["settings"]["keep_case"] is True


def test_numbers_of_phrases() -> None:
    options = PhraseOptions(threshold=np.float32(0.5), min_count=np.int64(5), passes=np.int64(2))  # type: ignore[arg-type]
    assert json.loads(json.dumps(options.as_dict())) == {"score": "npmi", "threshold": 0.5, "min_count": 5, "passes": 2}
    ft.count(TEXT, min_count=1, phrases=options)
    for wrong in ({"passes": "2"}, {"min_count": 1.5}, {"threshold": "high"}):
        with pytest.raises(ft.FirthianError, match="must be a"):
            PhraseOptions(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("pair", ["a", "ab", ("a",), ("a", "b", "c"), 1])
def test_counts_are_asked_for_pairs(pair: Any) -> None:
    counts = ft.count(TEXT, min_count=1)
    with pytest.raises(ft.FirthianError, match="is no pair of words") as caught:
        counts[pair]
    assert "counts[word, context]" in caught.value.hint


def test_a_list_of_words_may_be_an_iterator(tmp_path: Path) -> None:
    for output in (None, tmp_path / "v"):
        counting = {"vocabulary": (word for word in "abcx"), "stop_words": iter("c"), "sample": 0}
        assert list(ft.train(TEXT, "ppmi", counting=counting, output=output).vocabulary) == ["a", "b"]
