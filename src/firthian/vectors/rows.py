"""Rows of a matrix, dense or sparse: read, select, measure and scale them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.runtime.executor import Threads
from firthian.vectors.codes import Codes

#: Rows that are worked on together; it fixes the order of every sum over rows.
BLOCK_ROWS = 8192


class StoredRows:
    """What has a matrix that may be stored as codes: ``stored`` is what is kept, ``matrix`` its numbers."""

    _stored: Any
    _decoded: Any = None

    @property
    def stored(self) -> Any:
        """The rows as they are kept: float32, a SciPy CSR array, or ``Codes``."""
        return self._stored

    @property
    def matrix(self) -> Any:
        """The rows as numbers; codes are decoded on first use."""
        if isinstance(self._stored, Codes):
            if self._decoded is None:
                self._decoded = self._stored.toarray()
            return self._decoded
        return self._stored

    @matrix.setter
    def matrix(self, values: Any) -> None:
        self._stored, self._decoded = as_float32(values), None


def as_float32(values: Any) -> Any:
    """Return a vector or matrix in single precision, a sparse one as CSR; nothing is copied that has this form.

    Codes stay codes.
    """
    if isinstance(values, Codes):
        return values
    if hasattr(values, "tocsr"):
        import scipy.sparse

        return scipy.sparse.csr_array(values).astype(np.float32, copy=False)
    try:
        return np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError):
        shown = repr(str(values)[:40])
        raise FirthianError(f"expected numbers, got {shown}", hint="pass an array; most_similar takes words") from None


def as_list(items: Any) -> list[Any]:
    """Return the words or vectors of a query as a list; a single word or vector becomes a list of one."""
    if isinstance(items, str):
        return [items]
    if isinstance(items, np.ndarray) and items.dtype.kind not in "OU":
        return [items] if items.ndim < 2 else list(items)
    try:
        return list(items)
    except TypeError:
        raise FirthianError(f"expected words, got {str(items)[:40]!r}", hint="pass a word or a list of words") from None


def row_slices(rows: int) -> list[slice]:
    """Return the blocks of rows that are worked on together."""
    return [slice(first, min(first + BLOCK_ROWS, rows)) for first in range(0, rows, BLOCK_ROWS)]


def row_block(matrix: Any, block: slice) -> Any:
    """Return consecutive rows, sparse or dense, without copying them."""
    if isinstance(matrix, np.ndarray | Codes):
        return matrix[block]
    import scipy.sparse

    first, last = block.start, block.stop
    low, high = int(matrix.indptr[first]), int(matrix.indptr[last])
    parts = (matrix.data[low:high], matrix.indices[low:high], matrix.indptr[first : last + 1] - low)
    return scipy.sparse.csr_array(parts, shape=(last - first, matrix.shape[1]))


def dense_rows(matrix: Any, ids: Array) -> Array:
    """Return the chosen rows as a new dense matrix."""
    rows = matrix[ids]
    return rows if isinstance(rows, np.ndarray) else np.asarray(rows.toarray())


def scale_to_unit(rows: Array) -> Array:
    """Return rows scaled to length 1, lengths in their own precision; rows of zeros stay."""
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return np.asarray(np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0))


def row_norms(matrix: Any, words: Sequence[str]) -> Array:
    """Return the length of each row; raise an error that names the word if a row is not finite."""
    rows = int(matrix.shape[0])
    norms = np.empty(rows, dtype=np.float32)

    def measure(block: slice) -> None:
        some = row_block(matrix, block)
        if isinstance(some, np.ndarray):
            squares = np.einsum("ij,ij->i", some, some)
        else:
            squares = np.asarray(some.multiply(some).sum(axis=1)).ravel()
        norms[block] = np.sqrt(squares)

    for _ in Threads(1 if rows <= BLOCK_ROWS else None).map(measure, row_slices(rows)):
        pass
    bad = np.flatnonzero(~np.isfinite(norms))
    if bad.size:
        others = f" (nor are those of {bad.size - 1:,} other words)" if bad.size > 1 else ""
        raise FirthianError(f"the vector of {words[bad[0]]!r} is not finite{others}", hint="remove it, or train again")
    return norms
