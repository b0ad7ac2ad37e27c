"""Block coordinate descent to a positive semidefinite matrix of low rank (PSDVec's Algorithm 1), without a dense matrix.

An iteration fills in what has no weight from the last approximation, G_t = W∘G + (1 - W)∘X_{t-1}, and takes the nearest
positive semidefinite matrix of rank d. Since G_t = X_{t-1} + W∘(G - X_{t-1}), it is a low-rank matrix plus a sparse one,
and its largest eigenpairs need only products with the two. For large vocabularies only the core words are fitted this way;
each other word is regressed on them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.learn.linalg.krylov import top_eigen
from firthian.learn.linalg.operators import SparseOperator
from firthian.learn.linalg.tall import inner, times_small
from firthian.learn.psd.model import WeightedPMI
from firthian.learn.recipe import EigenvaluePower
from firthian.learn.solver import Solution
from firthian.options import Option
from firthian.runtime.run import Run
from firthian.vectors.likelihood import CALIBRATION, calibrate
from firthian.vectors.psd import DEFAULT_UNSEEN_WEIGHT, UnseenWeight, regress, relate

#: With ``iterations=auto``: the maximum, and the relative decrease of the loss that ends them.
MOST_ITERATIONS, SMALL_FALL = 50, 1e-3


class LowRankPlusSparse:
    """``U·Uᵀ + S + c`` for a symmetric sparse S and a constant c added to every entry."""

    symmetric = True

    def __init__(self, factor: Array, sparse: SparseOperator, constant: float = 0.0) -> None:
        self.factor, self.sparse, self.shape, self.constant = factor, sparse, sparse.shape, constant

    def times(self, dense: Array, run: Run) -> Array:
        """Return the product with a dense matrix."""
        out = self.sparse.times(dense, run)
        if self.factor.shape[1]:
            out += times_small(self.factor, inner(self.factor, dense, run), run)
        if self.constant:
            ones = np.ones((dense.shape[0], 1), dtype=np.float32)
            out += (self.constant * inner(ones, dense, run)).astype(np.float32)
        return out

    transposed_times = times


@dataclass(frozen=True)
class _Iterate:
    """An approximation X_t = factor·factorᵀ, and its values on the observed pairs."""

    vectors: Array
    values: Array
    factor: Array
    fitted: Array
    loss: float


@dataclass
class BlockDescent:
    """Alternates between filling in and taking the nearest matrix; the weighted loss never rises.

    A step of length 1 (the paper's) is a gradient step followed by a projection; a longer one (below 2) converges
    faster, and if it raises the loss it is redone with length 1, which cannot. ``ridge`` mu adds mu·tr(X) to the loss
    (Tikhonov on the vectors), which subtracts mu from every eigenvalue. Vectors are ``Q·lambda^eigenvalue_power``, minus
    their mean with ``center``: all words share one direction, and without it similarities are clearer.
    """

    iterations: Annotated[
        int | str, Option("iterations of block descent; auto: until the loss converges", low=1, words=("auto",))
    ] = 4
    ridge: Annotated[float, Option("Tikhonov mu of the core, subtracted from every eigenvalue", low=0)] = 0.0
    eigenvalue_power: EigenvaluePower = 0.5
    step: Annotated[float, Option("step length; 1 is the paper's, longer ones converge faster", low=0.1, high=2)] = 1.9
    center: Annotated[bool, Option("subtract the mean from every vector")] = True
    band_ridges: Annotated[str, Option("mu of each band of words outside the core, rarest last; 0: unregularized")] = (
        "2,4,8"
    )
    unseen_weight: UnseenWeight = DEFAULT_UNSEEN_WEIGHT
    start: Annotated[
        str, Option("X_0 of unseen pairs: seen is 0, paper is log(kappa)/2", choices=("seen", "paper"))
    ] = "seen"

    def __post_init__(self) -> None:
        self._ridges = read_ridges(self.band_ridges)

    def solve(self, model: WeightedPMI, dimension: int, run: Run) -> Solution:
        """Fit the core, then the other words; there are at most as many dimensions as positive eigenvalues."""
        last, objective, status, stats = self._descend(model, min(dimension, model.words), run)
        factor, words = last.factor, len(model.counts.vocabulary)
        others = np.arange(model.words, words)
        if others.size:
            run.progress.start("regressing words", others.size)
            core_ids = np.where(np.arange(words) < model.words, np.arange(words), -1)
            relations = relate(model.counts, others, core_ids, model.scale)
            ridges = bands(others.size, self._ridges)
            factor = np.concatenate([factor, regress(relations, factor, ridges, self.unseen_weight, run)])
            stats["unrelated_words"] = int(relations.unrelated.size)
        vectors = factor * (last.values ** (self.eigenvalue_power - 0.5)).astype(np.float32)
        center = np.zeros(vectors.shape[1], dtype=np.float32)
        if self.center:
            center = vectors[: model.words].mean(axis=0, dtype=np.float64).astype(np.float32)
        run.progress.start("calibrating")
        calibration = calibrate(model.counts, factor, run)
        extras = {"eigenvalues": last.values, "center": center, CALIBRATION: calibration, **model.marginals()}
        return Solution(vectors - center, None, objective, status, stats, extras, model.state())

    def _descend(
        self, model: WeightedPMI, dimension: int, run: Run
    ) -> tuple[_Iterate, list[float], str, dict[str, int]]:
        """Fit the core; return the last iterate, the losses, the status and statistics."""
        automatic = self.iterations == "auto"
        rounds = MOST_ITERATIONS if automatic else int(self.iterations)
        if self.start == "paper" and not model.scale.kappa:
            raise FirthianError("`start=paper` needs a `kappa` above 0", hint="use start=seen")
        run.progress.start("factorizing", None if automatic else rounds)
        stage, inside = run.stage("descent"), run.within("descent")
        state = stage.restore()
        if state is not None:
            last = self._iterate(model, **{name: np.array(array) for name, array in state.arrays.items()}, run=run)
            objective, redone = list(state.values["objective"]), int(state.values["redone"])
        else:
            # X_0 = G/2 on observed pairs, so W∘G + (1 - W)∘X_0; on the others 0, or G/2 = log(kappa)/2 as in the paper.
            change = model.targets * (0.5 + 0.5 * model.weights)
            unseen = 0.5 * math.log(model.scale.kappa) if self.start == "paper" else 0.0
            last = self._project(model, dimension, None, change - np.float32(unseen), 1.0, inside, "eigen-0", unseen)
            objective, redone = [last.loss], 0
        run.progress.advance(len(objective), f"loss {last.loss:.6g}")
        while not (settled := automatic and _settled(objective)) and len(objective) < rounds:
            number = len(objective)
            change = model.weights * (model.targets - last.fitted)
            next_ = self._project(model, dimension, last, change, self.step, inside, f"eigen-{number}")
            if next_.loss > last.loss and self.step > 1:
                redone += 1
                next_ = self._project(model, dimension, last, change, 1.0, inside, f"eigen-{number}-short")
            last = next_
            objective.append(last.loss)
            run.progress.advance(1, f"loss {last.loss:.6g}")
            stage.save(
                len(objective),
                {"vectors": last.vectors, "values": last.values, "factor": last.factor},
                objective=objective,
                redone=redone,
            )
        status = "converged" if settled else "stopped"
        stats = {"iterations": len(objective), "positive_dimensions": int(last.values.size), "redone_steps": redone}
        return last, objective, status, stats

    def _project(
        self,
        model: WeightedPMI,
        dimension: int,
        last: _Iterate | None,
        change: Array,
        step: float,
        run: Run,
        name: str,
        constant: float = 0.0,
    ) -> _Iterate:
        """Return the nearest positive semidefinite matrix of low rank to ``X + step·change + constant``."""
        shape = (model.words, model.words)
        before = last.factor if last is not None else np.empty((model.words, 0), dtype=np.float32)
        sparse = SparseOperator(model.indptr, model.indices, np.float32(step) * change, shape, symmetric=True)
        start = last.vectors if last is not None else None
        operator = LowRankPlusSparse(before, sparse, constant)
        values, vectors = top_eigen(operator, dimension, run, "largest", start, name=name)
        values = values - step * self.ridge
        positive = values > 0
        if not positive.any():
            raise FirthianError(
                "the matrix has no positive eigenvalues",
                hint="use a larger corpus" if self.ridge == 0 else "lower `ridge`",
            )
        values = values[positive]
        factor = np.ascontiguousarray(vectors[:, positive] * np.sqrt(values).astype(np.float32))
        return self._iterate(model, vectors, values, factor, run)

    def _iterate(self, model: WeightedPMI, vectors: Array, values: Array, factor: Array, run: Run) -> _Iterate:
        """Evaluate an approximation on the observed pairs."""
        fitted = pattern_products(model, factor, run)
        return _Iterate(vectors, values, factor, fitted, model.loss(fitted) + self.ridge * float(values.sum()))


def _settled(objective: list[float]) -> bool:
    """Return whether the last iteration barely lowered the loss."""
    return len(objective) > 1 and objective[-2] - objective[-1] <= SMALL_FALL * objective[-2]


def pattern_products(model: WeightedPMI, factor: Array, run: Run) -> Array:
    """Return ``U·Uᵀ`` on the observed pairs."""
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


def bands(words: int, ridges: tuple[float, ...]) -> Array:
    """Return mu of each word: one band of equal size per value, the rarest words last.

    >>> bands(5, (2.0, 4.0))
    array([2., 2., 2., 4., 4.])
    """
    parts = np.array_split(np.arange(words), len(ridges))
    return np.concatenate([np.full(part.size, mu) for part, mu in zip(parts, ridges, strict=True)])


def read_ridges(text: str) -> tuple[float, ...]:
    """Parse mu of each band, such as ``2,4,8``.

    >>> read_ridges("2,4,8")
    (2.0, 4.0, 8.0)
    """
    try:
        ridges = tuple(float(part) for part in str(text).split(","))
    except ValueError:
        ridges = ()
    if not ridges or min(ridges) < 0 or not np.isfinite(ridges).all():
        raise FirthianError(
            f"`band_ridges` must be numbers of at least 0, got {text!r}", hint="use a list such as 2,4,8"
        )
    return ridges
