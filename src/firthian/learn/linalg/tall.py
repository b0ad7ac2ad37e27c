"""Tall dense matrices in blocks of rows: products and orthonormal bases whose bytes do not depend on the workers.

A sum over rows adds the partial sums of fixed blocks in their order. All of this stays in the process that holds the
matrices: sending them elsewhere takes longer than the work.
"""

from __future__ import annotations

import numpy as np

from firthian.arrays import Array
from firthian.runtime.run import Run, one_blas_thread

#: Rows of one partial product.
BLOCK = 2048

#: Columns that a pass of ``orthonormal`` shortens by no more than this need no other pass.
SHORTER = 10.0


def inner(left: Array, right: Array, run: Run) -> Array:
    """Return ``left.T @ right`` in float64: blocks of rows in the type of the arrays, their sum in double precision.

    >>> inner(np.ones((3, 1), dtype=np.float32), np.ones((3, 2), dtype=np.float32), Run())
    array([[3., 3.]])
    """
    total = np.zeros((left.shape[1], right.shape[1]))
    for part in run.over_rows(lambda a, b: left[a:b].T @ right[a:b], left.shape[0], BLOCK, here=True):
        total += part
    return total


def weighted_gram(tall: Array, weights: Array, run: Run) -> tuple[Array, Array]:
    """Return ``sum_j w_j c_j`` and ``sum_j w_j c_j c_j'`` over rows c_j, in float64.

    >>> weighted_gram(np.ones((3, 1), dtype=np.float32), np.array([1, 2, 3]), Run())
    (array([6.]), array([[6.]]))
    """
    weights = weights.astype(np.float32)

    def sums(first: int, last: int) -> tuple[Array, Array]:
        rows, share = tall[first:last], weights[first:last]
        return share @ rows, rows.T @ (share[:, np.newaxis] * rows)

    parts = run.over_rows(sums, len(tall), BLOCK, here=True)
    first, second = np.zeros(tall.shape[1]), np.zeros((tall.shape[1], tall.shape[1]))
    for vector, matrix in parts:
        first += vector
        second += matrix
    return first, second


def times_small(tall: Array, small: Array, run: Run) -> Array:
    """Return ``tall @ small`` in float32."""
    small = np.ascontiguousarray(small, dtype=np.float32)
    out = np.empty((tall.shape[0], small.shape[1]), dtype=np.float32)

    def fill(first: int, last: int) -> None:
        np.matmul(tall[first:last], small, out=out[first:last])

    run.over_rows(fill, tall.shape[0], BLOCK, here=True)
    return out


def subtract_product(target: Array, tall: Array, small: Array, run: Run) -> None:
    """Compute ``target -= tall @ small`` in place."""
    small = np.ascontiguousarray(small, dtype=np.float32)

    def fill(first: int, last: int) -> None:
        target[first:last] -= tall[first:last] @ small

    run.over_rows(fill, target.shape[0], BLOCK, here=True)


def eigh(matrix: Array) -> tuple[Array, Array]:
    """Return the eigenvalues, ascending, and eigenvectors of a small symmetric matrix, on one thread."""
    with one_blas_thread():
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return values, vectors


def orthonormal(
    tall: Array, run: Run, against: Array | None = None, cut: float = 1e-5, shares: Array | None = None
) -> Array:
    """Return an orthonormal basis of the columns, orthogonal to the orthonormal columns of ``against``.

    Directions of relative length below ``cut`` are rounding noise and are dropped, so the basis may be narrower
    than ``tall``. A pass subtracts the shares of ``against`` (``shares``, if they are known already) and applies the inverse
    square root of the Gram matrix. Where much cancels, rounding errors grow, and another pass corrects them.
    """
    basis = np.array(tall, dtype=np.float32)
    before = lengths(basis, run)
    for attempt in range(3):
        if against is not None and against.shape[1] > 0:
            known = shares if shares is not None and attempt == 0 else inner(against, basis, run)
            subtract_product(basis, against, known, run)
        gram = inner(basis, basis, run)
        length = np.sqrt(gram.diagonal())
        alive = length > (np.maximum(cut * before, 1e-30) if attempt == 0 else 0.1)
        if not alive.all():
            basis = np.ascontiguousarray(basis[:, alive])
            if basis.shape[1] == 0:
                return basis
        scale = 1 / length[alive]
        values, vectors = eigh(gram[np.ix_(alive, alive)] * scale * scale[:, np.newaxis])
        kept = values > values[-1] * (cut if attempt == 0 else 1e-3)
        basis = times_small(basis, scale[:, np.newaxis] * vectors[:, kept] / np.sqrt(values[kept]), run)
        # Parlett's "twice is enough": errors grow by what a pass shortens, here at most by SHORTER squared.
        if kept.all() and (before[alive] <= SHORTER * length[alive]).all() and values[-1] <= SHORTER**2 * values[0]:
            return basis
        before = np.ones(basis.shape[1])
    return basis


def lengths(tall: Array, run: Run) -> Array:
    """Return the length of each column."""
    total = np.zeros(tall.shape[1])

    def squares(first: int, last: int) -> Array:
        return np.asarray(np.square(tall[first:last], dtype=np.float64).sum(axis=0))

    for part in run.over_rows(squares, tall.shape[0], BLOCK, here=True):
        total += part
    return np.asarray(np.sqrt(total))


def fix_signs(vectors: Array) -> Array:
    """Return the sign of each column that makes its largest entry (the first of ties) positive."""
    if vectors.size == 0:
        return np.ones(vectors.shape[1], dtype=np.float32)
    largest = np.abs(vectors).argmax(axis=0)
    return np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0).astype(np.float32)
