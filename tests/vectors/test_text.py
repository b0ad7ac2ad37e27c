"""Text and word2vec files as other tools write them, damaged ones, and the numbers in them."""

from __future__ import annotations

import gzip
import random
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firthian import FirthianError
from firthian.kernels import floats as kernel
from firthian.vectors.formats import read_vectors, sniff
from firthian.vectors.formats import word2vec as text
from tests.reference import numbers as twin


def parsed(number: str) -> np.float32:
    """Read one number as the reader of files does, hard ones included."""
    piece = text._parse(f"w {number}\n".encode(), 1)
    assert piece.problem in ("", "it has a number that is not finite"), piece.problem
    return np.float32(np.inf) if piece.problem else piece.values[0, 0]


def same(number: str) -> None:
    expected, found = twin.read_number(number), parsed(number)
    if not np.isfinite(expected):
        assert not np.isfinite(found)
        return
    assert found.tobytes() == expected.tobytes(), (number, found, expected)


@given(
    st.floats(width=32, allow_nan=False, allow_infinity=False), st.sampled_from(["%.6g", "%.9g", "%.17g", "%f", "%r"])
)
def test_printed_floats_are_read_as_numpy_reads_them(value: float, how: str) -> None:
    same(how % value)


@settings(max_examples=60)
@given(st.from_regex(r"[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})([eE][+-]?[0-9]{1,3})?", fullmatch=True))
def test_any_spelling_is_read_as_numpy_reads_it(number: str) -> None:
    same(number)


def test_numbers_halfway_between_two_floats() -> None:
    generator = random.Random(3)
    for _ in range(300):
        low = np.float32(generator.uniform(-1, 1) * 10.0 ** generator.randint(-44, 37))
        high = np.nextafter(low, np.float32(np.inf))
        middle = (Decimal(float(low)) + Decimal(float(high))) / 2
        for shift in (Decimal(0), Decimal("1e-19"), Decimal("-1e-19"), Decimal("1e-12")):
            same(str(middle + middle * shift))
    for number in ("1e-46", "1.17549435e-38", "3.4028235e38", "3.4028236e38", "1e400", "1e-400", "0e999", "9" * 60):
        same(number)


@pytest.mark.parametrize(
    "number", ["", ".", "-", "e5", "1e", "1e+", "1.2.3", "0x10", "1_000", "1,5", "--1", "1f", "na"]
)
def test_what_is_not_a_number(number: str) -> None:
    data = np.frombuffer(number.encode(), dtype=np.uint8)
    assert kernel.parse_number(data, 0, data.size)[1] == kernel.MALFORMED


def test_lines_agree_with_the_slow_twin() -> None:
    generator = np.random.default_rng(2)
    rows = generator.normal(size=(200, 4))
    lines = "".join(
        f"w{i} x {' '.join(map(repr, row.tolist()))}\n" + "\n" * (i % 50 == 0) for i, row in enumerate(rows)
    )
    piece = text._parse(lines.encode(), 4)
    words, values = twin.read_lines(lines, 4)
    assert piece.words == words
    np.testing.assert_array_equal(piece.values, values)
    assert piece.blank == 4


def test_entries_agree_with_the_slow_twin() -> None:
    rows = np.random.default_rng(2).normal(size=(20, 3)).astype("<f4")
    data = b"".join(f"w{i} ".encode() + row.tobytes() + b"\n" * (i % 2) for i, row in enumerate(rows))
    words, values = twin.read_entries(data, 3)
    found, names, ends = np.empty((20, 12), np.uint8), np.empty(len(data), np.uint8), np.empty(20, np.int64)
    number, used = kernel.parse_entries(np.frombuffer(data, np.uint8), 20, 3, found, names, ends)
    assert number == 20
    assert data[used:] in (b"", b"\n")
    np.testing.assert_array_equal(found.view("<f4"), values)
    assert names[: ends[-1]].tobytes() == b"".join(words)


def write(tmp_path: Path, content: str | bytes, name: str = "v.txt") -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


GOOD = {
    "word2vec of the C tool": ("2 2\nthe 1 2 \ncat 3 4 \n", ["the", "cat"]),
    "no header": ("the 1 2\ncat 3 4\n", ["the", "cat"]),
    "no line break at the end": ("the 1 2\ncat 3 4", ["the", "cat"]),
    "Windows, byte order mark": ("\ufeff2 2\r\nthe 1 2\r\ncat 3 4\r\n", ["the", "cat"]),
    "tabs": ("the\t1\t2\ncat\t3\t4\n", ["the", "cat"]),
    "spaces in a word, header": ("2 2\nNew York 1 2\narea 51 3 4\n", ["New York", "area 51"]),
    "spaces in a word, no header": ("the 1 2\n. . 3 4\n", ["the", ". ."]),
    "numbers as words": ("7 1 2\n12 3 4\n", ["7", "12"]),
    "one number a line": ("7 5\ncat 3\ndog 1\n", ["7", "cat", "dog"]),
    "one word": ("New York 1 2\n", ["New York"]),
    "no-break space": ("a\u00a0b 1 2\nc 3 4\n", ["a\u00a0b", "c"]),
    "empty word with header": ("2 2\n 1 2\ncat 3 4\n", ["", "cat"]),
}


@pytest.mark.parametrize("case", GOOD)
def test_files_as_they_are_found(case: str, tmp_path: Path) -> None:
    content, words = GOOD[case]
    vectors = read_vectors(write(tmp_path, content))
    assert vectors.vocabulary.words == words
    expected = [[5], [3], [1]] if case == "one number a line" else [[1, 2], [3, 4]][: len(words)]
    np.testing.assert_array_equal(vectors.matrix, expected)
    assert "repaired" not in vectors.provenance.source


BAD = {
    "empty": ("", "is empty"),
    "short last line": ("2 2\nthe 1 2\ncat 3", "line 3: it has fewer than a word and 2 numbers"),
    "short line": ("the 1 2\ncat 3\ndog 1 2\n", "line 2: "),
    "no number": ("the 1 2\ncat x 4\n dog 1 2\nmouse 1 2\n", "line 2: one of its last 2 fields"),
    "cut file": ("3 2\nthe 1 2\ncat 3 4\n", "ends after 2 words, its header promises 3"),
    "wrong width": ("2 5\nthe 1 2\ncat 3 4\n", "line 1: the header says 5 numbers a line, but most lines have 2"),
    "NaN": ("the 1 2\n\ncat nan 4\n", "line 3: it has a number that is not finite"),
    "infinite": ("the 1 2\ncat -Infinity 4\n", "line 2: it has a number"),
    "too large": ("the 1 2\ncat 1e39 4\n", "line 2: it has a number"),
    "far too large": ("the 1 2\ncat 1e400 4\n", "line 2: it has a number"),
    "double": ("the 1 2\ncat 3 4\nthe 1 3\n", r"line 3: the word 'the' has another vector already \(line 1\)"),
    "prose": ("It was a dark night.\nIt rained.\n", "no numbers after the word"),
    "header alone": ("5 300\n", "ends after its header"),
}


@pytest.mark.parametrize("case", BAD)
def test_doubtful_files_are_errors_with_a_line(case: str, tmp_path: Path) -> None:
    content, why = BAD[case]
    with pytest.raises(FirthianError, match=why):
        read_vectors(write(tmp_path, content))


def test_what_is_beyond_doubt_is_put_right_and_counted(tmp_path: Path) -> None:
    vectors = read_vectors(write(tmp_path, b"1 2\nthe 1 2\n\ncat 3 4\nthe 1 2\nb\xff 5 6\n"))
    assert vectors.vocabulary.words == ["the", "cat", "b\ufffd"]
    assert vectors.provenance.source["repaired"] == {
        "blank_lines": 1,
        "words_not_utf8": 1,
        "header_too_low": 1,
        "double_words": 1,
    }
    path = write(tmp_path, "the 1 2\ncat 3 4\nthe 1 3\n", "d.txt")
    first = read_vectors(path, duplicates="first")
    np.testing.assert_array_equal(first["the"], [1, 2])
    assert first.provenance.source["repaired"] == {"double_words": 1}


def test_pieces_do_not_change_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    lines = [f"w{i} {' '.join(map(str, row))}" for i, row in enumerate(generator.normal(size=(300, 5)).tolist())]
    path = write(tmp_path, "\n".join(lines) + "\n")
    whole = read_vectors(path)
    monkeypatch.setattr(text, "PIECE_BYTES", 700)
    with pytest.raises(FirthianError, match="line 251: "):
        read_vectors(write(tmp_path, "\n".join([*lines[:250], "bad 1 2", *lines[250:]]), "bad.txt"))
    pieces = read_vectors(path)
    np.testing.assert_array_equal(pieces.matrix, whole.matrix)
    assert pieces.vocabulary == whole.vocabulary
    np.testing.assert_array_equal(read_vectors(_gzip(path)).matrix, whole.matrix)


def _gzip(path: Path) -> Path:
    packed = path.with_name(f"{path.name}.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    return packed


def test_a_promise_of_many_words_takes_no_memory(tmp_path: Path) -> None:
    import tracemalloc

    entry = b"the " + np.ones(2, "<f4").tobytes()
    hostile = {
        "text": b"999999999999 2\nthe 1 2\n",
        "text width": b"1 999999999999\nthe 1 2\n",
        "binary": b"999999999999 2\n" + entry,
        "binary width": b"1 9999999\n" + entry,
        "short lines": (b"w" + b" 1" * 5000 + b"\n") * 101 + b"x 1\n" * 100_000,
    }
    for name, content in hostile.items():
        path = write(tmp_path, content, name)
        tracemalloc.start()
        with pytest.raises(FirthianError):
            read_vectors(path)
        assert tracemalloc.get_traced_memory()[1] < 60e6, name
        tracemalloc.stop()


def test_words_of_binary_files(tmp_path: Path) -> None:
    numbers = np.arange(2, dtype="<f4").tobytes()
    path = write(tmp_path, b"2 2\nb\xff " + numbers + b"\nc " + numbers, "v.bin")
    assert sniff(path).name == "word2vec-bin"
    vectors = read_vectors(path)
    assert vectors.vocabulary.words == ["b\ufffd", "c"]
    assert vectors.provenance.source["repaired"] == {"words_not_utf8": 1}
    assert read_vectors(_gzip(path)).vocabulary.words == vectors.vocabulary.words
    for content, why in (
        (b"2 2\nb " + numbers + b"c " + numbers[:5], "ends in word 2 of 2"),
        (b"1 2\nb " + numbers + b"c " + numbers, "continues after its 1 words"),
        (b"1 2\nb " + np.full(2, np.nan, "<f4").tobytes(), "word 1: it has a number"),
        (b"1 0\nb \x00", "0 dimensions"),
        (b"1 1\n" + b"\x00" * 100_000, "word 1 has more than 65,536 bytes"),
    ):
        with pytest.raises(FirthianError, match=why):
            read_vectors(write(tmp_path, content, "bad.bin"), "word2vec-bin")
