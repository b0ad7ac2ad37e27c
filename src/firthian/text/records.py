"""Tables of any kind as records: a document is the text of a row, chosen by other columns.

Whatever holds the table (a file, a data frame, a query), the rest of the flow sees ``Records``.
"""

from __future__ import annotations

import functools
import math
import numbers
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from firthian.errors import FirthianError
from firthian.text.pieces import NOTHING, Piece, Skipped

#: The names of a text column that nobody named, in the order of preference.
TEXT_NAMES = ("text", "document", "sentence", "body", "content")

#: Surrogates that JSON can spell, but that do not stand for an undecodable byte.
_LONE_SURROGATES = re.compile("[\ud800-\udc7f\udd00-\udfff]")


class Record(NamedTuple):
    """A row: its line or number, for error messages, and its values by column."""

    number: int
    values: Mapping[str, Any]


class Document(NamedTuple):
    """A row as a document: its number, its text, its values by column, and the rows skipped before it."""

    number: int
    text: str
    values: Mapping[str, Any]
    skipped: Skipped


@dataclass(frozen=True)
class Records:
    """A table: the source for error messages, the names of its columns, and a function that reads rows.

    ``read`` takes the columns to read, or None for all, and may be called again.

    >>> table = Records("posts", ["text", "year"], lambda columns: iter([Record(1, {"text": "hot tea", "year": 1851})]))
    >>> [piece.text for piece in table.pieces(Columns(where=(("year", ("1851",)),)))]
    [b'hot tea\\n']
    """

    source: str
    names: list[str]
    read: Callable[[Sequence[str] | None], Iterator[Record]]
    #: Whether it has neither columns nor rows, as an empty file.
    empty: bool = False
    #: What the numbers of records count.
    unit: str = "row"

    def place(self, number: int) -> str:
        """Return where a record is, for people."""
        return f"{self.source}, {self.unit} {number}"

    def check(self, name: str) -> str:
        """Return the name of a column; raise if there is none of this name."""
        if name not in self.names:
            raise FirthianError(
                f"{self.source} has no column {show_fields([name])}", hint=f"its columns are {self._shown()}"
            )
        return name

    def text_column(self, wanted: str | None = None) -> str:
        """Return the column with the text: the one wanted, the only one, or one with a usual name."""
        if wanted is not None and wanted in self.names:
            return wanted
        found = self.names[0] if wanted is None and len(self.names) == 1 else None
        if wanted is None:
            found = default_name(self.names, TEXT_NAMES) or found
        if found is None:
            raise FirthianError(
                f"{self.source} has no column {show_fields([wanted or 'text'])}",
                hint=f"set `text_column` to one of {self._shown()}",
            )
        return found

    def _shown(self) -> str:
        return show_fields(self.names) or "its columns (it has none)"

    def pieces(self, columns: Columns) -> Iterator[Piece]:
        """Yield the text of each chosen row as a document; rows left out are counted in the pieces between them."""
        for number, text, _, skipped in self.documents(columns):
            yield Piece(as_bytes(text.replace("\n", " ")) + b"\n", self.source, number, skipped=skipped)

    def documents(self, columns: Columns, others: Sequence[str] | None = ()) -> Iterator[Document]:
        """Yield each chosen row that has a text, with the values of other columns (None: all).

        If there is none, an empty document of number 0 tells what was skipped.
        """
        if self.empty:
            return
        text = self.text_column(columns.text)
        tests = [(self.check(name), _tester(values)) for name, values in columns.where]
        wanted = None if others is None else [*dict.fromkeys((text, *(name for name, _ in tests), *others))]
        last: Document | None = None
        skipped = NOTHING
        for number, values in self.read(wanted):
            if tests and not all(self._passes(test, name, values, number) for name, test in tests):
                skipped = skipped.plus(excluded=1)
                continue
            value = _cell(self, text, values, number)
            if is_missing(value):
                skipped = skipped.plus(missing=1)
                continue
            if not isinstance(value, str):
                raise FirthianError(
                    f"{self.place(number)}: expected text in the column {show_fields([text])}, got {type(value).__name__}",
                    hint="set another `text_column`, or fix the row",
                )
            if last is not None:
                yield last
            last, skipped = Document(number, value, values, skipped), NOTHING
        if last is not None:
            yield last._replace(skipped=last.skipped.plus(*skipped))
        elif any(skipped):
            yield Document(0, "", {}, skipped)

    def _passes(self, test: Callable[[Any], bool], name: str, values: Mapping[str, Any], number: int) -> bool:
        try:
            return test(_cell(self, name, values, number))
        except TypeError:
            kind = type(values[name]).__name__
            raise FirthianError(
                f"{self.place(number)}: the column {show_fields([name])} holds a {kind}, which `where` cannot compare",
                hint="choose a column of texts or numbers",
            ) from None

    def values(self, name: str, columns: Columns, limit: int) -> list[str]:
        """Return the distinct values of a column in the chosen rows, as texts, sorted; raise if more than ``limit``."""
        found: set[str] = set()
        for document in self.documents(columns, [self.check(name)]):
            value = _cell(self, name, document.values, document.number) if document.number else None
            if not is_missing(value) and value != "":
                found.add(str(value))
            if len(found) > limit:
                raise FirthianError(
                    f"the column {show_fields([name])} has more than {limit} different values",
                    hint="choose a column with few",
                )
        return sorted(found)


def joined(tables: Sequence[Records]) -> Records:
    """Return several files with the same columns as one table, whose rows are numbered through.

    >>> rows = [Record(1, {"text": "hot tea"})]
    >>> [row.number for row in joined([Records("a", ["text"], lambda _: iter(rows))] * 2).read(None)]
    [1, 2]
    """
    first = tables[0]
    for table in tables:
        if table.names != first.names:
            raise FirthianError(
                f"{table.source} and {first.source} have different columns", hint="pass files with the same columns"
            )

    def read(columns: Sequence[str] | None) -> Iterator[Record]:
        rows = (row for table in tables for row in table.read(columns))
        for number, row in enumerate(rows, start=1):
            yield row._replace(number=number)

    return first if len(tables) == 1 else Records(f"{len(tables)} files", first.names, read, unit=first.unit)


def _cell(table: Records, name: str, values: Mapping[str, Any], number: int) -> Any:
    try:
        return values[name]
    except KeyError:
        raise FirthianError(
            f"{table.place(number)}: no column {show_fields([name])}",
            hint=f"the row has {show_fields(values) or 'none'}",
        ) from None


def show_fields(fields: Iterable[Any]) -> str:
    """Quote the first few fields of a row for an error message.

    >>> show_fields(["text", "label"])
    "'text', 'label'"
    """
    return ", ".join(repr(str(field)[:30]) for field in list(fields)[:8])


def default_name(fields: Iterable[Any], usual: Iterable[str]) -> Any:
    """Return the first field with one of the usual names, in upper or lower case, or None."""
    spelled: dict[str, Any] = {}
    for field in fields:
        spelled.setdefault(str(field).strip().lower(), field)
    return next((spelled[name] for name in usual if name in spelled), None)


def as_bytes(text: str) -> bytes:
    """Return a text as UTF-8, with the undecodable bytes it was read with."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _LONE_SURROGATES.sub("\ufffd", text).encode("utf-8", "surrogateescape")


def is_missing(value: Any) -> bool:
    """Return whether a value is null: None, NaN, or what pandas has in their place.

    >>> is_missing(None), is_missing(float("nan")), is_missing("")
    (True, True, False)
    """
    if value is None or isinstance(value, str):
        return value is None
    if isinstance(value, float):
        return math.isnan(value)
    return type(value).__name__ in ("NAType", "NaTType")


# Which rows count


@dataclass(frozen=True)
class Columns:
    """The text column of a table, and the values that other columns must have."""

    text: str | None = None
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()
    #: A query of DuckDB whose result is the table.
    sql: str | None = None

    @classmethod
    def create(cls, text: str | None = None, where: Any = None, sql: str | None = None) -> Columns:
        """Check what a user wants: ``where`` is a dictionary of values, or texts such as ``party=D``.

        >>> Columns.create(where=["party=D", "party=R", "year=1851"]).where
        (('party', ('D', 'R')), ('year', ('1851',)))
        >>> Columns.create(where={"year": [1850, 1851]}).where
        (('year', ('1850', '1851')),)
        """
        chosen: dict[str, list[str]] = {}
        for name, value in _conditions(where):
            chosen.setdefault(name, []).append(value)
        return cls(text, tuple((name, tuple(dict.fromkeys(values))) for name, values in chosen.items()), sql)

    @property
    def given(self) -> str:
        """The first of its settings that is not the default, or an empty text."""
        return "text_column" if self.text is not None else "where" if self.where else "sql" if self.sql else ""

    def describe(self) -> dict[str, Any] | None:
        """Return which rows count, for the record; None if all do."""
        chosen = {**({"where": {name: list(values) for name, values in self.where}} if self.where else {})}
        return {**chosen, **({"sql": self.sql} if self.sql else {})} or None


def _conditions(where: Any) -> Iterator[tuple[str, str]]:
    if isinstance(where, Mapping):
        for name, values in where.items():
            several = isinstance(values, Iterable) and not isinstance(values, str | bytes)
            for value in values if several else [values]:
                yield str(name), "" if is_missing(value) else str(value)
        return
    for text in [where] if isinstance(where, str) else where or ():
        name, equals, value = str(text).partition("=")
        if not equals or not name.strip():
            raise FirthianError(f"expected COLUMN=VALUE, got {text!r}", hint="write `where` as year=1851")
        yield name.strip(), value.strip()


def _tester(wanted: Sequence[str]) -> Callable[[Any], bool]:
    """Return a function that tells whether a value is one of those wanted, however it is spelled."""

    @functools.lru_cache(maxsize=4096, typed=True)
    def test(value: Any) -> bool:
        return any(_same(value, text) for text in wanted)

    return test


def _same(value: Any, wanted: str) -> bool:
    if is_missing(value):
        return wanted == ""
    if str(value) == wanted:
        return True
    if isinstance(value, bool):
        return str(value).lower() == wanted.lower()
    if isinstance(value, numbers.Real):
        try:
            return float(wanted) == value
        except ValueError:
            return False
    return False
