"""Corpora as streams of documents.

Every reader yields *pieces*: bytes in which a newline ends a document and nothing else does. A document may span pieces.
Whatever the source, the rest of the flow sees lines.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from firthian.disk.artifact import printable
from firthian.errors import FirthianError, os_errors
from firthian.options import option_of
from firthian.text.compression import CHUNK_BYTES
from firthian.text.files import (
    SHARD_BYTES,
    STDIN,
    Shard,
    can_be_read_again,
    chunks,
    chunks_between,
    divide_files,
    file_state,
    find_files,
    is_plain,
    is_url,
    open_bytes,
    split_lines,
    text_bytes,
)
from firthian.text.formats import FORMATS, FormatName, find_format, format_of_name
from firthian.text.frames import records_of
from firthian.text.pieces import Corpus as Corpus
from firthian.text.pieces import Piece as Piece
from firthian.text.records import Columns, Records

#: Separates the tokens of a document that is a list of tokens.
TOKEN_SEPARATOR = "\x1f"

#: What may come before the first element of XML or HTML: declarations, instructions and comments.
_PROLOG = re.compile(rb"\A(?:\s+|<\?[^>]*>|<!--.*?-->|<!\w[^>\[]*(?:\[[^\]]*\]\s*)?>)+", re.DOTALL)

_DOC_OPEN = re.compile(rb"\s*<doc\b[^>]*>\s*$")


class Files:
    """Files and folders, each file read by its format.

    >>> Files([], format="lines")
    Traceback (most recent call last):
    ...
    firthian.errors.FirthianError: no corpus: pass a file, a folder or - for standard input
    """

    tokenized = False

    def __init__(
        self,
        paths: Sequence[str],
        format: str = "auto",
        text_column: str | None = None,
        where: Any = None,
        sql: str | None = None,
    ) -> None:
        if not paths:
            raise FirthianError("no corpus", hint="pass a file, a folder or - for standard input")
        self.format = option_of("format", FormatName).check(format)
        self.files = find_files(list(paths))
        self.columns = Columns.create(text_column, where, sql)
        others = [file for file in self.files if not find_format(self._format_of(file)).has_columns]
        # A folder may hold tables beside texts, but no text passes a condition.
        if self.columns.given and others and (len(others) == len(self.files) or self.columns.given != "text_column"):
            names = ", ".join(format.name for format in FORMATS if format.has_columns)
            raise FirthianError(
                f"`{self.columns.given}` has no effect: {others[0]} is read as {self._format_of(others[0])}",
                hint=f"set `format` to one of {names}",
            )

    def names(self) -> list[str]:
        """Return the files' names without their folders."""
        return [printable(Path(file).name) for file in self.files]

    def size(self) -> int | None:
        """Return the approximate bytes of text; None for standard input and pipes."""
        if not all(map(can_be_read_again, self.files)):
            return None
        return text_bytes(self.files)

    def shards(self) -> list[Shard] | None:
        """Return parts of the corpus that can be read alone; None if the text is one stream."""
        if not all(map(can_be_read_again, self.files)):
            return None
        states = {file: file_state(file) for file in self.files}
        shards = divide_files(
            (file, states[file].size, self._divisible(file, states[file].size)) for file in self.files
        )
        return [replace(shard, state=states[shard.files[0]]) if shard.is_range else shard for shard in shards]

    def _divisible(self, path: str, size: int) -> bool:
        return size > SHARD_BYTES and self._format_of(path) == "lines" and is_plain(path)

    def pieces(self, shard: Shard | None = None) -> Iterator[Piece]:
        """Yield the documents of all files, or of a shard; the end of a file ends its last document."""
        for path in self.files if shard is None else shard.files:
            unfinished = False
            for piece in self._read(path) if shard is None or not shard.is_range else read_lines(path, shard=shard):
                unfinished = not piece.text.endswith(b"\n")
                yield piece
            if unfinished:
                yield Piece(b"\n", path, 0)

    def _format_of(self, path: str) -> str:
        return self.format if self.format != "auto" else _guess_format(path)

    def _read(self, path: str) -> Iterator[Piece]:
        return find_format(self._format_of(path)).pieces(path, self.columns)

    def tables(self) -> list[Records]:
        """Return the files as tables; raise if one is not a table."""
        return [find_format(self._format_of(path)).records(path, self.columns) for path in self.files]

    def values(self, column: str, limit: int) -> list[str]:
        """Return the distinct values of a column, as texts, sorted; raise if there are more than ``limit``."""
        if not all(map(can_be_read_again, self.files)):
            raise FirthianError("standard input can be read only once", hint="pass a file")
        return sorted({value for table in self.tables() for value in table.values(column, self.columns, limit)})

    def narrowed(self, column: str, value: str) -> Files:
        """Return the same files with only the rows that have this value."""
        chosen = {**dict(self.columns.where), column: [value]}
        return Files(self.files, self.format, self.columns.text, chosen, self.columns.sql)


def _guess_format(path: str) -> str:
    if (named := format_of_name(path)) is not None:
        return named.name
    if not can_be_read_again(path):
        return "lines"
    with open_bytes(path) as file:
        head = _PROLOG.sub(b"", file.read(2048).removeprefix(b"\xef\xbb\xbf"))
    return next((format.name for format in FORMATS if format.head and head.startswith(format.head)), "lines")


def read_lines(path: str, shard: Shard | None = None) -> Iterator[Piece]:
    """Yield lines as they are; those of a part of a file are numbered from its beginning."""
    line = 1
    for data in chunks(path) if shard is None else chunks_between(path, shard.begin, shard.end, shard.state):
        lines = data.count(b"\n")
        yield Piece(data, path, line, lines)
        line += lines


def read_file(path: str) -> Iterator[Piece]:
    """Yield a file as one document."""
    number = 1
    for data in chunks(path):
        *lines, rest = data.split(b"\n")
        for line in lines:
            yield Piece(line + b" ", path, number)
            number += 1
        if rest:
            yield Piece(rest, path, number, 0)


def read_wiki(path: str) -> Iterator[Piece]:
    """Yield the documents of WikiExtractor: ``<doc ...>``, lines of text, ``</doc>``."""
    opened = 0

    def invalid(number: int, what: str) -> FirthianError:
        return FirthianError(f"{path}, line {number}: {what}", hint="fix the file, or set `format=lines`")

    for number, line in split_lines(path):
        stripped = line.strip()
        if stripped == b"</doc>":
            opened = 0
            yield Piece(b"\n", path, number)
        elif line.startswith(b"<doc ") and _DOC_OPEN.match(line):
            if opened:
                raise invalid(number, "<doc> inside <doc>")
            opened = number
        elif opened and stripped:
            yield Piece(line + b" ", path, number)
        elif stripped:
            raise invalid(number, "text outside <doc>")
    if opened:
        raise invalid(opened, "<doc> is never closed")


class Documents:
    """Documents from Python: an iterable of texts or token lists that can be iterated again.

    >>> [piece.text for piece in Documents(["one text", "another"]).pieces()]
    [b'one text\\n', b'another\\n']
    """

    def __init__(self, documents: Iterable[str | Sequence[str]]) -> None:
        if not hasattr(documents, "__iter__") and not hasattr(documents, "__getitem__"):
            raise FirthianError(
                f"expected a corpus, got a {type(documents).__name__}",
                hint="pass a path, a list of texts, or a list of token lists",
            )
        if iter(documents) is documents:
            raise FirthianError(
                "the corpus is a one-shot iterator, which can be read only once",
                hint="pass a list, or an object whose __iter__ starts over each time",
            )
        self.documents = documents
        first = next(iter(documents), "")
        self.tokenized = not isinstance(first, str)

    def names(self) -> list[str]:
        """Return a placeholder."""
        return ["<documents>"]

    def size(self) -> int | None:
        """Return None: the size of an iterable is unknown."""
        return None

    def pieces(self) -> Iterator[Piece]:
        """Yield the documents."""
        for number, document in enumerate(self.documents, start=1):
            if isinstance(document, str) == self.tokenized:
                raise FirthianError(
                    f"document {number} is a {type(document).__name__}, unlike the first one",
                    hint="pass either texts or token lists",
                )
            text = document if isinstance(document, str) else _joined(document, number)
            yield Piece(text.replace("\n", " ").encode("utf-8", "surrogatepass") + b"\n", "<documents>", number)


def _joined(tokens: Iterable[str], number: int) -> str:
    """Join tokens into a line; they may contain spaces, but no separators of tokens, columns or documents."""
    try:
        return TOKEN_SEPARATOR.join(re.sub(r"[\x1f\n\t]+", " ", token).strip() for token in tokens)
    except TypeError:
        raise FirthianError(
            f"document {number} is neither a text nor a list of tokens",
            hint="decode bytes, and convert every token to a string",
        ) from None


def reading_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Remove the settings of ``open_corpus`` from others, and return them."""
    return {name: settings.pop(name) for name in ("format", "text_column", "where", "sql") if name in settings}


class Rows:
    """A table in memory, or a query, as a corpus."""

    tokenized = False

    def __init__(self, table: Records, columns: Columns) -> None:
        self.table, self.columns = table, columns
        table.text_column(columns.text)

    def names(self) -> list[str]:
        """Return a placeholder."""
        return [self.table.source]

    def size(self) -> int | None:
        """Return None: the bytes of text are unknown."""
        return None

    def pieces(self) -> Iterator[Piece]:
        """Yield the documents."""
        return self.table.pieces(self.columns)

    def tables(self) -> list[Records]:
        """Return the table."""
        return [self.table]


def open_corpus(
    source: Any, format: str = "auto", text_column: str | None = None, where: Any = None, sql: str | None = None
) -> Corpus:
    """Open a corpus: a path, several paths, documents, or a table (see ``firthian.text.frames``).

    A list of strings is a list of paths if one of them exists (or is ``-``), else a list of texts.
    """
    if isinstance(source, str | os.PathLike):
        return Files([os.fspath(source)], format, text_column, where, sql)
    if hasattr(source, "pieces"):
        return source  # type: ignore[no-any-return]
    if isinstance(source, list | tuple) and source and all(isinstance(item, str | os.PathLike) for item in source):
        paths = [os.fspath(item) for item in source]
        # One existing path makes all of them paths: a mistyped one must not be counted as a text of one word.
        if (
            any(isinstance(item, os.PathLike) for item in source)
            or any(map(_is_path, paths))
            or all(map(_is_bare_url, paths))
        ):
            return Files(paths, format, text_column, where, sql)
    table, columns = records_of(source), Columns.create(text_column, where, sql)
    if columns.sql is not None or (table is None and columns.given):
        kind, name = ("documents without columns", columns.given) if table is None else ("a table in memory", "sql")
        raise FirthianError(f"`{name}` has no effect on {kind}", hint="omit it, or pass a table in a file")
    return Documents(source) if table is None else Rows(table, columns)


def _is_path(text: str) -> bool:
    return text == STDIN or (len(text) < 4096 and "\n" not in text and "\0" not in text and os.path.exists(text))


def _is_bare_url(text: str) -> bool:
    """Return whether a text is a URL and nothing else."""
    return is_url(text) and not any(map(str.isspace, text))


class Copy:
    """A copy on disk of a corpus that can be read only once, with the names, lines and checksum of the original."""

    def __init__(self, corpus: Corpus, file: Path) -> None:
        self.tokenized = corpus.tokenized
        self._names, self._file = corpus.names(), file
        #: Consecutive lines of one source: the source, the first line, the number of bytes.
        self._runs: list[tuple[str, int, int]] = []
        expected: tuple[str, int] | None = None
        with os_errors(), file.open("wb") as out:
            for piece in corpus.pieces():
                out.write(piece.text)
                if (piece.source, piece.line) == expected:
                    source, line, size = self._runs.pop()
                    self._runs.append((source, line, size + len(piece.text)))
                else:
                    self._runs.append((piece.source, piece.line, len(piece.text)))
                follows = piece.text.count(b"\n") == piece.lines
                expected = (piece.source, piece.line + piece.lines) if follows else None

    def names(self) -> list[str]:
        """Return the names of the sources."""
        return self._names

    def size(self) -> int | None:
        """Return the bytes of text."""
        return sum(size for _, _, size in self._runs)

    def pieces(self) -> Iterator[Piece]:
        """Yield the documents."""
        with self._file.open("rb") as file:
            for source, line, size in self._runs:
                left = size
                while left and (data := file.read(min(left, CHUNK_BYTES))):
                    lines = data.count(b"\n")
                    yield Piece(data, source, line, lines)
                    left, line = left - len(data), line + lines


@contextmanager
def readable_again(corpus: Corpus) -> Iterator[Corpus]:
    """Yield a corpus that can be read more than once: itself, or a temporary copy."""
    if not isinstance(corpus, Files) or all(map(can_be_read_again, corpus.files)):
        yield corpus
        return
    with tempfile.TemporaryDirectory(prefix="firthian-") as folder:
        yield Copy(corpus, Path(folder) / "text")
