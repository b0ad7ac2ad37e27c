"""Approximate neighbors through usearch (the extra ``ann``), for questions by the million.

The graph is built by one thread, so that the same vectors give the same answers.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError, require
from firthian.vectors.search import BLOCK_ROWS
from firthian.vectors.vectors import Neighbors, Vectors


class ApproximateIndex:
    """A graph over the words of dense vectors; answers are quick, and now and then miss a neighbor.

    ``connectivity``, ``expansion_add`` and ``expansion_search`` are usearch's: more of each finds more, more slowly.
    """

    def __init__(
        self, vectors: Vectors, connectivity: int = 16, expansion_add: int = 128, expansion_search: int = 128
    ) -> None:
        usearch = require("usearch.index", "ann")
        if not isinstance(vectors.matrix, np.ndarray):
            raise FirthianError("an approximate index needs dense vectors", hint="use the exact search")
        self.vectors = vectors
        self._index = usearch.Index(
            ndim=vectors.vector_size,
            metric="cos",
            dtype="f32",
            connectivity=connectivity,
            expansion_add=expansion_add,
            expansion_search=expansion_search,
        )
        for first in range(0, len(vectors), BLOCK_ROWS):
            rows = np.ascontiguousarray(vectors.matrix[first : first + BLOCK_ROWS])
            self._index.add(np.arange(first, first + len(rows), dtype=np.uint64), rows, threads=1)

    def nearest_to(self, vector: Array, topn: int = 10) -> Neighbors:
        """Return words near to a vector."""
        found = self._index.search(np.asarray(vector, dtype=np.float32), min(topn, len(self.vectors)), threads=1)
        words = self.vectors.vocabulary.words
        pairs = zip(found.keys.tolist(), found.distances.tolist(), strict=True)
        return [(words[number], 1 - distance) for number, distance in pairs]

    def most_similar(self, word: str, topn: int = 10) -> Neighbors:
        """Return words near to a word, without itself."""
        near = self.nearest_to(self.vectors[word], topn + 1)
        return [(other, score) for other, score in near if other != word][:topn]

    def most_similar_many(self, words: Iterable[str], topn: int = 10) -> list[Neighbors]:
        """Return words near to each word."""
        return [self.most_similar(word, topn) for word in words]
