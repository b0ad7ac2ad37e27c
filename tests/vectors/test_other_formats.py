"""Formats through other libraries, and files that must not be trusted."""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from firthian import Counts, FirthianError, Vectors, Vocabulary, count, load
from firthian.vectors.formats import read_vectors, write_vectors
from firthian.vectors.formats.gensim import from_gensim, to_gensim


def make() -> Vectors:
    matrix = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)
    return Vectors(matrix, Vocabulary(["the", "naïve", "cat"], [9, 5, 2]))


class Exploit:
    def __reduce__(self) -> tuple[object, ...]:
        return (pytest.fail, ("a pickle was read",))


def test_gensim_in_memory_both_ways() -> None:
    pytest.importorskip("gensim")
    vectors = make()
    keyed = to_gensim(vectors)
    assert keyed.get_vecattr("cat", "count") == 2
    again = from_gensim(keyed)
    np.testing.assert_array_equal(again.matrix, vectors.matrix)
    assert again.vocabulary == vectors.vocabulary


def test_gensim_reads_what_we_write_and_we_read_what_it_writes(tmp_path: Path) -> None:
    models = pytest.importorskip("gensim.models")
    vectors = make()
    write_vectors(vectors, tmp_path / "v.kv")
    np.testing.assert_array_equal(models.KeyedVectors.load(str(tmp_path / "v.kv"))["cat"], vectors["cat"])
    for name, binary in (("v.txt", False), ("v.bin", True)):
        write_vectors(vectors, tmp_path / name)
        keyed = models.KeyedVectors.load_word2vec_format(tmp_path / name, binary=binary)
        assert keyed.index_to_key == vectors.vocabulary.words
        np.testing.assert_array_equal(keyed.vectors, vectors.matrix)
        keyed.save_word2vec_format(tmp_path / f"theirs-{name}", binary=binary)
        again = read_vectors(tmp_path / f"theirs-{name}")
        assert again.vocabulary.words == vectors.vocabulary.words
        np.testing.assert_array_equal(again.matrix, vectors.matrix)


@pytest.mark.parametrize("name", ["v.kv", "v.model", "v.txt"])
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickles_are_never_read(name: str, protocol: int, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(pickle.dumps(Exploit(), protocol))
    with pytest.raises(FirthianError, match=r"pickle.*save_word2vec_format"):
        load(tmp_path / name)
    with pytest.raises(FirthianError, match="never read"):
        read_vectors(tmp_path / name, "gensim")


def test_arrays_of_objects_are_never_read(tmp_path: Path) -> None:
    path = tmp_path / "v.npz"
    np.savez(path, words=np.array([Exploit()], dtype=object), matrix=np.ones((1, 1)))
    with pytest.raises(FirthianError, match="Python objects"):
        read_vectors(path)
    np.save(tmp_path / "v.npy", np.ones((2, 2)))
    with pytest.raises(FirthianError, match="without words"):
        read_vectors(tmp_path / "v.npy")


def _npz(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return path


def _npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array)
    return file.getvalue()


def _header(text: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


WORDS = _npy(np.array(["a", "b"]))


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"other": WORDS}, "no arrays named words and matrix"),
        ({"words": WORDS, "matrix": _npy(np.ones(2))}, "shape"),
        ({"words": WORDS, "matrix": _npy(np.array([[1.0], [np.nan]]))}, "row 2: .*not finite"),
        ({"words": _npy(np.arange(2)), "matrix": _npy(np.ones((2, 1)))}, "not a list of texts"),
        ({"words": WORDS, "matrix": _npy(np.ones((2, 1))), "counts": _npy(np.ones(3))}, "counts"),
        (
            {
                "words": WORDS,
                "matrix": _header("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 999999999999)}\n"),
            },
            "more than it contains",
        ),
        (
            {"words": WORDS, "matrix": _header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 4)}\n")},
            "damaged",
        ),
        ({"words": WORDS, "matrix": _header("(" * 9000)}, "header of matrix"),
        ({"words": WORDS, "matrix": b"no array"}, "header of matrix"),
        ({"words": WORDS, "matrix": bytes(2**27)}, "would grow"),
        ({"words": WORDS, "matrix": _npy(np.array([[1.0], [1e300]]))}, "row 2: .*not finite"),
        ({"words": _npy(np.full(2, 2**31 - 1, "<u4").view("<U1")), "matrix": _npy(np.ones((2, 1)))}, "beyond Unicode"),
    ],
)
def test_hostile_npz(members: dict[str, bytes], why: str, tmp_path: Path) -> None:
    with pytest.raises(FirthianError, match=why):
        read_vectors(_npz(tmp_path / "v.npz", **members))


def test_npz_with_a_spoiled_directory(tmp_path: Path) -> None:
    path = tmp_path / "v.npz"
    np.savez(path, words=np.array(["a", "b"]), matrix=np.ones((2, 1)))
    data = bytearray(path.read_bytes())
    entry = data.find(b"PK\x01\x02")
    # A name that is said to be UTF-8 and is not.
    data[entry + 8 : entry + 10], data[entry + 46] = (0x800).to_bytes(2, "little"), 0xFF
    path.write_bytes(data)
    with pytest.raises(FirthianError, match="name of an array is not text"):
        read_vectors(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("words.npy", WORDS)
        archive.writestr("matrix.npy", _npy(np.ones((2, 1))))
    data = bytearray(path.read_bytes())
    data[60:75] = b"\xff" * 15
    path.write_bytes(data)
    with pytest.raises(FirthianError, match="damaged"):
        read_vectors(path)


def test_half_a_character_is_replaced_and_counted(tmp_path: Path) -> None:
    np.savez(tmp_path / "v.npz", words=np.array(["a\ud800", "b"]), matrix=np.ones((2, 1)))
    vectors = read_vectors(tmp_path / "v.npz")
    assert vectors.vocabulary.words == ["a\ufffd", "b"]
    assert vectors.provenance.source["repaired"] == {"words_not_utf8": 1}
    vectors.save(tmp_path / "kept")


def test_npz_of_other_types_and_orders(tmp_path: Path) -> None:
    matrix = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    np.savez_compressed(tmp_path / "v.npz", words=np.array(["a", "b"]), matrix=matrix)
    np.testing.assert_array_equal(read_vectors(tmp_path / "v.npz").matrix, matrix)


def test_parquet_of_other_tools(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    def table(words: list[object], rows: list[object], **more: list[object]) -> Path:
        parquet.write_table(arrow.table({"word": words, "vector": rows, **more}), tmp_path / "v.parquet")
        return tmp_path / "v.parquet"

    vectors = read_vectors(table(["a", "b"], [[1.0, 2.0], [3.0, 4.0]], other=[1, 2]))
    np.testing.assert_array_equal(vectors.matrix, [[1, 2], [3, 4]])
    for words, rows, why in (
        (["a", "b"], [[1.0, 2.0], [3.0]], "row 2: .*not have 2 numbers"),
        (["a", "b"], [[1.0], None], "row 2: "),
        (["a", "b"], [[1.0], [None]], "row 2: .*not finite"),
        (["a", None], [[1.0], [2.0]], "row 2: the word is not text"),
        (["a", "a"], [[1.0], [2.0]], r"row 2: the word 'a' has another vector already \(row 1\)"),
        (["a"], ["text"], "not lists of numbers"),
    ):
        with pytest.raises(FirthianError, match=why):
            read_vectors(table(words, rows))

    parquet.write_table(arrow.table({"term": ["a"], "vector": [[1.0]]}), tmp_path / "v.parquet")
    with pytest.raises(FirthianError, match="no columns named word and vector"):
        read_vectors(tmp_path / "v.parquet")
    for words in ([1, 2], [{"x": "a"}, {"x": "b"}]):
        with pytest.raises(FirthianError, match="row 1: the word is not text"):
            read_vectors(table(words, [[1.0], [2.0]]))
    vectors = read_vectors(table(["a", "b"], [[1.0], [2.0]], count=[7, None]))
    assert vectors.vocabulary.counts.tolist() == [7, 0]
    assert vectors.provenance.source["repaired"] == {"words_without_a_count": 1}
    places = arrow.py_buffer(np.array([0, 1, 2], dtype=np.int32).tobytes())
    broken = arrow.Array.from_buffers(arrow.string(), 2, [None, places, arrow.py_buffer(b"\xffb")])
    with pytest.raises(FirthianError, match="not UTF-8"):
        read_vectors(table(broken, [[1.0], [2.0]]))
    for words in (arrow.array(["b", "a"]).dictionary_encode(), arrow.array(["b", "a"], arrow.large_string())):
        assert read_vectors(table(words, [[1.0], [2.0]])).vocabulary.words == ["b", "a"]


def test_one_long_word_in_many_rows_of_parquet_is_held_once(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    words = arrow.DictionaryArray.from_arrays(np.zeros(20_000, dtype=np.int32), ["x" * 100_000])
    table = arrow.table({"word": words, "vector": np.ones((20_000, 1)).tolist()})
    parquet.write_table(table, tmp_path / "v.parquet", store_schema=False)
    # Two thousand million bytes, if each row had its own.
    before = arrow.total_allocated_bytes()
    assert len(read_vectors(tmp_path / "v.parquet")) == 1
    assert arrow.default_memory_pool().max_memory() - before < 2**28


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (bytes(100), "no known format"),
        (b"PK\x03\x04" + bytes(100), "damaged"),
        (b"PAR1" + bytes(100) + b"PAR1", "damaged"),
        (b"\x1f\x8b" + bytes(100), "damaged"),
    ],
)
def test_files_that_hold_no_vectors(content: bytes, why: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "v").write_bytes(content)
    with pytest.raises(FirthianError, match=why):
        load(tmp_path / "v")


def test_load_opens_anything(tmp_path: Path) -> None:
    count(["a b a b"], tmp_path / "counts", min_count=1)
    assert isinstance(load(tmp_path / "counts"), Counts)
    make().save(tmp_path / "v")
    assert isinstance(load(tmp_path / "v"), Vectors)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FirthianError, match="not a folder of vectors"):
        load(tmp_path / "empty")


def test_a_text_whose_first_word_begins_as_an_archive_does(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("PKI 0.1 0.2\nb 1 2\n")
    assert read_vectors(tmp_path / "v.txt").vocabulary.words == ["PKI", "b"]
