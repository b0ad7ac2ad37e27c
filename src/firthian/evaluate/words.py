"""Test words in vectors: their rows, and the similarity of two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.text.vocabulary import Vocabulary
from firthian.vectors import uncertainty
from firthian.vectors.vectors import Vectors


@dataclass(frozen=True)
class LookupResult:
    """Rows of test words: ``ids`` has one row per item, -1 for words the vectors cannot answer for."""

    ids: Array
    #: Words not in the vocabulary, and words with a zero vector; both sorted, without duplicates.
    missing: list[str]
    zero_length: list[str]

    @property
    def covered(self) -> Array:
        """Whether each item is covered: all its words have rows."""
        return np.asarray((self.ids >= 0).all(axis=1))


def spelling(vocabulary: Vocabulary) -> Callable[[str], str]:
    """Return a function that spells test words as a vocabulary does: in lower case if all of the vocabulary is.

    >>> spelling(Vocabulary(["tea"]))("Tea"), spelling(Vocabulary(["tea", "London"]))("Tea")
    ('tea', 'Tea')
    """
    return str.lower if vocabulary.lowercase else str


def finder(vocabulary: Vocabulary, words: int) -> Callable[[str], int]:
    """Return a function that finds a test word among the first ``words`` of a vocabulary: its row, or -1.

    >>> find = finder(Vocabulary(["tea", "milk"]), 1)
    >>> find("Tea"), find("milk")
    (0, -1)
    """
    spell = spelling(vocabulary)

    def find(word: str) -> int:
        row = vocabulary.get(spell(word))
        return row if row < words else -1

    return find


def with_composed(vectors: Vectors, words: Sequence[str]) -> Vectors:
    """Return vectors with the composed ones of unknown test words after them; a word without known n-grams stays unknown."""
    if vectors.subwords is None:
        raise FirthianError("these vectors have no subwords", hint="train with `subwords=auto`, or run: firth subwords")
    spell = spelling(vectors.vocabulary)
    unknown = sorted({spell(word) for word in words} - vectors.vocabulary.index.keys())
    rows = vectors.subwords.compose(unknown)
    kept = np.flatnonzero(rows.any(axis=1))
    vocabulary = Vocabulary([*vectors.vocabulary.words, *(unknown[k] for k in kept)])
    return Vectors(np.concatenate([vectors.matrix, rows[kept]]), vocabulary)


class Lookup:
    """Finds test words in vectors."""

    def __init__(self, vectors: Vectors, restrict_vocab: int | None = None) -> None:
        self.words = min(len(vectors), restrict_vocab or len(vectors))
        self.find_row = finder(vectors.vocabulary, self.words)
        self.lengths = row_lengths(vectors.matrix)

    def find(self, items: Sequence[tuple[str, ...]], needs_length: bool = True) -> LookupResult:
        """Return the rows of each item's words; with ``needs_length``, zero vectors count as unknown."""
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

        rows = {word: row(word) for word in {word: None for item in items for word in item}}
        ids = np.array([[rows[word] for word in item] for item in items], dtype=np.int64)
        return LookupResult(ids.reshape(len(items), -1), sorted(missing), sorted(empty))


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
            # reduceat does not return 0 for an empty row, so those are left out.
            starts = np.asarray(matrix.indptr[first:last], dtype=np.int64) - low
            full = np.flatnonzero(np.diff(np.append(starts, high - low)))
            if full.size:
                lengths[first + full] = np.sqrt(np.add.reduceat(squares, starts[full]))
    if not np.isfinite(lengths).all():
        row = int(np.flatnonzero(~np.isfinite(lengths))[0])
        raise FirthianError(f"the vector of row {row} has values that are not finite", hint="train the vectors again")
    return lengths


#: Pairs scored at once, which bounds the rows that are copied.
BLOCK_PAIRS = 512


def cosine(vectors: Vectors, left: Array, right: Array) -> Array:
    """Return the cosine of each pair of rows."""
    matrix = vectors.matrix
    squares = _rows_dot(matrix, left, left) * _rows_dot(matrix, right, right)
    result: Array = _rows_dot(matrix, left, right) / np.sqrt(squares)
    return result


def euclidean(vectors: Vectors, left: Array, right: Array) -> Array:
    """Return the negative Euclidean distance of each pair of rows, so that higher is more similar."""
    difference = vectors.matrix[left].astype(np.float64) - vectors.matrix[right].astype(np.float64)
    squares = difference**2 if isinstance(difference, np.ndarray) else difference.power(2)
    return -np.sqrt(np.asarray(squares.sum(axis=1), dtype=np.float64).ravel())


def product_kernel(vectors: Vectors, left: Array, right: Array) -> Array:
    """Return the log of the product kernel of each pair of rows of Gaussian vectors."""
    if not uncertainty.has_uncertainty(vectors):
        message = "the product kernel needs Gaussian vectors, with covariances or variances"
        raise FirthianError(message, hint="use `score=cosine`, or vectors of a Bayesian recipe")
    return uncertainty.product_kernel(vectors, left, right)


#: Similarity functions, and the lowest similarity, which unknown words get with ``oov=zero``.
SCORES: dict[str, tuple[Callable[[Vectors, Array, Array], Array], float]] = {
    "cosine": (cosine, 0.0),
    "euclidean": (euclidean, -np.inf),
    "product-kernel": (product_kernel, -np.inf),
}


def score_pairs(vectors: Vectors, ids: Array, score: str = "cosine") -> Array:
    """Score pairs of rows, block by block."""
    function = SCORES[score][0]
    result = np.empty(len(ids), dtype=np.float64)
    for first in range(0, len(ids), BLOCK_PAIRS):
        block = ids[first : first + BLOCK_PAIRS]
        result[first : first + BLOCK_PAIRS] = function(vectors, block[:, 0], block[:, 1])
    return result


def _rows_dot(matrix: Any, left: Array, right: Array) -> Array:
    first, second = matrix[left].astype(np.float64), matrix[right].astype(np.float64)
    if isinstance(first, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", first, second))
    return np.asarray(first.multiply(second).sum(axis=1), dtype=np.float64).ravel()
