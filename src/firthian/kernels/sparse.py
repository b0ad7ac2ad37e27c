"""Products with matrices in compressed sparse rows, for a block of rows; every sum has one fixed order."""

from __future__ import annotations

import numpy as np
from numba import njit

from firthian.arrays import Array


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def row_sum(indices: Array, factors: Array, right: Array, out: Array) -> None:
    """``out = sum_p factors[p]·right[indices[p]]``."""
    for k in range(out.size):
        out[k] = 0
    add_rows(indices, factors, right, out)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def add_rows(indices: Array, factors: Array, right: Array, out: Array) -> None:
    """``out += sum_p factors[p]·right[indices[p]]``, eight at a time to write the sum once."""
    width = out.size
    whole = indices.size - indices.size % 8
    for p in range(0, whole, 8):
        i0, i1 = np.uint64(indices[p]), np.uint64(indices[p + 1])
        i2, i3 = np.uint64(indices[p + 2]), np.uint64(indices[p + 3])
        i4, i5 = np.uint64(indices[p + 4]), np.uint64(indices[p + 5])
        i6, i7 = np.uint64(indices[p + 6]), np.uint64(indices[p + 7])
        f0, f1, f2, f3 = factors[p], factors[p + 1], factors[p + 2], factors[p + 3]
        f4, f5, f6, f7 = factors[p + 4], factors[p + 5], factors[p + 6], factors[p + 7]
        for k in range(width):
            low = f0 * np.float32(right[i0, k]) + f1 * np.float32(right[i1, k])
            low += f2 * np.float32(right[i2, k]) + f3 * np.float32(right[i3, k])
            high = f4 * np.float32(right[i4, k]) + f5 * np.float32(right[i5, k])
            high += f6 * np.float32(right[i6, k]) + f7 * np.float32(right[i7, k])
            out[k] += low + high
    for p in range(whole, indices.size):
        i0, f0 = np.uint64(indices[p]), factors[p]
        for k in range(width):
            out[k] += f0 * np.float32(right[i0, k])


@njit(cache=True, nogil=True)
def times_dense(indptr: Array, indices: Array, values: Array, dense: Array, first: int, last: int, out: Array) -> None:
    """``out[first:last] = S[first:last] @ dense``."""
    for row in range(first, last):
        pairs = slice(indptr[row], indptr[row + 1])
        row_sum(indices[pairs], values[pairs], dense, out[row])


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
