"""Test files in the usual formats, and files that are none."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import firthian as ft
from firthian.datasets import word_tasks as files
from firthian.datasets.word_tasks import Pairs, Questions, read
from firthian.errors import FirthianError
from firthian.evaluate import sets
from firthian.evaluate.sets import choose, open_set
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.vectors import Vectors


def write(folder, text, name="mine.txt"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    "text",
    [
        "tea coffee 8.5\ncar moon 1\n",
        "tea\tcoffee\t8.5\r\ncar\tmoon\t1\r\n",
        "Word 1,Word 2,Human (mean)\ntea,coffee,8.5\ncar,moon,1\n",
        "# a comment\n\ntea;coffee;8.5\ncar;moon;1",
        "word1\tword2\tPOS\tSimLex999\tconc\ntea\tcoffee\tN\t8.5\t4.9\ncar\tmoon\tN\t1\t3\n",
        "tea coffee 8.5 9 8\ncar moon 1 0 2\n",
        "\ufefftea coffee 8.5\ncar moon 1\n",
        'tea,"coffee",8.5\n"car",moon,1.0\n',
    ],
    ids=["spaces", "tabs and CR", "csv with header", "semicolons", "SimLex", "RareWords", "BOM", "quotes"],
)
def test_pairs_in_every_usual_format(tmp_path, text):
    pairs = read(write(tmp_path, text))
    assert isinstance(pairs, Pairs)
    assert pairs.name == "mine"
    assert pairs.words == [("tea", "coffee"), ("car", "moon")]
    assert pairs.scores.tolist() == [8.5, 1.0]


def test_a_phrase_between_tabs_is_one_word(tmp_path):
    assert read(write(tmp_path, "new york\tcity\t5\n")).words == [("new york", "city")]


def test_compressed_files_are_read(tmp_path):
    path = write(tmp_path, gzip.compress(b"tea coffee 8.5\n"), "pairs.txt.gz")
    assert (read(path).name, len(read(path))) == ("pairs", 1)


def test_analogies_with_and_without_sections(tmp_path):
    plain = read(write(tmp_path, "man king woman queen\na b c d\n"))
    assert isinstance(plain, Questions)
    assert (plain.sections, plain.section_of.tolist()) == ([], [0, 0])
    text = "a b c d\n: capitals\nx y z w\n: gram1-adverb\np q r s\n: capitals\nx y z v\n"
    questions = read(write(tmp_path, text))
    assert questions.sections == ["(no section)", "capitals", "gram1-adverb"]
    assert questions.section_of.tolist() == [0, 1, 2, 1]
    assert questions.semantic == [True, True, False]


def test_a_suite_decides_how_an_ambiguous_file_is_read(tmp_path):
    path = write(tmp_path, "one two 3 4\n")
    assert isinstance(read(path), Pairs)
    assert isinstance(read(path, "analogy"), Questions)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["mine.txt is empty"]),
        ("# only a comment\n", ["is empty"]),
        ("tea coffee 8.5\ncar 1\n", ["line 2", "2 columns"]),
        ("tea coffee 8.5\n\ncar moon high\n", ["line 3", "'high'"]),
        ("tea coffee 8.5\ncar moon nan\n", ["line 2", "finite"]),
        ("tea coffee 8.5\ncar moon 1e999\n", ["line 2", "finite"]),
        ("tea\tcoffee\t1\n\tmoon\t2\n", ["line 2"]),
        ("man king woman queen\nman king woman\n", ["line 2", "3 columns"]),
        (": capitals\na b c d e\n", ["line 2", "5 columns"]),
        (": capitals\n:\na b c d\n", ["line 2", "without a name"]),
        (": capitals\n", ["no questions"]),
        ("hello\n", ["line 1", "neither"]),
        (b"tea coffee 8\nt\xe9 caf\xe9 3\n", ["line 2", "UTF-8"]),
        (b"\0\1\2\3", ["not text"]),
        (b"\x1f\x8b\x08\x00garbage", ["damaged"]),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(tmp_path, text, parts):
    with pytest.raises(FirthianError) as caught:
        read(write(tmp_path, text))
    assert all(part in str(caught.value) for part in parts), caught.value
    assert "mine.txt" in str(caught.value)
    assert caught.value.hint


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LARGEST_BYTES", 10_000)
    with pytest.raises(FirthianError, match="too large"):
        read(write(tmp_path, gzip.compress(b"a b 1\n" * 5000)))


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tmp_path_factory, data):
    path = write(tmp_path_factory.mktemp("fuzz"), data)
    for kind in (None, "similarity", "analogy"):
        try:
            found = read(path, kind)
        except FirthianError:
            continue
        assert len(found) > 0
        assert all(all(item) for item in found.words)
        if isinstance(found, Pairs):
            assert np.isfinite(found.scores).all()


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
    monkeypatch.setenv("FIRTHIAN_DATA", str(tmp_path))
    here = tmp_path / "eval/similarity"
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
    monkeypatch.setattr(sets, "is_here", lambda name: False)
    monkeypatch.setattr("firthian.datasets.locate", lambda name: path)
    questions = open_set("google")
    assert questions.semantic == [True, False]
    assert np.bincount(questions.section_of).tolist() == [8869, 10675]


@pytest.mark.realdata
def test_the_common_sets_have_their_known_sizes():
    if not sets.is_here("google-sections"):
        pytest.skip("the evaluation sets are not here (set FIRTHIAN_DATA)")
    sizes = {name: len(open_set(name)) for name in ("ws353", "men", "mturk287", "simlex999", "google", "msr")}
    assert sizes == {"ws353": 353, "men": 3000, "mturk287": 287, "simlex999": 999, "google": 19544, "msr": 8000}
    google = open_set("google")
    assert len(google.sections) == 14
    assert sum(google.semantic[section] for section in google.section_of) == sets.GOOGLE_SEMANTIC
    assert open_set("msr").semantic == [False]
