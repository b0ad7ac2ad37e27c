"""numpy numbers are accepted everywhere and stored as JSON numbers; anything that is not a number is refused in one line."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import firthian as ft

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
        ({"window": 2.5}, r"window must be an integer from 1 to 10000, got 2\.5: words on each side"),
        ({"window": "3"}, "window must be an integer from 1 to 10000, got '3'"),
        ({"min_count": 1.5}, "min_count must be an integer"),
        ({"max_vocab": "all"}, "max_vocab must be an integer"),
        ({"seed": 1.5}, "seed must be an integer"),
        ({"sample": "1e-3"}, "sample must be a number from 0 to below 1, got '1e-3'"),
        ({"workers": "2"}, "workers must be an integer"),
        ({"memory": 2.5e9}, "memory must be an integer"),
        ({"strict": "no"}, "strict must be true or false, got 'no'"),
        ({"keep_case": None}, "keep_case must be true or false, got None"),
        ({"phrases": True}, "phrases must be one of npmi, word2vec, got True"),
        ({"vocabulary": [1]}, "a word list contains something other than strings"),
        ({"stop_words": 5}, "a word list contains something other than strings"),
        (
            {"format": None, "corpus": "x.txt"},
            "format must be one of auto, lines, files, wiki, csv, tsv, jsonl, parquet, arrow, tei, html, duckdb, got None",
        ),
        ({"weighting": ["flat"]}, "weighting must be one of"),
    ],
)
def test_what_is_no_number_or_choice_is_refused(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(ft.FirthianError, match=message):
        ft.count(**{"corpus": TEXT, **setting})


def test_vectors_of_half_a_dimension() -> None:
    with pytest.raises(ft.FirthianError, match=r"vector_size must be an integer, got 2\.5"):
        ft.train(TEXT, "svd", vector_size=2.5)  # type: ignore[arg-type]


def test_choices_of_numpy(tmp_path: Path) -> None:
    names = ("strict", "keep_case", "fold_numbers", "keep_positions")
    given: dict[str, Any] = dict.fromkeys(names, np.bool_(True))
    counts = ft.count(TEXT, tmp_path / "counts", min_count=1, **given)
    assert counts.record["settings"]["keep_case"] is True


def test_numbers_of_phrases() -> None:
    given: dict[str, Any] = {
        "phrase_threshold": np.float32(0.5),
        "phrase_min_count": np.int64(5),
        "phrase_passes": np.int64(2),
    }
    counts = ft.count(TEXT, min_count=1, phrases="npmi", **given)
    phrases = {"score": "npmi", "threshold": 0.5, "min_count": 5, "passes": 2}
    assert json.loads(json.dumps(counts.record["settings"]["phrases"])) == phrases
    for wrong in ({"phrase_passes": "2"}, {"phrase_min_count": 1.5}, {"phrase_threshold": "high"}):
        with pytest.raises(ft.FirthianError, match="must be a"):
            ft.count(TEXT, phrases="npmi", **wrong)


@pytest.mark.parametrize("setting", [{"phrase_passes": 2}, {"phrase_min_count": 1}, {"phrase_threshold": 0.0}])
def test_settings_of_phrases_without_phrases(setting: dict[str, Any]) -> None:
    with pytest.raises(ft.FirthianError, match="has no effect without phrases: add phrases=npmi"):
        ft.count(TEXT, **setting)


def test_the_signature_of_count_lists_all_settings() -> None:
    parameters = inspect.signature(ft.count).parameters
    assert list(parameters)[:3] == ["corpus", "output", "window"]
    assert {name: parameters[name].default for name in ("window", "min_count", "weighting", "memory")} == {
        "window": 5, "min_count": None, "weighting": "dynamic", "memory": None,
    }  # fmt: skip
    with pytest.raises(ft.FirthianError, match="count has no option 'wndow': did you mean window"):
        ft.count(TEXT, wndow=3)


@pytest.mark.parametrize("pair", ["a", "ab", ("a",), ("a", "b", "c"), 1])
def test_counts_are_asked_for_pairs(pair: Any) -> None:
    counts = ft.count(TEXT, min_count=1)
    with pytest.raises(ft.FirthianError, match="expected a pair of words, got") as caught:
        counts[pair]
    assert "counts[word, context]" in caught.value.hint


def test_a_list_of_words_may_be_an_iterator(tmp_path: Path) -> None:
    for output in (None, tmp_path / "v"):
        counting = {"vocabulary": (word for word in "abcx"), "stop_words": iter("c"), "sample": 0}
        assert list(ft.train(TEXT, "ppmi", counting=counting, output=output).vocabulary) == ["a", "b"]
