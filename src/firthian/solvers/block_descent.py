"""Block coordinate descent to a positive semidefinite matrix of low rank (PSDVec's Algorithm 1), without a dense matrix.

An iteration fills in what has no weight from the last approximation, G_t = W∘G + (1 - W)∘X_{t-1}, and takes the nearest
positive semidefinite matrix of rank d. Since G_t = X_{t-1} + W∘(G - X_{t-1}), it is a low-rank matrix plus a sparse one,
and its largest eigenpairs need only products with the two.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from firthian.errors import FirthianError
from firthian.run import Run
from firthian.solvers.base import Solution
from firthian.solvers.operators import SparseOperator
from firthian.solvers.spectral import top_eigen
from firthian.solvers.tall import inner, times_small

Array = np.ndarray[Any, np.dtype[Any]]

#: Iterations at most when convergence decides, and the relative fall of the loss that ends them.
MOST_ITERATIONS, SMALL_FALL = 50, 1e-3


class LowRankPlusSparse:
    """``U·Uᵀ + S`` for a symmetric sparse S."""

    symmetric = True

    def __init__(self, factor: Array, sparse: SparseOperator) -> None:
        self.factor = factor
        self.sparse = sparse
        self.shape = sparse.shape

    def times(self, dense: Array, run: Run) -> Array:
        """Give the product with some columns."""
        out = self.sparse.times(dense, run)
        if self.factor.shape[1]:
            out += times_small(self.factor, inner(self.factor, dense, run), run)
        return out

    transposed_times = times


class BlockDescent:
    """Alternates between filling in and taking the nearest matrix; the weighted loss never rises.

    ``iterations`` is a number, or ``auto``: until the loss falls by less than a thousandth. ``ridge`` mu adds mu·tr(X) to
    the loss (Tikhonov on the vectors), which takes mu from every eigenvalue. Vectors are ``Q·lambda^eigenvalue_power``.
    """

    requires: ClassVar[tuple[str, ...]] = ("indptr", "indices", "targets", "weights", "loss")

    def __init__(self, iterations: int | str = 4, ridge: float = 0.0, eigenvalue_power: float = 0.5) -> None:
        self.iterations = iterations
        self.ridge = ridge
        self.eigenvalue_power = eigenvalue_power

    def solve(self, model: Any, dimension: int, run: Run) -> Solution:
        """Fit the model; fewer dimensions come back when there are fewer positive eigenvalues."""
        automatic = self.iterations == "auto"
        rounds = MOST_ITERATIONS if automatic else int(self.iterations)
        run.progress.start("factorising", None if automatic else rounds)
        objective: list[float] = []
        vectors: Array | None = None
        factor = np.empty((model.words, 0), dtype=np.float32)
        kept = np.empty(0)
        # X_0 = G/2 on seen pairs, so W∘G + (1 - W)∘X_0; 0 on the others, where the paper has a constant.
        change = model.targets * (0.5 + 0.5 * model.weights)
        status = "stopped"
        for _ in range(rounds):
            operator = LowRankPlusSparse(
                factor, SparseOperator(model.indptr, model.indices, change, (model.words, model.words), symmetric=True)
            )
            values, vectors = top_eigen(operator, dimension, run, "largest", vectors)
            values = values - self.ridge
            positive = values > 0
            kept = values[positive]
            if kept.size == 0:
                raise FirthianError(
                    "the matrix has no positive eigenvalue to make vectors of",
                    hint="use a larger corpus" if self.ridge == 0 else "lower the ridge",
                )
            factor = np.ascontiguousarray(vectors[:, positive] * np.sqrt(kept).astype(np.float32))
            fitted = pattern_products(model, factor, run)
            objective.append(model.loss(fitted) + self.ridge * float(kept.sum()))
            run.progress.advance(1, f"loss {objective[-1]:.6g}")
            if automatic and len(objective) > 1 and objective[-2] - objective[-1] <= SMALL_FALL * objective[-2]:
                status = "converged"
                break
            change = model.weights * (model.targets - fitted)
        stats = {"iterations": len(objective), "positive_dimensions": int(kept.size)}
        scaled = factor * (kept ** (self.eigenvalue_power - 0.5)).astype(np.float32)
        return Solution(
            scaled, None, objective, status, {**stats, **model.stats()}, {"eigenvalues": kept.astype(np.float64)}
        )


def pattern_products(model: Any, factor: Array, run: Run) -> Array:
    """Give ``U·Uᵀ`` on the pairs that were seen."""
    from firthian.kernels.sparse import inner_products

    fitted = np.empty(model.indices.size, dtype=np.float32)
    run.over_rows(
        lambda first, last: inner_products(model.indptr, model.indices, factor, factor, first, last, fitted),
        factor.shape[0],
    )
    return fitted
