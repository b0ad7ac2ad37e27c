"""A corpus as a table: a document a row, its text in one column, facts about it in the others."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError, suggest
from firthian.text.compression import CHUNK_BYTES
from firthian.text.frames import records_of
from firthian.text.pieces import NOTHING, Piece, Skipped
from firthian.text.readers import Files, Rows, open_corpus
from firthian.text.records import Columns, Records, as_bytes, joined, show_fields

#: Cells that stand for a missing value, as R and pandas write them.
MISSING = frozenset(("", "NA", "NaN", "nan", "null", "None"))


@dataclass(frozen=True)
class Covariate:
    """A column as values to compare documents by: numbers if every value is one, else levels in alphabetical order.

    ``codes`` are the places of the values in ``levels``, -1 where a value is missing.
    """

    name: str
    levels: list[str]
    codes: Array
    #: The values as numbers, NaN where missing; None unless all are numbers.
    numbers: Array | None = None

    @property
    def missing(self) -> Array:
        """Which documents lack a value."""
        return np.asarray(self.codes < 0)

    @classmethod
    def of(cls, name: str, values: Iterable[Any]) -> Covariate:
        """Build a covariate of any values; numbers may be written as text.

        >>> Covariate.of("year", ["1840", "1850", "NA"]).numbers
        array([1840., 1850.,   nan])
        >>> party = Covariate.of("party", ["R", "D", "R"])
        >>> party.levels, party.codes.tolist()
        (['D', 'R'], [1, 0, 1])
        """
        spelled = [_spelled(value) for value in values]
        known = {value for value in spelled if value is not None}
        try:
            numbers = {value: float(value) for value in known}
        except ValueError:
            numbers = {}
        numeric = bool(numbers) and all(map(math.isfinite, numbers.values()))
        levels = sorted(known, key=(lambda level: (numbers[level], level)) if numeric else None)
        places = {level: place for place, level in enumerate(levels)}
        codes = np.array([-1 if value is None else places[value] for value in spelled], dtype=np.int64)
        if not numeric:
            return cls(name, levels, codes)
        values_by_level = np.array([*(numbers[level] for level in levels), np.nan])
        return cls(name, levels, codes, values_by_level[codes])


def _spelled(value: Any) -> str | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    text = str(value).strip()
    return None if text in MISSING else text


@dataclass(frozen=True)
class TextTable:
    """Documents with covariates; itself a corpus, whose documents are the rows in order.

    >>> table = TextTable.of({"text": ["hot tea", "cold tea"], "party": ["R", "D"]})
    >>> table
    <TextTable: 2 documents, party>
    >>> table.text(1), table.covariate("party").levels
    ('cold tea', ['D', 'R'])
    """

    source: str
    #: The texts as UTF-8, each ended by a newline, and where each begins.
    data: bytes = field(repr=False)
    starts: Array = field(repr=False)
    columns: Mapping[str, list[Any]] = field(repr=False)
    #: Where each row comes from: its line, or its number.
    lines: Array = field(repr=False)
    #: The rows that are not documents.
    skipped: Skipped = NOTHING
    #: What the places count.
    unit: str = "row"

    #: Documents are texts, not lists of tokens (see text/readers.py).
    tokenized = False

    @classmethod
    def of(
        cls, columns: Mapping[str, Iterable[Any]], text_column: str | None = None, source: str = "<table>"
    ) -> TextTable:
        """Build a table of columns in memory: a dictionary of lists, or a data frame of pandas or polars."""
        table = records_of(columns)
        if table is None:
            raise FirthianError("expected columns", hint="pass a dictionary of columns, or a data frame")
        return _build(dataclasses.replace(table, source=source), Columns(text_column))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __repr__(self) -> str:
        names = ", ".join(self.columns) or "no other columns"
        return f"<TextTable: {len(self):,} documents, {names}>"

    def text(self, row: int) -> str:
        """Return the text of a document."""
        return self.data[self.starts[row] : self.starts[row + 1] - 1].decode("utf-8", "replace")

    def place(self, row: int) -> str:
        """Return where a document comes from, for people."""
        return f"{self.source}, {self.unit} {self.lines[row]}"

    def covariate(self, name: str) -> Covariate:
        """Return a column as a covariate; raise if there is none of this name."""
        if name not in self.columns:
            raise FirthianError(f"{self.source} has no column {show_fields([name])}", hint=suggest(name, self.columns))
        found = self._covariates.get(name)
        if found is None:
            found = self._covariates[name] = Covariate.of(name, self.columns[name])
        return found

    @cached_property
    def _covariates(self) -> dict[str, Covariate]:
        return {}

    def select(self, rows: Array) -> TextTable:
        """Return some documents, in the order given."""
        texts = [self.data[self.starts[row] : self.starts[row + 1]] for row in rows]
        columns = {name: [values[row] for row in rows] for name, values in self.columns.items()}
        starts = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        return replace(self, data=b"".join(texts), starts=starts, columns=columns, lines=self.lines[rows])

    # As a corpus: see text/readers.py

    def names(self) -> list[str]:
        """Return the name of the source."""
        return [self.source]

    def size(self) -> int:
        """Return the bytes of text."""
        return len(self.data)

    def pieces(self) -> Iterator[Piece]:
        """Yield the documents, several at a time."""
        first = 0
        while first < len(self):
            last = int(np.searchsorted(self.starts, self.starts[first] + CHUNK_BYTES, side="right")) - 1
            last = min(max(last, first + 1), len(self))
            yield Piece(self.data[self.starts[first] : self.starts[last]], self.source, first + 1, last - first)
            first = last


#: Maximum cells of a table per value in it, beyond a number that always fits in memory: a few rows of JSON lines may name
#: thousands of fields that all other rows lack.
_CELLS_PER_VALUE, _FEW_CELLS = 50, 1 << 24


def read_table(source: Any, text_column: str | None = None, format: str = "auto", where: Any = None) -> TextTable:
    """Read a table with a text in one column: a file with named columns, a data frame, or any other table in Python."""
    if isinstance(source, TextTable):
        return source
    corpus = open_corpus(source, format, text_column, where)
    if not isinstance(corpus, Files | Rows):
        raise FirthianError(
            f"expected a table with named columns, got a {type(source).__name__}",
            hint="pass a path, a dictionary of columns, or a data frame",
        )
    return _build(joined(corpus.tables()), corpus.columns)


def _build(table: Records, columns: Columns) -> TextTable:
    """Read all documents of a table with their columns."""
    text_column = None if table.empty else table.text_column(columns.text)
    texts: list[bytes] = []
    lines: list[int] = []
    skipped = Skipped()
    given = 0
    values: dict[str, list[Any]] = {name: [] for name in table.names if name != text_column}
    known = {text_column, *values}
    for number, text, record, before in table.documents(columns, None):
        if before != NOTHING:
            skipped = skipped.plus(*before)
        if number == 0:
            break
        if not record.keys() <= known:
            # Fields that earlier objects of JSON lines do not have.
            values.update((name, [None] * len(texts)) for name in record if name not in known)
            known.update(record)
        texts.append(as_bytes(text.replace("\n", " ")) + b"\n")
        lines.append(number)
        given += len(record)
        if len(values) * len(texts) > _FEW_CELLS + _CELLS_PER_VALUE * given:
            raise FirthianError(
                f"{table.source} has {len(values):,} different fields, and most rows lack most of them",
                hint="keep only the fields that you use",
            )
        for name, column in values.items():
            column.append(record.get(name))
    if not texts:
        rows = (
            f" ({skipped.excluded:,} rows excluded by `where`, {skipped.missing:,} without text)"
            if any(skipped)
            else ""
        )
        raise FirthianError(f"{table.source} has no documents{rows}", hint="pass a table with a header and rows")
    starts = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    return TextTable(
        table.source, b"".join(texts), starts, values, np.array(lines, dtype=np.int64), skipped, table.unit
    )
