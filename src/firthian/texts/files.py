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
from firthian.text.pieces import NOTHING
from firthian.text.readers import TOKEN_SEPARATOR, Corpus


class Texts:
    """The documents of a corpus as strings, which can be iterated again; those longer than ``longest`` bytes are cut.

    ``damaged`` counts documents that are not UTF-8, ``skipped`` the rows of tables that are no documents.

    >>> from firthian.text.readers import Documents
    >>> list(Texts(Documents(["tea for two", ""])))
    ['tea for two', '']
    """

    def __init__(self, corpus: Corpus, longest: int | None = None) -> None:
        self.corpus, self.longest = corpus, longest
        self.damaged, self.skipped = 0, NOTHING

    def __iter__(self) -> Iterator[str]:
        self.damaged, self.skipped = 0, NOTHING
        waiting: list[bytes] = []
        size = 0
        for piece in self.corpus.pieces():
            self.skipped = self.skipped.plus(*piece.skipped)
            if piece.line == 0 and any(piece.skipped):
                # A table without a single document.
                continue
            *ended, rest = piece.text.split(b"\n")
            for line in ended:
                yield self._decode(b"".join((*waiting, line)))
                waiting.clear()
                size = 0
            waiting.append(rest)
            size += len(rest)
            while self.longest is not None and size > self.longest:
                whole = b"".join(waiting)
                end = whole.rfind(b" ", self.longest // 2, self.longest) + 1 or self.longest
                yield self._decode(whole[:end])
                waiting, size = [whole[end:]], size - end
        if any(waiting):
            yield self._decode(b"".join(waiting))

    def _decode(self, line: bytes) -> str:
        try:
            text = line.decode()
        except UnicodeDecodeError:
            self.damaged += 1
            text = line.decode("utf-8", "replace")
        return text.removesuffix("\r").replace(TOKEN_SEPARATOR, " ")

    def facts(self) -> dict[str, int]:
        """Return how many texts are not UTF-8, and how many rows of tables are no documents."""
        return {
            "damaged": self.damaged,
            "rows_without_text": self.skipped.missing,
            "rows_excluded": self.skipped.excluded,
        }


def told(facts: dict[str, int]) -> list[str]:
    """Return lines for people about what ``Texts.facts`` counts.

    >>> told({"damaged": 0, "rows_without_text": 2, "rows_excluded": 0})
    ['skipped 2 rows without text; rows and numbers of results do not count them']
    """
    lines = {
        "damaged": "replaced bytes that are not UTF-8 in {:,} texts",
        "rows_without_text": "skipped {:,} rows without text; rows and numbers of results do not count them",
        "rows_excluded": "skipped {:,} rows excluded by --where; rows and numbers of results do not count them",
    }
    return [line.format(facts[name]) for name, line in lines.items() if facts.get(name)]


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
