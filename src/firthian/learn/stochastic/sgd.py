"""Stochastic gradient descent along a text, at a rate that falls linearly, as in word2vec."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from firthian.errors import FirthianError
from firthian.learn.cells import padded, small_start
from firthian.learn.solver import Solution
from firthian.runtime.run import Run
from firthian.vectors.transform import combine

_START = 1

#: No epoch has as many stretches; it makes one number of an epoch and a stretch.
_MOST_STRETCHES = 10**9


class StochasticGradient:
    """Goes through the stretches of a text ``epochs`` times; the rate falls from ``alpha`` to ``min_alpha``.

    Word vectors begin at uniform(-0.5, 0.5) / dimension, context vectors at zero.

    The objective after each epoch is the mean loss over a fixed sample of the text: excerpts from everywhere in it, with
    noise that is not trained on. The loss met on the way would not do: it is low while the rate is high, because
    vectors then follow the document that is being read.
    """

    requires: ClassVar[tuple[str, ...]] = ("stretches", "descend", "excerpt", "objective", "shape", "epoch_tokens")

    def __init__(self, epochs: int = 5, alpha: float = 0.025, min_alpha: float = 0.0001, combine: str = "u") -> None:
        if min_alpha > alpha:
            raise FirthianError(
                f"min_alpha must be at most alpha = {alpha:g}, got {min_alpha:g}", hint="lower min_alpha or raise alpha"
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
        done = pairs = 0
        excerpts: list[Any] = []
        objective: list[float] = []
        run.progress.start("stochastic gradient", total)
        stage = run.stage("gradient")
        state = stage.restore()
        first_epoch = skipped = 0
        if state is not None:
            words[...], contexts[...] = state.arrays["words"], state.arrays["contexts"]
            excerpts = np.split(np.array(state.arrays["excerpts"]), np.cumsum(state.values["sizes"])[:-1])
            first_epoch, skipped, done, pairs = (state.values[name] for name in ("epoch", "stretches", "done", "pairs"))
            objective += state.values["objective"]
            run.progress.advance(done)
        for epoch in range(first_epoch, self.epochs):
            for number, stretch in enumerate(model.stretches(epoch, self.epochs)):
                if number < skipped:
                    continue
                if epoch == 0:
                    excerpts.append(model.excerpt(stretch))
                alpha = self.alpha - (self.alpha - self.min_alpha) * min(1.0, done / total)
                _, found = model.descend(stretch, words, contexts, alpha)
                tokens = stretch.tokens
                done, pairs = done + tokens, pairs + found
                run.progress.advance(tokens)
                stage.save(
                    number + 1 + epoch * _MOST_STRETCHES,
                    lambda: {"words": words, "contexts": contexts, "excerpts": np.concatenate(excerpts)},
                    epoch=epoch,
                    stretches=number + 1,
                    done=done,
                    pairs=pairs,
                    sizes=[excerpt.size for excerpt in excerpts],
                    objective=objective,
                )
            skipped = 0
            objective.append(model.objective(excerpts, words, contexts))
            run.progress.advance(0, f"objective {objective[-1]:.4f}")
        if pairs == 0:
            # the vectors are still the noise they began with
            raise FirthianError(
                "no pair of words was seen", hint="give more text, a wider --window or a higher --sample"
            )
        words, contexts = words[:, :dimension], contexts[:, :dimension]
        return Solution(
            np.ascontiguousarray(combine(words, contexts, self.combine)),
            np.ascontiguousarray(contexts),
            objective,
            "stopped",
            {"epochs": self.epochs, "tokens": done, "pairs": pairs},
        )
