"""Adagrad on pairs of words and contexts, as in Stanford's GloVe, in parallel and reproducible (Duchi et al. 2011)."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from firthian.arrays import Array
from firthian.learn.cells import PARTS, over_cells, small_start
from firthian.learn.solver import Solution
from firthian.runtime.run import Run
from firthian.vectors.transform import combine

_START, _ROUNDS = 1, 2


class Adagrad:
    """Minimizes a sum of weighted squares over pairs, one pair after another, each parameter at its own rate.

    The step of a parameter with gradient g is ``alpha·g / sqrt(s)``; s begins at 1 and grows by ``(alpha·g)²``. This is
    what Stanford's program does; textbook Adagrad leaves alpha out of s. The gradient is taken without its factor 2.
    Biases learn at the same ``alpha`` as vectors, as in the paper and in version 1.0 of that program; its version 1.2
    lost the factor for them (their rate is 1 there).

    The order of the pairs inside a cell is fixed by the seed; the order of the rounds is drawn anew each epoch.
    """

    requires: ClassVar[tuple[str, ...]] = ("weighted_pairs", "shape")

    def __init__(self, epochs: int = 15, alpha: float = 0.05, combine: str = "u+c") -> None:
        self.epochs = epochs
        self.alpha = alpha
        self.combine = combine

    def solve(self, model: Any, dimension: int, run: Run) -> Solution:
        """Take ``epochs`` passes over the pairs; the objective is computed anew after each."""
        pairs = model.weighted_pairs()
        sides = []
        for side, number in enumerate(model.shape):
            generator = run.generator(_START, side)
            vectors = small_start(generator, number, dimension)
            bias = np.ones((number, 2), dtype=np.float32)
            bias[:, 0] = (generator.random(number, dtype=np.float32) - np.float32(0.5)) / dimension
            sides.append((vectors, np.ones_like(vectors), bias))
        objective = passes(pairs, sides[0], sides[1], self.alpha, self.epochs, run)
        (words, _, word_bias), (contexts, _, context_bias) = sides
        words, contexts = words[:, :dimension], contexts[:, :dimension]
        return Solution(
            np.ascontiguousarray(combine(words, contexts, self.combine)),
            np.ascontiguousarray(contexts),
            objective,
            "stopped",
            {"epochs": self.epochs, "pairs": int(pairs.rows.size)},
            {"word_bias": word_bias[:, 0].copy(), "context_bias": context_bias[:, 0].copy()},
        )


#: Vectors, their sums of squares, and biases with theirs.
Parameters = tuple[Array, Array, Array]


def passes(
    pairs: Any,
    words: Parameters,
    contexts: Parameters,
    alpha: float,
    epochs: int,
    run: Run,
    name: str = "adagrad",
    first_epoch: int = 0,
) -> list[float]:
    """Take ``epochs`` passes in place, saved as the stage ``name``; give the weighted squares after each.

    ``first_epoch`` numbers the random orders.
    """
    from firthian.kernels import glove as kernel

    (word_vectors, word_squares, word_bias), (context_vectors, context_squares, context_bias) = words, contexts

    def step(part: int, other: int) -> None:
        kernel.adagrad_steps(*pairs.cell(part, other), *words, *contexts, np.float32(alpha))

    def errors(part: int, other: int) -> float:
        return float(
            kernel.squared_errors(*pairs.cell(part, other), word_vectors, word_bias, context_vectors, context_bias),
        )

    objective: list[float] = []
    run.progress.start("Adagrad", epochs)
    learned = {
        "words": word_vectors, "word_squares": word_squares, "word_bias": word_bias,
        "contexts": context_vectors, "context_squares": context_squares, "context_bias": context_bias,
    }  # fmt: skip
    stage = run.stage(name)
    state = stage.restore()
    done = 0
    if state is not None:
        done = state.step
        for part, array in learned.items():
            array[...] = state.arrays[part]
        objective += state.values["objective"]
        run.progress.advance(done / PARTS)
    for number in range(done, epochs * PARTS):
        epoch, place = divmod(number, PARTS)
        over_cells(run, step, [run.generator(_ROUNDS, first_epoch + epoch).permutation(PARTS).tolist()[place]])
        if place == PARTS - 1:
            objective.append(math.fsum(over_cells(run, errors, range(PARTS))))
            run.progress.advance(0, f"objective {objective[-1]:.6g}")
        run.progress.advance(1 / PARTS)
        stage.save(number + 1, learned, objective=objective)
    return objective
