"""word2vec, GloVe and fastText: text with a word and its numbers on each line, and word2vec's binary format.

Text is read in blocks by threads. The numbers are the last fields of a line, so a word may contain spaces. Anything doubtful
is an error that names the line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np

from firthian.arrays import Array
from firthian.disk.atomic import new_file
from firthian.errors import FirthianError
from firthian.runtime.executor import Threads
from firthian.text.files import open_bytes
from firthian.vectors.formats.base import CONTROL, Format, check_finite, damaged, finish, join_blocks
from firthian.vectors.vectors import Vectors

#: Text is read in pieces of whole lines of about this size.
PIECE_BYTES = 4 * 2**20

#: No line of vectors is longer; a file without line breaks is not text.
_MAX_LINE = 64 * 2**20

#: No vector has more numbers; a longer line is not split into all its fields.
_MAX_NUMBERS = 2**20

#: Lines that decide how many numbers a line has.
_SAMPLE = 100

#: Bytes from which the format of a file is recognized.
HEAD_BYTES = 4096

_USUAL = "use a file with a word and its numbers on each line"

_HEADER = re.compile(rb"[ \t]*([0-9]{1,18})[ \t]+([0-9]{1,18})[ \t]*\r?")
_HEADER_LINE = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*[0-9]+[ \t]+[0-9]+[ \t]*\r?\n")
_CONTROL = re.compile(b"[" + re.escape(CONTROL.encode()) + b"]")
# Possessive (++): backtracking over a field of very many digits and a letter would take quadratic time.
_NUMBER = re.compile(
    rb"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:e[+-]?[0-9]++)?|[+-]?(?:nan|inf|infinity)", re.IGNORECASE
)

_BINARY_HEADER = re.compile(rb"[ \t]*([0-9]{1,12})[ \t]+([0-9]{1,7})[ \t]*\r?\n")
_BINARY_PIECE = 16 * 2**20
_MAX_WORD = 2**16
_BROKEN = "create the file again; words with spaces break this format"


@dataclass
class _Piece:
    """The content of one piece of a file, or the line that cannot be read."""

    values: Array
    words: list[str]
    lines: Array
    seen: int
    blank: int = 0
    undecodable: int = 0
    problem: str = ""


@dataclass(frozen=True)
class Layout:
    """Numbers per line, and the number of words the header promises (None without one)."""

    columns: int
    promised: int | None


def read_text(path: Path, name: str, duplicates: str) -> Vectors:
    """Read vectors from text, with or without a header."""
    blocks: list[Array | None] = []
    words: list[str] = []
    lines: list[Array] = []
    done = blank = undecodable = 0
    with open_bytes(str(path)) as stream:
        pieces = whole_lines(stream, path)
        start = next(pieces, b"").removeprefix(b"\xef\xbb\xbf")
        layout = find_layout(path, start)
        if layout.promised is not None:
            start, done = start.partition(b"\n")[2], 1

        def everything() -> Iterator[bytes]:
            yield start
            yield from pieces

        for piece in Threads().map(lambda text: _parse(text, layout.columns), everything()):
            if piece.problem:
                where = f"{path}, line {done + piece.seen + 1}"
                raise FirthianError(f"{where}: {piece.problem}", hint="fix or remove the line")
            blocks.append(piece.values)
            words += piece.words
            lines.append(piece.lines + (done + 1))
            done, blank, undecodable = done + piece.seen, blank + piece.blank, undecodable + piece.undecodable
    if layout.promised is not None and len(words) < layout.promised:
        raise FirthianError(
            f"{path}, line {done}: the file ends after {len(words):,} words, its header promises {layout.promised:,}",
            hint="download it again; if it is complete, remove the header",
        )
    numbers = np.concatenate(lines) if lines else np.empty(0, dtype=np.int64)
    repaired = {
        "blank_lines": blank,
        "words_not_utf8": undecodable,
        "header_too_low": int(layout.promised is not None and len(words) > layout.promised),
    }
    matrix = join_blocks(blocks, len(words), layout.columns)
    return finish(path, name, matrix, words, duplicates, place=lambda row: f"line {numbers[row]}", repaired=repaired)


def whole_lines(stream: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield pieces of a stream that end at line breaks."""
    carry = b""
    while data := stream.read(PIECE_BYTES):
        carry += data
        end = carry.rfind(b"\n") + 1
        if end:
            yield carry[:end]
            carry = carry[end:]
        elif len(carry) > _MAX_LINE:
            raise FirthianError(f"{path} has a line of more than 64 MB", hint=_USUAL)
    if carry:
        yield carry


def find_layout(path: Path, start: bytes) -> Layout:
    """Return from the first lines whether there is a header, and how many numbers a line has."""
    lines = [line for line in start.split(b"\n", _SAMPLE + 1)[: _SAMPLE + 1] if line.strip()]
    if not lines:
        raise FirthianError(f"{path} is empty", hint=_USUAL)
    header = _HEADER.fullmatch(lines[0])
    rest = [numbers_in(line) for line in (lines[1:] if header else lines)]
    columns = Counter(rest).most_common(1)[0][0] if rest else 0
    if columns > _MAX_NUMBERS:
        raise FirthianError(f"{path} has lines of more than {_MAX_NUMBERS:,} numbers", hint=_USUAL)
    if rest and columns == 0:
        if header is None:
            hint = f"train vectors on it: firth train {path} -o VECTORS"
            raise FirthianError(f"{path} looks like text, not vectors: no numbers after the word in line 1", hint)
        raise FirthianError(f"{path}, line 2: there are no numbers after the word", hint=_USUAL)
    if header is None:
        return Layout(columns, None)
    promised, width = int(header[1]), int(header[2])
    if not rest:
        if promised == 0 and 0 < width <= _MAX_NUMBERS:
            return Layout(width, 0)
        raise FirthianError(f"{path} ends after its header", hint="download it again")
    if width == columns:
        return Layout(columns, promised)
    if columns == 1:
        # The other lines have one number: the first line is a word that is a number, with its one number.
        return Layout(1, None)
    message = f"{path}, line 1: the header says {width} numbers a line, but most lines have {columns}"
    raise FirthianError(message, hint="fix or remove the header")


def numbers_in(line: bytes) -> int:
    """Return how many numbers end a line; the first field is a word even if it looks like a number."""
    fields = line.rstrip(b" \t\r").replace(b"\t", b" ").rsplit(b" ", _MAX_NUMBERS + 1)
    fields = [fields[0], *filter(None, fields[1:])]
    number = 0
    while number < len(fields) - 1 and _NUMBER.fullmatch(fields[-1 - number]):
        number += 1
    return number


def _parse(text: bytes, columns: int) -> _Piece:
    """Read one piece; a line has at least two bytes per number, which bounds the memory in advance."""
    from firthian.kernels import floats as kernel

    data = np.frombuffer(text, dtype=np.uint8)
    room = min(text.count(b"\n") + 1, len(text) // (2 * columns) + 1)
    values = np.empty((room, columns), dtype=np.float32)
    words = np.empty(len(text) + 1, dtype=np.uint8)
    starts, lines = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    progress = np.zeros(5, dtype=np.int64)
    status = kernel.parse_lines(data, values, words, starts, lines, progress)
    rows, seen = int(progress[kernel.ROWS]), int(progress[kernel.LINES])
    values = values[:rows]
    if progress[kernel.HARD_NUMBERS] and status == kernel.READ:
        status, rows = _parse_hard_rows(text, values, starts)
        seen = seen if status == kernel.READ else int(lines[rows])
    problem = {
        kernel.READ: "",
        kernel.MALFORMED: f"one of its last {columns} fields is not a number",
        kernel.NOT_FINITE: "it has a number that is not finite",
        kernel.SHORT: f"it has fewer than a word and {columns} numbers",
    }[status]
    if problem:
        return _Piece(values, [], lines[:0], seen, problem=problem)
    joined = words[: progress[kernel.WORD_BYTES]].tobytes()
    undecodable = 0
    try:
        named = joined.decode()
    except UnicodeDecodeError:
        named = joined.decode("utf-8", "replace")
        undecodable = sum("\ufffd" in word for word in named.split("\n"))
    return _Piece(values, named.split("\n")[:-1], lines[:rows], seen, int(progress[kernel.BLANK]), undecodable)


def _parse_hard_rows(text: bytes, values: Array, starts: Array) -> tuple[int, int]:
    """Parse the rows with a number that double arithmetic could not round; return a status and the row it is about."""
    from firthian.kernels import floats as kernel

    with np.errstate(over="ignore"):
        for row in np.flatnonzero(np.isnan(values).any(axis=1)):
            begin = int(starts[row])
            end = text.find(b"\n", begin)
            line = text[begin : end if end >= 0 else len(text)].replace(b"\t", b" ").rstrip(b" \r")
            fields = [field for field in line.split(b" ") if field][-values.shape[1] :]
            values[row] = np.array([float(field) for field in fields]).astype(np.float32)
            if not np.isfinite(values[row]).all():
                return kernel.NOT_FINITE, int(row)
    return kernel.READ, len(values)


def write_text(vectors: Vectors, path: Path, force: bool, *, header: bool, end: str = "\n") -> None:
    """Write a line per word; nine digits preserve single-precision numbers."""
    line = "%s" + " %.9g" * vectors.vector_size + end
    step = 4096
    with new_file(path, force) as file:
        if header:
            file.write(f"{len(vectors)} {vectors.vector_size}\n".encode())
        for first in range(0, len(vectors), step):
            rows = vectors.matrix[first : first + step].tolist()
            words = vectors.vocabulary.words[first : first + step]
            text = "".join([line % (word, *row) for word, row in zip(words, rows, strict=True)])
            file.write(text.encode())


def write_glove(vectors: Vectors, path: Path, force: bool) -> None:
    """Write GloVe text; without a header, the first line must not look like one."""
    if not len(vectors):
        raise FirthianError("cannot write GloVe text without words", hint="use word2vec")
    first = vectors.vocabulary.words[0]
    if vectors.vector_size == 1 and first.isdigit():
        raise FirthianError("the first line of the GloVe text would look like a header", hint="use word2vec")
    if first.startswith("\ufeff"):
        raise FirthianError("the GloVe text would begin with a byte order mark", hint="use word2vec")
    write_text(vectors, path, force, header=False)


def read_binary(path: Path, duplicates: str) -> Vectors:
    """Read piece by piece: memory grows with the content, not with what the header claims."""
    from firthian.kernels import floats as kernel

    blocks: list[Array | None] = []
    words: list[str] = []
    with open_bytes(str(path)) as stream:
        header = _BINARY_HEADER.fullmatch(stream.readline(64))
        if header is None:
            raise damaged(path, "it does not begin with the number of words and of dimensions")
        number, columns = int(header[1]), int(header[2])
        if columns == 0:
            raise damaged(path, "its header says 0 dimensions")
        carry = b""
        while len(words) < number:
            data = stream.read(_BINARY_PIECE)
            carry += data
            room = min(number - len(words), len(carry) // (4 * columns + 1))
            values = np.empty((room, 4 * columns), dtype=np.uint8)
            names = np.empty(len(carry), dtype=np.uint8)
            ends = np.zeros(room + 1, dtype=np.int64)
            rows, used = kernel.parse_entries(
                np.frombuffer(carry, dtype=np.uint8), room, columns, values, names, ends[1:]
            )
            block = values[:rows].view("<f4").astype(np.float32)
            check_finite(path, block, lambda row: f"word {len(words) + row + 1}", _BROKEN)
            joined = names.tobytes()
            words.extend(joined[ends[row] : ends[row + 1]].decode("utf-8", "replace") for row in range(rows))
            blocks.append(block)
            carry = carry[used:]
            if not data and len(words) < number:
                raise damaged(path, f"it ends in word {len(words) + 1:,} of {number:,}")
            if rows == 0 and len(carry) > 4 * columns + 1 + _MAX_WORD:
                raise damaged(path, f"word {len(words) + 1:,} has more than {_MAX_WORD:,} bytes")
        if (carry + stream.read(1)).strip(b"\n"):
            raise damaged(path, f"it continues after its {number:,} words")
    matrix = join_blocks(blocks, len(words), columns)
    broken = next((row for row, word in enumerate(words) if "\n" in word), None)
    if broken is not None:
        raise damaged(path, f"word {broken + 1:,} contains a line break")
    repaired = {"words_not_utf8": sum("\ufffd" in word for word in words)}
    return finish(
        path, "word2vec-bin", matrix, words, duplicates, place=lambda row: f"word {row + 1}", repaired=repaired
    )


def write_binary(vectors: Vectors, path: Path, force: bool) -> None:
    """Write as word2vec does, with a line feed after each entry."""
    with new_file(path, force) as file:
        file.write(f"{len(vectors)} {vectors.vector_size}\n".encode())
        for word, row in zip(vectors.vocabulary.words, vectors.matrix, strict=True):
            file.write(word.encode() + b" " + row.astype("<f4").tobytes() + b"\n")


def detect_kind(path: Path, head: bytes) -> str | None:
    """Return the name of the format that the first bytes of a file have, or None."""
    header = _HEADER_LINE.match(head)
    if header is None:
        return "glove" if path.is_file() and not _CONTROL.search(head) else None
    line, end, _ = head[header.end() :].partition(b"\n")
    complete = bool(end) or len(head) < HEAD_BYTES
    if _CONTROL.search(head, header.end()) or (complete and line.strip() and not numbers_in(line)):
        return "word2vec-bin"
    plain = path.name.lower().removesuffix(".gz").removesuffix(".xz").removesuffix(".zst")
    return "fasttext-vec" if plain.endswith(".vec") else "word2vec"


def _row(name: str, summary: str, suffixes: tuple[str, ...], write: Callable[..., None]) -> Format:
    return Format(
        name, summary, suffixes, lambda path, duplicates: read_text(path, name, duplicates), write,
        lambda path, head: detect_kind(path, head) == name, spaces=False, counts=False, forbidden=CONTROL,
    )  # fmt: skip


WORD2VEC = _row("word2vec", "word2vec text, with a header", (".txt", ".w2v"), partial(write_text, header=True))
WORD2VEC_BINARY = Format(
    "word2vec-bin", "word2vec binary", (".bin",), read_binary, write_binary,
    lambda path, head: detect_kind(path, head) == "word2vec-bin", spaces=False, counts=False,
)  # fmt: skip
GLOVE = _row("glove", "GloVe text, without a header", (".glove",), write_glove)
# fastText ends each line with a space. Its .bin is a model, which is not read.
FASTTEXT = _row("fasttext-vec", "fastText .vec text", (".vec",), partial(write_text, header=True, end=" \n"))
