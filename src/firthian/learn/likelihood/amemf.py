"""Alternating minimization for explicit matrix factorization (Li et al. 2015, Algorithm 1), with and without analogies.

Each turn minimizes the loss over all contexts, then over all words, "until convergence" (lines 5-7 and 10-12). Either problem
is convex, so its minimum does not depend on how it is found. The paper takes thousands of gradient steps; preconditioned
conjugate gradients take about ten.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from firthian.arrays import Array
from firthian.learn.likelihood import losses
from firthian.learn.likelihood.alternating import FactorModel, Ridge, make_solution, sweep
from firthian.learn.likelihood.losses import Gradient, Loss
from firthian.learn.likelihood.model import Factors, Side
from firthian.learn.likelihood.pairs import SeenPairs
from firthian.learn.likelihood.semf import SupervisedEMF, teach_metric
from firthian.learn.likelihood.updates import Update
from firthian.learn.linalg.tall import eigh, weighted_gram
from firthian.learn.recipe import Combine
from firthian.learn.solver import Solution
from firthian.options import Option
from firthian.runtime.memory import check_fits
from firthian.runtime.run import Run

#: Eigenvalues of the shared curvature below this share of the mean are raised to it.
FLOOR = 1e-3

#: The most steps of an inner loop, and the most corrections of a step's length.
MOST_STEPS, MOST_CORRECTIONS = 100, 4

#: Rows that are fitted together, and the dense arrays alive meanwhile.
ROWS, ARRAYS = 64, 9

#: A step is short enough if the slope at its end is below this share of the slope at its start.
ENOUGH = 0.1

_START = 0xA3E


@dataclass
class AMEMF:
    """Algorithm 1 of Li et al. 2015: alternating minimization over every pair, for models with or without analogies.

    An inner loop ends when no row's next step would lower its loss by more than ``tolerance`` per event. Vectors start small
    and random, contexts included, as in the paper.
    """

    epochs: Annotated[int, Option("turns of contexts and words (the paper: 200)", low=1)] = 50
    tolerance: Annotated[
        float, Option("an inner loop ends when a step lowers the loss per event by less", low=1e-9, high=1)
    ] = 1e-6
    ridge: Ridge = 0.0
    combine: Combine = "u"

    def solve(self, model: FactorModel, dimension: int, run: Run) -> Solution:
        """Take ``epochs`` turns."""
        shape = model.words, dimension
        words, contexts = (
            (run.generator(_START, side).standard_normal(shape) / np.sqrt(dimension)).astype(np.float32)
            for side in range(2)
        )
        factors = Factors(words, contexts, np.zeros(model.words), np.zeros(model.words))
        taught = model if isinstance(model, SupervisedEMF) else None
        if taught is not None:
            taught.check_memory(dimension, run)
            _check_questions(taught, run)
        objective = sweep(
            model, factors, losses.Exact(), InnerLoop(self.tolerance, taught), self.epochs, self.ridge, run
        )
        return teach_metric(model, make_solution(model, factors, objective, self.combine, {"unseen": "exact"}))


class InnerLoop(Update):
    """Moves each row to the minimum of its loss, with the other side fixed; words in analogies move together."""

    needs_gradient = False

    def __init__(self, tolerance: float = 1e-6, taught: SupervisedEMF | None = None) -> None:
        self.tolerance, self.taught = tolerance, taught

    def move(self, side: Side, gradient: Gradient, loss: Loss, run: Run, turn: int, ridge: float) -> None:
        """Minimize over ``side.left``."""
        losses.check_dense(len(side.right), side.right.shape[1], run)
        share = side.right_share / side.right_share.sum()
        values, axes = eigh(weighted_gram(side.right, share, run)[1])
        values = np.maximum(values, 0) + max(FLOOR * float(values.mean()), 1e-12)
        values += ridge / max(float(side.events.mean()), 1e-12)
        inverse = ((axes / values) @ axes.T).astype(np.float32)
        together = np.empty(0, dtype=np.int64)
        if self.taught is not None and len(side.right) == self.taught.words:
            together = np.unique(self.taught.analogies.ids[:, :3])
        alone = np.ones(len(side.left), dtype=np.bool_)
        alone[together] = False

        def block(begin: int, end: int) -> None:
            rows = begin + np.flatnonzero(alone[begin:end])
            if rows.size:
                x, trials = _dense_rows(side.pairs, rows, side.left_share[rows], side.right_share)
                side.left[rows] = minimize(side.left[rows], side.right, x, trials, inverse, ridge, self.tolerance)

        def taught_words(_begin: int, _end: int) -> None:
            assert self.taught is not None
            model, share = self.taught, side.right_share
            own = _dense_rows(side.pairs, together, side.left_share[together], share)
            asked = _dense_rows(model.pairs, np.arange(model.pairs.row_count), model.shares, share)
            x, trials = (np.concatenate(parts) for parts in zip(own, asked, strict=True))
            ids = np.searchsorted(together, model.analogies.ids[:, :3])
            side.left[together] = minimize(
                side.left[together], side.right, x, trials, inverse, ridge, self.tolerance, _combinations(ids, together.size)
            )  # fmt: skip

        run.over_rows(block, len(side.left), ROWS, updates=[side.left])
        if together.size:
            run.over_rows(taught_words, 1, here=True)


def _check_questions(model: SupervisedEMF, run: Run) -> None:
    """Raise if the dense rows of all analogies and their words exceed the memory budget."""
    ids = model.analogies.ids
    needed = 4 * ARRAYS * (len(ids) + np.unique(ids[:, :3]).size) * model.words
    what = f"learning {len(ids):,} analogies among {model.words:,} words"
    check_fits(what, needed, run.budget, "use fewer analogies", "use the recipe semf")


def minimize(
    left: Array,
    right: Array,
    x: Array,
    trials: Array,
    inverse: Array,
    ridge: float,
    tolerance: float,
    combinations: Any = None,
) -> Array:
    """Return the rows that minimize the binomial loss of ``x`` among ``trials``, by conjugate gradients.

    ``inverse`` times a row's gradient over its curvature is nearly a Newton step. Rows do not depend on each other, so each
    has steps of its own length, unless the vectors of ``x`` are ``combinations`` (a sparse matrix) of them.
    """
    eta = _product(combinations, left) @ right.T
    slope, curvature = _derivatives(x, trials, eta)
    events = trials.sum(axis=1, dtype=np.float64)
    mass = _product(None if combinations is None else abs(combinations).T, curvature.sum(axis=1))
    mass = np.maximum(mass, 1e-6 * events[: len(left)])[:, np.newaxis].astype(np.float32) + np.float32(1e-12)
    transposed = None if combinations is None else combinations.T

    def total(first: Array, second: Array) -> Array:
        dots: Array = np.einsum("ij,ij->i", first, second)
        return dots[:, np.newaxis] if combinations is None else dots.sum(keepdims=True)[:, np.newaxis]

    def gradient_at(slope: Array, left: Array) -> Array:
        gradient: Array = _product(transposed, slope @ right) + np.float32(ridge) * left
        return gradient

    enough = tolerance * (events[:, np.newaxis] if combinations is None else events.sum(keepdims=True)[:, np.newaxis])
    gradient = gradient_at(slope, left)
    scaled = (gradient @ inverse) / mass
    direction, size = -scaled, total(gradient, scaled)
    for _ in range(MOST_STEPS):
        delta = _product(combinations, direction) @ right.T
        start = total(gradient, direction)
        length = -start / np.maximum(total(curvature * delta, delta) + ridge * total(direction, direction), 1e-30)
        # a parabola falls by half of slope times length
        if (-0.5 * start * length <= enough).all():
            break
        for _ in range(MOST_CORRECTIONS):
            moved, ahead = left + length * direction, eta + length * delta
            slope, curvature = _derivatives(x, trials, ahead)
            end = total(slope, delta) + np.float32(ridge) * total(moved, direction)
            too_long = end > ENOUGH * np.abs(start)
            if not too_long.any():
                break
            # to where the line through both slopes is 0
            length = np.where(too_long, length * start / np.minimum(start - end, -1e-30), length)
        left, eta = moved, ahead
        before, gradient = gradient, gradient_at(slope, left)
        scaled = (gradient @ inverse) / mass
        # Polak and Ribière's direction; downhill again if it is not
        share = np.maximum(total(gradient - before, scaled) / np.maximum(size, 1e-30), 0)
        size = total(gradient, scaled)
        direction = share * direction - scaled
        direction = np.where(total(gradient, direction) < 0, direction, -scaled)
    return left


def _product(combinations: Any, rows: Array) -> Array:
    return rows if combinations is None else combinations @ rows


def _derivatives(x: Array, trials: Array, eta: Array) -> tuple[Array, Array]:
    """Return the slopes n·sigma(eta) - x of the binomial loss, and its curvatures."""
    with np.errstate(over="ignore"):
        chance = np.exp(-eta)
    chance += 1
    np.reciprocal(chance, out=chance)
    mean = trials * chance
    np.subtract(1, chance, out=chance)
    chance *= mean
    mean -= x
    return mean, chance


def _dense_rows(pairs: SeenPairs, rows: Array, left_share: Array, right_share: Array) -> tuple[Array, Array]:
    """Return the counts of rows with every context, and the trials they are among."""
    x = np.zeros((rows.size, right_share.size), dtype=np.float32)
    for place, row in enumerate(rows):
        seen = slice(pairs.indptr[row], pairs.indptr[row + 1])
        x[place, pairs.indices[seen]] = pairs.values[seen]
    return x, x + np.multiply.outer(left_share.astype(np.float32), right_share.astype(np.float32))


def _combinations(ids: Array, words: int) -> Any:
    """Return the matrix that puts u_b - u_a + u_c of each question below the words' own vectors."""
    import scipy.sparse

    signs = np.tile(np.array([-1, 1, 1], dtype=np.float32), len(ids))
    rows = np.repeat(np.arange(len(ids)), 3)
    questions = scipy.sparse.csr_array((signs, (rows, ids.ravel())), shape=(len(ids), words))
    return scipy.sparse.vstack([scipy.sparse.eye_array(words, dtype=np.float32), questions], format="csr")
