"""Small tables: what is printed is safe for terminals, spreadsheets and pages, and frames have the right types."""

from __future__ import annotations

import csv
import io

import pytest

from firthian.errors import FirthianError
from firthian.runtime.table import Column, Table, as_text, defused, find_table, visible

HOSTILE = "=cmd|' /C calc'!A0\x1b[2J<script>alert(1)</script>\u202e"


def table() -> Table:
    columns = (
        Column("word"),
        Column("n", int),
        Column("d", float, ".2f"),
        Column("p", float, "p"),
        Column("near", list),
    )
    rows = [(HOSTILE, 1200, -0.5, 0.0001, ["=a", "b"]), ("tea", None, None, None, [])]
    return Table("Words", columns, rows, notes=["p by documents\x07"])


def test_a_terminal_receives_no_control_characters():
    text = str(table())
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert r"\x1b" in text
    assert "1,200" in text
    assert "<0.001" in text
    assert "p by documents" in text


def test_a_table_fits_a_narrow_terminal():
    from rich.console import Console

    console = Console(file=io.StringIO(), width=60)
    console.print(table())
    assert isinstance(console.file, io.StringIO)
    assert max(map(len, console.file.getvalue().splitlines())) <= 60


def test_lists_of_words_get_a_table_of_their_own_in_a_narrow_terminal():
    names = [f"measure_{n}" for n in range(5)]
    columns = [Column("word"), *(Column(name, float, ".3f") for name in names), Column("near", list)]
    words = ["cup", "saucer", "kettle"]
    whole = Table("Words", columns, [("tea", *range(5), words)], notes=["by documents"])
    narrow = as_text([whole], width=80)
    assert ", ".join(words) in narrow
    assert narrow.count("tea") == 2
    assert narrow.count("by documents") == 1
    assert narrow.splitlines()[-1] == "by documents"
    assert as_text([whole], width=120).count("tea") == 1


def test_no_text_is_a_formula_in_a_spreadsheet_and_numbers_stay_numbers():
    rows = list(csv.reader(io.StringIO(table().to_csv())))
    assert rows[0] == ["word", "n", "d", "p", "near"]
    assert rows[1] == [f"'{HOSTILE}", "1200", "-0.5", "0.0001", "'=a b"]
    assert rows[2] == ["tea", "", "", "", ""]
    assert all(defused(text).startswith("'") for text in ("=a", "+a", "-a", "@a", "\ta"))


def test_html_escapes_every_text():
    page = table()._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_frames_have_typed_columns():
    pytest.importorskip("polars")
    frame = table().to_pandas()
    assert [str(kind) for kind in frame.dtypes] == ["object", "Int64", "float64", "float64", "object"]
    assert frame["n"].isna().tolist() == [False, True]
    other = table().to_polars()
    assert other["n"].to_list() == [1200, None]
    assert other["near"].to_list() == [["=a", "b"], []]


def test_the_first_rows_say_how_many_there_are():
    head = table().head(1)
    assert len(head) == 1
    assert head.notes[-1] == "the first 1 of 2 rows"
    assert table().head(2).notes == table().notes


def test_an_unknown_table_names_the_others():
    with pytest.raises(FirthianError, match="choose from: words"):
        find_table({"words": table()}, "word")


def test_joiners_inside_words_stay():
    assert visible("می\u200cخواهم") == "می\u200cخواهم"
