"""Names and words that the system, a font or a terminal has no letters for: nothing ends in a traceback."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import firthian as ft
from firthian.text.readers import Files

Firth = Callable[..., Any]

#: Bytes that are not UTF-8, as Python names such a file.
ODD, OTHER = os.fsdecode(b"caf\xe9"), os.fsdecode(b"caf\xe8")

WORDS = ["茶", "咖啡", "牛奶", "天空", "太阳", "月亮"]


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A folder in whose path are bytes that are not UTF-8."""
    if sys.platform in ("darwin", "win32"):
        pytest.skip("the system has no such names")
    folder = tmp_path / ODD
    folder.mkdir()
    return folder


def test_odd_names_of_a_corpus_stay_distinct(odd: Path) -> None:
    for name in (ODD, OTHER):
        (odd / name).write_text("tea\n")
    assert Files([str(odd)]).names() == [r"caf\udce8", r"caf\udce9"]


def test_training_and_comparing_from_files_with_odd_names(firth: Firth, odd: Path) -> None:
    random = np.random.default_rng(0)
    corpus, pairs = odd / f"{ODD}.txt", odd / f"{ODD}.pairs"
    corpus.write_text("\n".join(" ".join(random.choice(list("abcdefgh"), 12)) for _ in range(60)))
    pairs.write_text("a b 5\nc d 3\ne f 1\na h 2\n")
    for number in range(2):
        done = firth("train", corpus, "-m", "svd", "--dim", "2", "-o", odd / "v", *(["--force"] if number else []))
        assert (done.code, done.err) == (0, "")
    assert firth("convert", odd / "v", odd / f"{ODD}.vec").code == 0
    assert firth("convert", odd / f"{ODD}.vec", odd / "m2v", "--to", "model2vec").code == 0
    done = firth("evaluate", odd / "v", odd / f"{ODD}.vec", "--file", pairs, "--html", odd / "page.html")
    assert (done.code, done.err) == (0, "")
    assert r"caf\udce9" in (odd / "page.html").read_text(encoding="utf-8")
    done = firth("compare", corpus, "-m", "svd", "-m", "ppmi", "--dim", "2", "--sets", pairs, "-o", odd / "report")
    assert done.code == 0, done.err
    assert r"caf\\udce9" in (odd / "report" / "report.json").read_text(encoding="utf-8")


def test_adapting_to_a_file_with_an_odd_name(firth: Firth, odd: Path) -> None:
    labeled = odd / f"{ODD}.tsv"
    labeled.write_text("drink\ttea with milk\nsky\tmoon and sun\n" * 9)
    done = firth("adapt", labeled, "-v", "random:5", "-o", odd / "m", "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads((odd / "m" / "report.json").read_text(encoding="utf-8"))["data"].endswith(r"caf\udce9.tsv")


@pytest.fixture
def chinese(tmp_path: Path) -> Path:
    counts = ft.count([" ".join(WORDS)] * 9, tmp_path / "counts", min_count=1)
    ft.train(counts, "svd", vector_size=3).save(tmp_path / "v")
    return tmp_path


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_an_output_that_has_no_letters_for_a_word(firth_process: Firth, chinese: Path, encoding: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = firth_process("neighbors", chinese / "v", WORDS[0], env=environment)
    assert (done.code, done.err) == (0, "")
    assert r"\u5496\u5561" in done.out
    done = firth_process("neighbors", chinese / "v", WORDS[0], "--json", env=environment)
    assert json.loads(done.out)[0]["word"] == WORDS[0]


def test_the_locale_c_without_utf8(firth_process: Firth, chinese: Path) -> None:
    """Python then writes ASCII and passes only undecodable bytes of names."""
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = firth_process("neighbors", chinese / "v", WORDS[0].encode("unicode_escape").decode(), env=environment)
    assert done.code == 2
    (chinese / "text.txt").write_text(WORDS[0], encoding="utf-8")
    target = chinese / "matrix.npy"
    done = firth_process(
        "encode", chinese / "v", chinese / "text.txt", "-o", target, "--method", "mean", env=environment
    )
    assert (done.code, done.err) == (0, "")
    assert r"1 texts \xd7 3 dimensions" in done.out


def test_pictures_of_words_that_the_font_has_no_letters_for(firth: Firth, chinese: Path) -> None:
    pytest.importorskip("matplotlib")
    # Warnings fail the tests.
    assert firth("map", chinese / "v", "-o", chinese / "map.png", "--method", "pca", "--no-cache").code == 0
    command = ("map", chinese / "counts", "--cloud", WORDS[0], "-o", chinese / "cloud.png", "--min-count", "1")
    assert firth(*command).code == 0
