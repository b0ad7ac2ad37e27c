"""Test files in the usual formats, and files that are none."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firthian.datasets import word_tasks
from firthian.datasets.word_tasks import Pairs, Questions, read
from firthian.errors import FirthianError


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
    monkeypatch.setattr(word_tasks, "LARGEST_BYTES", 10_000)
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
