from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firthian.datasets.finishing import analogies, documents, first_bytes, glove_text, labeled_rows, word_pairs
from firthian.errors import FirthianError

words = st.text("abcdefghijklmnopqrstuvwxyz'-é", min_size=1, max_size=8).filter(lambda word: word != "#")
gaps = st.sampled_from([" ", "\t", "  ", " \t"])
ends = st.sampled_from(["\n", "\r\n", " \n"])


def finished(finish: Callable[..., object], *texts: str | bytes) -> bytes:
    files = [io.BytesIO(text.encode() if isinstance(text, str) else text) for text in texts]
    return b"".join(finish(files))  # type: ignore[arg-type]


@given(st.lists(st.tuples(words, words, st.floats(0, 10).map(str)), max_size=8), st.data())
def test_pairs_come_out_the_same_however_they_are_spaced(
    pairs: list[tuple[str, str, str]], draw: st.DataObject
) -> None:
    text = "# a comment\n"
    for pair in pairs:
        text += draw.draw(gaps).join(pair) + draw.draw(ends)
    plain = "".join("\t".join(pair) + "\n" for pair in pairs).encode().replace(b"goverment", b"government")
    once = finished(word_pairs, text)
    assert once == plain
    assert finished(word_pairs, once) == once


@pytest.mark.parametrize("line", ["king queen", "king queen high", "king queen 1 2"])
def test_a_line_that_is_no_pair_is_named(line: str) -> None:
    with pytest.raises(FirthianError, match="line 2 of the source"):
        finished(word_pairs, f"a b 1\n{line}\n")


def test_analogies_keep_sections_and_refuse_other_lines() -> None:
    assert finished(analogies, ": a-section\r\na\tb\tc\td\r\n\r\n") == b": a-section\na b c d\n"
    with pytest.raises(FirthianError, match="line 1 of the source is not four words"):
        finished(analogies, "a b c\n")


@given(st.binary(max_size=50), st.integers(0, 60))
def test_first_bytes_are_a_prefix(data: bytes, size: int) -> None:
    assert finished(first_bytes(size), data) == data[:size]


def test_tables_become_rows_and_documents() -> None:
    head = "Category\tText\nd\tstring\nclass\t\n"
    train, test = head + "x\tone\ny\ttwo\n", head + "x\tthree\n"
    assert finished(labeled_rows, train, test).decode().split("\n") == [
        "train\tx\tone",
        "train\ty\ttwo",
        "test\tx\tthree",
        "",
    ]
    assert finished(documents, train, test) == b"one\ntwo\nthree\n"
    with pytest.raises(FirthianError, match="line 4 of the source has 3 columns"):
        finished(documents, head + "x\ty\tz\n")


def test_glove_text_gives_the_numbers_back() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    # Published vectors have 5 decimals; so do these.
    matrix = np.round(np.random.default_rng(1).normal(size=(5000, 3)), 5).astype(np.float32)
    names = [f"w{number}" for number in range(5000)]
    index, array = io.BytesIO(), io.BytesIO()
    parquet.write_table(pyarrow.table({"index": names}), index)
    np.save(array, matrix)
    lines = finished(glove_text, array.getvalue(), index.getvalue()).decode().splitlines()
    assert [line.split()[0] for line in lines] == names
    back = np.array([line.split()[1:] for line in lines], dtype=np.float32)
    np.testing.assert_array_equal(back, matrix)


def test_a_pickled_matrix_is_refused() -> None:
    pytest.importorskip("pyarrow")
    array = io.BytesIO()
    np.save(array, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(FirthianError, match="cannot be read"):
        finished(glove_text, array.getvalue(), b"")
