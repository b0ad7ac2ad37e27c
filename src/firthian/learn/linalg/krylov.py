"""The largest eigenvalues or singular values of a matrix that is only used in products.

A block Krylov method with full orthogonalization, Rayleigh-Ritz steps and thick restarts. In exact arithmetic, from
a random start, it is block Lanczos (Golub and Underwood 1977) with Wu and Simon's (2000) restarts. Rayleigh-Ritz
orders the values, so "largest" means algebraically largest even beside large negative eigenvalues, where
power iteration fails. A start that is nearly right (the last outer iteration's vectors) is wider than a block: only
the strongest directions of its residual are then followed, which saves products.

Products are in float32, sums over rows and small problems in float64. Eigenvalues below about 1e-6 of the largest,
and singular values below 1e-3 of the largest, are therefore rounding noise.
"""

from __future__ import annotations

import numpy as np

from firthian.arrays import Array
from firthian.disk.checkpoints import Stage
from firthian.errors import FirthianError
from firthian.learn.linalg.operators import Operator
from firthian.learn.linalg.tall import eigh, fix_signs, inner, lengths, orthonormal, subtract_product, times_small
from firthian.runtime.run import Run, one_blas_thread

#: Matrices up to this size are solved densely by LAPACK.
DENSE_ROWS = 512

#: Columns per product: a compromise between sparse products (wide is fast) and Krylov convergence (narrow is).
BLOCK_COLUMNS = 32

#: Products between two checks of the residuals.
BLOCKS_BETWEEN_CHECKS = 3

#: The residual |A q - lambda q| / |lambda| of a converged pair.
TOLERANCE = 1e-2

#: Residuals below this fraction of the largest eigenvalue are rounding errors of float32 products.
ROUNDING = 1e-5


def top_eigen(
    operator: Operator,
    rank: int,
    run: Run,
    which: str = "largest",
    start: Array | None = None,
    tolerance: float = TOLERANCE,
    products: int | None = None,
    name: str | None = None,
) -> tuple[Array, Array]:
    """Return ``rank`` eigenvalues (float64) and eigenvectors (float32 columns) of a symmetric matrix, in order.

    ``which`` is ``largest`` (algebraically) or ``magnitude``. ``start`` holds vectors that roughly span the right space.
    It stops when all residuals are below ``tolerance`` (relative to the eigenvalue), or after products with ``products``
    vectors (default: about 12 times the rank). Eigenvalue errors are of the order of ``tolerance`` squared. The largest
    entry of each vector is positive. ``name`` is the stage under which a long search is saved.

    >>> import scipy.sparse
    >>> from firthian.learn.linalg.operators import SparseOperator
    >>> matrix = SparseOperator.of(scipy.sparse.csr_array(np.diag([-3.0, 2.0, 1.0])), symmetric=True)
    >>> top_eigen(matrix, 2, Run())[0]
    array([2., 1.])
    >>> top_eigen(matrix, 2, Run(), which="magnitude")[0]
    array([-3., 2.])
    """
    size = operator.shape[0]
    if operator.shape[1] != size:
        raise FirthianError(f"a matrix of shape {operator.shape} has no eigenvalues", hint="use singular values")
    _check_rank(rank, size)
    if which not in ("largest", "magnitude"):
        raise FirthianError(f"`which` must be largest or magnitude, got {which!r}")
    if size <= DENSE_ROWS:
        dense = operator.times(np.eye(size, dtype=np.float32), run).astype(np.float64)
        values, vectors = eigh(dense)
        order = _order(values, which)[:rank]
        values, vectors = values[order], vectors[:, order]
        with one_blas_thread():
            vectors = _one_more_product(vectors, dense @ vectors, values)
    else:
        limit = products or 12 * rank + 20 * BLOCK_COLUMNS
        values, vectors = _Search(operator, rank, run, which, name).solve(start, tolerance, limit)
    return values, vectors * fix_signs(vectors)


def top_singular(
    operator: Operator, rank: int, run: Run, tolerance: float = TOLERANCE, name: str | None = None
) -> tuple[Array, Array, Array]:
    """Return ``U`` (float32 columns), the ``rank`` largest singular values (float64) and ``V`` of a matrix.

    The largest entry of each column of U is positive. A symmetric operator (one with a true ``symmetric``) needs one
    product per step instead of two. ``name`` is the stage under which a long search is saved.

    >>> import scipy.sparse
    >>> from firthian.learn.linalg.operators import SparseOperator
    >>> matrix = SparseOperator.of(scipy.sparse.csr_array(np.diag([-3.0, 2.0, 1.0])))
    >>> top_singular(matrix, 2, Run())[1]
    array([3., 2.])
    """
    _check_rank(rank, min(operator.shape))
    if max(operator.shape) <= DENSE_ROWS:
        dense = operator.times(np.eye(operator.shape[1], dtype=np.float32), run).astype(np.float64)
        with one_blas_thread():
            u, values, vt = np.linalg.svd(dense, full_matrices=False)
            u, values, v = u[:, :rank], values[:rank], vt[:rank].T
            left, right = _one_more_product(u, dense @ v, values), _one_more_product(v, dense.T @ u, values)
    elif getattr(operator, "symmetric", False):
        signed, left = top_eigen(operator, rank, run, "magnitude", tolerance=tolerance, name=name)
        values, right = np.abs(signed), left * np.where(signed < 0, -1, 1).astype(np.float32)
    else:
        left, values, right = _by_normal_equations(operator, rank, run, tolerance, name)
    signs = fix_signs(left)
    return left * signs, values, right * signs


def _by_normal_equations(
    operator: Operator, rank: int, run: Run, tolerance: float, name: str | None
) -> tuple[Array, Array, Array]:
    """Compute V from ``A'A`` (or U from ``AA'`` if that is smaller), then the other side by one more product."""
    tall = operator.shape[0] >= operator.shape[1]
    normal = Normal(operator, tall)
    # A residual of A'A corresponds to half of it for A.
    _, one = top_eigen(normal, rank, run, "largest", tolerance=2 * tolerance, name=name)
    # Rayleigh-Ritz on A itself, in float64: small values keep the digits that squaring would lose.
    image = normal.multiply(one, run)
    white = _inverse_root(inner(one, one, run))
    with one_blas_thread():
        squares, turn = eigh(white @ inner(image.astype(np.float64), image.astype(np.float64), run) @ white)
        squares, turn = squares[::-1], white @ turn[:, ::-1]
    values = np.sqrt(np.maximum(squares, 0))
    safe = np.where(values > 1e-6 * max(values[0], 1e-300), values, np.inf)
    one, other = times_small(one, turn, run), times_small(image, turn / safe, run)
    return (other, values, one) if tall else (one, values, other)


def _inverse_root(gram: Array) -> Array:
    """Return ``G^(-1/2)`` of the Gram matrix of nearly orthonormal vectors."""
    values, vectors = eigh(gram)
    return np.asarray((vectors / np.sqrt(np.maximum(values, 1e-6))) @ vectors.T)


class Normal:
    """``A'A`` for an operator ``A``, or ``AA'`` if not ``tall``."""

    symmetric = True

    def __init__(self, operator: Operator, tall: bool = True) -> None:
        forth, back = operator.times, operator.transposed_times
        self.multiply, self.multiply_back = (forth, back) if tall else (back, forth)
        size = operator.shape[1 if tall else 0]
        self.shape = (size, size)

    def times(self, dense: Array, run: Run) -> Array:
        """Return ``A'(A dense)``."""
        return self.multiply_back(self.multiply(dense, run), run)

    transposed_times = times


def _check_rank(rank: int, size: int) -> None:
    if not 1 <= rank <= size:
        raise FirthianError(
            f"a matrix of size {size} does not have {rank} eigenvalues or singular values", hint=f"use 1 to {size}"
        )


def _one_more_product(vectors: Array, image: Array, values: Array) -> Array:
    """Return ``A q / lambda`` for ``q``: more accurate at no cost, and exactly zero where a row of A is.

    Vectors of eigenvalues near zero stay as they are.
    """
    large = np.abs(values) > 1e-5 * max(float(np.abs(values).max()), 1e-300)
    return np.asarray(np.where(large, image / np.where(large, values, 1), vectors).astype(np.float32))


def _order(values: Array, which: str) -> Array:
    """Return the order of the values, ties in a fixed order."""
    return np.asarray(np.argsort(-(values if which == "largest" else np.abs(values)), kind="stable"))


class _Search:
    """The state of one search: a basis ``Q``, its image ``A Q`` and the small matrix ``H = Q' A Q``."""

    def __init__(self, operator: Operator, rank: int, run: Run, which: str, name: str | None = None) -> None:
        self.operator, self.rank, self.run, self.which = operator, rank, run, which
        self.stage = Stage() if name is None else run.stage(name)
        self.size = operator.shape[0]
        #: The basis shrinks to ``kept`` Ritz vectors when it would outgrow ``capacity``.
        self.capacity = min(self.size, 2 * rank + 8 * BLOCK_COLUMNS)
        self.kept = rank + max(BLOCK_COLUMNS, rank // 4)
        self.basis = np.empty((self.size, self.capacity), dtype=np.float32)
        self.image = np.empty((self.size, self.capacity), dtype=np.float32)
        self.small = np.empty((self.capacity, self.capacity))
        self.width = self.multiplied = 0
        self.generator = run.generator(0x5BEC)

    def solve(self, start: Array | None, tolerance: float, products: int) -> tuple[Array, Array]:
        """Extend the space until the pairs have converged."""
        block = self._restore()
        if block is None:
            first = self._random(BLOCK_COLUMNS) if start is None else np.asarray(start)[:, : self.kept]
            block = orthonormal(first, self.run)
        while True:
            for _ in range(BLOCKS_BETWEEN_CHECKS):
                self._extend(block)
                narrow = block.shape[1] <= BLOCK_COLUMNS
                if self.width == self.capacity or not narrow:
                    break
                old = self.width - block.shape[1]
                block = self._outside(self.image[:, old : self.width], self.small[: self.width, old : self.width])
            if self.width < self.rank and narrow:
                continue
            values, turn = self._ritz()
            residual, sizes = self._residual(values, turn)
            allowed = tolerance * np.abs(values) + ROUNDING * np.abs(values).max()
            converged = int((sizes <= allowed).sum())
            self.run.progress.advance(0, f"{converged} of {self.rank} vectors converged")
            enough = converged >= self.rank or (self.width >= self.rank and self.multiplied >= products)
            if enough or self.width == self.size:
                return values, self._vectors(values, turn[:, : self.rank])
            if self.width + BLOCKS_BETWEEN_CHECKS * BLOCK_COLUMNS > self.capacity < self.size:
                self._restart(turn)
            block = self._outside(self._strongest(residual))
            self._save(block)

    def _save(self, block: Array) -> None:
        width = self.width
        arrays = {"basis": self.basis[:, :width], "image": self.image[:, :width], "block": block}
        self.stage.save(
            self.multiplied,
            {**arrays, "small": self.small[:width, :width]},
            generator=self.generator.bit_generator.state,
        )

    def _restore(self) -> Array | None:
        """Resume an interrupted search; return the next block, or None if there is none."""
        state = self.stage.restore()
        if state is None:
            return None
        self.width, self.multiplied = state.arrays["basis"].shape[1], state.step
        self.basis[:, : self.width] = state.arrays["basis"]
        self.image[:, : self.width] = state.arrays["image"]
        self.small[: self.width, : self.width] = state.arrays["small"]
        self.generator.bit_generator.state = state.values["generator"]
        return np.array(state.arrays["block"])

    def _random(self, columns: int) -> Array:
        return self.generator.standard_normal((self.size, columns), dtype=np.float32)

    def _outside(self, directions: Array, shares: Array | None = None) -> Array:
        """Return the part of directions outside the basis, in which they have the ``shares``, if these are known.

        If there is none, the space is invariant: add random ones.
        """
        known, room = self.basis[:, : self.width], self.capacity - self.width
        block = orthonormal(directions, self.run, known, shares=shares)[:, :room]
        if block.shape[1] == 0:
            block = orthonormal(self._random(min(BLOCK_COLUMNS, room)), self.run, known)
        return block

    def _extend(self, block: Array) -> None:
        """Add orthonormal columns to the basis, and their image."""
        old, new = self.width, self.width + block.shape[1]
        image = self.operator.times(block, self.run)

        def store(first: int, last: int) -> None:
            self.basis[first:last, old:new] = block[first:last]
            self.image[first:last, old:new] = image[first:last]

        self.run.over_rows(store, self.size, here=True)
        self.small[:new, old:new] = inner(self.basis[:, :new], self.image[:, old:new], self.run)
        self.small[old:new, :old] = self.small[:old, old:new].T
        self.width = new
        self.multiplied += block.shape[1]

    def _ritz(self) -> tuple[Array, Array]:
        """Return the leading eigenvalues of H, and all its eigenvectors in the same order (Rayleigh-Ritz)."""
        values, turn = eigh(self.small[: self.width, : self.width])
        order = _order(values, self.which)
        return values[order[: self.rank]], turn[:, order]

    def _residual(self, values: Array, turn: Array) -> tuple[Array, Array]:
        """Return ``A Q y - lambda Q y`` of the leading pairs, and its columns' lengths."""
        leading = turn[:, : values.size]
        residual = times_small(self.image[:, : self.width], leading, self.run)
        subtract_product(residual, self.basis[:, : self.width], leading * values, self.run)
        return residual, lengths(residual, self.run)

    def _vectors(self, values: Array, leading: Array) -> Array:
        leading = np.ascontiguousarray(leading, dtype=np.float32)
        out = np.empty((self.size, values.size), dtype=np.float32)

        def fill(first: int, last: int) -> None:
            basis, image = self.basis[first:last, : self.width], self.image[first:last, : self.width]
            out[first:last] = _one_more_product(basis @ leading, image @ leading, values)

        self.run.over_rows(fill, self.size, here=True)
        return out

    def _strongest(self, residual: Array) -> Array:
        """Return the first left singular vectors of the residuals."""
        if residual.shape[1] <= BLOCK_COLUMNS:
            return residual
        _, vectors = eigh(inner(residual, residual, self.run))
        return times_small(residual, vectors[:, -BLOCK_COLUMNS:], self.run)

    def _restart(self, turn: Array) -> None:
        """Keep only the best Ritz vectors."""
        kept = turn[:, : self.kept]
        self.basis[:, : self.kept] = times_small(self.basis[:, : self.width], kept, self.run)
        self.image[:, : self.kept] = times_small(self.image[:, : self.width], kept, self.run)
        with one_blas_thread():
            self.small[: self.kept, : self.kept] = kept.T @ self.small[: self.width, : self.width] @ kept
        self.width = self.kept
