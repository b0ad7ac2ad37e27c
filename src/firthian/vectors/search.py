"""Exact nearest neighbors by cosine, over rows in blocks.

A block of scores is one product with BLAS; of it only the rows that beat the best found so far are kept. So memory
holds one block of scores a thread, whatever the vocabulary, and the answer does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.runtime.executor import Threads, check_workers
from firthian.runtime.run import one_blas_thread

#: Rows of a block of scores, and how many queries share a block; they fix the order of every sum.
BLOCK_ROWS = 8192
BLOCK_QUERIES = 256

#: One query alone takes little time a row, so its blocks are longer.
ONE_QUERY_ROWS = 16_384

#: From so many rows on, one query is worth a kernel of its own; below, loading it would take longer than the answer.
KERNEL_ROWS = 50_000

#: Queries are held dense: for sparse vectors with many columns fewer of them go together.
_QUERY_BYTES = 64 * 2**20

#: The ε of 3CosMul (Levy and Goldberg 2014, eq. 5).
EPSILON = 0.001

#: How many rows are looked through at once for a negative value.
SIGN_BLOCK = 65_536

#: Turns cosines of several parts of a query, shape (parts, queries, rows), into one score.
Combine = Callable[[Array], Array]


class Search:
    """Finds the rows of a matrix that point the way a query does."""

    def __init__(self, matrix: Any, words: Sequence[str]) -> None:
        self.matrix = matrix
        self.norms = row_norms(matrix, words)
        #: A row of zeros has no direction: its cosine with anything is 0.
        self.inverse = np.divide(1, self.norms, out=np.zeros_like(self.norms), where=self.norms > 0)

    def unit_rows(self, ids: Sequence[int] | Array) -> Array:
        """Return rows, dense, scaled to length 1; number -1 stands for a row of zeros."""
        numbers = np.asarray(ids, dtype=np.int64)
        rows = dense_rows(self.matrix, np.maximum(numbers, 0)) * self.inverse[np.maximum(numbers, 0), None]
        rows[numbers < 0] = 0
        return rows

    def batches(self, queries: int, parts: int = 1) -> Iterator[slice]:
        """Return the queries that are worked on together; whoever makes them dense need not do so with all at once."""
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

        ``queries`` has one row a query, scaled to length 1, or the shape (parts, queries, columns) where ``combine``
        makes one score of several cosines. ``excluded`` are rows that must not be the answer, for each query;
        ``limit`` searches only the first rows. A query of zeros has no neighbors, and where cosines are combined, a row
        of zeros is no answer: its cosines of 0 say nothing, and may make the best score.
        """
        parts = queries[None] if queries.ndim == 2 else queries
        rows = len(self.norms) if limit is None else min(limit, len(self.norms))
        topn = min(topn, rows)
        number = parts.shape[1]
        found: list[list[tuple[int, float]]] = []
        if topn < 1:
            return [[] for _ in range(number)]
        for batch in self.batches(number, len(parts)):
            some = np.ascontiguousarray(parts[:, batch])
            without = excluded[batch] if excluded is not None else ()
            scores, ids = self._best(some, topn, without, rows, combine)
            alive = np.atleast_1d(some.any(axis=(0, 2)))
            for one, theirs, seen in zip(scores, ids, alive, strict=True):
                kept = int(np.count_nonzero(one > -np.inf)) if seen else 0
                found.append(list(zip(theirs[:kept].tolist(), one[:kept].tolist(), strict=True)))
        return found

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        """Threads that wait for the next query: starting them would take as long as answering it."""
        return ThreadPoolExecutor(check_workers(None), thread_name_prefix="firthian-search")

    def _scores_of_one(self, query: Array, rows: int) -> Array:
        """Return the cosines of one query with every row; a block of rows a task, so that sums keep one order."""
        scores = np.empty(rows, dtype=np.float32)
        if len(self.norms) >= KERNEL_ROWS and self.matrix.flags.c_contiguous:
            from firthian.kernels.cosines import scaled_products

            def fill(first: int) -> None:
                here = slice(first, min(first + ONE_QUERY_ROWS, rows))
                scaled_products(self.matrix[here], query, self.inverse[here], scores[here])

        else:

            def fill(first: int) -> None:
                here = slice(first, min(first + ONE_QUERY_ROWS, rows))
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
        if combine is None and number == 1 and isinstance(self.matrix, np.ndarray):
            scores = self._scores_of_one(stacked[0], rows)
            scores[banned[banned < rows]] = -np.inf
            ids = _top(scores, topn)
            return scores[ids][None], ids[None]
        best = np.full((number, topn), -np.inf, dtype=np.float32)
        best_ids = np.zeros((number, topn), dtype=np.int64)

        def block(ends: tuple[int, int]) -> tuple[Array, Array] | None:
            first, last = ends
            scores = self._cosines(stacked, first, last)
            if combine is not None:
                scores = combine(scores.reshape(len(parts), number, -1))
                scores[:, self.norms[first:last] == 0] = -np.inf
            here = (banned >= first) & (banned < last)
            scores[query[here], banned[here] - first] = -np.inf
            # The bar is that of finished blocks, all of them earlier: an equal score here comes later and loses.
            return _candidates(scores, best[:, -1], topn, first)

        ends = [(first, min(first + BLOCK_ROWS, rows)) for first in range(0, rows, BLOCK_ROWS)]
        with one_blas_thread():
            for result in Threads(1 if len(ends) == 1 else None).map(block, ends):
                if result is None:
                    continue
                scores, ids = (np.concatenate(pair, axis=1) for pair in zip((best, best_ids), result, strict=True))
                order = np.argsort(-scores, axis=1, kind="stable")[:, :topn]
                best_ids = np.take_along_axis(ids, order, axis=1)
                best = np.take_along_axis(scores, order, axis=1)
        return best, best_ids

    def _cosines(self, queries: Array, first: int, last: int) -> Array:
        block = row_block(self.matrix, first, last)
        if not isinstance(block, np.ndarray):
            scores = np.ascontiguousarray((block @ queries.T).T)
        else:
            scores = queries @ block.T
        scores *= self.inverse[first:last]
        return scores


def _top(scores: Array, topn: int) -> Array:
    """Return the places of the best scores, best first, ties by place.

    The n-th best of the maxima of some stretches is no better than the n-th best of all, and leaves few to sort.
    """
    maxima = np.maximum.reduceat(scores, np.arange(0, scores.size, 1024))
    least = np.partition(maxima, maxima.size - topn)[maxima.size - topn] if maxima.size > topn else -np.inf
    places = np.flatnonzero(scores >= least)
    order: Array = places[np.argsort(-scores[places], kind="stable")[:topn]]
    return order


def _candidates(scores: Array, bar: Array, topn: int, first: int) -> tuple[Array, Array] | None:
    """Return at most ``topn`` scores of each query above its bar, in the order of rows, padded with minus infinity."""
    wanted = scores > bar[:, None]
    numbers = np.count_nonzero(wanted, axis=1)
    for query in np.flatnonzero(numbers > topn):
        row = scores[query]
        least = np.partition(row, row.size - topn)[row.size - topn]
        wanted[query] = row > least
        ties = np.flatnonzero(row == least)
        wanted[query, ties[: topn - int(np.count_nonzero(wanted[query]))]] = True
        numbers[query] = topn
    width = int(numbers.max(initial=0))
    if width == 0:
        return None
    queries, rows = np.nonzero(wanted)
    place = np.arange(queries.size) - np.repeat(np.cumsum(numbers) - numbers, numbers)
    found = np.full((len(scores), width), -np.inf, dtype=np.float32)
    ids = np.zeros((len(scores), width), dtype=np.int64)
    found[queries, place] = scores[queries, rows]
    ids[queries, place] = rows + first
    return found, ids


def three_cos_mul(cosines: Array, scale: float = 0.5, offset: float = 0.5) -> Array:
    """Levy and Goldberg 2014, eq. 5, for parts (b, c, a), cosines moved to 0 … 1: cos(b)·cos(c) / (cos(a) + ε)."""
    moved = np.float32(scale) * cosines + np.float32(offset)
    return np.asarray(moved[0] * moved[1] / (moved[2] + np.float32(EPSILON)))


def cosines_to_unit(matrix: Any) -> tuple[float, float]:
    """Return the scale and offset that bring all cosines of these rows to 0 … 1; nothing to do where no value is negative."""
    values = matrix if isinstance(matrix, np.ndarray) else matrix.data
    nonnegative = all(
        bool((values[first : first + SIGN_BLOCK] >= 0).all()) for first in range(0, len(values), SIGN_BLOCK)
    )
    return (1.0, 0.0) if nonnegative else (0.5, 0.5)


def row_block(matrix: Any, first: int, last: int) -> Any:
    """Return some rows without copying them, sparse or dense."""
    if isinstance(matrix, np.ndarray):
        return matrix[first:last]
    import scipy.sparse

    low, high = int(matrix.indptr[first]), int(matrix.indptr[last])
    parts = (matrix.data[low:high], matrix.indices[low:high], matrix.indptr[first : last + 1] - low)
    return scipy.sparse.csr_array(parts, shape=(last - first, matrix.shape[1]))


def dense_rows(matrix: Any, ids: Array) -> Array:
    """Return chosen rows as a dense matrix of its own."""
    rows = matrix[ids]
    return rows if isinstance(rows, np.ndarray) else np.asarray(rows.toarray())


def row_norms(matrix: Any, words: Sequence[str]) -> Array:
    """Return the length of each row; a row that is not finite is an error that names its word."""
    rows = int(matrix.shape[0])
    norms = np.empty(rows, dtype=np.float32)

    def block(ends: tuple[int, int]) -> None:
        first, last = ends
        some = row_block(matrix, first, last)
        if isinstance(some, np.ndarray):
            squares = np.einsum("ij,ij->i", some, some)
        else:
            squares = np.asarray(some.multiply(some).sum(axis=1)).ravel()
        norms[first:last] = np.sqrt(squares)

    ends = [(first, min(first + BLOCK_ROWS, rows)) for first in range(0, rows, BLOCK_ROWS)]
    for _ in Threads(1 if len(ends) < 2 else None).map(block, ends):
        pass
    bad = np.flatnonzero(~np.isfinite(norms))
    if bad.size:
        raise FirthianError(
            f"the vector of {words[bad[0]]!r} is not finite"
            + (f" (and those of {bad.size - 1:,} others)" if bad.size > 1 else ""),
            hint="leave these words out, or make the vectors again",
        )
    return norms
