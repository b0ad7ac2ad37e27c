"""Posteriors that learn from one batch of text after another.

A batch stands for the whole text: its positive events of a word are scaled up to the word's own total, and its negative
events are expectations over everything seen. What was learned before is scaled to the same total before the two are
averaged, so that a posterior is as narrow as the events it stands for, however they were spread over the batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import numpy as np

from firthian.arrays import Array
from firthian.counts.counts import Counts
from firthian.learn.bayes.model import BayesianLogistic, Events, no_pairs, noise_of
from firthian.learn.bayes.posterior import BLOCK, Gaussians, Relevance, VariationalState
from firthian.learn.bayes.side import (
    CHANGING,
    SAVED,
    Before,
    Goal,
    Side,
    compute_posteriors,
    event_growth,
    gaussians,
    solve_rows,
)
from firthian.learn.bayes.updates import Background, background_of, check_failures, gather_block
from firthian.learn.bayes.variational import Center, VariationalSweeps, WordPower
from firthian.learn.solver import Solution
from firthian.options import Option
from firthian.runtime.run import Run

#: ``inner=auto``: rounds over a batch, and over one below SMALL_TOKENS, where two would leave the vectors too short.
ROUNDS, MORE_ROUNDS, SMALL_TOKENS = 2, 4, 200_000

Inner = Annotated[
    int | str, Option("rounds over each batch; auto: 2, or 4 below 200,000 tokens", low=1, high=1000, words=("auto",))
]


class HasLikelihood(Protocol):
    """What steps need of a model: negative events, bound and priors."""

    negative: float
    ns_exponent: float
    temper: float
    bound: str
    relevance_shape: float
    relevance_rate: float


class OnlinePosterior:
    """The posteriors given the text so far; each batch updates those of its words.

    ``inner`` is the number of rounds over the words and contexts of a batch, or auto.
    """

    #: Whether the words' covariances get the curvature of the logistic function in the end.
    calibrates = True

    #: Set by the first batch.
    words: Side
    contexts: Side
    relevance: Relevance

    def __init__(
        self, likelihood: HasLikelihood, dimension: int, run: Run, forgetting: float, start_sweeps: int, inner: Inner
    ) -> None:
        self.likelihood, self.dimension, self.run = likelihood, dimension, run
        self.forgetting, self.start_sweeps, self.inner = forgetting, start_sweeps, inner
        self.batches = 0
        #: The factor from the events seen of each word to those of the whole text.
        self.lift: Array = np.ones(0)

    @property
    def state(self) -> VariationalState:
        """The current posteriors, without covariances."""
        return VariationalState(self.words.posteriors(), self.contexts.posteriors(), self.relevance, self.dimension)

    def step(self, batch: Counts, lift: float | Array = 1.0) -> float | None:
        """Learn from a batch; ``lift`` is the factor from the events seen of each word to those of the whole text.

        Return the bound per event of the batch *before* learning from it, a fair running score; None for the first batch.
        If anything fails, all is as before.
        """
        words = len(batch.vocabulary)
        lift = np.broadcast_to(np.asarray(lift, dtype=np.float64), (words,))
        if not self.batches:
            self._begin(batch, lift)
        size, relevance = self.words.mass.size, self.relevance
        self._make_room(words)
        pairs = (self.words, batch.row_sums), (self.contexts, batch.column_sums)
        before = [Before.of(side, part) for side, part in pairs]
        try:
            score = self._learn(batch, lift, *before)
        except BaseException:
            self.relevance = relevance
            for (side, _), old in zip(pairs, before, strict=True):
                old.restore(side, size)
            raise
        self.lift = lift
        self.batches += 1
        return None if self.batches == 1 else score

    def _learn(self, batch: Counts, lift: Array, words_before: Before, contexts_before: Before) -> float:
        """Take the rounds over a batch; return the score of the state before it."""
        self.words.mass += batch.row_sums
        self.contexts.mass += batch.column_sums
        word_steps, context_steps = self.step_sizes(batch)
        word_events, context_events = self._whole_text(lift)
        word_goal = Goal(word_steps, *word_events, words_before)
        context_goal = Goal(context_steps, *context_events, contexts_before)
        scores = []
        rounds = self.rounds(batch)
        for number in range(rounds):
            words, contexts = self.events(batch, lift, number)
            background, score = self._update_words(words, word_goal, self.calibrates and number == rounds - 1)
            scores.append(score)
            self._update_contexts(contexts, context_goal, background)
            squares = self.contexts.posteriors().squares()
            self.relevance = self.relevance.update(self.contexts.mass.size, squares)
        return scores[0]

    def rounds(self, batch: Counts) -> int:
        """Return the number of rounds over a batch."""
        if self.inner != "auto":
            return int(self.inner)
        return MORE_ROUNDS if batch.vocabulary.counts.sum() < SMALL_TOKENS else ROUNDS

    def step_sizes(self, batch: Counts) -> tuple[Array, Array]:
        """Return the step size of each word and context: the batch's share of its events so far, to ``forgetting``."""
        pairs = (batch.row_sums, self.words.mass), (batch.column_sums, self.contexts.mass)
        words, contexts = (
            np.divide(part, total, out=np.zeros_like(total), where=part > 0) ** self.forgetting * (part > 0)
            for part, total in pairs
        )
        return words, contexts

    def events(self, batch: Counts, lift: Array, number: int) -> tuple[Events, Events]:
        """Return a batch as events of the whole text, in rows of words and of contexts.

        Positive ones are scaled up by each word's own count; negative ones are expectations over all text so far.
        """
        rates, noise = self._negatives(lift)
        matrix = batch.to_scipy()
        words = _scaled(matrix, lift * self.words.mass, batch.row_sums, rates, noise)
        if batch.options.context != "both":
            matrix = matrix.T.tocsr()
        return words, _scaled(matrix, lift * self.contexts.mass, batch.column_sums, noise, rates)

    def _negatives(self, lift: Array) -> tuple[Array, Array]:
        """Return nu_i and p_j of the whole text: negative events are their products."""
        rates = self.likelihood.negative * self.likelihood.temper * lift * self.words.mass
        return rates, noise_of(lift * self.contexts.mass, self.likelihood.ns_exponent)

    def _whole_text(self, lift: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Return the positive and negative events of each word, and of each context, in the whole text."""
        rates, noise = self._negatives(lift)
        temper = self.likelihood.temper
        return (temper * lift * self.words.mass, rates), (temper * lift * self.contexts.mass, noise * rates.sum())

    def _update_words(self, events: Events, goal: Goal, last_round: bool) -> tuple[Background, float]:
        """Step toward what a batch says of its words; return the background of all words and the batch's score."""
        side, likelihood, noise = self.words, self.likelihood, events.other_rate
        words, contexts = side.posteriors(), self.contexts.posteriors()
        sums = contexts.weighted_sums(noise, noise, self.run)
        weights = np.stack([noise, noise], axis=1)
        masses, bound, prior = events.unlisted_mass(self.run), likelihood.bound, np.ones(self.dimension)
        other, rate = contexts.moment_view, events.own_rate

        def block(first: int, last: int) -> tuple[Background, float, int]:
            half, listed, linear, listed_linear, value, curved = gather_block(
                events, words, other, weights, likelihood.temper, bound, first, last, curved=last_round
            )
            score = value.sum() + (np.sum(linear * words.means[first:last]) if bound == "jaakkola" else 0.0)
            unlisted = (words, masses, sums, listed, listed_linear, first, last)
            before = background_of(bound, rate, *unlisted)
            at = np.flatnonzero(goal.steps[first:last] > 0)
            rows = first + at
            goal.move(side, rows, {
                "half": half[at] + before.quadratic[at, None] * (sums[0] - listed[at]),
                "pull": linear[at] + before.linear[at, None] * listed_linear[at],
                "push": before.linear[at, None] * sums[1],
            })  # fmt: skip
            if last_round:
                true = background_of("logistic", rate, *unlisted).quadratic
                goal.move(side, rows, {"curved": curved[at] + true[at, None] * (sums[0] - listed[at])})
            failed = solve_rows(side, rows, prior)
            return background_of(bound, rate, *unlisted), float(score), failed

        changing = [getattr(side, name) for name in CHANGING]
        results = self.run.over_rows(block, words.rows, BLOCK, updates=changing)
        check_failures(sum(failed for _, _, failed in results))
        merged = results[0][0]
        for name in ("quadratic", "linear", "value"):
            setattr(merged, name, np.concatenate([getattr(part, name) for part, _, _ in results]))
        return merged, sum(score for _, score, _ in results) / max(events.listed_events(likelihood.temper), 1e-300)

    def _update_contexts(self, events: Events, goal: Goal, background: Background) -> None:
        """Step toward what a batch says of its contexts, given the words' background."""
        side, likelihood, noise = self.contexts, self.likelihood, events.own_rate
        words, contexts = self.words.posteriors(), side.posteriors()
        sums = words.weighted_sums(background.quadratic, background.linear, self.run)
        weights = np.stack([background.quadratic, background.linear], axis=1)
        prior, other = self.relevance.mean, words.moment_view

        def block(first: int, last: int) -> int:
            half, _, linear, listed_linear, *_ = gather_block(
                events, contexts, other, weights, likelihood.temper, likelihood.bound, first, last, fold=True
            )
            at = np.flatnonzero(goal.steps[first:last] > 0)
            rows = first + at
            goal.move(side, rows, {
                "half": half[at] + noise[rows, None] * sums[0],
                "pull": linear[at] + noise[rows, None] * listed_linear[at],
                "push": noise[rows, None] * sums[1],
            })  # fmt: skip
            return solve_rows(side, rows, prior)

        changing = [getattr(side, name) for name in CHANGING]
        check_failures(sum(self.run.over_rows(block, contexts.rows, BLOCK, updates=changing)))

    def final_state(self, calibrate: bool = True) -> VariationalState:
        """Return all posteriors with covariances, of the whole text, in arrays of their own.

        What was learned of words that were not in the last batches is scaled to their events in the whole text.
        ``calibrate`` replaces the curvature of the bound in the words' covariances by that of the logistic function.
        """
        word_events, context_events = self._whole_text(self.lift)
        words, contexts = (gaussians(np.array(side.means), 1.0) for side in (self.words, self.contexts))
        one = np.ones(self.dimension)
        self._compute(words, self.words, *word_events, one)
        self._compute(contexts, self.contexts, *context_events, self.relevance.mean)
        if calibrate:
            # Covariances only: means and moments stay those of the bound.
            only = gaussians(np.zeros(words.means.shape), 1.0)
            only.covariances, only.log_determinants = words.covariances, words.log_determinants
            self._compute(only, self.words, *word_events, one, self.words.curved)
        return VariationalState(words, contexts, self.relevance, self.dimension, calibrated=calibrate)

    def _compute(
        self, target: Gaussians, side: Side, positive: Array, negative: Array, prior: Array, curved: Array | None = None
    ) -> None:
        """Compute the posteriors of all rows for these events; ``curved`` replaces half the data's precision."""
        pulls, pushes, halves = event_growth(positive, negative, side.positive, side.negative)
        data = side.half if curved is None else curved

        def block(first: int, last: int) -> int:
            here, rows = slice(first, last), np.arange(first, last)
            half = (halves[here, None] * data[here]).astype(np.float32)
            linear = pulls[here, None] * side.pull[here] - pushes[here, None] * side.push[here]
            return compute_posteriors(half, linear, prior, rows, *target.arrays)

        check_failures(sum(self.run.over_rows(block, target.rows, BLOCK, updates=target.arrays)))

    def arrays(self) -> dict[str, Array]:
        """Return all arrays by name, for a checkpoint."""
        sides = {**self.words.arrays("words"), **self.contexts.arrays("contexts")}
        return {**sides, "rates": self.relevance.rates, "lift": self.lift}

    def values(self) -> dict[str, Any]:
        """Return everything else that changes, for a checkpoint."""
        return {"batches": self.batches, "shape": self.relevance.shape}

    @staticmethod
    def shapes(words: int, dimension: int) -> dict[str, tuple[tuple[int, ...], Any]]:
        """Return the shape and type of each array of a checkpoint."""
        one = np.zeros((1, dimension))
        arrays = Side.of(one, 1.0, True).arrays("words") | Side.of(one, 1.0, False).arrays("contexts")
        shapes = {name: ((words, *array.shape[1:]), array.dtype) for name, array in arrays.items()}
        return {**shapes, "rates": ((dimension,), np.dtype(float)), "lift": ((words,), np.dtype(float))}

    def restore(self, arrays: Mapping[str, Array], values: Mapping[str, Any]) -> None:
        """Restore what ``arrays`` and ``values`` returned."""
        self.words, self.contexts = (
            Side(**{part: np.array(arrays[f"{name}_{part}"]) for part in SAVED}) for name in ("words", "contexts")
        )
        prior = self.likelihood.relevance_shape, self.likelihood.relevance_rate
        self.relevance = Relevance(*prior, float(values["shape"]), np.array(arrays["rates"]))
        self.lift = np.array(arrays["lift"])
        self.batches = int(values["batches"])

    def _begin(self, batch: Counts, lift: Array) -> None:
        """Fit the first batch by full sweeps: the means and the basis that steps begin from."""
        given = self.likelihood
        scale = float(lift @ batch.row_sums / batch.row_sums.sum())
        model = BayesianLogistic(
            batch, self.run, negative=given.negative, ns_exponent=given.ns_exponent, temper=scale * given.temper,
            bound=given.bound, relevance_shape=given.relevance_shape, relevance_rate=given.relevance_rate,
        )  # fmt: skip
        state = VariationalSweeps(self.start_sweeps).fit(model, self.dimension, self.run)
        self.relevance = state.relevance
        self.words, self.contexts = (
            Side.fitted(side, curved) for side, curved in ((state.words, True), (state.contexts, False))
        )

    def _make_room(self, words: int) -> None:
        """Add new words, with the priors as their posteriors."""
        extra = words - self.words.mass.size
        if extra > 0:
            # u ~ N(0, I), c ~ N(0, diag(alpha)^-1)
            nothing = np.zeros((extra, self.dimension))
            self.words.append(Side.of(nothing, 1.0, curved=True))
            self.contexts.append(Side.of(nothing, 1 / self.relevance.mean, curved=False))


def _scaled(matrix: Any, mass: Array, seen: Array, own_rate: Array, other_rate: Array) -> Events:
    """Return a batch's counts as events of the whole text: each row scaled from ``seen`` to ``mass`` events."""
    scale = np.divide(mass, seen, out=np.zeros_like(mass), where=seen > 0)
    values = (matrix.data * np.repeat(scale, np.diff(matrix.indptr))).astype(np.float32)
    return Events.on(matrix, values, np.empty(0, np.float32), own_rate, other_rate)


class Batched(HasLikelihood, Protocol):
    """What stochastic sweeps need of a model: also the text in batches."""

    total_tokens: float
    #: The expected number of each word in the whole text.
    totals: Array

    def batches(self, epoch: int = 0) -> Iterator[Counts]:
        """Yield the counts of one batch after another."""
        ...


@dataclass(frozen=True)
class StochasticSweeps:
    """Passes over a text in batches, each one step of ``OnlinePosterior``."""

    epochs: Annotated[int, Option("passes over the text", low=1)] = 1
    forgetting: Annotated[float, Option("step = (batch's share of a word's events)^forgetting", low=0, high=1)] = 0.85
    inner: Inner = "auto"
    start_sweeps: Annotated[int, Option("full sweeps over the first batch", low=1)] = 5
    algorithm: Annotated[
        str, Option("steps: improved, or the thesis's Algorithm 3 as printed", choices=("improved", "printed"))
    ] = "improved"
    kappa: Annotated[
        float, Option("delay in the step (beta + kappa)^tau", low=0, high=1e9, only_with=("algorithm", "printed"))
    ] = 1.0
    tau: Annotated[
        float, Option("exponent of the step (beta + kappa)^tau", low=-1, high=0, only_with=("algorithm", "printed"))
    ] = -0.5
    eigenvalue_power: WordPower = 0.25
    center: Center = False

    def _posterior(self, model: Batched, dimension: int, run: Run) -> OnlinePosterior:
        if self.algorithm == "improved":
            return OnlinePosterior(model, dimension, run, self.forgetting, self.start_sweeps, self.inner)
        from firthian.learn.bayes.printed import PrintedPosterior

        rounds = ROUNDS if self.inner == "auto" else int(self.inner)
        return PrintedPosterior(model, dimension, run, rounds, self.kappa, self.tau)

    def solve(self, model: Batched, dimension: int, run: Run) -> Solution:
        """Learn from every batch; the vectors are posterior means, with their covariances as an extra."""
        online = self._posterior(model, dimension, run)
        seen = np.zeros(len(model.totals))
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
            seen = np.array(saved.arrays["seen"])
            run.progress.advance(tokens)
        for epoch in range(first_epoch, self.epochs):
            for number, batch in enumerate(model.batches(epoch), start=1):
                if number <= skipped:
                    continue
                size = float(batch.vocabulary.counts.sum())
                tokens += size
                seen += batch.vocabulary.counts
                score = online.step(batch, np.divide(model.totals, seen, out=np.ones_like(seen), where=seen > 0))
                if score is not None:
                    scores.append(score)
                run.progress.advance(size, "" if score is None else f"bound per event {score:.4f}")
                arrays = {**online.arrays(), "seen": seen}
                values = {**online.values(), "epoch": epoch, "number": number, "tokens": tokens, "scores": scores}
                stage.save(online.batches, arrays, **values)
            skipped = 0
        if not online.batches:
            raise no_pairs()
        return online_solution(online, scores, self.eigenvalue_power, self.center)


def online_solution(online: OnlinePosterior, scores: list[float], eigenvalue_power: float, center: bool) -> Solution:
    """Convert the posteriors so far to vectors, without changing them."""
    sweeps = VariationalSweeps(eigenvalue_power=eigenvalue_power, center=center)
    solution = sweeps.finish(online.final_state(online.calibrates), online.run)
    stats = {**solution.stats, "batches": online.batches}
    stats.pop("sweeps")
    return Solution(solution.words, solution.contexts, scores, "stopped", stats, solution.extras)
