"""Test words -> rows of the vectors: case, unknown words, words without a direction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firthian.errors import FirthianError
from firthian.vectors.vectors import Vectors

Array = np.ndarray[Any, np.dtype[Any]]


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


class Lookup:
    """Finds test words in vectors; it lower-cases them when the vocabulary is lower-cased."""

    def __init__(self, vectors: Vectors, restrict_vocab: int | None = None) -> None:
        if restrict_vocab is not None and restrict_vocab < 1:
            raise FirthianError(
                f"restrict_vocab must be at least 1, got {restrict_vocab}", hint="leave it out to use every word"
            )
        self.vectors = vectors
        self.words = min(len(vectors), restrict_vocab or len(vectors))
        self.lowercase = vectors.vocabulary.lowercase
        self.lengths = row_lengths(vectors.matrix)

    def find(self, items: Sequence[tuple[str, ...]], needs_length: bool = True) -> Found:
        """Give the rows of each item's words; a word without a direction counts as unknown where that matters."""
        vocabulary = self.vectors.vocabulary
        missing: set[str] = set()
        empty: set[str] = set()

        def row(word: str) -> int:
            number = vocabulary.get(word.lower() if self.lowercase else word)
            if not 0 <= number < self.words:
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
    """Give the Euclidean length of each row, dense or sparse, without a copy of the matrix."""
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
