"""The type of a numpy array, named once, and small helpers on arrays that several rooms share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

#: An array of any shape and type.
Array = np.ndarray[Any, np.dtype[Any]]

#: Bytes of a cache line.
CACHE_LINE = 64


def unit_rows(matrix: Array) -> Array:
    """Return rows scaled to length 1, in float32; rows of zeros stay.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]], dtype=np.float32))
    array([[0.6, 0.8],
           [0. , 0. ]], dtype=float32)
    """
    length = np.sqrt(np.square(matrix, dtype=np.float64).sum(axis=1, keepdims=True))
    return (matrix / np.where(length > 0, length, 1)).astype(np.float32)


def offsets(sizes: Any) -> Array:
    """Return where consecutive parts of these sizes begin, and where the last one ends.

    >>> offsets([2, 0, 3])
    array([0, 2, 2, 5])
    """
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def on_pattern(pattern: Any, matrix: Any) -> Array:
    """Return the values of one CSR array at the entries of another, which include its own; both have sorted rows.

    >>> import scipy.sparse
    >>> pattern, matrix = scipy.sparse.csr_array(np.ones((2, 2))), scipy.sparse.csr_array(np.diag([-1.0, 3.0]))
    >>> on_pattern(pattern, matrix)
    array([-1., 0., 0., 3.])
    """
    width = pattern.shape[1]
    places, own = (
        np.repeat(np.arange(csr.shape[0], dtype=np.int64) * width, np.diff(csr.indptr)) + csr.indices
        for csr in (pattern, matrix)
    )
    values = np.zeros(places.size, dtype=matrix.dtype)
    values[np.searchsorted(places, own)] = matrix.data
    return values


def aligned(shape: tuple[int, ...], dtype: Any) -> Array:
    """Return a new array that begins with a cache line, so that rows of whole lines share none.

    >>> aligned((3, 4), np.float32).ctypes.data % CACHE_LINE
    0
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(size + CACHE_LINE, dtype=np.uint8)
    begin = -memory.ctypes.data % CACHE_LINE
    return np.asarray(memory[begin : begin + size].view(dtype).reshape(shape))
