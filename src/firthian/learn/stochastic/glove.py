"""GloVe: weighted least squares on log counts (Pennington, Socher and Manning 2014), by Adagrad (Duchi et al. 2011)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from firthian.arrays import Array, offsets
from firthian.counts.counts import Counts
from firthian.errors import FirthianError
from firthian.learn.recipe import Combine
from firthian.learn.solver import Solution
from firthian.learn.stochastic.cells import PARTS, over_cells, small_start, unpadded
from firthian.options import Option
from firthian.runtime.memory import check_fits
from firthian.runtime.run import Run

#: Row, column, target and weight of a pair.
BYTES_PER_PAIR = 4 * 4

#: Smaller weights have no effect: Adagrad starts with squares of 1, beside which their gradients vanish.
LEAST_WEIGHT = 1e-6

#: Purposes of random numbers.
_START, _ROUNDS = 1, 2


@dataclass(frozen=True)
class Pairs:
    """Pairs with targets and weights, cell by cell; those of cell (p, q) start at ``starts[p * PARTS + q]``."""

    rows: Array
    columns: Array
    targets: Array
    weights: Array
    starts: Array

    def cell(self, part: int, other: int) -> tuple[Array, Array, Array, Array]:
        """Return the rows, columns, targets and weights of a cell."""
        number = part * PARTS + other
        place = slice(int(self.starts[number]), int(self.starts[number + 1]))
        return self.rows[place], self.columns[place], self.targets[place], self.weights[place]


def check_weights(weights: Array, name: str, largest: float) -> None:
    """Raise if the weights are too small for Adagrad to change anything; ``name`` is the option that sets them."""
    if weights.size and weights.max() < LEAST_WEIGHT:
        raise FirthianError(
            f"`{name}` is so far above the largest count, {largest:g}, that no pair has enough weight to learn from",
            hint=f"set `{name}={largest:g}` or less",
        )


@dataclass(eq=False, repr=False)
class GloVe:
    """``J = sum f(X_ij) (u_i·c_j + a_i + b_j - log X_ij)²`` over the observed pairs (eq. 8).

    ``f(x) = min((x / x_max)^exponent, 1)`` (eq. 9) gives rare pairs, which are noisy, less weight.
    """

    counts: Counts
    run: Run
    x_max: Annotated[
        float, Option("count from which the weight is 1; 10 suits tens of millions of tokens", low=1e-9, high=1e12)
    ] = 10.0
    weight_exponent: Annotated[float, Option("power of smaller counts in the weight", low=0, high=10)] = 0.75

    def weight(self, values: Array) -> Array:
        """Return f of counts, eq. 9."""
        return np.asarray(np.minimum((values / np.float32(self.x_max)) ** np.float32(self.weight_exponent), 1))

    def weighted_pairs(self) -> Pairs:
        """Return log X and f(X) of every pair, sorted into cells and shuffled within each by the seed."""
        from firthian.kernels import glove as kernel

        counts = self.counts
        needed = counts.pairs * BYTES_PER_PAIR
        check_fits(f"GloVe on {counts.pairs:,} pairs", needed, self.run.budget, "raise `min_count`")
        sparse, parts = (counts.indptr, counts.indices, counts.values), range(PARTS)
        sizes = np.zeros((PARTS, PARTS), dtype=np.int64)
        list(self.run.threads.map(lambda part: kernel.count_cells(sparse, part, PARTS, sizes[part]), parts))
        starts = offsets(sizes)
        pairs = int(starts[-1])
        rows, columns = np.empty(pairs, dtype=np.int32), np.empty(pairs, dtype=np.int32)
        targets, weights = np.empty(pairs, dtype=np.float32), np.empty(pairs, dtype=np.float32)
        seed = np.uint64(self.run.seed)

        def fill(part: int) -> None:
            own = starts[part * PARTS : (part + 1) * PARTS + 1]
            kernel.fill_cells(sparse, part, PARTS, own, seed, (rows, columns, targets))
            place = slice(int(own[0]), int(own[-1]))
            weights[place] = self.weight(targets[place])
            np.log(targets[place], out=targets[place])

        list(self.run.threads.map(fill, parts))
        check_weights(weights, "x_max", float(counts.values.max(initial=0)))
        return Pairs(rows, columns, targets, weights, starts)


@dataclass
class Adagrad:
    """Minimizes a weighted sum of squares pair by pair, each parameter at its own rate, as in Stanford's GloVe.

    The step of a parameter with gradient g is ``alpha·g / sqrt(s)``; s starts at 1 and grows by ``(alpha·g)²``. This is
    what Stanford's program does; textbook Adagrad omits alpha in s. The gradient is taken without its factor 2.
    Biases learn at the same ``alpha`` as vectors, as in the paper and in version 1.0 of that program; version 1.2
    dropped the factor for them (their rate is 1 there).

    The seed fixes the order of the pairs within a cell; the order of the rounds is drawn for each epoch.
    """

    epochs: Annotated[int, Option("passes over the pairs", low=1)] = 15
    alpha: Annotated[float, Option("learning rate", low=1e-9, high=10)] = 0.05
    combine: Combine = "u+c"

    def solve(self, model: GloVe, dimension: int, run: Run) -> Solution:
        """Make ``epochs`` passes over the pairs; the objective is recomputed after each."""
        pairs = model.weighted_pairs()
        sides = []
        for side, number in enumerate(model.counts.shape):
            generator = run.generator(_START, side)
            vectors = small_start(generator, number, dimension)
            bias = np.ones((number, 2), dtype=np.float32)
            bias[:, 0] = (generator.random(number, dtype=np.float32) - np.float32(0.5)) / dimension
            sides.append((vectors, np.ones_like(vectors), bias))
        objective = passes(pairs, sides[0], sides[1], self.alpha, self.epochs, run)
        (words, _, word_bias), (contexts, _, context_bias) = sides
        biases = {"word_bias": word_bias[:, 0].copy(), "context_bias": context_bias[:, 0].copy()}
        stats = {"epochs": self.epochs, "pairs": int(pairs.rows.size)}
        return unpadded(words, contexts, dimension, self.combine, objective, stats, **biases)


#: Vectors, their sums of squares, and biases, each with its sum of squares.
Parameters = tuple[Array, Array, Array]


def passes(
    pairs: Pairs,
    words: Parameters,
    contexts: Parameters,
    alpha: float,
    epochs: int,
    run: Run,
    name: str = "adagrad",
    first_epoch: int = 0,
    steps: Callable[..., None] | None = None,
) -> list[float]:
    """Make ``epochs`` passes in place, saved as the stage ``name``; return the weighted squares after each.

    ``first_epoch`` numbers the random orders; ``steps`` replaces the steps over a cell.
    """
    from firthian.kernels import glove as kernel

    take = kernel.adagrad_steps if steps is None else steps

    def step(part: int, other: int) -> None:
        take(pairs.cell(part, other), words, contexts, np.float32(alpha))

    def errors(part: int, other: int) -> float:
        return float(kernel.squared_errors(pairs.cell(part, other), words, contexts))

    run.progress.start("Adagrad", epochs)
    names = ("words", "word_squares", "word_bias", "contexts", "context_squares", "context_bias")
    parameters = dict(zip(names, (*words, *contexts), strict=True))
    stage = run.stage(name)
    state = stage.resume(parameters)
    objective: list[float] = list(state.values.get("objective", ()))
    run.progress.advance(state.step / PARTS)
    for number in range(state.step, epochs * PARTS):
        epoch, place = divmod(number, PARTS)
        over_cells(run, step, [run.generator(_ROUNDS, first_epoch + epoch).permutation(PARTS).tolist()[place]])
        if place == PARTS - 1:
            objective.append(math.fsum(over_cells(run, errors, range(PARTS))))
            run.progress.advance(0, f"objective {objective[-1]:.6g}")
        run.progress.advance(1 / PARTS)
        stage.save(number + 1, parameters, objective=objective)
    return objective
