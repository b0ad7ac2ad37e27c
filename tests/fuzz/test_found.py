"""What fuzzing and thinking about it found, kept: each input once broke a reader."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import re
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import firthian as ft
from firthian.adapt.labeled import read_labeled
from firthian.counts.counts import Counts
from firthian.datasets import word_tasks as evaluation
from firthian.disk.tensors import read_tensors
from firthian.errors import FirthianError
from firthian.evaluate import chunking
from firthian.explore import projection
from firthian.text import files, tables
from firthian.text.files import open_bytes, text_bytes
from firthian.text.readers import Files
from firthian.text.tokenizer import Tokenizer, composed
from firthian.text.vocabulary import Vocabulary, read_words
from firthian.vectors.formats import read_vectors
from firthian.vectors.vectors import Vectors
from tests.fuzz import driver, examples
from tests.fuzz.folders import pack, unpack, unpack_into
from tests.fuzz.targets import find_target

Spoil = Callable[[dict[str, bytes]], None]


def _json(name: str, change: Callable[[dict], None]) -> Spoil:
    def spoil(files: dict[str, bytes]) -> None:
        body = json.loads(files[name])
        change(body)
        files[name] = json.dumps(body).encode()

    return spoil


def _numbers(file: str, name: str, dtype: str, change: Callable[[np.ndarray], None]) -> Spoil:
    def spoil(files: dict[str, bytes]) -> None:
        content = files[file]
        length = 8 + int.from_bytes(content[:8], "little")
        begin, end = (length + at for at in json.loads(content[8:length])[name]["data_offsets"])
        data = np.frombuffer(content[begin:end], dtype=dtype).copy()
        change(data)
        files[file] = content[:begin] + data.tobytes() + content[end:]

    return spoil


def _put(place: int, value: float) -> Callable[[np.ndarray], None]:
    return lambda data: data.__setitem__(place, value)


#: Counts whose checksums fit, but whose numbers made kernels read and write beyond their arrays, or raised something else.
SEALED_COUNTS: dict[str, Spoil] = {
    "a column beyond the vocabulary": _numbers("indices.safetensors", "indices", "<i4", _put(3, 10_000_000)),
    "a negative column": _numbers("indices.safetensors", "indices", "<i4", _put(3, -5)),
    "columns out of order": _numbers(
        "indices.safetensors", "indices", "<i4", lambda data: data.__setitem__(slice(0, 2), data[[1, 0]])
    ),
    "a column twice": _numbers("indices.safetensors", "indices", "<i4", lambda data: data.__setitem__(1, data[0])),
    "rows that end beyond the pairs": _numbers("counts.safetensors", "indptr", "<i8", _put(-1, 10**9)),
    "rows that run backwards": _numbers("counts.safetensors", "indptr", "<i8", _put(2, 10**6)),
    "a count that is not a number": _numbers("values.safetensors", "values", "<f4", _put(0, np.nan)),
    "a negative count": _numbers("values.safetensors", "values", "<f4", _put(0, -1)),
    "pairs of another type": _json(
        "counts.json", lambda body: body["files"]["indices.safetensors"]["indices"].update(dtype="F32")
    ),
    "no marginals": _json("counts.json", lambda body: body["files"]["counts.safetensors"].pop("row_sums")),
    "an option that nobody knows": _json("counts.json", lambda body: body["options"].update(x=1)),
    "options that are a list": _json("counts.json", lambda body: body.update(options=[])),
    "half a character": _json("counts.json", lambda body: body.update(x="\ud800")),
}


@pytest.mark.parametrize("spoil", SEALED_COUNTS.values(), ids=SEALED_COUNTS.keys())
def test_sealed_counts_are_looked_through(spoil: Spoil) -> None:
    files, _ = unpack(examples.counts()[0])
    target = find_target("counts")
    assert target.try_bytes(pack(files, sealed=True)) == ""
    spoil(files)
    assert "is damaged" in target.try_bytes(pack(files, sealed=True))


def test_more_than_63_bits_of_a_word() -> None:
    files, _ = unpack(examples.counts()[0])
    _numbers("counts.safetensors", "word_counts", "<i8", _put(0, 2**63 - 1))(files)
    assert "2^63" in find_target("counts").try_bytes(pack(files, sealed=True))


def test_a_sealed_run_of_the_spool(tmp_path: Path) -> None:
    """A run with a column that no word has is thrown away, as if it were not there; it once wrote beyond an array."""
    files, _ = unpack(examples.runs()[0])
    _numbers("columns.safetensors", "columns", "<i4", _put(0, 10_000_000))(files)
    assert find_target("spool.run").try_bytes(pack(files, sealed=True)) == ""


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"He PRP B-NP\n\xff\xfe O O\n", id="not UTF-8"),
        pytest.param(b"He PRP B-NP\n\0\0\0\n", id="NUL"),
    ],
)
def test_chunks(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "chunks.txt"
    path.write_bytes(data)
    with pytest.raises(FirthianError, match=r"not (UTF-8 )?text"):
        chunking.read_sentences(path)


def test_messages_stay_short(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(json.dumps({"a" * 100_000: 1}).encode())
    with pytest.raises(FirthianError) as caught:
        list(Files([str(path)]).pieces())
    assert len(str(caught.value)) < 500
    assert len(str(FirthianError("x" * 10**6, "y" * 10**6))) < 2500


def test_damaged_zstandard_has_a_size(tmp_path: Path) -> None:
    """To judge a corpus, a damaged file is looked into; what zstandard says of it once got out."""
    path = tmp_path / "x.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd" + b"\xff" * 40)
    assert text_bytes([str(path)]) == 44


LINES = {"x.csv": b'text\n"', "x.tsv": b"text\n", "x.jsonl": b'{"text": "', "x.wiki": b"<doc id=1>\n"}


@pytest.mark.parametrize("name", LINES)
def test_lines_without_end(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (files, tables):
        monkeypatch.setattr(module, "LARGEST_LINE", 1 << 20)
    path = tmp_path / name
    path.write_bytes(LINES[name] + b"a" * (5 << 20))
    with pytest.raises(FirthianError, match="longer than 1 MB"):
        # only records have columns
        list((Files([str(path)], "wiki") if name == "x.wiki" else Files([str(path)], "auto", "text")).pieces())


def test_a_record_of_short_lines_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (files, tables):
        monkeypatch.setattr(module, "LARGEST_LINE", 1 << 20)
    path = tmp_path / "x.csv"
    path.write_bytes(b"text\n" + b'"\n",' * 10**6)
    with pytest.raises(FirthianError, match="a quote is never closed"):
        list(Files([str(path)]).pieces())


_READ = """
import resource, sys
from firthian.text.files import open_bytes
held = next(line for line in open("/proc/self/status") if line.startswith("VmData"))
limit = int(held.split()[1]) * 1024 + (200 << 20)
for path in sys.argv[1:]:
    read = 0
    with open_bytes(path) as file:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.RLIM_INFINITY))
        while data := file.read(1 << 20):
            read += len(data)
    print(read)
"""


def _bombs() -> dict[str, bytes]:
    import zstandard

    megabyte = bytes(1 << 20)
    once = zstandard.ZstdCompressor().compressobj()
    return {
        "gz": gzip.compress(megabyte) * 300,
        "bz2": bz2.compress(megabyte) * 300,
        "xz": lzma.compress(megabyte, preset=0) * 300,
        "zst": b"".join(once.compress(megabyte) for _ in range(300)) + once.flush(),
    }


def test_small_files_that_grow(tmp_path: Path) -> None:
    """300 MB of zeros in a few kilobytes are read piece by piece, with 200 MB to spare."""
    paths = []
    for name, data in _bombs().items():
        assert len(data) < 1 << 20
        paths.append(tmp_path / f"bomb.{name}")
        paths[-1].write_bytes(data)
    done = subprocess.run([sys.executable, "-c", _READ, *map(str, paths)], capture_output=True, text=True)
    assert done.stdout == f"{300 << 20}\n" * 4, done.stderr[-500:]


def test_a_dictionary_of_gigabytes(tmp_path: Path) -> None:
    """The header of an old LZMA file says how much memory it wants; this one wants four gigabytes."""
    path = tmp_path / "x.lzma"
    path_of_usual = tmp_path / "usual.lzma"
    path_of_usual.write_bytes(lzma.compress(b"text", format=lzma.FORMAT_ALONE, preset=9))
    with open_bytes(str(path_of_usual)) as file:
        assert file.read() == b"text"
    path.write_bytes(b"\x5d\x00\x00" + b"\xff\xff" + b"\xff" * 8 + bytes(40))
    with pytest.raises(FirthianError, match="truncated or damaged"), open_bytes(str(path)) as file:
        file.read()


def test_labeled_text_is_held_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from firthian.adapt import labeled

    monkeypatch.setattr(labeled, "LARGEST_BYTES", 1 << 20)
    path = tmp_path / "x.tsv.gz"
    path.write_bytes(gzip.compress(b"a\tb\n" * (1 << 19)))
    with pytest.raises(FirthianError, match="too large"):
        read_labeled(str(path))


def test_counts_that_we_wrote_are_read(tmp_path: Path) -> None:
    """The checks above refuse nothing that is right, empty rows and one word included."""
    ft.count(["a", "b b", "c"], tmp_path / "x", min_count=1)
    Counts.load(tmp_path / "x")
    ft.count(["a"], tmp_path / "y", min_count=1)
    assert Counts.load(tmp_path / "y").pairs == 0


def test_marks_without_end(tmp_path: Path) -> None:
    """Sorting 400,000 marks on one letter would take minutes."""
    marks = "a" + "\u0315\u0300" * 200_000
    begin = time.process_time()
    [word] = Tokenizer().tokens(marks)
    path = tmp_path / "words.txt"
    path.write_text(marks, encoding="utf-8")
    assert read_words(path) == {word}
    assert time.process_time() - begin < 5
    assert unicodedata.normalize("NFC", word) == word


@given(st.text(alphabet="ae\u0301\u0315\u0316\u0300é한ก", max_size=80))
def test_marks_that_are_few_enough_change_nothing(text: str) -> None:
    runs = max(map(len, re.findall("[\u0300\u0301\u0315\u0316]+", text)), default=0)
    assert runs > 29 or composed(text) == unicodedata.normalize("NFC", text)


def test_very_many_sections(tmp_path: Path) -> None:
    """Each title was looked for in the list of all before it."""
    path = tmp_path / "x.txt"
    path.write_text("".join(f": s{number}\na b c d\n" for number in range(50_000)))
    begin = time.process_time()
    questions = evaluation.read(path)
    assert time.process_time() - begin < 10
    assert len(questions.sections) == 50_000  # type: ignore[union-attr]


def test_very_many_numbers_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(b"word" + b" 1" * (2**20 + 5) + b"\n")
    with pytest.raises(FirthianError, match="more than 1,048,576 numbers"):
        read_vectors(path, "glove")


def test_parquet_that_grows(tmp_path: Path) -> None:
    """Fifty million equal numbers take a few kilobytes."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "x.parquet"
    numbers = arrow.FixedSizeListArray.from_arrays(arrow.array(np.zeros(20_000_000, np.float32)), 1000)
    table = arrow.table({"word": [str(n) for n in range(20_000)], "vector": numbers})
    parquet.write_table(table, path, compression="zstd")
    assert path.stat().st_size < 400_000
    with pytest.raises(FirthianError, match="would grow"):
        read_vectors(path)


@pytest.mark.parametrize("data", [b"PK\x05\x06" + bytes(18), b"\x93NUMPY\x01\0", b"", b"\x80\x04N."])
def test_a_map_kept_beside_the_vectors(tmp_path: Path, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive in the place of an array once was taken for one."""
    monkeypatch.setattr(projection, "_places", lambda folder: [tmp_path])
    (tmp_path / "map.safetensors").write_bytes(data)
    assert projection._find("map.safetensors", 3, None) is None
    points = np.arange(6, dtype=np.float32).reshape(3, 2)
    projection._keep("map.safetensors", points, None)
    found = projection._find("map.safetensors", 3, None)
    assert found is not None
    assert np.array_equal(found, points)
    assert projection._find("map.safetensors", 4, None) is None


def test_a_field_of_very_many_digits_takes_no_longer_than_it_is_long(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_bytes(b"tea 0.1 0.2\n" * 3 + b"coffee 0.1 " + b"1" * 300_000 + b"x\n")
    begin = time.process_time()
    with pytest.raises(FirthianError, match="line 4: one of its last 2 fields is not a number"):
        read_vectors(path, "word2vec", duplicates="first")
    assert time.process_time() - begin < 10


def test_a_word_without_any_spread_has_an_uncertainty():
    vectors = Vectors(np.ones((1, 3)), Vocabulary(["tea"]), extras={"variances": np.zeros((1, 3), dtype=np.float32)})
    assert vectors.uncertainty("tea").effective_dimensions == pytest.approx(3)


@pytest.mark.parametrize("columns", [2**31 - 1, 2**80])
def test_sparse_vectors_of_very_many_columns_are_refused(tmp_path, columns):
    """A query would have as many numbers, and SciPy cannot count so far."""
    Vectors(csr_array(np.eye(2, dtype=np.float32)), Vocabulary(["a", "b"])).save(tmp_path / "v")
    files = {path.name: path.read_bytes() for path in (tmp_path / "v").iterdir()}
    body = json.loads(files["vectors.json"])
    body["shapes"]["matrix"]["shape"][1] = columns
    data = pack(files | {"vectors.json": json.dumps(body).encode()}, sealed=True)
    (tmp_path / "w").mkdir()
    unpack_into(tmp_path / "w", data, "vectors.json")
    with pytest.raises(FirthianError, match="damaged"):
        Vectors.load(tmp_path / "w")


@pytest.mark.parametrize("number", [4544, 59807])
def test_a_parquet_footer_that_contradicts_itself_does_not_end_the_process(number):
    """Arrow throws where Python cannot catch it when it is asked about such a column."""
    target = find_target("vectors.any")
    assert "is damaged" in target.try_bytes(driver.input_of(target, target.seeds(), 1, number))


@pytest.mark.parametrize(("name", "width"), [("variances", 3), ("covariances", 6)])
def test_a_spread_that_is_not_finite_is_told(name, width):
    vectors = Vectors(
        np.ones((1, 3)), Vocabulary(["tea"]), extras={name: np.full((1, width), np.inf, dtype=np.float32)}
    )
    with pytest.raises(FirthianError, match="not finite"):
        vectors.uncertainty("tea")


@pytest.mark.parametrize("number", [1768, 5513])
def test_parquet_names_and_words_that_cannot_be_are_told(number):
    target = find_target("vectors.parquet")
    assert "is damaged" in target.try_bytes(driver.input_of(target, target.seeds(), 1, number))


@pytest.mark.parametrize("name", ["word2vec", "glove", "fasttext-vec"])
@pytest.mark.parametrize("text", [b"5 0\nthe \xff0.5\ncat\n", b"1 0\n3 \xff\xfe4\n5 6\n"])
def test_a_header_of_no_numbers(tmp_path: Path, name: str, text: bytes) -> None:
    (tmp_path / "v.txt").write_bytes(text)
    with pytest.raises(FirthianError, match=r"line 2: there are no numbers after the word|says 0 numbers"):
        read_vectors(tmp_path / "v.txt", name)


CLASSIFIERS: dict[str, tuple[Spoil, str]] = {
    "too many n-grams": (_json("model.json", lambda body: body["parameters"].update(ngrams=2**64)), "ngrams must be"),
    "n-grams of no number": (_json("model.json", lambda body: body["parameters"].update(ngrams="x")), "ngrams must be"),
    "a clock beyond whole numbers": (
        _json("model.json", lambda body: body["learners"][0].update(clock=1e308)),
        "is damaged",
    ),
    "a huge number": (_numbers("model.safetensors", "idf", "<f8", _put(0, 1e20)), "impossible values"),
    "not a number": (_numbers("model.safetensors", "base", "<f4", _put(0, np.nan)), "impossible values"),
}


@pytest.mark.parametrize(("spoil", "message"), CLASSIFIERS.values(), ids=CLASSIFIERS.keys())
def test_classifiers_that_were_changed_by_hand(spoil: Spoil, message: str) -> None:
    target = find_target("classifier")
    files, _ = unpack(examples.classifiers()[0])
    assert target.try_bytes(pack(files, sealed=True)) == ""
    spoil(files)
    assert message in target.try_bytes(pack(files, sealed=True))


@pytest.mark.parametrize("ngrams", [3, 5])
def test_texts_shorter_than_the_longest_run_of_words(ngrams: int) -> None:
    pytest.importorskip("sklearn")
    from firthian.adapt import PAClassifier

    texts, labels = ["good good tea with milk", "bad cold coffee again today"] * 3, ["+", "-"] * 3
    fitted = PAClassifier("onehot", ngrams=ngrams).fit(texts, labels)
    assert fitted.predict(["good", "", "coffee"]).tolist()[::2] == ["+", "-"]


@pytest.mark.parametrize(("name", "numbers"), [("counts", (3, 24, 123, 508)), ("spool.run", (98962,))])
def test_numbers_that_no_counting_gives(name: str, numbers: tuple[int, ...]) -> None:
    target = find_target(name)
    seeds = target.seeds()
    for number in numbers:
        target.try_bytes(driver.input_of(target, seeds, 1, number))


def test_items_of_no_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    for shape in ([2**40, 2**40], [0, 2**70], [-1], [True]):
        for dtype in ("V0", "F32", ["F32"]):
            with pytest.raises(FirthianError, match="is damaged"):
                read_tensors(tmp_path / "a", {"a": {"dtype": dtype, "shape": shape, "crc32": 0}})


def test_counts_beyond_whole_numbers(tmp_path: Path) -> None:
    counts = ft.count(["a b a b"] * 3, min_count=1)
    counts.values = np.full(counts.values.shape, 1e30, dtype=np.float32)
    with pytest.raises(FirthianError, match="an impossible number"):
        counts.integer_sums(0, counts.pairs)
