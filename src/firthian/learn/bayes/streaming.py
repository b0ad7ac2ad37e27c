"""Stochastic variational inference: batches of text, steps in natural parameters, a step size for each word.

The thesis's Algorithm 3 (WordSim 0.19 against 0.47 of full sweeps) redraws negative events in every batch, scales a
batch's statistics up to the corpus by the word's own count, and forgets on a schedule that only knows how often the word
occurred. Here negative events are expectations over all contexts seen so far, so that only the positive events of a batch
are noisy; a step weighs the batch by its share of the word's events; and full sweeps from a spectral start fit the first
batch, so that no noise enters the average.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import numpy as np

from firthian.arrays import Array
from firthian.counts.counts import Counts
from firthian.kernels.packing import pack, unpack
from firthian.learn.bayes.bounds import Background
from firthian.learn.bayes.model import BayesianLogistic, Events, no_pairs
from firthian.learn.bayes.posterior import BLOCK, PARTS, Gaussians, Relevance, VariationalState
from firthian.learn.bayes.updates import background_of, check_failures, gather_block, update_contexts, update_words
from firthian.learn.bayes.variational import Center, VariationalSweeps, WordPower
from firthian.learn.solver import Solution
from firthian.options import Option
from firthian.runtime.run import Run, one_blas_thread


@dataclass
class Natural:
    """The data's part of the natural parameters of one side: half the precision, packed, and precision times mean."""

    half: Array
    linear: Array

    @classmethod
    @one_blas_thread()
    def of(cls, side: Gaussians, prior: Array) -> Natural:
        """Compute them from posteriors: S^-1 minus the prior, and S^-1 m."""
        half, linear = np.zeros_like(side.moments), np.zeros(side.means.shape)
        for first in range(0, side.rows, BLOCK):
            here = slice(first, min(first + BLOCK, side.rows))
            precision = np.linalg.inv(unpack(side.covariances[here], side.size))
            linear[here] = np.einsum("iab,ib->ia", precision, side.means[here])
            half[here] = pack((precision - np.diag(prior)) / 2, half.shape[1])
        return cls(half, linear)


class HasLikelihood(Protocol):
    """What steps need of a model: negative events, bound and priors."""

    negative: float
    ns_exponent: float
    temper: float
    bound: str
    relevance_shape: float
    relevance_rate: float


class OnlinePosterior:
    """The posteriors given the text seen so far; each batch updates them."""

    #: Set by the first batch.
    state: VariationalState
    naturals: tuple[Natural, Natural]

    def __init__(
        self, likelihood: HasLikelihood, dimension: int, run: Run, forgetting: float, start_sweeps: int
    ) -> None:
        self.likelihood, self.dimension, self.run = likelihood, dimension, run
        self.forgetting, self.start_sweeps = forgetting, start_sweeps
        self.batches = 0
        self.row_mass = self.column_mass = np.zeros(0)

    def step(self, batch: Counts, population: float = 0.0, repeated: bool = False) -> float | None:
        """Learn from a batch; ``population`` is the mass of the whole text if it exceeds the mass so far.

        ``repeated`` text adds no events: what was seen so far then stands for a ``population`` that may be smaller.
        Return the bound per event of the batch's pairs *before* learning from it, a fair running score; None for the
        first batch.
        """
        self._make_room(len(batch.vocabulary))
        self.row_mass += batch.row_sums
        self.column_mass += batch.column_sums
        ratio = population / self.row_mass.sum()
        scale = ratio if repeated else max(1.0, ratio)
        if not self.batches:
            self._begin(batch, scale)
            self.batches = 1
            return None
        self.batches += 1
        words, contexts = self._events(batch, scale)
        word_steps, context_steps = self._step_sizes(batch)
        background, score = self._step_words(words, word_steps)
        self._step_contexts(contexts, context_steps, background)
        squares = self.state.contexts.squares()
        self.state.relevance = self.state.relevance.update(self.state.contexts.rows, squares)
        return score

    def _shares(self, batch: Counts) -> tuple[Array, Array]:
        """Return the batch's share of the events so far of each word and of each context."""
        pairs = (batch.row_sums, self.row_mass), (batch.column_sums, self.column_mass)
        words, contexts = (np.divide(part, total, out=np.zeros_like(total), where=part > 0) for part, total in pairs)
        return words, contexts

    def _step_sizes(self, batch: Counts) -> tuple[Array, Array]:
        """Return the step size of each word and of each context: its share to the power ``forgetting``."""
        words, contexts = (np.where(share > 0, share**self.forgetting, 0.0) for share in self._shares(batch))
        return words, contexts

    def _scales(self, batch: Counts, scale: float) -> tuple[Array, Array]:
        """Return the factors that scale the batch's events of each word, or context, up to the whole text."""
        factor = scale * self.likelihood.temper
        words, contexts = (
            np.divide(factor, share, out=np.zeros_like(share), where=share > 0) for share in self._shares(batch)
        )
        return words, contexts

    def _events(self, batch: Counts, scale: float) -> tuple[Events, Events]:
        """Scale the batch's positive events up to the whole text; negative ones are expectations over all text so far."""
        by_word, by_context = self._scales(batch, scale)
        noise = self.column_mass**self.likelihood.ns_exponent
        noise /= noise.sum()
        own_rate = self.likelihood.negative * self.likelihood.temper * scale * self.row_mass
        words = _scaled(batch.to_scipy(), by_word, own_rate, noise)
        return words, _scaled(batch.to_scipy().T.tocsr(), by_context, noise, own_rate)

    def arrays(self) -> dict[str, Array]:
        """Return all arrays by name, for a checkpoint."""
        arrays = {"row_mass": self.row_mass, "column_mass": self.column_mass, **self.state.arrays()}
        for name, natural in zip(("words", "contexts"), self.naturals, strict=True):
            arrays |= {f"{name}_half": natural.half, f"{name}_linear": natural.linear}
        return arrays

    def values(self) -> dict[str, Any]:
        """Return everything else that changes, for a checkpoint."""
        return {"batches": self.batches, **self.state.values()}

    def restore(self, arrays: Mapping[str, Array], values: Mapping[str, Any]) -> None:
        """Restore what ``arrays`` and ``values`` returned."""
        d = self.dimension
        no_fixed = np.empty(0, dtype=np.int64)
        words, contexts = (
            Gaussians(np.array(arrays[f"{name}_means"]), 1.0, np.arange(d), no_fixed, False, np.float32)
            for name in ("words", "contexts")
        )
        relevance = Relevance.start(d, self.likelihood.relevance_shape, self.likelihood.relevance_rate)
        self.state = VariationalState(words, contexts, relevance, d)
        self.state.restore(arrays, values)
        word_natural, context_natural = (
            Natural(np.array(arrays[f"{name}_half"]), np.array(arrays[f"{name}_linear"]))
            for name in ("words", "contexts")
        )
        self.naturals = word_natural, context_natural
        self.row_mass, self.column_mass = np.array(arrays["row_mass"]), np.array(arrays["column_mass"])
        self.batches = int(values["batches"])

    def _begin(self, batch: Counts, scale: float) -> None:
        given = self.likelihood
        model = BayesianLogistic(
            batch, self.run, negative=given.negative, ns_exponent=given.ns_exponent, temper=scale * given.temper,
            bound=given.bound, relevance_shape=given.relevance_shape, relevance_rate=given.relevance_rate,
        )  # fmt: skip
        self.state = VariationalSweeps(self.start_sweeps).fit(model, self.dimension, self.run)
        # A sweep ends by changing precisions and basis, so its posteriors contain the priors of before. One more with both
        # fixed: what is subtracted from the posteriors next has to be in them.
        background, _ = update_words(model, self.state, model.words.unlisted_mass(self.run), self.run)
        update_contexts(model, self.state, background, self.run)
        self.naturals = (
            Natural.of(self.state.words, np.ones(self.dimension)),
            Natural.of(self.state.contexts, self.state.relevance.mean),
        )

    def _make_room(self, words: int) -> None:
        """Add new words, with the priors as their posteriors."""
        extra = words - self.row_mass.size
        if extra <= 0:
            return
        self.row_mass = np.concatenate([self.row_mass, np.zeros(extra)])
        self.column_mass = np.concatenate([self.column_mass, np.zeros(extra)])
        if not self.batches:
            return
        # u ~ N(0, I), c ~ N(0, diag(alpha)^-1)
        variances: tuple[float | Array, ...] = (1.0, 1 / self.state.relevance.mean)
        sides = (self.state.words, self.state.contexts)
        for side, natural, variance in zip(sides, self.naturals, variances, strict=True):
            fresh = Gaussians(
                np.zeros((extra, self.dimension)), variance, side.free, side.fixed, False, side.means.dtype
            )
            for name in PARTS:
                setattr(side, name, np.concatenate([getattr(side, name), getattr(fresh, name)]))
            natural.half = np.concatenate([natural.half, np.zeros_like(fresh.moments)])
            natural.linear = np.concatenate([natural.linear, np.zeros((extra, self.dimension))])

    def _step_words(self, events: Events, steps: Array) -> tuple[Background, float]:
        words, contexts, noise = self.state.words, self.state.contexts, events.other_rate
        sums = contexts.weighted_sums(noise, noise, self.run)
        weights = np.stack([noise, noise], axis=1)
        masses = events.unlisted_mass(self.run)
        bound, natural, prior = self.likelihood.bound, self.naturals[0], np.ones(self.dimension)
        other = contexts.moment_view

        def block(first: int, last: int) -> tuple[Background, float]:
            pairs, listed, linear, listed_linear, value = gather_block(
                events, words, other, weights, 1.0, bound, first, last
            )
            score = value.sum() + (np.sum(linear * words.means[first:last]) if bound == "jaakkola" else 0.0)
            unlisted = (words, masses, sums, listed, listed_linear, first, last)
            before = background_of(bound, events.own_rate, *unlisted)
            linear -= before.linear[:, None] * (sums[1] - listed_linear)
            half = pairs + before.quadratic[:, None] * (sums[0] - listed)
            _step(natural, words, prior, steps[first:last], half, linear, first)
            return background_of(bound, events.own_rate, *unlisted), float(score)

        results = self.run.over_rows(block, words.rows, BLOCK, updates=[*words.arrays, natural.half, natural.linear])
        merged = results[0][0]
        for name in ("quadratic", "linear", "value"):
            setattr(merged, name, np.concatenate([getattr(part, name) for part, _ in results]))
        rows = np.repeat(np.arange(events.rows), np.diff(events.indptr))
        mass = float(np.sum(events.positive) + np.sum(events.own_rate[rows] * noise[events.indices]))
        return merged, sum(score for _, score in results) / max(mass, 1e-300)

    def _step_contexts(self, events: Events, steps: Array, background: Background) -> None:
        words, contexts = self.state.words, self.state.contexts
        sums = words.weighted_sums(background.quadratic, background.linear, self.run)
        weights = np.stack([background.quadratic, background.linear], axis=1)
        natural, prior, bound = self.naturals[1], self.state.relevance.mean, self.likelihood.bound
        other = words.moment_view

        def block(first: int, last: int) -> None:
            pairs, listed, linear, listed_linear, _ = gather_block(
                events, contexts, other, weights, 1.0, bound, first, last
            )
            noise = events.own_rate[first:last, None]
            linear -= noise * (sums[1] - listed_linear)
            half = pairs + noise * (sums[0] - listed)
            _step(natural, contexts, prior, steps[first:last], half, linear, first)

        self.run.over_rows(block, contexts.rows, BLOCK, updates=[*contexts.arrays, natural.half, natural.linear])


def _step(
    natural: Natural, side: Gaussians, prior: Array, steps: Array, half: Array, linear: Array, first: int
) -> None:
    """Step from the old natural parameters toward those of the batch, and recompute the posteriors."""
    from firthian.kernels.bayes import posterior

    here = slice(first, first + steps.size)
    step = steps[:, None]
    natural.half[here] += step * (half - natural.half[here])
    natural.linear[here] += step * (linear - natural.linear[here])
    failed = posterior(
        natural.half[here], np.zeros_like(natural.half[here]), natural.linear[here].copy(), np.zeros(half.shape[1]),
        np.zeros(steps.size), prior, side.free, side.fixed, False, first, *side.arrays,
    )  # fmt: skip
    check_failures(failed)


def _scaled(matrix: Any, scale: Array, own_rate: Array, other_rate: Array) -> Events:
    """Return a batch's counts as events of the whole text: each row times its scale."""
    matrix.sort_indices()
    values = (matrix.data * np.repeat(scale, np.diff(matrix.indptr))).astype(np.float32)
    return Events.on(matrix, values, np.empty(0, np.float32), own_rate, other_rate)


class Batched(HasLikelihood, Protocol):
    """What stochastic sweeps need of a model: also the text in batches."""

    total_tokens: float

    def batches(self, epoch: int = 0) -> Iterator[Counts]:
        """Yield the counts of one batch after another."""
        ...


@dataclass(frozen=True)
class StochasticSweeps:
    """Passes over a text in batches, each one step of ``OnlinePosterior``."""

    epochs: Annotated[int, Option("passes over the text", low=1)] = 1
    forgetting: Annotated[float, Option("step = (batch's share of a word's events)^forgetting", low=0, high=1)] = 0.85
    start_sweeps: Annotated[int, Option("full sweeps over the first batch", low=1)] = 5
    eigenvalue_power: WordPower = 0.25
    center: Center = False

    def solve(self, model: Batched, dimension: int, run: Run) -> Solution:
        """Learn from every batch; the vectors are posterior means, with their covariances as an extra."""
        online = OnlinePosterior(model, dimension, run, self.forgetting, self.start_sweeps)
        scores: list[float] = []
        tokens = 0.0
        run.progress.start("batches", self.epochs * model.total_tokens)
        stage = run.stage("batches")
        saved = stage.restore()
        first_epoch = skipped = 0
        if saved is not None:
            online.restore(saved.arrays, saved.values)
            first_epoch, skipped, tokens = (saved.values[name] for name in ("epoch", "number", "tokens"))
            scores += saved.values["scores"]
            run.progress.advance(tokens)
        for epoch in range(first_epoch, self.epochs):
            for number, batch in enumerate(model.batches(epoch), start=1):
                if number <= skipped:
                    continue
                size = float(batch.vocabulary.counts.sum())
                tokens += size
                mass = online.row_mass.sum() + batch.total
                ratio = model.total_tokens / tokens
                score = online.step(batch, mass * (ratio if epoch else max(1.0, ratio)), repeated=epoch > 0)
                if score is not None:
                    scores.append(score)
                run.progress.advance(size, "" if score is None else f"bound per event {score:.4f}")
                values = {**online.values(), "epoch": epoch, "number": number, "tokens": tokens, "scores": scores}
                stage.save(online.batches, online.arrays(), **values)
            skipped = 0
        if not online.batches:
            raise no_pairs()
        return online_solution(online, scores, self.eigenvalue_power, self.center)


def online_solution(online: OnlinePosterior, scores: list[float], eigenvalue_power: float, center: bool) -> Solution:
    """Convert the posteriors so far to vectors, without changing them."""
    sweeps = VariationalSweeps(eigenvalue_power=eigenvalue_power, center=center)
    solution = sweeps.finish(copy.deepcopy(online.state), online.run)
    stats = {**solution.stats, "batches": online.batches}
    stats.pop("sweeps")
    return Solution(solution.words, solution.contexts, scores, "stopped", stats, solution.extras)
