"""Files of texts, one document at a time and as often as needed; files of their vectors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from firthian.arrays import Array
from firthian.disk.atomic import check_file, new_file
from firthian.errors import FirthianError, require
from firthian.text.readers import Corpus


class Texts:
    """The documents of a corpus as strings, which can be iterated again; ``damaged`` counts those that are not UTF-8.

    >>> from firthian.text.readers import Documents
    >>> list(Texts(Documents(["tea for two", ""])))
    ['tea for two', '']
    """

    def __init__(self, corpus: Corpus) -> None:
        self.corpus, self.damaged = corpus, 0

    def __iter__(self) -> Iterator[str]:
        self.damaged = 0
        waiting: list[bytes] = []
        for piece in self.corpus.pieces():
            *ended, rest = piece.text.split(b"\n")
            for line in ended:
                yield self._decode(b"".join((*waiting, line)))
                waiting.clear()
            waiting.append(rest)
        if any(waiting):
            yield self._decode(b"".join(waiting))

    def _decode(self, line: bytes) -> str:
        try:
            return line.decode().removesuffix("\r")
        except UnicodeDecodeError:
            self.damaged += 1
            return line.decode("utf-8", "replace").removesuffix("\r")


def _write_parquet(file: IO[bytes], matrix: Array) -> None:
    arrow, parquet = require("pyarrow", "export"), require("pyarrow.parquet", "export")
    vectors = arrow.FixedSizeListArray.from_arrays(arrow.array(matrix.ravel()), matrix.shape[1])
    parquet.write_table(arrow.table({"vector": vectors}), file)


#: How a matrix is written, by the suffix of the file.
WRITERS: dict[str, Callable[[IO[bytes], Array], None]] = {
    ".npy": np.save,
    ".npz": lambda file, matrix: np.savez(file, matrix=matrix),
    ".parquet": _write_parquet,
}


def check_matrix(target: str | os.PathLike[str], force: bool = False) -> None:
    """Raise before any work if a matrix cannot be written to a file."""
    if Path(target).suffix.lower() not in WRITERS:
        raise FirthianError(f"{os.fspath(target)} has no known suffix", hint=f"choose from: {', '.join(WRITERS)}")
    if Path(target).suffix.lower() == ".parquet":
        require("pyarrow", "export")
    check_file(target, force)


def write_matrix(target: str | os.PathLike[str], matrix: Array, force: bool = False) -> None:
    """Write a matrix, one row per text, in the format of the file's suffix."""
    check_matrix(target, force)
    with new_file(target, force) as file:
        WRITERS[Path(target).suffix.lower()](file, matrix)
