"""Algorithm 3 of Sakaya (2015) as it is printed: for studies; ``OnlinePosterior`` is better in every respect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.counts.counts import Counts
from firthian.learn.bayes.model import Events, noise_of, sampled_events
from firthian.learn.bayes.posterior import Relevance
from firthian.learn.bayes.side import Before, Side
from firthian.learn.bayes.streaming import HasLikelihood, OnlinePosterior
from firthian.runtime.run import Run


class PrintedPosterior(OnlinePosterior):
    """Natural parameters that start from noise and move by eps = (beta + kappa)^tau.

    beta is a word's total over its count in the batch; it also scales the batch's events, positive and negative ones. The
    negative ones are drawn anew in each of ``inner`` rounds (niter in the thesis). eps is set at the end of a batch
    (line 22), for the word's next one; its first value is not printed, and is 1 here.
    """

    calibrates = False

    def __init__(
        self, likelihood: HasLikelihood, dimension: int, run: Run, inner: int, kappa: float, tau: float
    ) -> None:
        super().__init__(likelihood, dimension, run, forgetting=1.0, start_sweeps=1, inner=inner)
        self.kappa, self.tau, self.niter = kappa, tau, inner
        self.eps: tuple[Array, Array] = (np.ones(0), np.ones(0))

    def _begin(self, batch: Counts, lift: Array) -> None:
        shape, random = (len(batch.vocabulary), self.dimension), self.run.generator("algorithm 3")
        self.words = Side.of(0.1 * random.standard_normal(shape), 0.1, curved=True)
        self.contexts = Side.of(0.1 * random.standard_normal(shape), 0.1, curved=False)
        given = self.likelihood
        self.relevance = Relevance.start(self.dimension, given.relevance_shape, given.relevance_rate)
        self.eps = np.ones(shape[0]), np.ones(shape[0])

    def _learn(self, batch: Counts, lift: Array, words_before: Before, contexts_before: Before) -> float:
        score = super()._learn(batch, lift, words_before, contexts_before)
        seen = (batch.row_sums, batch.column_sums)
        for eps, beta, part in zip(self.eps, self._betas(batch, lift), seen, strict=True):
            # line 22
            eps[part > 0] = (beta[part > 0] + self.kappa) ** self.tau
        return score

    def step_sizes(self, batch: Counts) -> tuple[Array, Array]:
        """Return eps of the words and contexts of the batch; the others stay."""
        words, contexts = self.eps
        return words * (batch.row_sums > 0), contexts * (batch.column_sums > 0)

    def _betas(self, batch: Counts, lift: Array) -> tuple[Array, Array]:
        """Line 3: the total count of each word, and each context, over its count in the batch."""
        pairs = (self.words.mass, batch.row_sums), (self.contexts.mass, batch.column_sums)
        words, contexts = (
            np.divide(lift * mass, part, out=np.zeros_like(mass), where=part > 0) for mass, part in pairs
        )
        return words, contexts

    def events(self, batch: Counts, lift: Array, number: int) -> tuple[Events, Events]:
        """Return a batch's positive events and as many drawn negative ones as there are, times k, all times beta."""
        noise = noise_of(self.contexts.mass + 1, self.likelihood.ns_exponent)
        run = replace(self.run, seed=self.run.seed + 1 + self.batches * self.niter + number)
        words = sampled_events(batch, run, self.likelihood.negative, noise)
        by_word, by_context = self._betas(batch, lift)
        return _times(words, by_word), _times(words.transposed(), by_context)

    def _whole_text(self, lift: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """What was learned is not rescaled."""
        one = np.ones(lift.size)
        return (one, one), (one, one)

    def arrays(self) -> dict[str, Array]:
        """Return all arrays by name, for a checkpoint."""
        return {**super().arrays(), "word_eps": self.eps[0], "context_eps": self.eps[1]}

    def restore(self, arrays: Mapping[str, Array], values: Mapping[str, Any]) -> None:
        """Restore what ``arrays`` and ``values`` returned."""
        super().restore(arrays, values)
        self.eps = np.array(arrays["word_eps"]), np.array(arrays["context_eps"])


def _times(side: Events, beta: Array) -> Events:
    factor = np.repeat(beta, np.diff(side.indptr)).astype(np.float32)
    return replace(side, positive=side.positive * factor, negative=side.negative * factor)
