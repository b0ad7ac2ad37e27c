"""Every format through the same tests. A new format is one row in ``firthian.vectors.formats``."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from firthian import FirthianError, Vectors, Vocabulary
from firthian.vectors.formats import FORMATS, base, format_for, read_vectors, sniff, write_vectors
from firthian.vectors.formats.base import Format

READ_BACK = [known for known in FORMATS if known.read is not None]
_MODULES = {"parquet": "pyarrow", "atlas": "pyarrow", "gensim": "gensim", "spacy": "spacy"}

CASES = {
    "plain": ["the", "of", "and"],
    "Unicode": ["naïve", "日本語", "привет", "e\u0301", "🙂", "a\u00a0b", "\u2028", "\x85"],
    "one word": ["alone"],
    "numbers": ["word", "12", "3.5", "nan", "-1e5"],
    "punctuation": ["#", '"quoted"', "<s>", "a,b", "\\n", "'", "{}"],
}


def suffix(format: Format) -> str:
    return format.suffixes[0] if format.suffixes else ""


def make(words: list[str], dimensions: int = 3, seed: int = 0) -> Vectors:
    generator = np.random.default_rng(seed)
    matrix = (generator.normal(size=(len(words), dimensions)) * 10.0 ** generator.integers(-12, 12)).astype(np.float32)
    return Vectors(matrix, Vocabulary(words, np.arange(len(words), 0, -1)))


def round_trip(format: Format, vectors: Vectors, folder: Path) -> Vectors:
    pytest.importorskip(_MODULES.get(format.name, "numpy"))
    path = folder / f"vectors{suffix(format)}"
    assert write_vectors(vectors, path, format.name, force=True) is format
    found = sniff(path)
    assert found.name == format.name
    again = read_vectors(path)
    assert again.vocabulary.words == vectors.vocabulary.words
    np.testing.assert_array_equal(again.matrix, vectors.matrix)
    if format.counts:
        np.testing.assert_array_equal(again.vocabulary.counts, vectors.vocabulary.counts)
    else:
        assert not again.vocabulary.counts.any()
    assert "repaired" not in again.provenance.source
    return again


@pytest.mark.parametrize("dimensions", [1, 2, 50])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("format", READ_BACK, ids=lambda known: known.name)
def test_round_trip(format: Format, case: str, dimensions: int, tmp_path: Path) -> None:
    round_trip(format, make(CASES[case], dimensions), tmp_path)


@pytest.mark.parametrize("size", [3, 12, 22])
@pytest.mark.parametrize("format", READ_BACK, ids=lambda known: known.name)
def test_compressed_vectors_come_back(format: Format, size: int, tmp_path: Path) -> None:
    vectors = make(CASES["plain"], 20)
    small = Vectors(vectors.matrix * 1e-3 / abs(vectors.matrix).max(), vectors.vocabulary).compressed(size)
    again = round_trip(format, small, tmp_path)
    assert [word for word, _ in again.most_similar("the")] == [word for word, _ in small.most_similar("the")]


@pytest.mark.parametrize("format", READ_BACK, ids=lambda known: known.name)
def test_extreme_numbers_come_back(format: Format, tmp_path: Path) -> None:
    info = np.finfo(np.float32)
    numbers = [
        0.0,
        -0.0,
        info.max,
        -info.max,
        info.tiny,
        info.smallest_subnormal,
        1 / 3,
        np.nextafter(np.float32(1), 2),
    ]
    matrix = np.array(numbers, dtype=np.float32).reshape(2, 4)
    again = round_trip(format, Vectors(matrix, Vocabulary(["a", "b"], [2, 1])), tmp_path)
    np.testing.assert_array_equal(np.signbit(again.matrix), np.signbit(matrix))


@pytest.mark.parametrize("format", READ_BACK, ids=lambda known: known.name)
@pytest.mark.parametrize("words", [["\x00", "a"], ["\x1c", "a"], ["\ufeff", "a"]], ids=ascii)
def test_words_of_odd_characters_are_kept_or_refused(format: Format, words: list[str], tmp_path: Path) -> None:
    pytest.importorskip(_MODULES.get(format.name, "numpy"))
    path = tmp_path / f"vectors{suffix(format)}"
    try:
        write_vectors(make(words), path, format.name)
    except FirthianError:
        assert list(tmp_path.iterdir()) == []
    else:
        assert sorted(read_vectors(path).vocabulary.words) == sorted(words)


@pytest.mark.parametrize("format", FORMATS, ids=lambda known: known.name)
def test_words_with_spaces_are_kept_or_refused(format: Format, tmp_path: Path) -> None:
    vectors = make(["New York", "area 51", "plain"])
    if format.spaces:
        if format.read is not None:
            round_trip(format, vectors, tmp_path)
        return
    path = tmp_path / "vectors"
    with pytest.raises(FirthianError, match="cannot hold words with spaces, such as 'New York'"):
        write_vectors(vectors, path, format.name)
    assert list(tmp_path.iterdir()) == []
    write_vectors(vectors, path, format.name, replace_spaces="_")
    assert read_vectors(path).vocabulary.words == ["New_York", "area_51", "plain"]
    with pytest.raises(FirthianError, match="equal without spaces"):
        write_vectors(make(["a b", "a_b"]), tmp_path / "other", format.name, replace_spaces="_")


@pytest.mark.parametrize("format", FORMATS, ids=lambda known: known.name)
def test_sparse_vectors_are_kept_filled_up_or_refused(format: Format, tmp_path: Path, monkeypatch) -> None:
    pytest.importorskip(_MODULES.get(format.name, "numpy"))
    vectors = Vectors(scipy.sparse.csr_array(np.eye(3)), Vocabulary(["a", "b", "c"]))
    write_vectors(vectors, tmp_path / "v", format.name)
    if format.read is not None:
        matrix = read_vectors(tmp_path / "v").matrix
        np.testing.assert_array_equal(matrix.toarray() if format.sparse else matrix, np.eye(3))
    monkeypatch.setattr(base, "MAX_DENSE_BYTES", 35)
    if not format.sparse:
        with pytest.raises(FirthianError, match="cannot hold sparse vectors, and dense they would take 36 bytes"):
            write_vectors(vectors, tmp_path / "w", format.name)
        assert not (tmp_path / "w").exists()


@pytest.mark.parametrize("format", FORMATS, ids=lambda known: known.name)
def test_an_existing_file_is_kept_without_force(format: Format, tmp_path: Path) -> None:
    pytest.importorskip(_MODULES.get(format.name, "numpy"))
    path = tmp_path / f"v{suffix(format)}"
    write_vectors(make(["a", "b"]), path, format.name)
    before = {item.name for item in tmp_path.iterdir()}
    with pytest.raises(FirthianError, match="already exists"):
        write_vectors(make(["c"]), path, format.name)
    write_vectors(make(["c"]), path, format.name, force=True)
    assert {item.name for item in tmp_path.iterdir()} == before, "nothing half-written is left"


@pytest.mark.parametrize("format", FORMATS, ids=lambda known: known.name)
def test_same_vectors_same_bytes(format: Format, tmp_path: Path, folder_bytes) -> None:
    pytest.importorskip(_MODULES.get(format.name, "numpy"))
    if format.name == "gensim":
        pytest.skip("a pickle, written by another library")
    contents = []
    for name in ("one", "two"):
        path = tmp_path / name
        write_vectors(make(["a", "b"]), path, format.name)
        contents.append(folder_bytes(path) if path.is_dir() else path.read_bytes())
    assert contents[0] == contents[1]


@pytest.mark.parametrize("format", FORMATS, ids=lambda known: known.name)
def test_the_suffix_names_the_format(format: Format) -> None:
    for known in format.suffixes:
        assert format_for(f"vectors{known}") is format


@pytest.mark.parametrize(
    "format", [known for known in READ_BACK if known.name != "folder"], ids=lambda known: known.name
)
@settings(max_examples=40)
@given(data=st.data())
def test_damaged_files_give_errors_not_crashes(format: Format, data: st.DataObject, tmp_path_factory) -> None:
    pytest.importorskip(_MODULES.get(format.name, "numpy"))
    clean, path = (
        tmp_path_factory.getbasetemp() / f"{state}-{format.name}{suffix(format)}" for state in ("clean", "damaged")
    )
    if not clean.exists():
        write_vectors(make(["a", "bb", "ccc"]), clean, format.name)
    if clean.is_dir():
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(clean, path)
    else:
        shutil.copy(clean, path)
    files = sorted(file for file in path.rglob("*") if file.is_file() and file.stat().st_size) or [path]
    file = data.draw(st.sampled_from(files))
    content = bytearray(file.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    file.write_bytes(content[: data.draw(st.integers(1, len(content)))])
    for wanted in (None, format.name):
        try:
            vectors = read_vectors(path, wanted)
        except FirthianError:
            continue
        assert vectors.matrix.shape == (len(vectors), vectors.vector_size)
        assert np.isfinite(vectors.matrix).all()
