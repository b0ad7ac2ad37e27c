"""Stochastic gradient descent along a text, at a rate that falls linearly, as in word2vec."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from firthian.errors import FirthianError
from firthian.run import Run
from firthian.solvers.base import Solution
from firthian.solvers.cells import combine, padded, small_start

_START = 1


class StochasticGradient:
    """Goes through the stretches of a text ``epochs`` times; the rate falls from ``alpha`` to ``min_alpha``.

    Word vectors begin at uniform(-0.5, 0.5) / dimension, context vectors at zero. The objective of an epoch is the mean
    loss of its samples, each taken just before the step on it: an honest estimate, since the noise is always fresh.
    """

    requires: ClassVar[tuple[str, ...]] = ("stretches", "descend", "shape", "epoch_tokens")

    def __init__(self, epochs: int = 5, alpha: float = 0.025, min_alpha: float = 0.0001, combine: str = "u") -> None:
        if min_alpha > alpha:
            raise FirthianError(
                f"min_alpha must be at most alpha = {alpha:g}, got {min_alpha:g}", hint="the rate falls during training"
            )
        self.epochs = epochs
        self.alpha = alpha
        self.min_alpha = min_alpha
        self.combine = combine

    def solve(self, model: Any, dimension: int, run: Run) -> Solution:
        """Train vectors of ``dimension`` numbers."""
        number, others = model.shape
        words = small_start(run.generator(_START), number, dimension)
        contexts = np.zeros((others, padded(dimension)), dtype=np.float32)
        total = self.epochs * model.epoch_tokens
        done = all_pairs = 0
        objective: list[float] = []
        run.progress.start("stochastic gradient", total)
        for epoch in range(self.epochs):
            loss, pairs = 0.0, 0
            for stretch in model.stretches(epoch, self.epochs):
                alpha = self.alpha - (self.alpha - self.min_alpha) * min(1.0, done / total)
                met, found = model.descend(stretch, words, contexts, alpha)
                loss, pairs = loss + met, pairs + found
                done += stretch.tokens
                run.progress.advance(stretch.tokens, f"loss {loss / max(pairs, 1):.4f}")
            objective.append(loss / max(pairs, 1))
            all_pairs += pairs
        words, contexts = words[:, :dimension], contexts[:, :dimension]
        return Solution(
            np.ascontiguousarray(combine(words, contexts, self.combine)),
            np.ascontiguousarray(contexts),
            objective,
            "stopped",
            {"epochs": self.epochs, "tokens": done, "pairs": all_pairs},
        )
