"""Symmetric matrices packed into rows: the upper triangle, off-diagonal entries times sqrt(2).

With that factor the dot product of two packed matrices is tr(A B), and packing is linear.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from firthian.arrays import Array


def packed_size(size: int) -> int:
    """Return the length of a packed ``size`` × ``size`` matrix."""
    return size * (size + 1) // 2


@functools.lru_cache(maxsize=16)
def triangle(size: int) -> tuple[Array, Array, Array]:
    """Return the row, the column and the factor of each packed entry."""
    rows, columns = np.triu_indices(size)
    return rows, columns, np.where(rows == columns, 1.0, math.sqrt(2.0))


@functools.lru_cache(maxsize=16)
def diagonal_places(size: int) -> Array:
    """Return the positions of the diagonal in a packed matrix."""
    rows, columns, _ = triangle(size)
    return np.flatnonzero(rows == columns)


def pack(matrices: Array, width: int | None = None) -> Array:
    """Pack matrices of shape (n, d, d), padded with zeros to ``width`` numbers.

    >>> a, b = np.array([[[2.0, 1.0], [1.0, 3.0]]]), np.array([[[1.0, -1.0], [-1.0, 4.0]]])
    >>> round(float(pack(a)[0] @ pack(b)[0]), 9), float(np.trace(a[0] @ b[0]))
    (12.0, 12.0)
    """
    rows, columns, factor = triangle(matrices.shape[-1])
    out = np.zeros((matrices.shape[0], width or factor.size), dtype=matrices.dtype)
    out[:, : factor.size] = matrices[:, rows, columns] * factor
    return out


def unpack(packed: Array, size: int) -> Array:
    """Return the float64 matrices of shape (n, d, d) that were packed."""
    rows, columns, factor = triangle(size)
    values = packed[:, : factor.size].astype(np.float64) / factor
    out = np.empty((packed.shape[0], size, size))
    out[:, rows, columns] = values
    out[:, columns, rows] = values
    return out
