"""Nearest neighbors by cosine: exact, over rows in blocks, or approximate, by usearch.

The scores of a block are one BLAS product, of which only rows better than the best so far are kept. Memory holds one block of
scores per thread, whatever the vocabulary, and the result does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError, require
from firthian.runtime.executor import Threads, check_workers
from firthian.runtime.run import one_blas_thread
from firthian.vectors.codes import Codes
from firthian.vectors.rows import dense_rows, row_block, row_norms, row_slices

if TYPE_CHECKING:
    from firthian.vectors.queries import Neighbors
    from firthian.vectors.vectors import Vectors

#: Queries that share a block of scores; with the rows of a block it fixes the order of every sum.
BLOCK_QUERIES = 256

#: A single query takes little time per row, so its blocks are longer.
ONE_QUERY_ROWS = 16_384

#: Rows from which a single query uses a compiled kernel; below, loading the kernel takes longer than the search.
KERNEL_ROWS = 50_000

#: Queries are dense, so fewer of them go together for sparse vectors with many columns.
_QUERY_BYTES = 64 * 2**20

#: The ε of 3CosMul (Levy and Goldberg 2014, eq. 5).
EPSILON = 0.001

#: Rows that are searched for a negative value at a time.
SIGN_BLOCK = 65_536

#: Rows over whose maximum the best scores are found.
_STRETCH = 1024

#: Turns cosines of several parts of a query, shape (parts, queries, rows), into one score.
Combine = Callable[[Array], Array]


class Search:
    """Finds the rows of a matrix with the largest cosine to a query."""

    def __init__(self, matrix: Any, words: Sequence[str]) -> None:
        self.matrix = matrix
        self.norms = row_norms(matrix, words)
        #: A row of zeros has no direction: its cosine with anything is 0.
        self.inverse = np.divide(1, self.norms, out=np.zeros_like(self.norms), where=self.norms > 0)

    def unit_rows(self, ids: Sequence[int] | Array) -> Array:
        """Return the chosen rows, dense and of length 1; id -1 stands for a row of zeros."""
        numbers = np.asarray(ids, dtype=np.int64)
        rows = dense_rows(self.matrix, np.maximum(numbers, 0)) * self.inverse[np.maximum(numbers, 0), None]
        rows[numbers < 0] = 0
        return rows

    def batches(self, queries: int, parts: int = 1) -> Iterator[slice]:
        """Return the batches of queries to make dense and search for together."""
        step = max(1, min(BLOCK_QUERIES, _QUERY_BYTES // max(1, 4 * self.matrix.shape[1] * parts)))
        return (slice(first, first + step) for first in range(0, queries, step))

    def nearest(
        self,
        queries: Array,
        topn: int,
        excluded: Sequence[Sequence[int]] | None = None,
        *,
        limit: int | None = None,
        combine: Combine | None = None,
    ) -> list[list[tuple[int, float]]]:
        """Return the ``topn`` best rows of each query as (row, score), best first, ties by row.

        ``queries`` are rows of length 1, or have the shape (parts, queries, columns) if ``combine`` computes one score from
        several cosines. ``excluded`` has the rows to leave out, for each query; ``limit`` searches only the first rows.
        A query of zeros has no neighbors. With ``combine`` a row of zeros is never a result: its cosines of 0 mean nothing,
        but could win.
        """
        parts = queries[None] if queries.ndim == 2 else queries
        rows = len(self.norms) if limit is None else min(limit, len(self.norms))
        topn = min(topn, rows)
        number = parts.shape[1]
        if topn < 1:
            return [[] for _ in range(number)]
        results: list[list[tuple[int, float]]] = []
        for batch in self.batches(number, len(parts)):
            some = np.ascontiguousarray(parts[:, batch])
            best, best_ids = self._best(some, topn, excluded[batch] if excluded is not None else (), rows, combine)
            nonzero = np.atleast_1d(some.any(axis=(0, 2)))
            for scores, ids, searched in zip(best, best_ids, nonzero, strict=True):
                kept = int(np.count_nonzero(scores > -np.inf)) if searched else 0
                results.append(list(zip(ids[:kept].tolist(), scores[:kept].tolist(), strict=True)))
        return results

    def cosines(self, queries: Array, limit: int | None = None) -> Array:
        """Return the cosines of queries of length 1 with every row, or with the first ``limit`` rows."""
        rows = len(self.norms) if limit is None else min(limit, len(self.norms))
        with one_blas_thread():
            return np.concatenate([self._cosines(queries, block) for block in row_slices(rows)], axis=1)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        """Threads that stay alive between queries: starting them would take as long as a search."""
        return ThreadPoolExecutor(check_workers(None), thread_name_prefix="firthian-search")

    def _scores_of_one(self, query: Array, rows: int) -> Array:
        """Return the cosines of one query with every row, computed in fixed blocks so that sums keep their order."""
        scores = np.empty(rows, dtype=np.float32)
        scorer = self.matrix.scorer(query) if isinstance(self.matrix, Codes) else None
        compiled = scorer is None and len(self.norms) >= KERNEL_ROWS and self.matrix.flags.c_contiguous
        if compiled:
            from firthian.kernels.analogies import scaled_products

        def fill(first: int) -> None:
            here = slice(first, min(first + ONE_QUERY_ROWS, rows))
            if compiled:
                scaled_products(self.matrix[here], query, self.inverse[here], scores[here])
                return
            if scorer is not None:
                scorer(here, scores[here])
            else:
                np.dot(self.matrix[here], query, out=scores[here])
            scores[here] *= self.inverse[here]

        starts = range(0, rows, ONE_QUERY_ROWS)
        with one_blas_thread():
            for _ in self._pool.map(fill, starts) if len(starts) > 1 else map(fill, starts):
                pass
        return scores

    def _best(
        self, parts: Array, topn: int, excluded: Sequence[Sequence[int]], rows: int, combine: Combine | None
    ) -> tuple[Array, Array]:
        number = parts.shape[1]
        stacked = parts.reshape(-1, parts.shape[2])
        query = np.array([n for n, ids in enumerate(excluded) for _ in ids], dtype=np.int64)
        banned = np.array([i for ids in excluded for i in ids], dtype=np.int64)
        if combine is None and number == 1 and isinstance(self.matrix, np.ndarray | Codes):
            scores = self._scores_of_one(stacked[0], rows)
            scores[banned[banned < rows]] = -np.inf
            ids = top_places(scores, topn)
            return scores[ids][None], ids[None]
        best = np.full((number, topn), -np.inf, dtype=np.float32)
        best_ids = np.zeros((number, topn), dtype=np.int64)

        def search(block: slice) -> tuple[Array, Array] | None:
            scores = self._cosines(stacked, block)
            if combine is not None:
                scores = combine(scores.reshape(len(parts), number, -1))
                scores[:, self.norms[block] == 0] = -np.inf
            here = (banned >= block.start) & (banned < block.stop)
            scores[query[here], banned[here] - block.start] = -np.inf
            # The threshold comes from finished blocks, all of them earlier: an equal score here comes later and loses.
            return _candidates(scores, best[:, -1], topn, block.start)

        blocks = row_slices(rows)
        with one_blas_thread():
            for result in Threads(1 if len(blocks) == 1 else None).map(search, blocks):
                if result is None:
                    continue
                scores, ids = (np.concatenate(pair, axis=1) for pair in zip((best, best_ids), result, strict=True))
                order = np.argsort(-scores, axis=1, kind="stable")[:, :topn]
                best_ids = np.take_along_axis(ids, order, axis=1)
                best = np.take_along_axis(scores, order, axis=1)
        return best, best_ids

    def _cosines(self, queries: Array, block: slice) -> Array:
        rows = row_block(self.matrix, block)
        if not isinstance(rows, np.ndarray):
            scores = np.ascontiguousarray((rows @ queries.T).T)
        else:
            scores = queries @ rows.T
        scores *= self.inverse[block]
        return scores


def top_places(scores: Array, topn: int, above: float = -np.inf) -> Array:
    """Return the places of the best scores greater than ``above``, best first, ties by place.

    The n-th best of the maxima of stretches is at most the n-th best of all scores, and leaves few scores to compare.
    """
    stretch = max(1, min(_STRETCH, scores.size // (4 * topn)))
    maxima = np.maximum.reduceat(scores, np.arange(0, scores.size, stretch))
    least = np.partition(maxima, maxima.size - topn)[maxima.size - topn] if maxima.size > topn else above
    places = np.flatnonzero(scores >= least if least > above else scores > above)
    if places.size > topn:
        kept = scores[places]
        least = np.partition(kept, kept.size - topn)[kept.size - topn]
        greater = places[kept > least]
        places = np.concatenate([greater, places[kept == least][: topn - greater.size]])
    order: Array = places[np.argsort(-scores[places], kind="stable")]
    return order


def _candidates(scores: Array, threshold: Array, topn: int, first: int) -> tuple[Array, Array] | None:
    """Return at most ``topn`` scores of each query above its threshold, in the order of rows, padded with -inf."""
    chosen = scores > threshold[:, None]
    numbers = np.count_nonzero(chosen, axis=1)
    for query in np.flatnonzero(numbers > topn):
        row = scores[query]
        least = np.partition(row, row.size - topn)[row.size - topn]
        chosen[query] = row > least
        ties = np.flatnonzero(row == least)
        chosen[query, ties[: topn - int(np.count_nonzero(chosen[query]))]] = True
        numbers[query] = topn
    width = int(numbers.max(initial=0))
    if width == 0:
        return None
    queries, rows = np.nonzero(chosen)
    place = np.arange(queries.size) - np.repeat(np.cumsum(numbers) - numbers, numbers)
    padded = np.full((len(scores), width), -np.inf, dtype=np.float32)
    ids = np.zeros((len(scores), width), dtype=np.int64)
    padded[queries, place] = scores[queries, rows]
    ids[queries, place] = rows + first
    return padded, ids


def three_cos_mul(cosines: Array, scale: float = 0.5, offset: float = 0.5) -> Array:
    """Compute cos(b)·cos(c) / (cos(a) + ε) of parts (b, c, a), cosines mapped to 0 … 1 (Levy and Goldberg 2014, eq. 5)."""
    moved = np.float32(scale) * cosines + np.float32(offset)
    return np.asarray(moved[0] * moved[1] / (moved[2] + np.float32(EPSILON)))


def cosines_to_unit(matrix: Any) -> tuple[float, float]:
    """Return the scale and offset that map all cosines of these rows to 0 … 1; (1, 0) if no value is negative."""
    values = matrix if isinstance(matrix, np.ndarray) else matrix.data
    blocks = (values[first : first + SIGN_BLOCK] for first in range(0, len(values), SIGN_BLOCK))
    return (1.0, 0.0) if all(bool((block >= 0).all()) for block in blocks) else (0.5, 0.5)


class ApproximateIndex:
    """A graph over dense vectors by usearch (extra ``ann``): fast answers for millions of queries, some neighbors missed.

    ``connectivity``, ``expansion_add`` and ``expansion_search`` are usearch's: higher values find more, more slowly. One
    thread builds the graph, so that the same vectors give the same results.
    """

    def __init__(
        self, vectors: Vectors, connectivity: int = 16, expansion_add: int = 128, expansion_search: int = 128
    ) -> None:
        usearch = require("usearch.index", "ann")
        if not isinstance(vectors.matrix, np.ndarray):
            raise FirthianError("an approximate index needs dense vectors", hint="use the exact search")
        self.vectors = vectors
        self._index = usearch.Index(
            ndim=vectors.vector_size, metric="cos", dtype="f32", connectivity=connectivity,
            expansion_add=expansion_add, expansion_search=expansion_search,
        )  # fmt: skip
        for block in row_slices(len(vectors)):
            keys = np.arange(block.start, block.stop, dtype=np.uint64)
            self._index.add(keys, np.ascontiguousarray(vectors.matrix[block]), threads=1)

    def nearest_to(self, vector: Array, topn: int = 10) -> Neighbors:
        """Return the words nearest to a vector."""
        result = self._index.search(np.asarray(vector, dtype=np.float32), min(topn, len(self.vectors)), threads=1)
        words = self.vectors.vocabulary.words
        pairs = zip(result.keys.tolist(), result.distances.tolist(), strict=True)
        from firthian.vectors.queries import neighbors

        return neighbors((words[number], 1 - distance) for number, distance in pairs)

    def most_similar(self, word: str, topn: int = 10) -> Neighbors:
        """Return the words nearest to a word, without the word itself."""
        near = self.nearest_to(self.vectors[word], topn + 1)
        near[:] = [(other, score) for other, score in near if other != word][:topn]
        return near

    def most_similar_many(self, words: Iterable[str], topn: int = 10) -> list[Neighbors]:
        """Return the words nearest to each word."""
        return [self.most_similar(word, topn) for word in words]
