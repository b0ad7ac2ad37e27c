"""What IWLRLS by Adagrad needs beside the steps of ``firthian.kernels.glove``: predictors of pairs, and which were seen."""

from __future__ import annotations

from numba import njit

from firthian.arrays import Array
from firthian.kernels.likelihood import row_products


@njit(cache=True, nogil=True)
def seen_products(
    indptr: Array, indices: Array, left: Array, right: Array, first: int, last: int, products: Array
) -> None:
    """``products[p] = left[row] · right[indices[p]]`` for the pairs of some rows."""
    for row in range(first, last):
        begin, end = indptr[row], indptr[row + 1]
        row_products(indices, begin, end - begin, left[row], right, products[begin:end])


@njit(cache=True, nogil=True)
def mark_seen(indptr: Array, indices: Array, rows: Array, columns: Array, first: int, last: int, seen: Array) -> None:
    """Say of pairs whether they are among compressed rows, whose columns rise."""
    for p in range(first, last):
        low, high = indptr[rows[p]], indptr[rows[p] + 1]
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < columns[p]:
                low = middle + 1
            else:
                high = middle
        seen[p] = low < indptr[rows[p] + 1] and indices[low] == columns[p]
