"""Products of one query with many rows, at memory bandwidth."""

from __future__ import annotations

import numpy as np
from numba import njit

from firthian.arrays import Array


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
