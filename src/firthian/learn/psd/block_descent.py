"""Block coordinate descent to a positive semidefinite matrix of low rank (PSDVec's Algorithm 1), without a dense matrix.

An iteration fills in what has no weight from the last approximation, G_t = W∘G + (1 - W)∘X_{t-1}, and takes the nearest
positive semidefinite matrix of rank d. Since G_t = X_{t-1} + W∘(G - X_{t-1}), it is a low-rank matrix plus a sparse one,
and its largest eigenpairs need only products with the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.learn.linalg.operators import SparseOperator
from firthian.learn.linalg.spectral import top_eigen
from firthian.learn.linalg.tall import inner, times_small
from firthian.learn.solver import Solution
from firthian.runtime.run import Run

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
        """Return the product with some columns."""
        out = self.sparse.times(dense, run)
        if self.factor.shape[1]:
            out += times_small(self.factor, inner(self.factor, dense, run), run)
        return out

    transposed_times = times


@dataclass(frozen=True)
class _Iterate:
    """An approximation X_t = factor·factorᵀ, and what it gives on the seen pairs."""

    vectors: Array
    values: Array
    factor: Array
    fitted: Array
    loss: float


class BlockDescent:
    """Alternates between filling in and taking the nearest matrix; the weighted loss never rises.

    ``iterations`` is a number, or ``auto``: until the loss falls by less than a thousandth. ``step`` 1 is the paper's
    algorithm. It is a gradient step of length 1 followed by a projection; a longer step (below 2) gets further, and one that
    raises the loss is taken back and done with length 1, which cannot. ``ridge`` mu adds mu·tr(X) to the loss (Tikhonov on
    the vectors), which takes mu from every eigenvalue. Vectors are ``Q·lambda^eigenvalue_power``, with ``center`` less their
    mean: one direction is common to all words, and without it similarities are clearer.
    """

    requires: ClassVar[tuple[str, ...]] = ("indptr", "indices", "targets", "weights", "loss", "marginals")

    def __init__(
        self,
        iterations: int | str = 4,
        ridge: float = 0.0,
        eigenvalue_power: float = 0.5,
        step: float = 1.9,
        center: bool = True,
    ) -> None:
        self.iterations = iterations
        self.ridge = ridge
        self.eigenvalue_power = eigenvalue_power
        self.step = step
        self.center = center

    def solve(self, model: Any, dimension: int, run: Run) -> Solution:
        """Fit the model; fewer dimensions come back when there are fewer positive eigenvalues."""
        automatic = self.iterations == "auto"
        rounds = MOST_ITERATIONS if automatic else int(self.iterations)
        run.progress.start("factorizing", None if automatic else rounds)
        stage, inside = run.stage("descent"), run.within("descent")
        state = stage.restore()
        if state is not None:
            last = self._iterate(model, **{name: np.array(array) for name, array in state.arrays.items()}, run=run)
            objective, taken_back = list(state.values["objective"]), int(state.values["taken_back"])
        else:
            # X_0 = G/2 on seen pairs, so W∘G + (1 - W)∘X_0; 0 on the others, where the paper has a constant.
            change = model.targets * (0.5 + 0.5 * model.weights)
            last = self._project(model, dimension, None, change, 1.0, inside, "eigen-0")
            objective, taken_back = [last.loss], 0
        run.progress.advance(len(objective), f"loss {last.loss:.6g}")
        while not (settled := automatic and _settled(objective)) and len(objective) < rounds:
            number = len(objective)
            change = model.weights * (model.targets - last.fitted)
            next_ = self._project(model, dimension, last, change, self.step, inside, f"eigen-{number}")
            if next_.loss > last.loss and self.step > 1:
                taken_back += 1
                next_ = self._project(model, dimension, last, change, 1.0, inside, f"eigen-{number}-short")
            last = next_
            objective.append(last.loss)
            run.progress.advance(1, f"loss {last.loss:.6g}")
            stage.save(
                len(objective),
                {"vectors": last.vectors, "values": last.values, "factor": last.factor},
                objective=objective,
                taken_back=taken_back,
            )
        status = "converged" if settled else "stopped"
        stats = {"iterations": len(objective), "positive_dimensions": int(last.values.size), "taken_back": taken_back}
        shown, extras = self.shown(last.factor, last.values, model.words)
        state = model.stats()
        return Solution(shown, None, objective, status, {**stats, **state}, {**extras, **model.marginals()}, state)

    def shown(self, factor: Array, values: Array, core: int) -> tuple[Array, dict[str, Array]]:
        """Return the vectors a user sees, bent and centered on the core, and what leads back to the factor."""
        bent = factor * (values ** (self.eigenvalue_power - 0.5)).astype(np.float32)
        center = bent[:core].mean(axis=0, dtype=np.float64) if self.center else np.zeros(bent.shape[1])
        return bent - center.astype(np.float32), {"eigenvalues": values, "center": center.astype(np.float32)}

    def _project(
        self, model: Any, dimension: int, last: _Iterate | None, change: Array, step: float, run: Run, name: str
    ) -> _Iterate:
        """Return the nearest positive semidefinite matrix of low rank to ``X + step·change``."""
        shape = (model.words, model.words)
        before = last.factor if last is not None else np.empty((model.words, 0), dtype=np.float32)
        sparse = SparseOperator(model.indptr, model.indices, np.float32(step) * change, shape, symmetric=True)
        start = last.vectors if last is not None else None
        values, vectors = top_eigen(LowRankPlusSparse(before, sparse), dimension, run, "largest", start, name=name)
        values = values - step * self.ridge
        positive = values > 0
        if not positive.any():
            raise FirthianError(
                "the matrix has no positive eigenvalue to make vectors of",
                hint="use a larger corpus" if self.ridge == 0 else "lower the ridge",
            )
        values = values[positive]
        factor = np.ascontiguousarray(vectors[:, positive] * np.sqrt(values).astype(np.float32))
        return self._iterate(model, vectors, values, factor, run)

    def _iterate(self, model: Any, vectors: Array, values: Array, factor: Array, run: Run) -> _Iterate:
        """Compare an approximation with the seen pairs."""
        fitted = pattern_products(model, factor, run)
        return _Iterate(vectors, values, factor, fitted, model.loss(fitted) + self.ridge * float(values.sum()))


def _settled(objective: list[float]) -> bool:
    """Return whether the last iteration hardly lowered the loss."""
    return len(objective) > 1 and objective[-2] - objective[-1] <= SMALL_FALL * objective[-2]


def pattern_products(model: Any, factor: Array, run: Run) -> Array:
    """Return ``U·Uᵀ`` on the pairs that were seen."""
    from firthian.kernels.sparse import inner_products

    indptr, indices = model.indptr, model.indices
    fitted = np.empty(indices.size, dtype=np.float32)
    run.over_rows(
        lambda first, last: inner_products(indptr, indices, factor, factor, first, last, fitted),
        factor.shape[0],
        pairs=[fitted],
        pointers=indptr,
    )
    return fitted
