from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from firthian import Vectors, Vocabulary, count, load


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    matrix = np.array([[1, 0.1], [1, 0.2], [0, 1], [-1, 0.5]])
    words = Vocabulary(["tea", "coffee", "New York", "rain"], [9, 5, 3, 1])
    Vectors(matrix, words, record={"recipe": "test"}).save(tmp_path / "v")
    return tmp_path / "v"


def test_neighbors(firth, folder: Path) -> None:
    outcome = firth("neighbors", folder, "tea", "New York", "--topn", "2", "--json")
    first, second = json.loads(outcome.out)
    assert first["word"] == "tea"
    assert [near["word"] for near in first["neighbors"]] == ["coffee", "New York"]
    assert first["neighbors"][0]["score"] == pytest.approx(0.9952, abs=1e-4)
    assert len(second["neighbors"]) == 2
    assert "0.9952  coffee" in firth("neighbors", folder, "tea").out
    firth("neighbors", folder, "coffe").complains("'coffe' is not in the vocabulary", "did you mean coffee?")
    outcome = firth("neighbors", folder, "coffe", "--json")
    assert outcome.code == 2
    assert set(json.loads(outcome.err)) == {"error", "hint"}


def test_analogy_and_similarity(firth, folder: Path) -> None:
    shown = json.loads(firth("analogy", folder, "tea", "coffee", "rain", "--json").out)
    assert [answer["word"] for answer in shown["answers"]] == ["New York"]
    assert "as rain is to" in firth("analogy", folder, "tea", "coffee", "rain", "--method", "3cosmul").out
    firth("analogy", folder, "tea", "coffee", "rain", "--method", "3cosad").complains("did you mean 3cosadd")
    shown = json.loads(firth("similarity", folder, "tea", "coffee", "--json").out)
    assert shown == {"a": "tea", "b": "coffee", "similarity": pytest.approx(0.9952, abs=1e-4)}
    assert firth("similarity", folder, "tea", "coffee").out == "0.9952\n"


def test_convert_there_and_back(firth, folder: Path, tmp_path: Path) -> None:
    firth("convert", folder, tmp_path / "v.vec").complains("no words with spaces", "--replace-spaces")
    assert firth("convert", folder, tmp_path / "v.vec", "--replace-spaces", "_").code == 0
    shown = json.loads(firth("convert", tmp_path / "v.vec", tmp_path / "again", "--json").out)
    assert shown == {"path": str(tmp_path / "again"), "format": "folder", "shape": [4, 2], "repaired": {}}
    np.testing.assert_array_equal(load(tmp_path / "again").matrix, load(folder).matrix)
    firth("convert", folder, tmp_path / "v.vec").complains("exists already")
    firth("convert", folder, tmp_path / "v.xyz").complains("does not say which format", "--to")
    firth("convert", folder, tmp_path / "v.xyz", "--to", "glov").complains("did you mean glove?")
    (tmp_path / "bad.txt").write_text("a 1 2\nb 3\nc 1 2\n")
    firth("convert", tmp_path / "bad.txt", tmp_path / "out").complains("bad.txt, line 2:")
    assert not (tmp_path / "out").exists()
    (tmp_path / "double.txt").write_text("a 1 2\nb 3 4\na 3 4\n")
    outcome = firth("convert", tmp_path / "double.txt", tmp_path / "out", "--duplicates", "first")
    assert "put right" in outcome.out
    assert "double words (1)" in outcome.out


def test_any_file_is_vectors_and_counts_are_not(firth, folder: Path, tmp_path: Path) -> None:
    assert firth("convert", folder, tmp_path / "v.npz").code == 0
    assert firth("similarity", tmp_path / "v.npz", "tea", "coffee").out == "0.9952\n"
    count(["a b a b"], tmp_path / "counts", min_count=1)
    firth("neighbors", tmp_path / "counts", "a").complains("counts, not vectors", "firth train")


def test_info_of_vectors(firth, folder: Path, tmp_path: Path) -> None:
    facts = json.loads(firth("info", folder, "--json").out)
    assert (facts["kind"], facts["shape"], facts["format"]) == ("vectors", [4, 2], "folder")
    assert facts["provenance"] == {"recipe": "test"}
    (tmp_path / "v.txt").write_text("1 2\na 1 2\n")
    assert json.loads(firth("info", tmp_path / "v.txt", "--json").out)["format"] == "word2vec"
    (tmp_path / "none").mkdir()
    firth("info", tmp_path / "none").complains("none is not a folder of vectors", "vectors.json")
