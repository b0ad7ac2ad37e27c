"""Labeled text from TSV, CSV or JSON lines: columns by name, or in the usual order without a header."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from firthian.errors import FirthianError
from firthian.text.files import split_lines
from firthian.text.formats import FORMATS, find_format, format_of_name
from firthian.text.records import TEXT_NAMES, Columns, Records, as_bytes, default_name, is_missing, show_fields
from firthian.text.tables import ROWS

#: The largest file of labeled text, which is held in memory several times over.
LARGEST_BYTES = 2**30

#: Formats of tables; the usual one first.
TABLES = ("tsv", *sorted(format.name for format in FORMATS if format.has_columns and format.name != "tsv"))

#: Default column names, in upper or lower case.
_NAMES = {
    "label": ("label", "class", "category", "target"), "text": TEXT_NAMES, "split": ("split",),
}  # fmt: skip


@dataclass(frozen=True)
class LabeledText:
    """Texts with labels, and the split (train, test, ...) of each, if the file names it."""

    texts: list[str]
    labels: list[str]
    splits: list[str]

    @property
    def damaged(self) -> int:
        """The number of texts with bytes that are not UTF-8, which were replaced."""
        return count_damaged(self.texts)

    def part(self, *names: str) -> tuple[list[str], list[str]]:
        """Return the texts and labels of splits; without splits, everything is training text."""
        if not self.splits:
            return (self.texts, self.labels) if "train" in names else ([], [])
        chosen = [n for n, split in enumerate(self.splits) if split in names]
        return [self.texts[n] for n in chosen], [self.labels[n] for n in chosen]

    def elsewhere(self, *names: str) -> dict[str, int]:
        """Return the sizes of all other splits, by name."""
        return dict(sorted(Counter(split for split in self.splits if split not in names).items()))


def count_damaged(texts: Iterable[str]) -> int:
    """Return the number of texts with the replacement character for bytes that are not UTF-8.

    >>> count_damaged(["caf\ufffd", "bar"])
    1
    """
    return sum("\ufffd" in text for text in texts)


def read_labeled(
    path: str,
    *,
    format: str = "auto",
    label_column: str | None = None,
    text_column: str | None = None,
    split_column: str | None = None,
) -> LabeledText:
    """Read labeled text; errors name the line."""
    named = {"label": label_column, "text": text_column, "split": split_column}
    texts, labels, splits = [], [], []
    for where, record in _records(path, _format(path, format, TABLES), named, ("text", "label")):
        text, label = record.get("text"), record.get("label")
        if not isinstance(text, str):
            raise FirthianError(f"{where}: the text is missing or is not text", hint="pass `text_column`")
        if label is None or isinstance(label, dict | list) or label == "":
            raise FirthianError(f"{where}: there is no label", hint="name its column with `label_column`")
        texts.append(text)
        labels.append(str(label))
        if record.get("split") not in (None, ""):
            splits.append(str(record["split"]))
    if not texts:
        raise FirthianError(f"{path} has no examples", hint="pass a file with labels and texts")
    if splits and len(splits) != len(texts):
        raise FirthianError(f"{path}: only some lines have a split", hint="give every line a split, train or test")
    return LabeledText(texts, labels, splits)


def read_texts(path: str, *, format: str = "auto", text_column: str | None = None) -> list[str]:
    """Read texts to classify: one per line, or a column of a table."""
    guessed = format_of_name(path)
    chosen = "lines" if format == "auto" and (guessed is None or not guessed.has_columns) else format
    if chosen == "lines":
        if text_column is not None:
            message = f"`text_column` has no effect on {path}, which is read as lines"
            raise FirthianError(message, hint=f"set `format` to one of {', '.join(TABLES)}")
        lines = split_lines(path, LARGEST_BYTES)
        return [line.decode("utf-8", "replace").removesuffix("\r") for _, line in lines]
    texts = []
    for where, record in _records(path, _format(path, chosen, ("lines", *TABLES)), {"text": text_column}, ("text",)):
        if not isinstance(record.get("text"), str):
            raise FirthianError(f"{where}: there is no text", hint="name its column with `text_column`")
        texts.append(record["text"])
    return texts


def _format(path: str, format: str, known: Sequence[str]) -> str:
    if format == "auto":
        guessed = format_of_name(path)
        return guessed.name if guessed is not None and guessed.has_columns else "tsv"
    if format not in TABLES:
        raise FirthianError(f"unknown format {format!r}", hint=f"choose from: auto, {', '.join(known)}")
    return format


#: Examples by role, with their places.
Examples = Iterator[tuple[str, dict[str, Any]]]


def _records(path: str, format: str, named: dict[str, str | None], required: Sequence[str]) -> Examples:
    """Yield each record with its position; ``required`` are the columns that a table must have."""
    if format in ROWS:
        return _delimited_records(path, format, named, required)
    return _named_records(find_format(format).records(path, Columns()), named)


def _named_records(table: Records, named: dict[str, str | None]) -> Examples:
    """Yield the records of a table whose columns have names."""
    room = LARGEST_BYTES
    for number, values in table.read(None):
        where = table.place(number)
        fields = {}
        for role, name in named.items():
            if name is not None and name not in values:
                raise FirthianError(f"{where}: no field {name!r}", hint=f"its fields are {show_fields(values)}")
            key = name or default_name(values, _NAMES[role])
            if key is not None:
                value = values[key]
                fields[role] = _decoded(value) if isinstance(value, str) else None if is_missing(value) else value
                room -= len(value) if isinstance(value, str) else 0
        if room < 0:
            raise FirthianError(f"{table.source} is too large", hint=f"the limit is {LARGEST_BYTES:,} bytes")
        yield where, fields


def _decoded(text: str) -> str:
    """Return a text with the replacement character for what is not UTF-8."""
    return text if text.isascii() else as_bytes(text).decode("utf-8", "replace")


def _delimited_records(path: str, format: str, named: dict[str, str | None], required: Sequence[str]) -> Examples:
    columns: dict[str, int] = {}
    width = 0
    for number, row in ROWS[format](path, "replace", LARGEST_BYTES):
        # A record of empty columns is not an example, but it is a text to classify, with a line in the result.
        if row == ([] if format == "csv" else [""]) or ("label" in required and not any(row)):
            continue
        where = f"{path}, line {number}"
        if not columns:
            columns, has_header = _columns(path, row, named, required)
            width = len(row)
            if has_header:
                continue
        if any(row[width:]):
            # A tab or a comma inside a text: the rest of it would be lost.
            sizes = f"{len(row)} columns, but the first line has {width}"
            raise FirthianError(f"{where}: {sizes}", hint="quote the text (CSV), or remove its tabs (TSV)")
        if (last := max(columns.values())) >= len(row):
            raise FirthianError(f"{where}: only {len(row)} columns", hint=f"the first line has {last + 1} or more")
        yield where, {role: row[column] for role, column in columns.items()}


def _columns(
    path: str, row: list[str], named: dict[str, str | None], required: Sequence[str]
) -> tuple[dict[str, int], bool]:
    """Return the columns, and whether the first row is a header; without one: label, text or split, label, text."""
    columns = {}
    for role, name in named.items():
        if name is not None and name not in row:
            raise FirthianError(f"{path} has no column {name!r}", hint=f"the first line has {show_fields(row)}")
        field = default_name(row, _NAMES[role]) if name is None else name
        if field is not None:
            columns[role] = row.index(field)
    # A single column of texts to classify may start with anything, even a name of labels.
    is_header = len(row) > 1 and any(default_name(row, names) is not None for names in _NAMES.values())
    if columns or is_header:
        for role in required:
            if role not in columns:
                remedy = f"name its column with `{role}_column`; the first line has {show_fields(row)}"
                raise FirthianError(f"{path} has a header without a {role}", hint=remedy)
        return columns, True
    orders = {1: ("text",), 2: ("label", "text"), 3: ("split", "label", "text")}
    if len(row) not in orders:
        names = " and ".join(f"`{role}_column`" for role in reversed(required))
        raise FirthianError(f"{path} has {len(row)} columns and no header", hint=f"name them with {names}")
    return {role: column for column, role in enumerate(orders[len(row)])}, False
