"""The formats of corpus files: one row each, with the function that reads it. How to add one: docs/add_a_reader.md.

Importing this is quick, since the command line lists the formats; readers are imported when they are used.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, cast

from firthian.errors import FirthianError
from firthian.options import Option
from firthian.text.compression import plain_suffix

if TYPE_CHECKING:
    from firthian.text.pieces import Piece
    from firthian.text.records import Columns, Records


@dataclass(frozen=True)
class Format:
    """A format of corpus files.

    ``reader`` names a function ``module:function`` of a path that yields pieces: bytes in which a newline ends a document and
    nothing else does. ``table`` names one of a path, and of whether its first row names the columns, that returns ``Records``.
    """

    name: str
    reader: str = ""
    table: str = ""
    #: File name endings by which ``auto`` recognizes it.
    suffixes: tuple[str, ...] = ()
    #: The first bytes, after white space and declarations of XML, by which ``auto`` recognizes it.
    head: bytes = b""

    @property
    def has_columns(self) -> bool:
        """Whether its files are tables."""
        return bool(self.table)

    def pieces(self, path: str, columns: Columns) -> Iterator[Piece]:
        """Yield the documents of a file; of a table, those chosen by its columns."""
        if self.has_columns:
            return self.records(path, columns).pieces(columns)
        return cast("Iterator[Piece]", _load(self.reader)(path))

    def records(self, path: str, columns: Columns) -> Records:
        """Open a file as a table; raise if its format is not one."""
        if not self.has_columns:
            names = ", ".join(format.name for format in FORMATS if format.has_columns)
            raise FirthianError(
                f"{path} is not a table with named columns, but {self.name}", hint=f"set `format` to one of {names}"
            )
        if columns.sql is not None:
            return cast("Records", _load("firthian.text.duckdb:query_file")(path, self.name, columns.sql))
        # A number names a column of a file without a header.
        return cast("Records", _load(self.table)(path, not (columns.text or "").isdecimal()))


def format_of_name(path: str) -> Format | None:
    """Return the format by which ``auto`` reads a file of this name, or None."""
    suffix = plain_suffix(path)
    return next((format for format in FORMATS if suffix in format.suffixes), None)


def _load(place: str) -> Callable[..., Any]:
    module, _, name = place.partition(":")
    return cast("Callable[..., Any]", getattr(importlib.import_module(module), name))


FORMATS = (
    Format("lines", "firthian.text.readers:read_lines"),
    Format("files", "firthian.text.readers:read_file"),
    Format("wiki", "firthian.text.readers:read_wiki", head=b"<doc "),
    Format("csv", table="firthian.text.tables:open_csv", suffixes=(".csv",)),
    Format("tsv", table="firthian.text.tables:open_tsv", suffixes=(".tsv",)),
    Format("jsonl", table="firthian.text.tables:open_jsonl", suffixes=(".jsonl", ".ndjson")),
    Format("parquet", table="firthian.text.arrow:open_parquet", suffixes=(".parquet", ".pq"), head=b"PAR1\x15"),
    Format(
        "arrow", table="firthian.text.arrow:open_arrow", suffixes=(".arrow", ".feather", ".ipc"), head=b"ARROW1\0\0"
    ),
    Format("tei", table="firthian.text.markup:open_tei", suffixes=(".tei",), head=b"<TEI"),
    Format("html", table="firthian.text.markup:open_html", suffixes=(".html", ".htm", ".xhtml"), head=b"<html"),
    Format("duckdb", table="firthian.text.duckdb:open_database", suffixes=(".duckdb", ".ddb")),
)

#: The name of a format, as an option.
FormatName = Annotated[
    str,
    Option(
        "corpus format; files is one document per file",
        choices=("auto", *(format.name for format in FORMATS)),
        group="Corpus",
    ),
]


def find_format(name: str) -> Format:
    """Return a format by its name."""
    return next(format for format in FORMATS if format.name == name)
