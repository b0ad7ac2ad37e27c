"""Formats with subwords, opened in fastText, gensim and spaCy themselves; fastText's also with spoiled bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import firthian as ft
from firthian.vectors.formats import read_vectors, write_vectors
from firthian.vectors.formats.fasttext_bin import MAGIC
from firthian.vectors.subwords import Subwords
from tests.vectors import fasttext_models

Firth = Callable[..., Any]

WORDS = ["tea", "teapot", "kettle", "Kessel", "tésztä", "茶", "</s>", "a"]
UNKNOWN = ["teapots", "kettles", "unkettled", "téa"]


@pytest.fixture
def vectors() -> ft.Vectors:
    """Vectors with a random table that has a row for some of the buckets only, in half precision."""
    random = np.random.default_rng(1)
    matrix = random.normal(size=(len(WORDS), 6)).astype(np.float32)
    ids = np.flatnonzero(random.random(500) < 0.7).astype(np.uint32)
    rows = random.normal(size=(ids.size, 6)).astype(np.float16)
    table = Subwords(ids, rows, low=2, high=5, buckets=500, scale=0.5, blend=1.0)
    return ft.Vectors(matrix, ft.Vocabulary(WORDS, np.arange(80, 0, -10)), subwords=table)


def unit(rows: Any) -> Any:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def test_fasttext_has_the_same_words_and_the_same_directions(vectors: ft.Vectors, tmp_path: Path) -> None:
    fasttext = pytest.importorskip("fasttext", reason="package fasttext-numpy2-wheel")
    write_vectors(vectors, tmp_path / "model.bin", "fasttext-bin")
    model = fasttext.load_model(str(tmp_path / "model.bin"))
    assert model.get_words() == WORDS
    assert model.get_words(include_freq=True)[1].tolist() == list(range(80, 0, -10))
    np.testing.assert_allclose([model.get_word_vector(word) for word in WORDS], vectors.matrix, atol=2e-5)
    theirs = np.array([model.get_word_vector(word) for word in UNKNOWN])
    np.testing.assert_allclose(unit(theirs), unit(np.array([vectors[word] for word in UNKNOWN])), atol=1e-5)


def test_gensim_has_the_same_words_and_the_same_directions(vectors: ft.Vectors, tmp_path: Path) -> None:
    module = pytest.importorskip("gensim.models.fasttext", reason="extra export")
    # gensim composes the end of a line of n-grams, which fastText does not
    words = [word for word in WORDS if word != "</s>"]
    write_vectors(vectors.subset(words), tmp_path / "model.bin", "fasttext-bin")
    keyed = module.load_facebook_vectors(str(tmp_path / "model.bin"))
    np.testing.assert_allclose(keyed[words], [vectors[word] for word in words], atol=2e-5)
    np.testing.assert_allclose(unit(keyed[UNKNOWN]), unit(np.array([vectors[word] for word in UNKNOWN])), atol=1e-5)


@pytest.mark.parametrize("maxn", [0, 4])
def test_models_of_fasttext_are_read(tmp_path: Path, maxn: int) -> None:
    text = "the kettle is on the tea table\nthe teapot is über the fire\n" * 20
    model = fasttext_models.train(tmp_path / "corpus.txt", text, bucket=300, minn=2 if maxn else 0, maxn=maxn)
    model.save_model(str(tmp_path / "model.bin"))
    ours = ft.load(tmp_path / "model.bin")
    assert isinstance(ours, ft.Vectors)
    assert list(ours.vocabulary.words) == model.get_words()
    np.testing.assert_allclose(ours.matrix, [model.get_word_vector(word) for word in model.get_words()], atol=1e-6)
    assert dict(zip(ours.vocabulary.words, ours.vocabulary.counts, strict=True))["kettle"] == 20
    if maxn:
        for word in ("kettles", "tee", "übers"):
            np.testing.assert_allclose(ours[word], model.get_word_vector(word), atol=1e-6)
        # saved in our folder, and back in fastText's format, they are the same
        ours.save(tmp_path / "folder")
        np.testing.assert_array_equal(ft.load(tmp_path / "folder")["kettles"], ours["kettles"])  # type: ignore[index]
        write_vectors(ours, tmp_path / "again.bin", "fasttext-bin")
        again = pytest.importorskip("fasttext").load_model(str(tmp_path / "again.bin"))
        np.testing.assert_allclose(again.get_word_vector("teapots"), model.get_word_vector("teapots"), atol=1e-6)
    else:
        assert ours.subwords is None


def test_what_we_write_is_read_back(vectors: ft.Vectors, tmp_path: Path) -> None:
    write_vectors(vectors, tmp_path / "model.bin", "fasttext-bin")
    back = read_vectors(tmp_path / "model.bin")
    np.testing.assert_allclose(back.matrix, vectors.matrix, atol=2e-5)
    np.testing.assert_allclose(unit(back["teapots"]), unit(vectors["teapots"]), atol=1e-5)
    assert back.vocabulary.counts.tolist() == list(range(80, 0, -10))


def test_vectors_without_subwords_are_a_model_of_whole_words(tmp_path: Path) -> None:
    fasttext = pytest.importorskip("fasttext", reason="package fasttext-numpy2-wheel")
    plain = ft.Vectors(np.eye(2, dtype=np.float32), ft.Vocabulary(["tea", "kettle"]))
    write_vectors(plain, tmp_path / "model.bin", "fasttext-bin")
    model = fasttext.load_model(str(tmp_path / "model.bin"))
    assert model.get_word_vector("kettle").tolist() == [0, 1]
    assert not model.get_word_vector("kettles").any()
    assert read_vectors(tmp_path / "model.bin").subwords is None


def header(
    model: int = 2, version: int = 12, words: int = 1, buckets: int = 4, dim: int = 2, pruned: int = -1
) -> bytes:
    settings = struct.pack("<14id", MAGIC, version, dim, 5, 5, 1, 5, 1, 2, model, buckets, 2, 3, 100, 1e-4)
    return settings + struct.pack("<3i2q", words, words, 0, 10, pruned)


ENTRY = b"tea\0" + struct.pack("<qb", 10, 0)
BODY = struct.pack("<?2q", False, 5, 2) + bytes(4 * 10) + struct.pack("<?2q", False, 1, 2) + bytes(8)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (header(model=3) + ENTRY + BODY, "supervised"),
        (header() + ENTRY + struct.pack("<?2q", True, 5, 2) + bytes(100), "quantized"),
        (header(pruned=5) + ENTRY + BODY, "pruned"),
        (header(version=9) + ENTRY + BODY, "version 9"),
        (header() + ENTRY + BODY[:30], "damaged"),
        (header(words=2**31 - 1) + ENTRY, "cut short"),
        (header(words=-1) + ENTRY, "impossible"),
        (header(dim=2**31 - 1) + ENTRY + BODY, "row for each word"),
        (header(buckets=2**31 - 1) + ENTRY + struct.pack("<?2q", False, 2**31, 2), "its matrices would end"),
        (header() + b"tea" * 100, "cut short"),
        (header() + ENTRY + struct.pack("<?2q", False, 5, 2) + struct.pack("<10f", *[float("nan")] * 10), "finite"),
        (header()[:40], "cut short"),
    ],
)
def test_bad_files_are_refused_in_one_line(firth: Firth, tmp_path: Path, data: bytes, complaint: str) -> None:
    (tmp_path / "model.bin").write_bytes(data)
    firth("convert", tmp_path / "model.bin", tmp_path / "out").complains(complaint)
    assert not (tmp_path / "out").exists()


def test_the_smallest_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(header() + ENTRY + BODY)
    assert list(read_vectors(tmp_path / "model.bin").vocabulary.words) == ["tea"]


def test_spacy_composes_unknown_words_of_a_floret_table(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy", reason="extra export")
    random = np.random.default_rng(2)
    stems, endings = ["kettle", "table", "river", "garden", "singer", "window"], ["", "s", "ed", "ing", "less"]
    of_stem, of_ending = random.normal(size=(len(stems), 8)), random.normal(size=(len(endings), 8))
    words = [stem + ending for stem in stems for ending in endings if (stem, ending) != ("river", "less")]
    matrix = [of_stem[i] + of_ending[j] / 2 for i in range(6) for j in range(5) if (i, j) != (2, 4)]
    table = Subwords(np.zeros(0, np.uint32), np.zeros((0, 8), np.float32), low=3, high=5)
    vectors = ft.Vectors(np.array(matrix, np.float32), ft.Vocabulary(words), subwords=table)
    write_vectors(vectors, tmp_path / "pipeline", "floret", language="en")
    vocab = spacy.load(tmp_path / "pipeline").vocab
    theirs = np.array([vocab[word].vector for word in words])
    assert (unit(theirs) * unit(vectors.matrix)).sum(axis=1).min() > 0.97
    hidden = unit(of_stem[2] + of_ending[4] / 2)
    assert unit(vocab["Riverless"].vector) @ hidden > 0.8  # looked up in lower case, as no word has a capital
    with pytest.raises(ft.FirthianError, match="floret vectors"):
        read_vectors(tmp_path / "pipeline")
