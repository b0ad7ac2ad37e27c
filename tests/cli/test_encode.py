"""``firth encode``: matrices of texts from files, saved encoders, and mistakes in one line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from firthian import Encoder, Vectors, Vocabulary

TEXTS = ["tea with milk and sugar and tea with milk", "a ball in the goal and a team with a ball", "", "?"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["and", "a", "with", "tea", "milk", "ball", "goal", "team"]
    vectors = Vectors(np.random.default_rng(1).normal(size=(8, 3)), Vocabulary(words, [9, 8, 7, 5, 4, 3, 2, 1]))
    vectors.save("vectors")
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    return vectors


def test_one_row_per_line(folder, firth):
    done = firth("encode", "vectors", "texts.txt", "-o", "matrix.npy", "--save", "encoder")
    assert (done.code, done.out.splitlines()) == (
        0, ["4 texts × 3 dimensions in matrix.npy", "20 words: 3 without a vector"],
    )  # fmt: skip
    assert done.err == "2 texts contain no known word: their rows are zeros\n"
    expected = Encoder(folder).fit(TEXTS).encode(TEXTS)
    np.testing.assert_array_equal(np.load("matrix.npy"), expected)
    again = firth("encode", "encoder", "texts.txt", "-o", "again.npz", "--normalize", "--json")
    assert json.loads(again.out) == {
        "dimension": 3, "method": "spans", "texts": 4, "empty": 2, "tokens": 20, "unknown": 3, "composed": 0, "damaged": 0,
        "rows_without_text": 0, "rows_excluded": 0, "path": "again.npz",
    }  # fmt: skip
    unit = expected[:2] / np.linalg.norm(expected[:2], axis=1, keepdims=True)
    np.testing.assert_allclose(np.load("again.npz")["matrix"][:2], unit, rtol=1e-5)


def test_tables_other_texts_to_learn_from_and_parquet(folder, firth, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "new.csv").write_text('id,review\n1,"tea, milk"\n2,ball\n')
    done = firth("encode", "vectors", "new.csv", "--text-column", "review", "-o", "m.parquet", "--method", "mean")
    assert done.code == 0, done
    rows = np.array(parquet.read_table("m.parquet").column("vector").to_pylist(), np.float32)
    np.testing.assert_array_equal(rows, Encoder(folder, "mean").encode(["tea milk", "ball"]))
    (tmp_path / "new.txt").write_bytes(b"tea\nmilk \xff\r\nball")
    done = firth("encode", "vectors", "new.txt", "--fit", "texts.txt", "-o", "m.npy", "--method", "topics")
    assert "replaced bytes that are not UTF-8 in 1 texts" in done.err
    expected = Encoder(folder, "topics").fit(TEXTS).encode(["tea", "milk", "ball"])
    np.testing.assert_array_equal(np.load("m.npy"), expected)


def test_rows_without_text_are_skipped_and_told(folder, firth, tmp_path):
    rows = [
        {"review": text, "year": year} for text, year in (("tea", 1), (None, 1), ("ball", 2), ("milk", 1), (None, 1))
    ]
    (tmp_path / "new.jsonl").write_text("\n".join(map(json.dumps, rows)))
    flags = ("--text-column", "review", "--where", "year=1")
    done = firth("encode", "vectors", "new.jsonl", *flags, "-o", "m.npy", "--method", "mean")
    assert done.err.startswith("skipped 2 rows without text;")
    assert "skipped 1 rows excluded by --where" in done.err
    np.testing.assert_array_equal(np.load("m.npy"), Encoder(folder, "mean").encode(["tea", "milk"]))
    done = firth("index", "vectors", "new.jsonl", *flags, "-o", "index", "--method", "mean")
    assert done.out.startswith("2 documents")
    assert "skipped 2 rows without text" in done.err
    more = firth("index", "vectors", "new.jsonl", *flags, "-o", "index", "--add", "--json")
    assert json.loads(more.out)["rows_without_text"] == 4
    (tmp_path / "none.jsonl").write_text(json.dumps(rows[1]))
    firth("index", "vectors", "none.jsonl", "--text-column", "review", "-o", "i").complains("no documents to index")


def test_mistakes(folder, firth, tmp_path):
    assert firth("encode", "vectors", "texts.txt", "-o", "m.npy", "--save", "encoder").code == 0
    firth("encode", "vectors", "texts.txt").complains("no output")
    firth("encode", "vectors", "texts.txt", "-o", "m.txt").complains(
        "m.txt has no known suffix", ".npy, .npz, .parquet"
    )
    firth("encode", "vectors", "texts.txt", "-o", "m.npy").complains("m.npy already exists", "--force")
    firth("encode", "vectors", "none.txt", "-o", "n.npy").complains("none.txt")
    firth("encode", "vectors", "texts.txt", "-o", "n.npy", "--method", "sfi").complains("--method must be one of")
    firth("encode", "encoder", "texts.txt", "-o", "n.npy", "--method", "sif").complains("--method has no effect")
    firth("encode", "vectors", "texts.txt", "-o", "n.npy", "--empty", "error").complains("text 3 has no known word")
    (tmp_path / "short.txt").write_text("tea\n")
    firth("encode", "vectors", "short.txt", "-o", "n.npy").complains("no text has two spans", "--method sif")
    assert not (tmp_path / "n.npy").exists()
