"""Matrices that are only used in products: sparse, dense, side by side, or centered."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from firthian.arrays import Array, aligned
from firthian.learn.linalg.tall import inner, times_small
from firthian.runtime.executor import constant
from firthian.runtime.run import Run

#: Rows per task of a sparse product; few, because the rows of frequent words are the fullest.
ROWS_AT_ONCE = 256


class Operator(Protocol):
    """A real matrix, given by its products."""

    shape: tuple[int, int]

    def times(self, dense: Array, run: Run) -> Array:
        """Return ``A @ dense``."""
        ...

    def transposed_times(self, dense: Array, run: Run) -> Array:
        """Return ``A.T @ dense``."""
        ...


class SparseOperator:
    """A sparse matrix in compressed rows; its transpose is built once, on first use.

    >>> import scipy.sparse
    >>> operator = SparseOperator.of(scipy.sparse.csr_array(np.diag([1.0, 2.0])))
    >>> operator.times(np.ones((2, 1), dtype=np.float32), Run())
    array([[1.],
           [2.]], dtype=float32)
    """

    def __init__(
        self, indptr: Array, indices: Array, values: Array, shape: tuple[int, int], symmetric: bool = False
    ) -> None:
        # One set of types, so that the kernels are compiled once.
        self.indptr = constant(indptr.astype(np.int64, copy=False))
        self.indices = constant(indices.astype(np.int32, copy=False))
        self.values = constant(values.astype(np.float32, copy=False))
        self.shape = shape
        self.symmetric = symmetric
        self._transposed: SparseOperator | None = self if symmetric else None

    @classmethod
    def of(cls, matrix: Any, symmetric: bool = False) -> SparseOperator:
        """Convert a SciPy matrix."""
        csr = matrix.tocsr()
        return cls(csr.indptr, csr.indices, csr.data, csr.shape, symmetric)

    def times(self, dense: Array, run: Run) -> Array:
        """Return ``A @ dense``, blocks of rows in parallel."""
        from firthian.kernels.sparse import times_dense

        lined = aligned(dense.shape, np.float32)
        lined[...] = dense
        out = np.empty((self.shape[0], dense.shape[1]), dtype=np.float32)
        indptr, indices, values = self.indptr, self.indices, self.values
        run.over_rows(
            lambda first, last: times_dense(indptr, indices, values, lined, first, last, out),
            self.shape[0],
            ROWS_AT_ONCE,
            writes=[out],
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
        """Return ``A.T @ dense``."""
        return self.transposed.times(dense, run)


class DenseOperator:
    """A dense matrix, multiplied in fixed blocks of rows."""

    def __init__(self, matrix: Array) -> None:
        self.matrix = matrix
        self.shape = (matrix.shape[0], matrix.shape[1])

    def times(self, dense: Array, run: Run) -> Array:
        """Return ``A @ dense``."""
        return times_small(self.matrix, dense, run)

    def transposed_times(self, dense: Array, run: Run) -> Array:
        """Return ``A.T @ dense``."""
        return inner(self.matrix, dense, run).astype(np.float32)


class SideBySide:
    """The matrix ``[A, B]`` of two matrices with the same rows."""

    def __init__(self, left: Operator, right: Operator) -> None:
        self.left, self.right = left, right
        self.shape = (left.shape[0], left.shape[1] + right.shape[1])

    def times(self, dense: Array, run: Run) -> Array:
        """Return ``A @ top + B @ bottom``."""
        width = self.left.shape[1]
        return self.left.times(dense[:width], run) + self.right.times(dense[width:], run)

    def transposed_times(self, dense: Array, run: Run) -> Array:
        """Return ``A.T @ dense`` above ``B.T @ dense``."""
        return np.concatenate([self.left.transposed_times(dense, run), self.right.transposed_times(dense, run)])


class Centered:
    """``A - 1 m'``: a matrix with a row subtracted from each of its rows, never formed.

    >>> import scipy.sparse
    >>> operator = SparseOperator.of(scipy.sparse.csr_array(np.diag([2.0, 4.0])))
    >>> Centered(operator, np.array([1.0, 2.0])).times(np.eye(2, dtype=np.float32), Run())
    array([[ 1., -2.],
           [-1., 2.]], dtype=float32)
    """

    def __init__(self, operator: Operator, mean: Array) -> None:
        self.operator, self.mean = operator, mean.astype(np.float32)
        self.shape = operator.shape

    def times(self, dense: Array, run: Run) -> Array:
        """Return ``A @ dense - 1 (m' dense)``."""
        return self.operator.times(dense, run) - inner(self.mean[:, np.newaxis], dense, run).astype(np.float32)

    def transposed_times(self, dense: Array, run: Run) -> Array:
        """Return ``A.T @ dense - m (1' dense)``."""
        ones = np.ones((dense.shape[0], 1), dtype=np.float32)
        sums = inner(ones, dense, run).astype(np.float32)
        return np.asarray(self.operator.transposed_times(dense, run) - self.mean[:, np.newaxis] * sums)
