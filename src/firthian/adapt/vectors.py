"""The first Phi: from word vectors, at random, or none at all (one-hot)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.vectors.search import BLOCK_ROWS, dense_rows
from firthian.vectors.vectors import Vectors

ONE_HOT = "onehot"


class FirstPhi(Protocol):
    """Gives each word its vector before the task is seen."""

    dimension: int

    def rows(self, words: Sequence[str], first: int) -> tuple[Array, Array]:
        """Return the vectors of words (numbered from ``first``), and which words are known; the others' are zero."""
        ...

    def describe(self) -> str:
        """Name it, for records."""
        ...


class RandomPhi:
    """Uniform in (-1, 1) in each dimension, as the paper's baseline."""

    def __init__(self, dimension: int, seed: int) -> None:
        self.dimension = dimension
        self.seed = seed

    def rows(self, words: Sequence[str], first: int) -> tuple[Array, Array]:
        """Draw the vectors of a block of words; a block depends on the seed and its first number alone."""
        generator = np.random.default_rng([self.seed, first])
        return generator.uniform(-1, 1, (len(words), self.dimension)).astype(np.float32), np.ones(
            len(words), dtype=bool
        )

    def describe(self) -> str:
        """Name it as the user would."""
        return f"random:{self.dimension}"


class OneHotPhi:
    """No vectors: words are features."""

    dimension = 0

    def rows(self, words: Sequence[str], first: int) -> tuple[Array, Array]:
        """Return vectors without dimensions."""
        return np.empty((len(words), 0), dtype=np.float32), np.ones(len(words), dtype=bool)

    def describe(self) -> str:
        """Name it as the user would."""
        return ONE_HOT


class GivenPhi:
    """Vectors somebody trained; words they do not hold are zero vectors, and learn."""

    def __init__(self, vectors: Vectors) -> None:
        self.vectors = vectors
        self.dimension = int(vectors.matrix.shape[1])

    def rows(self, words: Sequence[str], first: int) -> tuple[Array, Array]:
        """Look the words up."""
        index = self.vectors.vocabulary.index
        places = np.fromiter((index.get(word, -1) for word in words), dtype=np.int64, count=len(words))
        rows = np.zeros((len(words), self.dimension), dtype=np.float32)
        known = np.flatnonzero(places >= 0)
        # In blocks: the copy that looking up makes is as large as what it fills.
        for start in range(0, known.size, BLOCK_ROWS):
            some = known[start : start + BLOCK_ROWS]
            rows[some] = dense_rows(self.vectors.matrix, places[some])
        return rows, places >= 0

    def describe(self) -> str:
        """Say how large they are."""
        return f"{len(self.vectors.vocabulary):,} words × {self.dimension}"


def first_phi(vectors: Any, seed: int) -> FirstPhi:
    """Read what a user may give as vectors: ``Vectors``, a saved folder or file, ``random:DIM`` or ``onehot``.

    >>> first_phi("random:50", 1).dimension
    50
    >>> first_phi("rondom", 1)
    Traceback (most recent call last):
    ...
    firthian.errors.FirthianError: 'rondom' is neither vectors nor random:DIM nor onehot: give Vectors, a path, ...
    """
    if isinstance(vectors, Vectors):
        return GivenPhi(vectors)
    if isinstance(vectors, str) and vectors == ONE_HOT:
        return OneHotPhi()
    if isinstance(vectors, str) and vectors.startswith("random:"):
        dimension = vectors.removeprefix("random:")
        if not dimension.isdigit() or not 0 < int(dimension) <= 100_000:
            raise FirthianError(f"{vectors!r} has no dimension", hint="write it as random:100")
        return RandomPhi(int(dimension), seed)
    if isinstance(vectors, str | os.PathLike) and os.path.exists(vectors):
        from firthian.vectors.loading import open_vectors

        return GivenPhi(open_vectors(vectors))
    raise FirthianError(
        f"{vectors!r} is neither vectors nor random:DIM nor onehot", hint="give Vectors, a path, random:100 or onehot"
    )
