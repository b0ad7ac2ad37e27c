"""Tables of documents: the same rows from every format, typed columns, and errors that name the line."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import numpy as np
import pytest

from firthian.ask.corpus import Covariate, TextTable, read_table
from firthian.errors import FirthianError
from firthian.text.segments import cut_segments, tokenize_text
from firthian.text.tokenizer import Tokenizer

COLUMNS = {"doc": ["a", "b", "c"], "year": ["1840", "NA", "1900.5"], "text": ["hot tea", 'cold, "iced" té', "tea"]}


def written(folder: Path, name: str) -> Path:
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]
    path = folder / name
    if ".csv" in name:
        quoted = [['"' + cell.replace('"', '""') + '"' for cell in row.values()] for row in rows]
        text = "\n".join(",".join(row) for row in [list(COLUMNS), *quoted]) + "\n"
    elif ".tsv" in name:
        text = "\n".join("\t".join(row) for row in [list(COLUMNS), *(list(row.values()) for row in rows)]) + "\n"
    else:
        text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(lzma.compress(text.encode()) if name.endswith(".xz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.jsonl", "t.tsv.xz"])
def test_every_format_gives_the_same_rows(tmp_path, name):
    table = read_table(written(tmp_path, name))
    memory = TextTable.of(COLUMNS)
    assert [table.text(row) for row in range(3)] == COLUMNS["text"]
    assert table.data == memory.data
    assert table.columns == memory.columns
    assert table.covariate("doc").levels == ["a", "b", "c"]


def test_data_frames_are_tables():
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    for frame in (pandas.DataFrame(COLUMNS), polars.DataFrame(COLUMNS)):
        assert read_table(frame).columns == TextTable.of(COLUMNS).columns


def test_documents_of_the_corpus_are_the_rows():
    table = TextTable.of({"text": ["a b", "", "c\nd " * 40_000, "e"], "g": [1, 2, 3, 4]})
    starts, at = [], 0
    for segment_text in cut_segments(table, segment_bytes=1 << 30):
        segment = tokenize_text(segment_text.text, Tokenizer())
        starts += (segment.document_starts + at).tolist()
        at += segment.ids.size
    assert starts == [0, 2, 2, 80_002]
    assert table.size() == len(table.data)


def test_numbers_need_every_value_to_be_one():
    assert Covariate.of("x", [1, 2.5, None]).numbers is not None
    assert Covariate.of("x", ["1", "2a"]).numbers is None
    assert Covariate.of("x", ["1", "inf"]).numbers is None
    assert Covariate.of("x", [None, ""]).numbers is None
    year = Covariate.of("year", ["10", "9", "NA"])
    assert year.levels == ["9", "10"]
    assert year.missing.tolist() == [False, False, True]


def test_selected_documents_keep_their_columns_and_lines(tmp_path):
    chosen = read_table(written(tmp_path, "t.tsv")).select(np.array([2, 0]))
    assert [chosen.text(row) for row in range(2)] == ["tea", "hot tea"]
    assert chosen.columns["doc"] == ["c", "a"]
    assert chosen.place(0).endswith("t.tsv, line 4")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.tsv", "text\ta\nx\ty\tz\n", "line 2: 3 columns, but the first line has 2"),
        ("t.tsv", "text\ttext\nx\ty\n", "two columns 'text'"),
        ("t.csv", "words,a\nx,y\n", "has no column 'text': set text_column to one of 'words', 'a'"),
        ("t.csv", "text,a\n", "has no documents"),
        ("t.csv", "", "has no documents"),
        ("t.jsonl", '{"text": 3}\n', "line 1: expected text in the column 'text', got int"),
        ("t.txt", "text\n", "not a table with named columns"),
    ],
)
def test_bad_tables_are_refused_in_one_line(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(FirthianError) as error:
        read_table(path)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_column_suggests_the_closest():
    with pytest.raises(FirthianError, match="did you mean year"):
        TextTable.of(COLUMNS).covariate("yaer")


def test_fields_that_most_rows_lack_do_not_fill_the_memory(tmp_path):
    """100,000 rows of a field of their own would be 80 GB of cells."""
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'{{"text": "tea", "f{number}": 1}}\n' for number in range(100_000)))
    with pytest.raises(FirthianError, match="different fields, and most rows lack most of them"):
        read_table(path)
    path.write_text("".join(f'{{"text": "tea", "f{number % 40}": 1}}\n' for number in range(20_000)))
    assert len(read_table(path).columns) == 40
