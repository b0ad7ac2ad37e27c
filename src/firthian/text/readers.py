"""Corpora as streams of documents.

Every reader gives *pieces*: bytes in which a newline ends a document and nothing else does. A document may span pieces.
So whatever the source, the rest of the flow sees one thing: lines.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from firthian.disk.artifact import printable
from firthian.errors import FirthianError, suggest
from firthian.text.files import (
    STDIN,
    can_be_read_again,
    chunks,
    chunks_between,
    file_state,
    find_files,
    is_plain,
    open_bytes,
    plain_suffix,
    text_bytes,
)
from firthian.text.remote import is_url
from firthian.text.shards import SHARD_BYTES, Shard, cut_shards

#: Parts of a document that is a list of tokens are kept apart by this byte.
TOKEN_SEPARATOR = "\x1f"

FORMATS = ("auto", "lines", "files", "wiki", "csv", "tsv", "jsonl")
_WITH_COLUMNS = ("csv", "tsv", "jsonl")

#: No line of a table, and no field, is longer; a file without line breaks would fill the memory.
_LARGEST_LINE = 64 << 20
#: Surrogates that JSON can spell, but that do not stand for an undecodable byte.
_HALF_CHARACTERS = re.compile("[\ud800-\udc7f\udd00-\udfff]")
_DOC_OPEN = re.compile(rb"\s*<doc\b[^>]*>\s*$")


@dataclass(frozen=True)
class Piece:
    """Some bytes of the stream, and where they come from."""

    text: bytes
    source: str
    line: int
    #: How many lines of the source it covers.
    lines: int = 1


class Corpus(Protocol):
    """A source of documents that can be read again from its beginning."""

    #: Documents are lists of tokens already, kept apart by TOKEN_SEPARATOR.
    tokenized: bool

    def pieces(self) -> Iterator[Piece]:
        """Read the documents, in a fixed order."""
        ...

    def size(self) -> int | None:
        """Tell about how many bytes of text there are, where that is known."""
        ...

    def names(self) -> list[str]:
        """Name the sources, for the record of where counts come from."""
        ...


class Files:
    """Files and folders, each read by its format.

    >>> Files([], format="lines")
    Traceback (most recent call last):
    ...
    firthian.errors.FirthianError: no corpus is given: name a file, a folder or - for standard input
    """

    tokenized = False

    def __init__(self, paths: Sequence[str], format: str = "auto", text_column: str | None = None) -> None:
        if not paths:
            raise FirthianError("no corpus is given", hint="name a file, a folder or - for standard input")
        if format not in FORMATS:
            raise FirthianError(f"there is no corpus format {format!r}", hint=suggest(str(format), FORMATS))
        self.files = find_files(list(paths))
        self.format = format
        self.text_column = text_column
        if text_column is not None and not any(self._format_of(file) in _WITH_COLUMNS for file in self.files):
            raise FirthianError(
                f"a text column is named, but {self.files[0]} is read as {self._format_of(self.files[0])}",
                hint="say what it is with --format csv, tsv or jsonl",
            )

    def names(self) -> list[str]:
        """Return the files' names without their folders."""
        return [printable(Path(file).name) for file in self.files]

    def size(self) -> int | None:
        """Add up the sizes of the files' text; unknown for standard input and pipes."""
        if not all(map(can_be_read_again, self.files)):
            return None
        return text_bytes(self.files)

    def shards(self) -> list[Shard] | None:
        """Cut the files into parts that can be read alone; None where the text comes in one stream."""
        if not all(map(can_be_read_again, self.files)):
            return None
        states = {file: file_state(file) for file in self.files}
        shards = cut_shards((file, states[file].size, self._divisible(file, states[file].size)) for file in self.files)
        return [replace(shard, state=states[shard.files[0]]) if shard.is_range else shard for shard in shards]

    def _divisible(self, path: str, size: int) -> bool:
        return size > SHARD_BYTES and self._format_of(path) == "lines" and is_plain(path)

    def pieces(self, shard: Shard | None = None) -> Iterator[Piece]:
        """Read file after file, or only those of a shard; the end of a file ends its last document."""
        for path in self.files if shard is None else shard.files:
            unfinished = False
            for piece in self._read(path) if shard is None or not shard.is_range else _lines(path, shard):
                unfinished = not piece.text.endswith(b"\n")
                yield piece
            if unfinished:
                yield Piece(b"\n", path, 0)

    def _format_of(self, path: str) -> str:
        return self.format if self.format != "auto" else _guess_format(path)

    def _read(self, path: str) -> Iterator[Piece]:
        format = self._format_of(path)
        if format == "files":
            return _whole_file(path)
        if format == "wiki":
            return _wiki(path)
        if format in ("csv", "tsv"):
            return _table(path, format, self.text_column)
        if format == "jsonl":
            return _json_lines(path, self.text_column or "text")
        return _lines(path)


def _guess_format(path: str) -> str:
    suffix = plain_suffix(path)
    by_suffix = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
    if suffix in by_suffix:
        return by_suffix[suffix]
    if not can_be_read_again(path):
        return "lines"
    with open_bytes(path) as file:
        return "wiki" if file.read(16).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<doc ") else "lines"


def _lines(path: str, part: Shard | None = None) -> Iterator[Piece]:
    """Read lines as they are, or those of a part of the file; they are numbered from its beginning."""
    line = 1
    for data in chunks(path) if part is None else chunks_between(path, part.begin, part.end, part.state):
        lines = data.count(b"\n")
        yield Piece(data, path, line, lines)
        line += lines


def _whole_file(path: str) -> Iterator[Piece]:
    number = 1
    for data in chunks(path):
        *lines, rest = data.split(b"\n")
        for line in lines:
            yield Piece(line + b" ", path, number)
            number += 1
        if rest:
            yield Piece(rest, path, number, 0)


def _split_lines(path: str) -> Iterator[tuple[int, bytes]]:
    """Return (number, line without its end) of a file."""
    unfinished: list[bytes] = []
    number, waiting = 1, 0
    for data in chunks(path):
        *lines, rest = data.split(b"\n")
        for line in lines:
            yield number, b"".join([*unfinished, line])
            unfinished.clear()
            number, waiting = number + 1, 0
        unfinished.append(rest)
        waiting += len(rest)
        if waiting > _LARGEST_LINE:
            raise FirthianError(
                f"{path}, line {number} has more than {_LARGEST_LINE >> 20} MB", hint="read it with --format lines"
            )
    if any(unfinished):
        yield number, b"".join(unfinished)


def _wiki(path: str) -> Iterator[Piece]:
    """WikiExtractor's files: ``<doc ...>``, lines of text, ``</doc>``."""
    inside = False
    opened = 0
    for number, line in _split_lines(path):
        stripped = line.strip()
        if stripped == b"</doc>":
            inside = False
            yield Piece(b"\n", path, number)
        elif line.startswith(b"<doc ") and _DOC_OPEN.match(line):
            if inside:
                raise FirthianError(f"{path}, line {number}: <doc> inside <doc>", hint="read it with --format lines")
            inside = True
            opened = number
        elif inside and stripped:
            yield Piece(line + b" ", path, number)
        elif stripped:
            raise FirthianError(f"{path}, line {number}: text outside <doc>", hint="read it with --format lines")
    if inside:
        raise FirthianError(
            f"{path}, line {opened}: <doc> is never closed", hint="complete the file, or read it with --format lines"
        )


def _one_line(text: str) -> bytes:
    return _HALF_CHARACTERS.sub("\ufffd", text).replace("\n", " ").encode("utf-8", "surrogateescape") + b"\n"


def _text_lines(path: str) -> Iterator[str]:
    for _, line in _split_lines(path):
        yield line.decode("utf-8", "surrogateescape") + "\n"


def _table(path: str, format: str, column: str | None) -> Iterator[Piece]:
    """CSV (quoted) or TSV (plain): a column by name, where there is a header, or by number, where there is none."""
    rows = _csv_rows(path) if format == "csv" else _tsv_rows(path)
    where = -1
    if column is not None and column.isdecimal():
        where = int(column) - 1
    for number, row in rows:
        if where < 0:
            name = column or "text"
            if name not in row:
                raise FirthianError(
                    f"{path} has no column {name!r}",
                    hint="name one with --text-column, or give its number (from 1) where the file has no header; "
                    f"its first line has {', '.join(repr(field[:30]) for field in row[:8])}",
                )
            where = row.index(name)
            continue
        if where >= len(row):
            if not row or row == [""]:
                continue
            raise FirthianError(f"{path}, line {number}: only {len(row)} columns", hint=f"column {where + 1} is wanted")
        yield Piece(_one_line(row[where]), path, number)


def _csv_rows(path: str) -> Iterator[tuple[int, list[str]]]:
    """Return (number of its first line, fields) of each record."""
    csv.field_size_limit(_LARGEST_LINE)
    number, length = 1, 0

    def lines() -> Iterator[str]:
        nonlocal length
        for line in _text_lines(path):
            length += len(line)
            if length > 2 * _LARGEST_LINE:
                raise FirthianError(
                    f"{path}, line {number}: a record without an end", hint="close the quote that is open"
                )
            yield line

    reader = csv.reader(lines(), strict=True)
    while True:
        number, length = reader.line_num + 1, 0
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise FirthianError(
                f"{path}, line {number}: {error}", hint="check its quotes, or name another --format"
            ) from None
        yield number, row


def _tsv_rows(path: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(_text_lines(path), start=1):
        yield number, line.rstrip("\r\n").split("\t")


def _json_lines(path: str, field: str) -> Iterator[Piece]:
    for number, line in enumerate(_text_lines(path), start=1):
        if not line.strip():
            continue
        try:
            record: Any = json.loads(line)
        except (ValueError, RecursionError):
            raise FirthianError(f"{path}, line {number}: not JSON", hint="each line must be one JSON object") from None
        if isinstance(record, dict) and field in record and not isinstance(record[field], str):
            raise FirthianError(
                f"{path}, line {number}: the field {field!r} is no text ({type(record[field]).__name__})",
                hint="name another with --text-column, or mend the line",
            )
        if not isinstance(record, dict) or field not in record:
            have = ", ".join(repr(name[:30]) for name in list(record)[:8]) if isinstance(record, dict) else "none"
            raise FirthianError(
                f"{path}, line {number}: no text field {field!r}",
                hint=f"name one with --text-column; fields here: {have}",
            )
        yield Piece(_one_line(record[field]), path, number)


class Documents:
    """Documents from Python: an iterable of texts, or of lists of tokens, that can be iterated again.

    >>> [piece.text for piece in Documents(["one text", "another"]).pieces()]
    [b'one text\\n', b'another\\n']
    """

    def __init__(self, documents: Iterable[str | Sequence[str]]) -> None:
        if not hasattr(documents, "__iter__") and not hasattr(documents, "__getitem__"):
            raise FirthianError(
                f"a corpus cannot be a {type(documents).__name__}",
                hint="give a path, or a list of texts or of lists of tokens",
            )
        if iter(documents) is documents:
            raise FirthianError(
                "the corpus is a one-shot iterator, which would be empty at a second reading",
                hint="give a list, or an object whose __iter__ starts anew each time",
            )
        self.documents = documents
        first = next(iter(documents), "")
        self.tokenized = not isinstance(first, str)

    def names(self) -> list[str]:
        """Name the source."""
        return ["<documents>"]

    def size(self) -> int | None:
        """Tell nothing: the size of an iterable is not known before it is read."""
        return None

    def pieces(self) -> Iterator[Piece]:
        """Read document after document."""
        for number, document in enumerate(self.documents, start=1):
            if isinstance(document, str) == self.tokenized:
                raise FirthianError(
                    f"document {number} is a {type(document).__name__}, the first one was not",
                    hint="give either texts or lists of tokens",
                )
            text = document if isinstance(document, str) else _joined(document, number)
            yield Piece(text.replace("\n", " ").encode("utf-8", "surrogatepass") + b"\n", "<documents>", number)


def _joined(tokens: Iterable[str], number: int) -> str:
    """Write tokens in a line; they may hold spaces, but not what keeps tokens, words in files and documents apart."""
    try:
        return TOKEN_SEPARATOR.join(re.sub(r"[\x1f\n\t]+", " ", token).strip() for token in tokens)
    except TypeError:
        raise FirthianError(
            f"document {number} is neither a text nor a list of tokens",
            hint="decode bytes, and make every token a string",
        ) from None


def open_corpus(
    source: str | os.PathLike[str] | Iterable[Any], format: str = "auto", text_column: str | None = None
) -> Corpus:
    """Take whatever a user may call a corpus: a path, several paths, or documents.

    A list of strings is a list of paths when one of them names something that exists (or is ``-``), else of texts.
    """
    if isinstance(source, str | os.PathLike):
        return Files([os.fspath(source)], format, text_column)
    if hasattr(source, "pieces"):
        return source  # type: ignore[return-value]
    if isinstance(source, list | tuple) and source and all(isinstance(item, str | os.PathLike) for item in source):
        paths = [os.fspath(item) for item in source]
        # One that exists makes all of them paths: a mistyped one must not be counted as a text of one word.
        if (
            any(isinstance(item, os.PathLike) for item in source)
            or any(map(_is_path, paths))
            or all(map(_is_bare_url, paths))
        ):
            return Files(paths, format, text_column)
    return Documents(source)


def _is_path(text: str) -> bool:
    return text == STDIN or (len(text) < 4096 and "\n" not in text and "\0" not in text and os.path.exists(text))


def _is_bare_url(text: str) -> bool:
    """A text may begin with a URL; one that is nothing else, among others of the kind, is a place."""
    return is_url(text) and not any(map(str.isspace, text))
