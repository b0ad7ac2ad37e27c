"""``--by COLUMN``: one result for each value of a column of a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import firthian as ft

ROWS = [("hot tea and milk", "tea house", 1850), ("cold coffee", "coffee/house", 1851), ("hot coffee", "", 1850)]


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = [",".join(map(str, row)) for row in ROWS * 6]
    (tmp_path / "t.csv").write_text("\n".join(["text,kind,year", *lines]) + "\n")
    return tmp_path


def test_counts_of_each_value_are_those_of_where(firth: Any, table: Path) -> None:
    done = firth("count", "t.csv", "--by", "kind", "-o", "counts")
    assert done.code == 0
    assert "12 rows with other values" in done.out
    assert sorted(one.name for one in (table / "counts").iterdir()) == ["coffee_house", "tea_house"]
    alone = ft.count("t.csv", where={"kind": "tea house"})
    part = ft.Counts.load("counts/tea_house")
    assert part.vocabulary.words == alone.vocabulary.words
    assert part.strongest_pairs(topn=20) == alone.strongest_pairs(topn=20)
    narrowed = firth("count", "t.csv", "--by", "kind", "--where", "year=1851", "-o", "some", "--json")
    assert [one["path"] for one in json.loads(narrowed.out)] == [str(Path("some", "coffee_house"))]


def test_what_is_finished_is_not_done_again(firth: Any, table: Path) -> None:
    assert firth("train", "t.csv", "-m", "svd", "--dim", "2", "--sample", "0", "--by", "year", "-o", "v").code == 0
    assert (
        "v/1850 already exists"
        in firth("train", "t.csv", "-m", "svd", "--dim", "2", "--sample", "0", "--by", "year", "-o", "v").err
    )
    (table / "v" / "1851").rename(table / "elsewhere")
    again = firth("train", "t.csv", "-m", "svd", "--dim", "2", "--sample", "0", "--by", "year", "-o", "v", "--resume")
    assert again.code == 0
    assert "v/1850 is finished" in again.err
    assert len(ft.load("v/1851")) == len(ft.load("elsewhere"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["t.csv", "--by", "kin", "-o", "c"], "no column 'kin'"),
        (["t.csv", "--by", "kind", "--dry-run"], "no effect with --dry-run"),
        (["t.csv", "--by", "kind", "--where", "kind=", "-o", "c"], "no row with a text has a value of kind"),
        (["plain.txt", "--by", "kind", "-o", "c"], "not a table"),
        (["t.csv", "--by", "kind", "-o", "t.csv"], "cannot make the folder"),
        (["twins.csv", "--by", "kind", "-o", "c"], "would have the same folder a_b"),
        (["many.csv", "--by", "kind", "-o", "c"], "more than 200 different values"),
    ],
)
def test_what_cannot_be_divided(firth: Any, table: Path, arguments: list[str], message: str) -> None:
    (table / "plain.txt").write_text("hot tea\n" * 9)
    (table / "twins.csv").write_text("text,kind\nhot tea,a b\ncold tea,a/b\n")
    (table / "many.csv").write_text("text,kind\n" + "".join(f"hot tea,{n}\n" for n in range(300)))
    done = firth("count", *arguments)
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1


def test_counts_and_standard_input_are_not_tables(firth: Any, table: Path) -> None:
    ft.count("t.csv", "counts")
    assert "--by divides a table" in firth("train", "counts", "--by", "kind", "-o", "v").err
    assert "read only once" in firth("count", "-", "--format", "csv", "--by", "kind", "-o", "c").err
