"""Matrices that are only ever multiplied: sparse ones by the kernels, sums of them by adding up."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from firthian.run import Run

Array = np.ndarray[Any, np.dtype[Any]]


class Operator(Protocol):
    """A real matrix as what it does to others."""

    shape: tuple[int, int]

    def times(self, dense: Array, run: Run) -> Array:
        """Give ``A @ dense``."""
        ...

    def transposed_times(self, dense: Array, run: Run) -> Array:
        """Give ``A.T @ dense``."""
        ...


class SparseOperator:
    """A sparse matrix in compressed rows; its transpose is made once, when it is first needed.

    >>> import scipy.sparse
    >>> operator = SparseOperator.of(scipy.sparse.csr_array(np.diag([1.0, 2.0])))
    >>> operator.times(np.ones((2, 1), dtype=np.float32), Run())
    array([[1.],
           [2.]], dtype=float32)
    """

    def __init__(
        self, indptr: Array, indices: Array, values: Array, shape: tuple[int, int], symmetric: bool = False
    ) -> None:
        self.indptr = indptr
        self.indices = indices
        self.values = values.astype(np.float32, copy=False)
        self.shape = shape
        self.symmetric = symmetric
        self._transposed: SparseOperator | None = self if symmetric else None

    @classmethod
    def of(cls, matrix: Any, symmetric: bool = False) -> SparseOperator:
        """Take a SciPy matrix."""
        csr = matrix.tocsr()
        return cls(csr.indptr, csr.indices, csr.data, csr.shape, symmetric)

    def times(self, dense: Array, run: Run) -> Array:
        """Give ``A @ dense``, blocks of rows in parallel."""
        from firthian.kernels.sparse import times_dense

        dense = np.ascontiguousarray(dense, dtype=np.float32)
        out = np.empty((self.shape[0], dense.shape[1]), dtype=np.float32)
        run.over_rows(
            lambda first, last: times_dense(self.indptr, self.indices, self.values, dense, first, last, out),
            self.shape[0],
        )
        return out

    @property
    def transposed(self) -> SparseOperator:
        """The transpose, as an operator."""
        if self._transposed is None:
            import scipy.sparse

            matrix = scipy.sparse.csr_array((self.values, self.indices, self.indptr), shape=self.shape)
            self._transposed = SparseOperator.of(matrix.T)
            self._transposed._transposed = self
        return self._transposed

    def transposed_times(self, dense: Array, run: Run) -> Array:
        """Give ``A.T @ dense``."""
        return self.transposed.times(dense, run)
