"""The initial Phi: pretrained vectors, random vectors, or none (one-hot)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from firthian.adapt.documents import is_ngram
from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.vectors.rows import BLOCK_ROWS, dense_rows
from firthian.vectors.vectors import Vectors

ONE_HOT = "onehot"


class InitialPhi(Protocol):
    """Supplies the initial vector of each word."""

    dimension: int

    def rows(self, words: Sequence[str], first: int) -> tuple[Array, Array]:
        """Return the vectors of words (numbered from ``first``), zero if there is none, and which words have one."""
        ...

    def describe(self) -> str:
        """Describe it as the user would pass it, or by its size."""
        ...


class RandomPhi:
    """Uniform in (-1, 1) in each dimension, the paper's baseline."""

    def __init__(self, dimension: int, seed: int) -> None:
        self.dimension = dimension
        self.seed = seed

    def rows(self, words: Sequence[str], first: int) -> tuple[Array, Array]:
        """Draw the vectors of a block of words, which depends only on the seed and its first number."""
        generator = np.random.default_rng([self.seed, first])
        return generator.uniform(-1, 1, (len(words), self.dimension)).astype(np.float32), np.ones(
            len(words), dtype=bool
        )

    def describe(self) -> str:
        """Return the name users pass."""
        return f"random:{self.dimension}"


class OneHotPhi:
    """No vectors: the words are features."""

    dimension = 0

    def rows(self, words: Sequence[str], first: int) -> tuple[Array, Array]:
        """Return vectors of zero dimensions."""
        return np.empty((len(words), 0), dtype=np.float32), np.ones(len(words), dtype=bool)

    def describe(self) -> str:
        """Return the name users pass."""
        return ONE_HOT


class PretrainedPhi:
    """Pretrained vectors; unknown words are composed of n-grams if the vectors have subwords, else they start as zeros."""

    def __init__(self, vectors: Vectors) -> None:
        self.vectors = vectors
        self.dimension = int(vectors.matrix.shape[1])

    def rows(self, words: Sequence[str], first: int) -> tuple[Array, Array]:
        """Look up the words."""
        index = self.vectors.vocabulary.index
        ids = np.fromiter((index.get(word, -1) for word in words), dtype=np.int64, count=len(words))
        rows = np.zeros((len(words), self.dimension), dtype=np.float32)
        known = np.flatnonzero(ids >= 0)
        # In blocks, since the lookup copies the rows once more.
        for start in range(0, known.size, BLOCK_ROWS):
            block = known[start : start + BLOCK_ROWS]
            rows[block] = dense_rows(self.vectors.matrix, ids[block])
        has_vector = ids >= 0
        if self.vectors.subwords is not None:
            unknown = [n for n in np.flatnonzero(~has_vector).tolist() if not is_ngram(words[n])]
            rows[unknown] = self.vectors.subwords.compose([words[n] for n in unknown])
            has_vector[unknown] = rows[unknown].any(axis=1)
        return rows, has_vector

    def count_composed(self, words: Sequence[str], has_vector: Array) -> int:
        """Return how many of the words that have a vector are not in the vocabulary."""
        return sum(word not in self.vectors.vocabulary for word, known in zip(words, has_vector, strict=True) if known)

    def describe(self) -> str:
        """Return the size."""
        return f"{len(self.vectors.vocabulary):,} words × {self.dimension}"


def initial_phi(vectors: Any, seed: int) -> InitialPhi:
    """Return the initial Phi that a user asked for: ``Vectors``, a saved folder or file, ``random:DIM`` or ``onehot``.

    >>> initial_phi("random:50", 1).dimension
    50
    >>> initial_phi("rondom", 1)
    Traceback (most recent call last):
    ...
    firthian.errors.FirthianError: 'rondom' is neither vectors nor random:DIM nor onehot: pass Vectors, a path, ...
    """
    if isinstance(vectors, Vectors):
        return PretrainedPhi(vectors)
    if isinstance(vectors, str) and vectors == ONE_HOT:
        return OneHotPhi()
    if isinstance(vectors, str) and vectors.startswith("random:"):
        dimension = vectors.removeprefix("random:")
        if not dimension.isdigit() or not 0 < int(dimension) <= 100_000:
            raise FirthianError(f"{vectors!r} has no dimension", hint="use for example random:100")
        return RandomPhi(int(dimension), seed)
    if isinstance(vectors, str | os.PathLike) and os.path.exists(vectors):
        from firthian.vectors.formats import open_vectors

        return PretrainedPhi(open_vectors(vectors))
    raise FirthianError(
        f"{vectors!r} is neither vectors nor random:DIM nor onehot", hint="pass Vectors, a path, random:100 or onehot"
    )
