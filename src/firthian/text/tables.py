"""CSV, TSV and JSON lines: rows and objects with their line numbers, and the text column of each as a document."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from firthian.errors import FirthianError
from firthian.text.files import LARGEST_LINE, split_lines
from firthian.text.readers import Piece

#: Surrogates that JSON can spell, but that do not stand for an undecodable byte.
_LONE_SURROGATES = re.compile("[\ud800-\udc7f\udd00-\udfff]")

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
                raise FirthianError(f"{path}, line {number}: the record does not end", hint="close the open quote")
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
    for number, line in enumerate(_text_lines(path, errors, limit), start=1):
        yield number, line.rstrip("\r\n").split("\t")


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


def show_fields(fields: Iterable[Any]) -> str:
    """Quote the first few fields of a row for an error message.

    >>> show_fields(["text", "label"])
    "'text', 'label'"
    """
    return ", ".join(repr(str(field)[:30]) for field in list(fields)[:8])


def read_csv(path: str, column: str | None) -> Iterator[Piece]:
    """Yield a column of a CSV file, with quotes."""
    return _column(path, csv_rows(path), column)


def read_tsv(path: str, column: str | None) -> Iterator[Piece]:
    """Yield a column of a TSV file, without quotes."""
    return _column(path, tsv_rows(path), column)


def _column(path: str, rows: Iterator[Row], column: str | None) -> Iterator[Piece]:
    """Yield a column, given by its name in the header, or by its number in a file without a header."""
    index = int(column) - 1 if column is not None and column.isdecimal() else -1
    for number, row in rows:
        if index < 0:
            name = column or "text"
            if name not in row:
                raise FirthianError(
                    f"{path} has no column {name!r}",
                    hint=f"set `text_column` to one of {show_fields(row)}, or to a number (from 1) if there is no header",
                )
            index = row.index(name)
            continue
        if index >= len(row):
            if not row or row == [""]:
                continue
            raise FirthianError(
                f"{path}, line {number}: only {len(row)} columns", hint=f"the text is column {index + 1}"
            )
        yield Piece(_one_line(row[index]), path, number)


def read_jsonl(path: str, column: str | None) -> Iterator[Piece]:
    """Yield a field of the JSON object on each line."""
    name = column or "text"
    for number, record in json_objects(path):
        if name not in record:
            raise FirthianError(
                f"{path}, line {number}: no text field {name!r}",
                hint=f"set `text_column` to one of {show_fields(record) or 'its fields (it has none)'}",
            )
        if not isinstance(record[name], str):
            raise FirthianError(
                f"{path}, line {number}: expected text in the field {name!r}, got {type(record[name]).__name__}",
                hint="set another `text_column`, or fix the line",
            )
        yield Piece(_one_line(record[name]), path, number)


def _one_line(text: str) -> bytes:
    return _LONE_SURROGATES.sub("\ufffd", text).replace("\n", " ").encode("utf-8", "surrogateescape") + b"\n"
