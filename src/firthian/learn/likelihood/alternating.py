"""Sweeps over the two sides of an exponential family model: contexts, then words, each by one step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.learn.likelihood import steps, unseen
from firthian.learn.likelihood.model import Factors
from firthian.learn.recipe import LARGE_TEXT
from firthian.learn.solver import Solution
from firthian.runtime.run import Run
from firthian.vectors.transform import combine

#: ``epochs=auto``, below LARGE_TEXT and from there on.
USUAL_EPOCHS, MANY_EPOCHS = 6, 8


class Alternating:
    """``epochs`` sweeps (``auto``: more for much text). Contexts come first: words have a good start, contexts begin at 0.

    ``unseen`` says how the pairs that were never seen are treated (see ``unseen.py``), ``step`` how far a step
    goes (``firthian.learn.likelihood.steps``); a ``damping`` of ``auto`` depends on how much was counted, and ``prior_events``
    shorten the steps of rare words. A ``combine`` that is a number adds so much of the contexts to the words. ``center``
    takes a mean off all word vectors. The objective after each sweep is what the treatment gives, plus the ridge.
    """

    requires: ClassVar[tuple[str, ...]] = ("side", "start", "stats")

    def __init__(
        self,
        epochs: int | str = USUAL_EPOCHS,
        unseen: str = "expanded",
        step: str = "damped",
        damping: float | str = 0.1,
        prior_events: float = 0.0,
        ridge: float = 0.0,
        sampled_zeros: int = 2048,
        combine: str | float = "u",
        center: bool = False,
    ) -> None:
        self.epochs = epochs
        self.unseen = unseen
        self.step = step
        self.damping = damping
        self.prior_events = prior_events
        self.ridge = ridge
        self.sampled_zeros = sampled_zeros
        self.combine = combine
        self.center = center

    def solve(self, model: Any, dimension: int, run: Run) -> Solution:
        """Fit the model from its own start."""
        if self.unseen == "exact":
            unseen.check_dense(model.words, dimension, run)
        factors = started(model, dimension, run)
        treatment = unseen.choose(self.unseen, self.sampled_zeros)
        damping = self.damping_for(model)
        rule = steps.choose(self.step, damping, self.prior_events)
        objective = sweep(model, factors, treatment, rule, self.epochs_for(model), self.ridge, run)
        stats = {"unseen": self.unseen, "halved_rows": rule.halved, "kept_rows": rule.kept, "damping": damping}
        return solution(model, factors, objective, self.combine, stats, self.center)

    @staticmethod
    def usual_epochs(settings: Mapping[str, Any], tokens: int) -> int:
        """Return what ``epochs=auto`` is for so many tokens: much text is not fitted too closely as soon."""
        return MANY_EPOCHS if tokens >= LARGE_TEXT else USUAL_EPOCHS

    def epochs_for(self, model: Any) -> int:
        """Return the sweeps that are set, or the usual ones for the model's text."""
        if self.epochs == "auto":
            return self.usual_epochs({}, int(model.counts.vocabulary.counts.sum()))
        return int(self.epochs)

    def damping_for(self, model: Any) -> float:
        """Return the damping that is set, or the usual one for the model's counts."""
        if self.damping == "auto":
            return steps.usual_damping(float(model.pairs.values.sum(dtype=np.float64)))
        return float(self.damping)


def started(model: Any, dimension: int, run: Run) -> Factors:
    """Return the model's own start; it takes a while, so it is not computed twice."""
    return Factors(**run.remember("factors", lambda: vars(model.start(dimension))))


def sweep(
    model: Any,
    factors: Any,
    treatment: unseen.Unseen,
    rule: steps.Step,
    epochs: int,
    ridge: float,
    run: Run,
    name: str = "sweeps",
    turns: int = 0,
) -> list[float]:
    """Take ``epochs`` sweeps in place, saved as the stage ``name``; give the objective at the start and after each.

    ``turns`` have been taken before, so that what is drawn anew at each turn is not drawn again.
    """
    objective: list[float] = []
    run.progress.start("sweeps", 2 * epochs)
    stage = run.stage(name)
    state = stage.restore()
    if state is not None:
        for part, array in state.arrays.items():
            getattr(factors, part)[...] = array
        objective += state.values["objective"]
        rule.halved, rule.kept = state.values["halved"], state.values["kept"]
        run.progress.advance(state.step)
    for number in range(state.step if state is not None else 0, 2 * epochs):
        half, turn = number % 2, turns + number + 1
        side = model.side(("contexts", "words")[half], factors)
        # The loss at the start of a sweep is the one after the last: it costs little beside the gradient.
        gradient = unseen.NO_GRADIENT
        if half == 0 or rule.needs_gradient:
            gradient = treatment.gradient(side, run, turn, value=half == 0 or rule.needs_value)
        if half == 0:
            _note(objective, float(gradient.losses.sum()), factors, ridge, run)
        rule.move(side, gradient, treatment, run, turn, ridge)
        run.progress.advance(1, f"objective {objective[-1]:.6g}")
        stage.save(number + 1, vars(factors), objective=objective, halved=rule.halved, kept=rule.kept)
    _note(objective, float(treatment.losses(model.side("contexts", factors), run, 0).sum()), factors, ridge, run)
    return objective


def _note(objective: list[float], loss: float, factors: Any, ridge: float, run: Run) -> None:
    objective.append(
        loss + float(sum(steps.penalties(part, ridge).sum() for part in (factors.words, factors.contexts)))
    )
    if not np.isfinite(objective[-1]):
        raise FirthianError(
            f"the objective is not a number after {len(objective) - 1} sweeps",
            hint="raise damping or ridge, such as --set damping=1, give --set step=newton, or lower the rate",
        )


def solution(
    model: Any, factors: Any, objective: list[float], how: str | float, stats: dict[str, Any], center: bool = False
) -> Solution:
    """Make a solution of the factors; the first number of ``objective`` is the one at the start.

    A number as ``how`` is the share of the contexts: words are u + how·(|u|/|c|)·c, where |u| and |c| are the usual distances
    from their means. Contexts know what a word occurs with, so that related words come closer.

    ``center`` takes a mean vector off all words, which says nothing of any of them; it is kept beside them. Words weigh as the
    square root of their events: alike, rare ones, whose vectors are mostly noise, would outvote all others; as their events, a
    few function words would.
    """
    extras = {}
    if model.bias != "none":
        extras["word_bias"] = factors.word_bias
    if model.bias == "both":
        extras["context_bias"] = factors.context_bias
    facts = {**stats, "objective_at_start": objective[0], **model.stats()}
    weights = np.sqrt(model.side("words", factors).events)
    weights /= weights.sum()
    if isinstance(how, str):
        words = np.ascontiguousarray(combine(factors.words, factors.contexts, how))
    else:
        # with it, and with the mean, u can be had back
        facts["context_factor"] = how * _spread(factors.words, weights) / max(_spread(factors.contexts, weights), 1e-12)
        words = factors.words + np.float32(facts["context_factor"]) * factors.contexts
    if center:
        extras["mean_vector"] = _weighted_mean(words, weights).astype(np.float32)
        words = words - extras["mean_vector"]
    return Solution(words, factors.contexts, objective[1:], "stopped", facts, extras)


def _weighted_mean(vectors: Array, weights: Array) -> Array:
    # not by BLAS, whose sums depend on its threads
    mean: Array = np.einsum("i,ij->j", weights, vectors)
    return mean


def _spread(vectors: Array, weights: Array) -> float:
    """Return the root of the mean squared distance of vectors from their mean."""
    mean = _weighted_mean(vectors, weights)
    return float(np.sqrt(max(np.einsum("i,ij,ij->", weights, vectors, vectors) - mean @ mean, 0.0)))
