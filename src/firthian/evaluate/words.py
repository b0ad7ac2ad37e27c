"""Test words -> rows of the vectors: case, unknown words, words without a direction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.vectors import Vectors


@dataclass(frozen=True)
class Found:
    """Rows of test words: ``ids`` has one row an item, -1 for what the vectors cannot answer."""

    ids: Array
    #: Words that are not in the vocabulary, and words whose vector has length zero, each in order and once.
    missing: list[str]
    zero_length: list[str]

    @property
    def covered(self) -> Array:
        """Which items the vectors can answer."""
        return np.asarray((self.ids >= 0).all(axis=1))


def spelling(vocabulary: Vocabulary) -> Callable[[str], str]:
    """Return what spells a test word as a vocabulary does: in lower case when all of the vocabulary is.

    >>> spelling(Vocabulary(["tea"]))("Tea"), spelling(Vocabulary(["tea", "London"]))("Tea")
    ('tea', 'Tea')
    """
    return str.lower if vocabulary.lowercase else str


def finder(vocabulary: Vocabulary, words: int) -> Callable[[str], int]:
    """Return what finds a test word, in the vocabulary's ``spelling``, among its first ``words``: its row, or -1.

    >>> find = finder(Vocabulary(["tea", "milk"]), 1)
    >>> find("Tea"), find("milk")
    (0, -1)
    """
    spell = spelling(vocabulary)

    def find(word: str) -> int:
        row = vocabulary.get(spell(word))
        return row if row < words else -1

    return find


class Lookup:
    """Finds test words in vectors."""

    def __init__(self, vectors: Vectors, restrict_vocab: int | None = None) -> None:
        self.words = min(len(vectors), restrict_vocab or len(vectors))
        self.find_row = finder(vectors.vocabulary, self.words)
        self.lengths = row_lengths(vectors.matrix)

    def find(self, items: Sequence[tuple[str, ...]], needs_length: bool = True) -> Found:
        """Return the rows of each item's words; a word without a direction counts as unknown where that matters."""
        missing: set[str] = set()
        empty: set[str] = set()

        def row(word: str) -> int:
            number = self.find_row(word)
            if number < 0:
                missing.add(word)
                return -1
            if needs_length and self.lengths[number] == 0:
                empty.add(word)
                return -1
            return number

        rows = {word: row(word) for word in _distinct(items)}
        ids = np.array([[rows[word] for word in item] for item in items], dtype=np.int64)
        return Found(ids.reshape(len(items), -1), sorted(missing), sorted(empty))


def _distinct(items: Iterable[tuple[str, ...]]) -> dict[str, None]:
    return {word: None for item in items for word in item}


def row_lengths(matrix: Any, block: int = 4096) -> Array:
    """Return the Euclidean length of each row, dense or sparse, without a copy of the matrix."""
    rows = matrix.shape[0]
    lengths = np.zeros(rows, dtype=np.float64)
    for first in range(0, rows, block):
        last = min(first + block, rows)
        if isinstance(matrix, np.ndarray):
            piece = matrix[first:last].astype(np.float64)
            lengths[first:last] = np.sqrt(np.einsum("ij,ij->i", piece, piece))
        else:
            low, high = int(matrix.indptr[first]), int(matrix.indptr[last])
            squares = np.asarray(matrix.data[low:high], dtype=np.float64) ** 2
            # Sums of consecutive runs; reduceat gives a row's first entry for an empty row, so those are left out.
            starts = np.asarray(matrix.indptr[first:last], dtype=np.int64) - low
            full = np.flatnonzero(np.diff(np.append(starts, high - low)))
            if full.size:
                lengths[first + full] = np.sqrt(np.add.reduceat(squares, starts[full]))
    if not np.isfinite(lengths).all():
        row = int(np.flatnonzero(~np.isfinite(lengths))[0])
        raise FirthianError(f"the vector of row {row} holds values that are not finite", hint="train the vectors again")
    return lengths
