"""A small table with named, typed columns, for terminals, notebooks, data frames, CSV and HTML; results that have one."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, TypeVar

from firthian.errors import FirthianError, require
from firthian.runtime.page import html_table, show_p

Item = TypeVar("Item")

#: Joiners of Persian and Indic scripts: invisible, but part of the spelling.
_JOINERS = "\u200c\u200d"

#: A spreadsheet takes a cell that begins so for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

#: In a terminal: characters between columns, the least for a list of words, and the most that a text needs.
_GAP, _LEAST_LIST, _MOST_TEXT = 3, 12, 20


def visible(text: str) -> str:
    r"""Return a text with control characters and other invisible ones escaped, so that it cannot steer a terminal.

    >>> print(visible("a\x1b[2Jb\n"))
    a\x1b[2Jb\n
    """
    return "".join(
        character
        if character.isprintable() or character in _JOINERS
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def defused(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula.

    >>> defused("=1+1"), defused("tea")
    ("'=1+1", 'tea')
    """
    return f"'{text}" if text.startswith(_FORMULA) else text


@dataclass(frozen=True)
class Column:
    """The name of a column, the type of its values (None is a missing value), and how they are shown.

    ``format`` is a format specification such as ``.3f``, or ``p`` for p-values. Lists of words have the type ``list``.
    """

    name: str
    kind: type = str
    format: str = ""

    def show(self, value: Any) -> str:
        """Return a value as text for people."""
        if self.format == "p":
            return show_p(value)
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return "–"
        if isinstance(value, list | tuple):
            return ", ".join(map(str, value))
        if isinstance(value, bool):
            return "yes" if value else "no"
        return format(value, self.format or {int: ",", float: ".4g"}.get(self.kind, ""))

    def spell(self, value: Any) -> Any:
        """Return a value for a file of comma-separated values."""
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return ""
        if isinstance(value, list | tuple):
            value = " ".join(map(str, value))
        return defused(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class Table:
    """Rows with named columns, a title and notes.

    >>> table = Table("Drinks", (Column("word"), Column("cosine", float, ".2f")), [("tea", 0.5), ("=cup", None)])
    >>> print(table.to_csv())
    word,cosine
    tea,0.5
    '=cup,
    <BLANKLINE>
    >>> table.to_dict()
    [{'word': 'tea', 'cosine': 0.5}, {'word': '=cup', 'cosine': None}]
    >>> table["word"]
    ['tea', '=cup']
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str] = field(default=())

    def __post_init__(self) -> None:
        names = self.names
        if len(set(names)) < len(names) or any(len(row) != len(names) for row in self.rows):
            raise ValueError(f"rows do not fit the columns {names}")

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> list[Any]:
        place = self.names.index(name)
        return [row[place] for row in self.rows]

    def head(self, rows: int) -> Table:
        """Return the first rows, with a note that tells how many there are."""
        if rows >= len(self.rows):
            return self
        return Table(
            self.title, self.columns, self.rows[:rows], [*self.notes, f"the first {rows:,} of {len(self.rows):,} rows"]
        )

    def without(self, name: str) -> Table:
        """Return the table without a column."""
        kept = [place for place, column in enumerate(self.columns) if column.name != name]
        rows = [[row[place] for place in kept] for row in self.rows]
        return Table(self.title, [self.columns[place] for place in kept], rows, self.notes)

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one dictionary per row, for JSON."""
        return [dict(zip(self.names, row, strict=True)) for row in self.rows]

    def to_pandas(self) -> Any:
        """Return a pandas data frame."""
        pandas = require("pandas", "ask")
        types = {int: "Int64", float: "float64", bool: "boolean"}
        return pandas.DataFrame(
            {
                column.name: pandas.Series(self[column.name], dtype=types.get(column.kind, "object"))
                for column in self.columns
            }
        )

    def to_polars(self) -> Any:
        """Return a polars data frame."""
        polars = require("polars", "ask")
        types = {
            int: polars.Int64, float: polars.Float64, bool: polars.Boolean, str: polars.String,
            list: polars.List(polars.String),
        }  # fmt: skip
        return polars.DataFrame(
            {column.name: self[column.name] for column in self.columns},
            schema={column.name: types[column.kind] for column in self.columns},
        )

    def to_csv(self) -> str:
        """Return comma-separated values with a header; texts that look like formulas begin with an apostrophe."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(map(defused, self.names))
        for row in self.rows:
            writer.writerow(column.spell(value) for column, value in zip(self.columns, row, strict=True))
        return out.getvalue()

    def shown(self) -> list[list[str]]:
        """Return the cells as text for people, with control characters escaped."""
        return [
            [visible(column.show(value)) for column, value in zip(self.columns, row, strict=True)] for row in self.rows
        ]

    def to_html(self) -> str:
        """Return a table and its notes as HTML; every text is escaped."""
        table = html_table(self.title, [visible(name) for name in self.names], self.shown())
        return "\n".join([table, *(f"<p>{escape(visible(note))}</p>" for note in self.notes)])

    def _repr_html_(self) -> str:
        return self.to_html()

    def fitting(self, width: int) -> list[Table]:
        """Return tables for a terminal: the lists of words in one of their own if they do not fit beside the numbers.

        >>> table = Table("", [Column("word"), Column("n", int), Column("near", list)], [("tea", 1, ["cup", "milk"])])
        >>> [part.names for part in table.fitting(20)]
        [['word', 'n'], ['word', 'near']]
        """
        lists = [place for place, column in enumerate(self.columns) if column.kind is list]
        others = [place for place in range(len(self.columns)) if place not in lists]
        needed = _GAP * len(self.columns) + _LEAST_LIST * len(lists)
        for place in others:
            column, cells = self.columns[place], [row[place] for row in self.rows]
            longest = max(len(column.show(value)) for value in (*cells, None))
            needed += max(len(column.name), min(longest, _MOST_TEXT) if column.kind is str else longest)
        if not lists or len(others) < 2 or needed <= width:
            return [self]
        parts = (others, [others[0], *lists])
        return [
            Table(title, [self.columns[n] for n in part], [[row[n] for n in part] for row in self.rows], notes)
            for part, title, notes in zip(parts, (self.title, ""), ((), self.notes), strict=True)
        ]

    def _drawn(self) -> Any:
        """Return the title and the rows for rich."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table as RichTable
        from rich.text import Text

        title = Text(visible(self.title)) if self.title else None
        table = RichTable(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
        for column in self.columns:
            number = column.kind in (int, float)
            table.add_column(
                Text(visible(column.name)), justify="right" if number else "left", overflow="fold", no_wrap=number
            )
        for line in self.shown():
            table.add_row(*map(Text, line))
        return table

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from rich.text import Text

        for part in self.fitting(options.max_width):
            yield part._drawn()
            yield from (Text(visible(note)) for note in part.notes)

    def __str__(self) -> str:
        return as_text([self])


def as_text(parts: Iterable[Any], width: int = 120) -> str:
    """Return what rich prints of tables and texts, as plain text."""
    from rich.console import Console

    console = Console(file=io.StringIO(), width=width, color_system=None, highlight=False)
    for part in parts:
        console.print(part)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()).strip("\n")


def find_table(tables: dict[str, Table], name: str | None) -> Table:
    """Return a table by its name, by default the first."""
    if name is None:
        return next(iter(tables.values()))
    if name not in tables:
        raise FirthianError(f"there is no table {name!r}", hint=f"choose from: {', '.join(tables)}")
    return tables[name]


class Tabular:
    """Something with a ``table``: it converts to data frames and CSV, and shows itself in a notebook."""

    @property
    def table(self) -> Table:
        """The table."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """Return a pandas data frame."""
        return self.table.to_pandas()

    def to_polars(self) -> Any:
        """Return a polars data frame."""
        return self.table.to_polars()

    def to_csv(self) -> str:
        """Return comma-separated values with a header."""
        return self.table.to_csv()

    def _repr_html_(self) -> str:
        return self.table.to_html()


class Listing(list[Item], Tabular):
    """A list of tuples or records that is also a table.

    >>> near = Listing([("cup", 0.7)], "Neighbors", (Column("word"), Column("score", float, ".3f")))
    >>> near == [("cup", 0.7)], near.table["word"]
    (True, ['cup'])
    """

    def __init__(self, items: Iterable[Item] = (), title: str = "", columns: Sequence[Column] = ()) -> None:
        super().__init__(items)
        self.title, self.columns = title, tuple(columns)

    @property
    def table(self) -> Table:
        """The items as rows."""
        names = [column.name for column in self.columns]
        rows = [item if isinstance(item, tuple) else [getattr(item, name) for name in names] for item in self]
        return Table(self.title, self.columns, rows)

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one dictionary per item, for JSON."""
        return self.table.to_dict()
