"""AMEMF, Algorithm 1 of Li et al. 2015: alternating gradient descent on every pair."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from firthian.learn.likelihood import steps, unseen
from firthian.learn.likelihood.alternating import solution, sweep
from firthian.learn.solver import Solution
from firthian.runtime.run import Run

_START = 0xA3E


class AMEMF:
    """``rate`` is the paper's constant step, or ``auto``: the inverse of each row's Lipschitz bound, anew for each turn.

    Vectors start small and random, contexts included, as the paper's do.
    """

    requires: ClassVar[tuple[str, ...]] = ("side", "stats", "words")

    def __init__(self, epochs: int = 200, rate: float | str = "auto", ridge: float = 0.0, combine: str = "u") -> None:
        self.epochs = epochs
        self.rate = rate
        self.ridge = ridge
        self.combine = combine

    def solve(self, model: Any, dimension: int, run: Run) -> Solution:
        """Take ``epochs`` turns."""
        from firthian.learn.likelihood.model import Factors

        zeros = np.zeros(model.words)
        words, contexts = (
            (run.generator(_START, side).standard_normal((model.words, dimension)) / np.sqrt(dimension)).astype(
                np.float32
            )
            for side in range(2)
        )
        factors = Factors(words, contexts, zeros, zeros.copy())
        rule = steps.Descent(self.rate)
        objective = sweep(model, factors, unseen.Exact(), rule, self.epochs, self.ridge, run)
        return solution(model, factors, objective, self.combine, {"unseen": "exact"})
