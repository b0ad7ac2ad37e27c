"""Products of one query with many rows, and analogies: 3CosAdd and 3CosMul in one pass over precomputed cosines."""

from __future__ import annotations

import numpy as np
from numba import njit

from firthian.arrays import Array

#: Pointers, indices and values of a compressed sparse matrix.
Sparse = tuple[Array, Array, Array]

#: Candidates are compared in runs of this length; the winner is searched only in the best run.
_RUN = 64


# Cosines are finite and the sign of zero does not matter: two promises that let the compiler vectorize a maximum. Sums keep
# their order.
@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def best_answers(
    scores: tuple[Array, Array],
    questions: Array,
    excluded: Array,
    scale: float,
    offset: float,
    out: Array,
    where: Array,
) -> None:
    """Find each question's best candidates by 3CosAdd (column 0 of ``out`` and ``where``) and 3CosMul (column 1).

    ``scores`` are two matrices: the cosine of question word q and candidate j, and ``1 / (similarity + ε)`` with the
    similarity ``scale · cosine + offset``. A question has the rows of its words a, b, c; ``excluded`` has their columns,
    which may lie outside the block. The first of equal scores wins; -1 if every candidate is excluded.
    """
    cosines, inverse = scores
    columns = cosines.shape[1]
    scale, offset = np.float32(scale), np.float32(offset)
    for question in range(questions.shape[0]):
        a, b, c = cosines[questions[question, 0]], cosines[questions[question, 1]], cosines[questions[question, 2]]
        below = inverse[questions[question, 0]]
        best_sum = best_product = np.float32(-np.inf)
        run_sum = run_product = -1
        for first in range(0, columns, _RUN):
            last = min(first + _RUN, columns)
            top_sum = top_product = np.float32(-np.inf)
            if _touches(excluded[question], first, last):
                for j in range(first, last):
                    if not _touches(excluded[question], j, j + 1):
                        top_sum = max(top_sum, b[j] - a[j] + c[j])
                        top_product = max(top_product, (scale * b[j] + offset) * (scale * c[j] + offset) * below[j])
            else:
                for j in range(first, last):
                    added = b[j] - a[j] + c[j]
                    top_sum = added if added > top_sum else top_sum
                    multiplied = (scale * b[j] + offset) * (scale * c[j] + offset) * below[j]
                    top_product = multiplied if multiplied > top_product else top_product
            if top_sum > best_sum:
                best_sum, run_sum = top_sum, first
            if top_product > best_product:
                best_product, run_product = top_product, first
        out[question, 0], out[question, 1] = best_sum, best_product
        where[question, 0] = where[question, 1] = -1
        if run_sum >= 0:
            best = np.float32(-np.inf)
            for j in range(run_sum, min(run_sum + _RUN, columns)):
                added = b[j] - a[j] + c[j]
                if added > best and not _touches(excluded[question], j, j + 1):
                    best, where[question, 0] = added, j
        if run_product >= 0:
            best = np.float32(-np.inf)
            for j in range(run_product, min(run_product + _RUN, columns)):
                multiplied = (scale * b[j] + offset) * (scale * c[j] + offset) * below[j]
                if multiplied > best and not _touches(excluded[question], j, j + 1):
                    best, where[question, 1] = multiplied, j


@njit(cache=True, nogil=True, inline="always")
def _touches(excluded: Array, first: int, last: int) -> bool:
    """Return whether one of the three excluded columns is in the range."""
    return first <= excluded[0] < last or first <= excluded[1] < last or first <= excluded[2] < last


@njit(cache=True, nogil=True)
def sparse_products(matrix: Sparse, rows: Array, asked: Sparse, out: Array) -> None:
    """``out[q, j] = Q[q] · S[rows[j]]``, with S (``matrix``) in compressed rows and Q (``asked``) in compressed *columns*."""
    (indptr, indices, values), (other_indptr, other_indices, other_values) = matrix, asked
    sums = np.empty(out.shape[0], np.float32)
    for j in range(rows.size):
        sums[:] = 0
        for p in range(indptr[rows[j]], indptr[rows[j] + 1]):
            value = values[p]
            column = indices[p]
            for k in range(other_indptr[column], other_indptr[column + 1]):
                sums[other_indices[k]] += value * other_values[k]
        out[:, j] = sums


# Reassociation lets a row be summed in SIMD lanes: the order depends on the machine, never on blocks or threads.
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def scaled_products(matrix: Array, query: Array, inverse: Array, out: Array) -> None:
    """Set ``out[i]`` to the product of row i with the query, times ``inverse[i]``.

    A plain loop over rows: BLAS processes several rows at a time to save reads of the query, which is in cache anyway, and
    so reads memory in several places at once, which was slower by a third.
    """
    for row in range(matrix.shape[0]):
        total = np.float32(0)
        for column in range(matrix.shape[1]):
            total += matrix[row, column] * query[column]
        out[row] = total * inverse[row]
