"""Stochastic variational inference: batches of text, steps in natural parameters, a rate for each word.

The thesis's Algorithm 3 (WordSim 0.19 against 0.47 of full sweeps) draws negative events anew in every batch, blows a
batch's statistics up to the corpus by the word's own count, and forgets by a schedule that knows only how often the
word came. Here negative events are expectations over all contexts seen so far, so only the positive events of a batch
are noisy; a step weighs the batch by its share of all the events of the word; and the first batch is fitted by full
sweeps from a spectral start, so that nothing is averaged with noise.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from firthian.arrays import Array
from firthian.counts.counts import Counts
from firthian.errors import FirthianError
from firthian.kernels.packing import pack, unpack
from firthian.learn.bayes.ard import Relevance
from firthian.learn.bayes.bounds import Background
from firthian.learn.bayes.model import BayesianLogistic, Side
from firthian.learn.bayes.posterior import BLOCK, PARTS, Gaussians, State
from firthian.learn.bayes.svi import Likelihood, StreamedLogistic
from firthian.learn.bayes.variational import VariationalSweeps, background_of, check_failures, gather_block, settle
from firthian.learn.solver import Solution
from firthian.runtime.run import Run, one_blas_thread


@dataclass
class Natural:
    """The data's part of the natural parameters of one side: half the precision, packed, and precision times mean."""

    half: Array
    linear: Array

    @classmethod
    @one_blas_thread()
    def of(cls, side: Gaussians, prior: Array) -> Natural:
        """Take them from posteriors: S^-1 less the prior, and S^-1 m."""
        half, linear = np.zeros_like(side.moments), np.zeros(side.means.shape)
        for first in range(0, side.rows, BLOCK):
            here = slice(first, min(first + BLOCK, side.rows))
            precision = np.linalg.inv(unpack(side.covariances[here], side.size))
            linear[here] = np.einsum("iab,ib->ia", precision, side.means[here])
            half[here] = pack((precision - np.diag(prior)) / 2, half.shape[1])
        return cls(half, linear)


class Stream:
    """The posteriors of a stream so far; each batch moves them."""

    def __init__(self, likelihood: Likelihood, dimension: int, run: Run, forgetting: float, start_sweeps: int) -> None:
        self.likelihood, self.dimension, self.run = likelihood, dimension, run
        self.forgetting, self.start_sweeps = forgetting, start_sweeps
        self.batches = 0
        self.row_mass = self.column_mass = np.zeros(0)
        self.state: State | None = None
        self.naturals: tuple[Natural, Natural] | None = None

    def step(self, batch: Counts, population: float | None = None, again: bool = False) -> float | None:
        """Learn from a batch; ``population`` is the mass of the whole text, the mass so far when it is not known.

        A text that is read ``again`` is no more text than it was: what was seen then stands for a smaller ``population``.
        Give the bound per event of the batch's pairs *before* it is learned from: an honest running score. The first
        batch has none.
        """
        first = self.state is None
        self._make_room(len(batch.vocabulary))
        self.row_mass += batch.row_sums
        self.column_mass += batch.column_sums
        self.batches += 1
        seen = self.row_mass.sum()
        whole = (population or 0.0) / seen
        scale = whole if again else max(1.0, whole)
        if first:
            self._begin(batch, scale)
            return None
        assert self.state is not None
        assert self.naturals is not None
        words, contexts = self._sides(batch, scale)
        rates = self._rates(batch)
        background, score = self._move_words(words, rates[0])
        self._move_contexts(contexts, rates[1], background)
        squares = self.state.contexts.squares()
        self.state.relevance = self.state.relevance.update(self.state.contexts.rows, squares)
        return score

    def _shares(self, batch: Counts) -> tuple[Array, Array]:
        """Return the share of the events so far that this batch holds, of each word and of each context."""
        pairs = (batch.row_sums, self.row_mass), (batch.column_sums, self.column_mass)
        words, contexts = (np.divide(part, total, out=np.zeros_like(total), where=part > 0) for part, total in pairs)
        return words, contexts

    def _rates(self, batch: Counts) -> tuple[Array, Array]:
        """Return the step of each word and of each context: its share of the events so far, to the power of forgetting."""
        words, contexts = (np.where(share > 0, share**self.forgetting, 0.0) for share in self._shares(batch))
        return words, contexts

    def _lifts(self, batch: Counts, scale: float) -> tuple[Array, Array]:
        """Return the factors that make the batch's events of each word, or context, those of the whole."""
        factor = scale * self.likelihood.temper
        words, contexts = (
            np.divide(factor, share, out=np.zeros_like(share), where=share > 0) for share in self._shares(batch)
        )
        return words, contexts

    def _sides(self, batch: Counts, scale: float) -> tuple[Side, Side]:
        """Take a batch for the whole: lifted positive events, and the expectation of negative ones under all that was seen."""
        by_word, by_context = self._lifts(batch, scale)
        noise = self.column_mass**self.likelihood.ns_exponent
        noise /= noise.sum()
        own_rate = self.likelihood.negative * self.likelihood.temper * scale * self.row_mass
        words = _lifted(batch.to_scipy(), by_word, own_rate, noise)
        return words, _lifted(batch.to_scipy().T.tocsr(), by_context, noise, own_rate)

    def arrays(self) -> dict[str, Array]:
        """Name all arrays, to be saved."""
        assert self.state is not None
        assert self.naturals is not None
        found = {"row_mass": self.row_mass, "column_mass": self.column_mass, **self.state.arrays()}
        for name, natural in zip(("words", "contexts"), self.naturals, strict=True):
            found |= {f"{name}_half": natural.half, f"{name}_linear": natural.linear}
        return found

    def values(self) -> dict[str, Any]:
        """Name all else that changes."""
        assert self.state is not None
        return {"batches": self.batches, **self.state.values()}

    def take(self, arrays: Mapping[str, Array], values: Mapping[str, Any]) -> None:
        """Go back to what ``arrays`` and ``values`` gave."""
        d = self.dimension
        words, contexts = (
            Gaussians(
                np.array(arrays[f"{name}_means"]), 1.0, np.arange(d), np.empty(0, dtype=np.int64), False, np.float32
            )
            for name in ("words", "contexts")
        )
        chosen = self.likelihood
        self.state = State(words, contexts, Relevance.start(d, chosen.relevance_shape, chosen.relevance_rate), d)
        self.state.take(arrays, values)
        one, other = (
            Natural(np.array(arrays[f"{name}_half"]), np.array(arrays[f"{name}_linear"]))
            for name in ("words", "contexts")
        )
        self.naturals = one, other
        self.row_mass, self.column_mass = np.array(arrays["row_mass"]), np.array(arrays["column_mass"])
        self.batches = int(values["batches"])

    def _begin(self, batch: Counts, scale: float) -> None:
        chosen = self.likelihood
        model = BayesianLogistic(
            batch, self.run, chosen.negative, chosen.ns_exponent, temper=scale * chosen.temper, bound=chosen.bound,
            relevance_shape=chosen.relevance_shape, relevance_rate=chosen.relevance_rate,
        )  # fmt: skip
        self.state = VariationalSweeps(self.start_sweeps).fit(model, self.dimension, self.run)
        # What is taken off the posteriors next has to be in them.
        settle(model, self.state, self.run)
        ones = np.ones(self.dimension)
        self.naturals = (
            Natural.of(self.state.words, ones),
            Natural.of(self.state.contexts, self.state.relevance.mean),
        )

    def _make_room(self, words: int) -> None:
        """Words that are new get the prior as their posterior."""
        extra = words - self.row_mass.size
        if extra <= 0:
            return
        self.row_mass = np.concatenate([self.row_mass, np.zeros(extra)])
        self.column_mass = np.concatenate([self.column_mass, np.zeros(extra)])
        if self.state is None or self.naturals is None:
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

    def _move_words(self, side: Side, rates: Array) -> tuple[Background, float]:
        assert self.state is not None
        assert self.naturals is not None
        words, contexts, noise = self.state.words, self.state.contexts, side.other_rate
        sums = contexts.weighted_sums(noise, noise, self.run)
        weights = np.stack([noise, noise], axis=1)
        masses = side.unlisted_mass(self.run)
        bound, natural, prior = self.likelihood.bound, self.naturals[0], np.ones(self.dimension)
        others = contexts.others

        def block(first: int, last: int) -> tuple[Background, float]:
            pairs, listed, linear, listed_linear, value = gather_block(
                side, words, others, weights, 1.0, bound, first, last
            )
            score = value.sum() + (np.sum(linear * words.means[first:last]) if bound == "jaakkola" else 0.0)
            here = (words, masses, sums, listed, listed_linear, first, last)
            before = background_of(bound, side.own_rate, *here)
            linear -= before.linear[:, None] * (sums[1] - listed_linear)
            half = pairs + before.quadratic[:, None] * (sums[0] - listed)
            _move(natural, words, prior, rates[first:last], half, linear, first)
            return background_of(bound, side.own_rate, *here), float(score)

        results = self.run.over_rows(block, words.rows, BLOCK, updates=[*words.arrays, natural.half, natural.linear])
        merged = results[0][0]
        for name in ("quadratic", "linear", "value"):
            setattr(merged, name, np.concatenate([getattr(part, name) for part, _ in results]))
        rows = np.repeat(np.arange(side.rows), np.diff(side.indptr))
        events = float(np.sum(side.positive) + np.sum(side.own_rate[rows] * noise[side.indices]))
        return merged, sum(score for _, score in results) / max(events, 1e-300)

    def _move_contexts(self, side: Side, rates: Array, background: Background) -> None:
        assert self.state is not None
        assert self.naturals is not None
        words, contexts = self.state.words, self.state.contexts
        sums = words.weighted_sums(background.quadratic, background.linear, self.run)
        weights = np.stack([background.quadratic, background.linear], axis=1)
        natural, prior, bound = self.naturals[1], self.state.relevance.mean, self.likelihood.bound
        others = words.others

        def block(first: int, last: int) -> None:
            pairs, listed, linear, listed_linear, _ = gather_block(
                side, contexts, others, weights, 1.0, bound, first, last
            )
            noise = side.own_rate[first:last, None]
            linear -= noise * (sums[1] - listed_linear)
            half = pairs + noise * (sums[0] - listed)
            _move(natural, contexts, prior, rates[first:last], half, linear, first)

        self.run.over_rows(block, contexts.rows, BLOCK, updates=[*contexts.arrays, natural.half, natural.linear])


def _move(
    natural: Natural, side: Gaussians, prior: Array, rates: Array, half: Array, linear: Array, first: int
) -> None:
    """Step from the old natural parameters towards those the batch asks for, and renew the posteriors."""
    from firthian.kernels.bayes import posterior

    here = slice(first, first + rates.size)
    rate = rates[:, None]
    natural.half[here] += rate * (half - natural.half[here])
    natural.linear[here] += rate * (linear - natural.linear[here])
    nothing = np.zeros(half.shape[1])
    failed = posterior(
        natural.half[here], np.zeros_like(natural.half[here]), natural.linear[here].copy(), nothing,
        np.zeros(rates.size), prior, side.free, side.fixed, False, first, side.means, side.moments, side.covariances,
        side.log_determinants,
    )  # fmt: skip
    check_failures(failed)


def _lifted(matrix: Any, lift: Array, own_rate: Array, other_rate: Array) -> Side:
    """Take a batch's counts as those of the whole: each row multiplied by its lift."""
    matrix.sort_indices()
    values = (matrix.data * np.repeat(lift, np.diff(matrix.indptr))).astype(np.float32)
    return Side(
        matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), values, np.empty(0, np.float32), own_rate, other_rate
    )  # fmt: skip


@dataclass(frozen=True)
class StochasticSweeps:
    """Passes over a text in batches, each a step of ``Stream``."""

    epochs: int = 1
    forgetting: float = 0.85
    start_sweeps: int = 5
    eigenvalue_power: float = 0.25
    center: bool = False

    requires: ClassVar[tuple[str, ...]] = ("batches", "likelihood", "population")

    def solve(self, model: StreamedLogistic, dimension: int, run: Run) -> Solution:
        """Learn from every batch; the vectors are posterior means, their covariances an extra."""
        stream = Stream(model.likelihood, dimension, run, self.forgetting, self.start_sweeps)
        scores: list[float] = []
        tokens = 0.0
        run.progress.start("batches", self.epochs * model.population)
        stage = run.stage("batches")
        state = stage.restore()
        first_epoch = skipped = 0
        if state is not None:
            stream.take(state.arrays, state.values)
            first_epoch, skipped, tokens = (state.values[name] for name in ("epoch", "number", "tokens"))
            scores += state.values["scores"]
            run.progress.advance(tokens)
        for epoch in range(first_epoch, self.epochs):
            for number, batch in enumerate(model.batches(epoch), start=1):
                if number <= skipped:
                    continue
                size = float(batch.vocabulary.counts.sum())
                tokens += size
                mass = stream.row_mass.sum() + batch.total
                whole = mass * (model.population / tokens if epoch else max(1.0, model.population / tokens))
                score = stream.step(batch, whole, again=epoch > 0)
                if score is not None:
                    scores.append(score)
                run.progress.advance(size, "" if score is None else f"bound per event {score:.4f}")
                values = {**stream.values(), "epoch": epoch, "number": number, "tokens": tokens, "scores": scores}
                stage.save(stream.batches, stream.arrays(), **values)
            skipped = 0
        if stream.state is None:
            raise FirthianError("no pair of words was seen", hint="give more text, or a wider --window")
        return finish_stream(stream, scores, self.eigenvalue_power, self.center)


def finish_stream(stream: Stream, scores: list[float], power: float, center: bool) -> Solution:
    """Make vectors of a stream's posteriors, which are left as they are."""
    assert stream.state is not None
    sweeps = VariationalSweeps(eigenvalue_power=power, center=center)
    solution = sweeps.finish(copy.deepcopy(stream.state), stream.run)
    stats = {**solution.stats, "batches": stream.batches}
    stats.pop("sweeps")
    return Solution(solution.words, solution.contexts, scores, "stopped", stats, solution.extras)
