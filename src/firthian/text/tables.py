"""CSV, TSV and JSON lines: rows and objects with their line numbers."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

from firthian.errors import FirthianError
from firthian.text.files import LARGEST_LINE, split_lines
from firthian.text.records import Record, Records, show_fields

Row = tuple[int, list[str]]


def _text_lines(path: str, errors: str, limit: int | None) -> Iterator[str]:
    for _, line in split_lines(path, limit):
        yield line.decode("utf-8", errors) + "\n"


def csv_rows(path: str, errors: str = "surrogateescape", limit: int | None = None) -> Iterator[Row]:
    """Yield the fields of each record, with the number of its first line; ``errors`` is how to decode what is not UTF-8."""
    csv.field_size_limit(LARGEST_LINE)
    number, length = 1, 0

    def lines() -> Iterator[str]:
        nonlocal length
        for line in _text_lines(path, errors, limit):
            length += len(line)
            if length > 2 * LARGEST_LINE:
                raise FirthianError(f"{path}, line {number}: a quote is never closed", hint="close it")
            # A carriage return ends a line too.
            yield from io.StringIO(line, newline="") if "\r" in line else (line,)

    reader = csv.reader(lines(), strict=True)
    while True:
        number, length = reader.line_num + 1, 0
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise FirthianError(
                f"{path}, line {number}: {error}", hint="check the quotes, or set another `format`"
            ) from None
        yield number, row


def tsv_rows(path: str, errors: str = "surrogateescape", limit: int | None = None) -> Iterator[Row]:
    """Yield the fields of each line, with its number."""
    for number, line in split_lines(path, limit):
        yield number, line.rstrip(b"\r").decode("utf-8", errors).split("\t")


def json_objects(
    path: str, errors: str = "surrogateescape", limit: int | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the object of each line that is not blank, with its number."""
    for number, line in enumerate(_text_lines(path, errors, limit), start=1):
        if not line.strip():
            continue
        try:
            record: Any = json.loads(line)
        except (ValueError, RecursionError):
            raise FirthianError(f"{path}, line {number}: not JSON", hint="each line must be one JSON object") from None
        if not isinstance(record, dict):
            raise FirthianError(f"{path}, line {number}: not a JSON object", hint="each line must be one JSON object")
        yield number, record


#: What reads the rows of a table, by format.
ROWS: dict[str, Callable[..., Iterator[Row]]] = {"csv": csv_rows, "tsv": tsv_rows}


def open_csv(path: str, header: bool = True) -> Records:
    """Open a CSV file, with quotes."""
    return _delimited(path, csv_rows, header)


def open_tsv(path: str, header: bool = True) -> Records:
    """Open a TSV file, without quotes."""
    return _delimited(path, tsv_rows, header)


def open_jsonl(path: str, header: bool = True) -> Records:
    """Open a file with a JSON object on each line; its columns are the fields of the first."""
    first, again = _peeked(json_objects, path)

    def read(columns: Sequence[str] | None) -> Iterator[Record]:
        yield from map(Record._make, again())

    return Records(path, [] if first is None else list(first[1]), read, empty=first is None, unit="line")


def _delimited(path: str, read_rows: Callable[[str], Iterator[Row]], header: bool) -> Records:
    """Open a file with rows of fields; without a header the columns are numbered from 1."""
    first, again = _peeked(read_rows, path)
    fields = [] if first is None else first[1]
    names = fields if header else [str(place) for place in range(1, len(fields) + 1)]

    def read(columns: Sequence[str] | None) -> Iterator[Record]:
        for name in names if columns is None else columns:
            if names.count(name) > 1:
                raise FirthianError(f"{path} has two columns {show_fields([name])}", hint="rename one of them")
        wanted = [(name, names.index(name)) for name in (names if columns is None else columns)]
        last = max((place for _, place in wanted), default=0)
        rows = again()
        if header:
            next(rows, None)
        for number, row in rows:
            if last >= len(row):
                if row in ([], [""]):
                    continue
                raise FirthianError(
                    f"{path}, line {number}: only {len(row)} columns", hint=f"the first line has {len(names)}"
                )
            if len(row) > len(names) and any(row[len(names) :]):
                # A tab or a comma inside a text: the rest of it would be lost.
                raise FirthianError(
                    f"{path}, line {number}: {len(row)} columns, but the first line has {len(names)}",
                    hint="quote the text (CSV), or remove its tabs (TSV)",
                )
            yield Record(number, {name: row[place] for name, place in wanted})

    return Records(path, names, read, empty=first is None, unit="line")


def _peeked(
    read_rows: Callable[[str], Iterator[tuple[int, Any]]], path: str
) -> tuple[tuple[int, Any] | None, Callable[[], Iterator[tuple[int, Any]]]]:
    """Return the first row of a file, and a function that reads all; its first call continues, as standard input must."""
    rows = read_rows(path)
    first = next(rows, None)
    opened = [rows]

    def again() -> Iterator[tuple[int, Any]]:
        if not opened:
            return read_rows(path)
        return chain([] if first is None else [first], opened.pop())

    return first, again
