"""Products with matrices in compressed sparse rows, for a block of rows; every sum has one fixed order."""

from __future__ import annotations

import numpy as np
from numba import njit

from firthian.arrays import Array


@njit(cache=True, nogil=True)
def times_dense(indptr: Array, indices: Array, values: Array, dense: Array, first: int, last: int, out: Array) -> None:
    """``out[first:last] = S[first:last] @ dense``."""
    width = dense.shape[1]
    for row in range(first, last):
        for k in range(width):
            out[row, k] = 0
        for p in range(indptr[row], indptr[row + 1]):
            value = values[p]
            other = np.uint64(indices[p])
            for k in range(width):
                out[row, k] += value * dense[other, k]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def inner_products(indptr: Array, indices: Array, left: Array, right: Array, first: int, last: int, out: Array) -> None:
    """``out[p] = left[row] · right[column]`` on the sparsity pattern; the compiler reassociates, always in the same way."""
    width = left.shape[1]
    for row in range(first, last):
        for p in range(indptr[row], indptr[row + 1]):
            other = np.uint64(indices[p])
            total = np.float32(0)
            for k in range(width):
                total += left[row, k] * right[other, k]
            out[p] = total
