"""The formats of corpus files: one row each, with the function that reads it. How to add one: docs/add_a_reader.md.

Importing this is quick, since the command line lists the formats; readers are imported when they are used.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, cast

from firthian.options import Option

if TYPE_CHECKING:
    from firthian.text.readers import Piece


@dataclass(frozen=True)
class Format:
    """A format of corpus files.

    ``reader`` names a function ``module:function`` of a path and a column (None unless the format has columns) that yields
    pieces: bytes in which a newline ends a document and nothing else does.
    """

    name: str
    reader: str
    #: File name endings by which ``auto`` recognizes it.
    suffixes: tuple[str, ...] = ()
    #: The first bytes, after white space, by which ``auto`` recognizes it.
    head: bytes = b""
    has_columns: bool = False

    def read(self, path: str, column: str | None = None) -> Iterator[Piece]:
        """Yield the documents of a file."""
        module, _, name = self.reader.partition(":")
        return cast("Callable[..., Iterator[Piece]]", getattr(importlib.import_module(module), name))(path, column)


FORMATS = (
    Format("lines", "firthian.text.readers:read_lines"),
    Format("files", "firthian.text.readers:read_file"),
    Format("wiki", "firthian.text.readers:read_wiki", head=b"<doc "),
    Format("csv", "firthian.text.tables:read_csv", suffixes=(".csv",), has_columns=True),
    Format("tsv", "firthian.text.tables:read_tsv", suffixes=(".tsv",), has_columns=True),
    Format("jsonl", "firthian.text.tables:read_jsonl", suffixes=(".jsonl", ".ndjson"), has_columns=True),
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
