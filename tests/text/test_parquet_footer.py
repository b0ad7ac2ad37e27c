"""The footer of a Parquet file, read by hand: the same numbers as Arrow's, and an error for anything that is spoiled."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

from firthian.text.parquet_footer import number_of_values  # noqa: E402


def write(path, rows: int, group: int = 10, **options: Any) -> None:
    columns = {
        "word": [f"w{number}" for number in range(rows)],
        "vector": arrow.array([[0.5] * 5] * rows, arrow.list_(arrow.float32())),
        "count": list(range(rows)),
        "flag": [number % 2 == 0 for number in range(rows)],
        "nothing": arrow.array([None] * rows, arrow.string()),
    }
    parquet.write_table(arrow.table(columns), path, row_group_size=group, **options)


@pytest.mark.parametrize("rows", [0, 7, 300])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"compression": "zstd", "write_page_index": True},
        {"use_dictionary": False, "version": "1.0"},
        {"store_schema": False},
    ],
)
def test_as_many_values_as_arrow_says(tmp_path, rows, options):
    path = tmp_path / "a.parquet"
    write(path, rows, **options)
    with parquet.ParquetFile(path) as file:
        facts = file.metadata
        groups = [facts.row_group(number) for number in range(facts.num_row_groups)]
        wanted = sum(group.column(place).num_values for group in groups for place in range(group.num_columns))
    assert number_of_values(path) == wanted == 9 * rows


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("parquet") / "a.parquet"
    write(path, 30)
    return path


@settings(max_examples=200)
@given(data=st.data())
def test_a_spoiled_footer_is_read_or_refused(whole, data):
    content = bytearray(whole.read_bytes())
    length = int.from_bytes(content[-8:-4], "little")
    for _ in range(data.draw(st.integers(1, 5))):
        place = data.draw(st.integers(len(content) - 8 - length, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    path = whole.with_name("spoiled.parquet")
    path.write_bytes(content)
    with contextlib.suppress(ValueError):
        assert number_of_values(path) >= 0


@pytest.mark.parametrize(
    ("footer", "message"),
    [
        (b"", "no footer"),
        (b"\x00", "incomplete"),
        (b"\x4c" * 40, "too deep"),
        (b"\x15" + b"\xff" * 12, "endless"),
        (b"\x18\x7f", "ends too early"),
        (b"\x1e\x00", "unknown type"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, footer, message):
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(ValueError, match=message):
        number_of_values(path)
