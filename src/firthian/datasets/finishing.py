"""Convert published files to the one format we read.

Each function takes open files and yields the bytes of the finished file. Copies of a data set that differ in spacing,
line endings or comments become the same bytes, so one checksum fits them all.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from typing import IO

from firthian.errors import FirthianError, require

Finish = Callable[[Sequence[IO[bytes]]], Iterator[bytes]]

#: Typos in some copies of a test set.
_RESPELLED = {"goverment": "government"}

_CHUNK = 1 << 20


def unchanged(files: Sequence[IO[bytes]]) -> Iterator[bytes]:
    """Yield the file unchanged.

    >>> list(unchanged([io.BytesIO(b"a text")]))
    [b'a text']
    """
    (file,) = files
    while data := file.read(_CHUNK):
        yield data


def word_pairs(files: Sequence[IO[bytes]]) -> Iterator[bytes]:
    r"""Yield ``word TAB word TAB score`` lines, without comments.

    >>> list(word_pairs([io.BytesIO(b"# a comment\r\nautomobile  car   50.0\r\n")]))
    [b'automobile\tcar\t50.0\n']
    """
    (file,) = files
    for number, line in enumerate(file, start=1):
        fields = line.decode().split()
        if not fields or fields[0] == "#":
            continue
        if len(fields) != 3 or not _is_number(fields[2]):
            raise FirthianError(f"line {number} of the source is not: word word score", hint="fetch it again")
        yield "\t".join(_RESPELLED.get(field, field) for field in fields).encode() + b"\n"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def analogies(files: Sequence[IO[bytes]]) -> Iterator[bytes]:
    r"""Yield lines of four words, and any ``: section`` lines.

    >>> list(analogies([io.BytesIO(b": capitals\r\nathens\tgreece\toslo\tnorway\r\n")]))
    [b': capitals\n', b'athens greece oslo norway\n']
    """
    (file,) = files
    for number, line in enumerate(file, start=1):
        fields = line.decode().split()
        if fields and fields[0] != ":" and len(fields) != 4:
            raise FirthianError(f"line {number} of the source is not four words", hint="fetch it again")
        if fields:
            yield " ".join(fields).encode() + b"\n"


def first_bytes(size: int) -> Finish:
    """Return a function that yields the first ``size`` bytes of a file.

    >>> list(first_bytes(3)([io.BytesIO(b"a text")]))
    [b'a t']
    """

    def first(files: Sequence[IO[bytes]]) -> Iterator[bytes]:
        (file,) = files
        left = size
        while left and (data := file.read(min(_CHUNK, left))):
            left -= len(data)
            yield data

    return first


def _orange_rows(file: IO[bytes]) -> Iterator[tuple[str, str]]:
    """Yield (label, text) from an Orange table of two columns, after three header lines (names, types, roles)."""
    for number, line in enumerate(file, start=1):
        fields = line.decode().rstrip("\r\n").split("\t")
        if number <= 3 or fields == [""]:
            continue
        if len(fields) != 2:
            raise FirthianError(f"line {number} of the source has {len(fields)} columns, not 2", hint="fetch it again")
        yield fields[0], fields[1]


def labeled_rows(files: Sequence[IO[bytes]]) -> Iterator[bytes]:
    r"""Yield ``split TAB label TAB text`` lines of a training and a test table.

    >>> head = b"Category\tText\nd\tstring\nclass\t\n"
    >>> list(labeled_rows([io.BytesIO(head + b"a\tone\n"), io.BytesIO(head + b"b\ttwo\n")]))
    [b'train\ta\tone\n', b'test\tb\ttwo\n']
    """
    for split, file in zip(("train", "test"), files, strict=True):
        for label, text in _orange_rows(file):
            yield f"{split}\t{label}\t{text}\n".encode()


def documents(files: Sequence[IO[bytes]]) -> Iterator[bytes]:
    """Yield the texts of tables, one document per line."""
    for file in files:
        for _, text in _orange_rows(file):
            yield text.encode() + b"\n"


def glove_text(files: Sequence[IO[bytes]]) -> Iterator[bytes]:
    """Yield a matrix (``.npy``) and its words (``.parquet``) in GloVe's text format: one word and its numbers per line."""
    import numpy as np

    parquet = require("pyarrow.parquet", "export")
    try:
        matrix = np.load(io.BytesIO(files[0].read()), allow_pickle=False)
        words = parquet.read_table(io.BytesIO(files[1].read())).column("index").to_pylist()
    except (ValueError, EOFError, KeyError) as error:
        raise FirthianError("the vectors of the source cannot be read", hint="fetch them again") from error
    if matrix.ndim != 2 or len(words) != len(matrix):
        raise FirthianError(f"{len(words):,} words for vectors of shape {matrix.shape}", hint="fetch them again")
    # GloVe's files have at most 6 significant digits, which restore the same float32.
    row_format = "%s" + " %.6g" * matrix.shape[1] + "\n"
    for first in range(0, len(words), 4096):
        block = matrix[first : first + 4096].tolist()
        lines = (row_format % (word, *row) for word, row in zip(words[first : first + 4096], block, strict=True))
        yield "".join(lines).encode()
