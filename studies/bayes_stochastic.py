"""Batches instead of full sweeps: how far behind they are, and why the thesis's were so much further."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import firthian as ft
from firthian.counts.counting import CountingContext, CountJob
from firthian.counts.counts import Counts
from firthian.counts.tokens import Tokens
from firthian.learn.bayes.model import BayesianLogistic, Events, Likelihood, StreamedLogistic, sampled_events
from firthian.learn.bayes.streaming import Natural, OnlinePosterior, online_solution
from firthian.learn.bayes.variational import VariationalSweeps
from firthian.runtime.run import Run
from studies.bayes_data import Data, cells, figures
from studies.common import Study, table, timed

Array = np.ndarray[Any, np.dtype[Any]]

DIMENSION = 20
BATCH_TOKENS = 150_000


@dataclass(frozen=True)
class Choice:
    """What the thesis's Algorithm 3 does in another way than ours."""

    noise_start: bool = False
    sampled: bool = False
    falling: bool = False


#: Algorithm 3 as it is printed, then with each of its choices replaced by ours, then ours.
CHOICES = {
    "Algorithm 3": Choice(True, True, True),
    "with a spectral start, five sweeps over the first batch": Choice(False, True, True),
    "with expected negative events": Choice(True, False, True),
    "with steps by a batch's share of a word's events": Choice(True, True, False),
    "ours, but a random start": Choice(noise_start=True),
    "ours, but sampled negative events": Choice(sampled=True),
    "ours, but steps that fall by the clock": Choice(falling=True),
    "ours": Choice(),
}


class Variant(OnlinePosterior):
    """A stream with some of the thesis's choices."""

    def __init__(self, choice: Choice, likelihood: Likelihood, run: Run) -> None:
        super().__init__(likelihood, DIMENSION, run, 0.85, 5)
        self.choice = choice
        self.visits = np.zeros(0)

    def _begin(self, batch: Counts, scale: float) -> None:
        if not self.choice.noise_start:
            super()._begin(batch, scale)
            return
        # One step from noise, which is what the first batch of Algorithm 3 is.
        given = self.likelihood
        model = BayesianLogistic(batch, self.run, negative=given.negative, ns_exponent=given.ns_exponent, temper=scale)
        self.state = VariationalSweeps(1, start="noise", rotate=False).fit(model, self.dimension, self.run)
        # After a single sweep contexts still hold the prior they began with, whose precisions are 1.
        priors = np.ones(self.dimension), np.ones(self.dimension)
        one, other = (
            Natural.of(side, prior) for side, prior in zip((self.state.words, self.state.contexts), priors, strict=True)
        )
        self.naturals = one, other

    def _step_sizes(self, batch: Counts) -> tuple[Array, Array]:
        if not self.choice.falling:
            return super()._step_sizes(batch)
        # Robbins-Monro by the number of batches a word was in, however much they said about it.
        self.visits = np.concatenate([self.visits, np.zeros(batch.row_sums.size - self.visits.size)])
        self.visits += batch.row_sums > 0
        rate = np.where(batch.row_sums > 0, (1 + self.visits) ** -0.7, 0.0)
        return rate, rate

    def _events(self, batch: Counts, scale: float) -> tuple[Events, Events]:
        if not self.choice.sampled:
            return super()._events(batch, scale)
        noise = batch.column_sums**self.likelihood.ns_exponent
        # Negative events are drawn anew in each batch and blown up like the positive ones.
        run = replace(self.run, seed=self.run.seed + self.batches)
        words = sampled_events(batch, run, self.likelihood.negative, noise / noise.sum())
        contexts = words.transposed()
        by_word, by_context = self._scales(batch, scale)
        return _blown_up(words, by_word), _blown_up(contexts, by_context)


def _blown_up(side: Events, lift: Array) -> Events:
    factor = np.repeat(lift, np.diff(side.indptr)).astype(np.float32)
    return replace(side, positive=side.positive * factor, negative=side.negative * factor)


def variant(data: Data, choice: Choice) -> dict[str, Any]:
    """Learn from the small text in batches, once."""
    run = Run.create()
    job = CountJob.create(str(data.small), **{**data.counting, "min_count": 20})
    with Tokens.read(job, CountingContext(run.executor, run.budget, run.progress)) as tokens:
        model = StreamedLogistic(tokens, run, batch_tokens=BATCH_TOKENS)
        stream = Variant(choice, model, run)
        done = 0.0
        for batch in model.batches():
            done += float(batch.vocabulary.counts.sum())
            stream.step(batch, (stream.row_mass.sum() + batch.total) * max(1.0, model.total_tokens / done))
        found = online_solution(stream, [], 0.25, False)
        return {**figures(ft.Vectors(found.words, tokens.vocabulary)), "batches": stream.batches}


def sweeps_on_small(data: Data) -> dict[str, Any]:
    """Train on the small text by full sweeps, for comparison."""
    counting = {**data.counting, "min_count": 20}
    return figures(ft.train(str(data.small), "bayes", vector_size=DIMENSION, counting=counting))


def whole(data: Data) -> dict[str, Any]:
    """Learn from the whole text with the recipe's defaults."""
    made, seconds = timed(
        lambda: ft.train(str(data.corpus), "bayes-svi", vector_size=data.dimension, counting=data.counting)
    )
    return {
        **figures(made),
        "seconds": seconds,
        "batches": made.provenance.stats["batches"],
    }


def compute(study: Study, data: Data) -> None:
    """Compute the missing rows of this part."""
    study.row("batches/whole text", lambda: whole(data))
    study.row("batches/small, full sweeps", lambda: sweeps_on_small(data))
    for name in ("Algorithm 3", "ours") if data.quick else CHOICES:
        choice = CHOICES[name]
        study.row(f"batches/small, {name}", lambda choice=choice: variant(data, choice))


def page(study: Study) -> str:
    """Write this part of the page."""
    known = study.rows
    names = [name for name in ("full sweeps", *CHOICES) if f"batches/small, {name}" in known]
    rows = [[name, *cells(known[f"batches/small, {name}"])] for name in names]
    return table(["on 2 M tokens", "WordSim-353", "MEN", "Google", "MSR"], rows)
