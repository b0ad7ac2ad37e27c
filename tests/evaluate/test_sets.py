"""Test sets by name or path, and those that are missing."""

from __future__ import annotations

import numpy as np
import pytest

import firthian as ft
from firthian.datasets.word_tasks import Pairs, Questions
from firthian.errors import FirthianError
from firthian.evaluate import sets
from firthian.evaluate.sets import choose, open_set
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.vectors import Vectors


def write(folder, text, name="mine.txt"):
    path = folder / name
    path.write_text(text)
    return path


def test_an_unknown_set_is_refused_with_a_suggestion():
    with pytest.raises(FirthianError, match="did you mean simlex999"):
        open_set("simlex99")


def test_a_folder_is_not_a_set(tmp_path):
    with pytest.raises(FirthianError, match="folder"):
        open_set(tmp_path)


def test_sets_go_to_their_suites(tmp_path):
    one, two = write(tmp_path, "a b 1\n", "p.txt"), write(tmp_path, "a b c d\n", "q.txt")
    chosen, absent = choose([one, two], ["similarity", "analogy"])
    assert ([s.name for s in chosen["similarity"]], [s.name for s in chosen["analogy"]], absent) == (["p"], ["q"], {})
    with pytest.raises(FirthianError, match="two sets are called p"):
        choose([one, one], ["similarity", "analogy"])
    with pytest.raises(FirthianError, match="belongs to the suite analogy"):
        choose([sets.open_set(two)], ["similarity"])


def test_missing_common_sets_are_named_and_without_any_it_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "eval/similarity").mkdir(parents=True)
    here = tmp_path / "eval/similarity"
    monkeypatch.setattr("firthian.datasets.locate", lambda name: here / f"{name}.txt")
    monkeypatch.setattr(sets, "why_absent", lambda name: "" if (here / f"{name}.txt").exists() else "lost")
    with pytest.raises(FirthianError, match="none of the common test sets"):
        choose(None, ["similarity", "analogy"])
    write(tmp_path, "a b 1\n", "eval/similarity/men.txt")
    chosen, absent = choose(None, ["similarity", "analogy"])
    assert [s.name for s in chosen["similarity"]] == ["men"]
    assert absent["google"] == absent["ws353"] == "lost"


def test_a_damaged_common_set_is_told_as_such(tmp_path, monkeypatch):
    path = write(tmp_path, "tea coffee 5\n", "ws353.txt")

    def locate(name):
        if name in ("ws353", "google-sections"):
            raise FirthianError(f"{path} has 13 bytes, not 7,904", hint="remove it and fetch it again")
        return write(tmp_path, "a b c d\n" if name in sets.SETS["analogy"] else "a b 1\n", f"{name}.txt")

    monkeypatch.setattr("firthian.datasets.locate", locate)
    vectors = Vectors(np.eye(4), Vocabulary(list("abcd")))
    (note,) = ft.evaluate(vectors).notes
    assert note == f"the set ws353 is left out: {path} has 13 bytes, not 7,904: remove it and fetch it again"


@pytest.mark.parametrize("empty", [Pairs("e", [], np.empty(0)), Questions("e", [], [], [], np.empty(0, int))])
def test_a_set_without_items_is_refused(empty):
    with pytest.raises(FirthianError, match="the set e is empty"):
        choose([Pairs("p", [("a", "b")], np.ones(1)), empty], ["similarity", "analogy"])


def test_google_without_section_lines_still_has_two_kinds(tmp_path, monkeypatch):
    path = write(tmp_path, "a b c d\n" * sets.GOOGLE_QUESTIONS, "google.txt")
    monkeypatch.setattr(sets, "why_absent", lambda name: "not here")
    monkeypatch.setattr("firthian.datasets.locate", lambda name: path)
    questions = open_set("google")
    assert questions.semantic == [True, False]
    assert np.bincount(questions.section_of).tolist() == [8869, 10675]


@pytest.mark.realdata
def test_the_common_sets_have_their_known_sizes():
    if sets.why_absent("google-sections"):
        pytest.skip("the evaluation sets are not here (set FIRTHIAN_DATA)")
    sizes = {name: len(open_set(name)) for name in ("ws353", "men", "mturk287", "simlex999", "google", "msr")}
    assert sizes == {"ws353": 353, "men": 3000, "mturk287": 287, "simlex999": 999, "google": 19544, "msr": 8000}
    google = open_set("google")
    assert len(google.sections) == 14
    assert sum(google.semantic[section] for section in google.section_of) == sets.GOOGLE_SEMANTIC
    assert open_set("msr").semantic == [False]
