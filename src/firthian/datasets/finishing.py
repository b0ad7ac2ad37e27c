"""From the files that others publish to the one form that ours are read in.

Each function takes opened files and gives the bytes of the finished one, piece by piece. Copies of a data set that
differ in spacing, line ends or comments end as the same bytes, so one checksum fits them all.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from typing import IO

from firthian.errors import FirthianError, require

Finish = Callable[[Sequence[IO[bytes]]], Iterator[bytes]]

#: Misprints in some copies of a test set.
_RESPELLED = {"goverment": "government"}

_CHUNK = 1 << 20


def unchanged(files: Sequence[IO[bytes]]) -> Iterator[bytes]:
    """Return the file as it is, unpacked.

    >>> list(unchanged([io.BytesIO(b"a text")]))
    [b'a text']
    """
    (file,) = files
    while data := file.read(_CHUNK):
        yield data


def word_pairs(files: Sequence[IO[bytes]]) -> Iterator[bytes]:
    r"""Return ``word TAB word TAB score`` lines, without comments.

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
    r"""Return four words a line, with the ``: section`` lines where there are any.

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
    """Make a function that gives the first ``size`` bytes of a file.

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
    """Read (label, text) from Orange's table of two columns: names, types and roles come first, on three lines."""
    for number, line in enumerate(file, start=1):
        fields = line.decode().rstrip("\r\n").split("\t")
        if number <= 3 or fields == [""]:
            continue
        if len(fields) != 2:
            raise FirthianError(f"line {number} of the source has {len(fields)} columns, not 2", hint="fetch it again")
        yield fields[0], fields[1]


def labeled_rows(files: Sequence[IO[bytes]]) -> Iterator[bytes]:
    r"""Join a training and a test table into ``split TAB label TAB text`` lines.

    >>> head = b"Category\tText\nd\tstring\nclass\t\n"
    >>> list(labeled_rows([io.BytesIO(head + b"a\tone\n"), io.BytesIO(head + b"b\ttwo\n")]))
    [b'train\ta\tone\n', b'test\tb\ttwo\n']
    """
    for split, file in zip(("train", "test"), files, strict=True):
        for label, text in _orange_rows(file):
            yield f"{split}\t{label}\t{text}\n".encode()


def documents(files: Sequence[IO[bytes]]) -> Iterator[bytes]:
    """Return the texts of tables, one document a line."""
    for file in files:
        for _, text in _orange_rows(file):
            yield text.encode() + b"\n"


def glove_text(files: Sequence[IO[bytes]]) -> Iterator[bytes]:
    """Write a matrix (``.npy``) and its words (``.parquet``) as GloVe's text: a word and its numbers a line."""
    import numpy as np

    parquet = require("pyarrow.parquet", "export")
    try:
        matrix = np.load(io.BytesIO(files[0].read()), allow_pickle=False)
        words = parquet.read_table(io.BytesIO(files[1].read())).column("index").to_pylist()
    except (ValueError, EOFError, KeyError) as error:
        raise FirthianError("the vectors of the source cannot be read", hint="fetch them again") from error
    if matrix.ndim != 2 or len(words) != len(matrix):
        raise FirthianError(f"{len(words):,} words for vectors of shape {matrix.shape}", hint="fetch them again")
    # GloVe publishes at most 5 or 6 significant digits: as many give back the same float32.
    row_format = "%s" + " %.6g" * matrix.shape[1] + "\n"
    for first in range(0, len(words), 4096):
        block = matrix[first : first + 4096].tolist()
        lines = (row_format % (word, *row) for word, row in zip(words[first : first + 4096], block, strict=True))
        yield "".join(lines).encode()
