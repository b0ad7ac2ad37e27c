"""Sweeps over the two sides of an exponential family model: contexts, then words, each by one update."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import numpy as np

from firthian.arrays import Array
from firthian.counts.counts import Counts
from firthian.errors import FirthianError
from firthian.learn.likelihood import losses
from firthian.learn.likelihood.losses import Loss
from firthian.learn.likelihood.model import Factors, Side, Which
from firthian.learn.likelihood.updates import Update, auto_damping, choose_update, penalties
from firthian.learn.recipe import LARGE_TEXT, Combine
from firthian.learn.solver import Solution
from firthian.options import Option
from firthian.runtime.run import Run
from firthian.vectors.transform import COMBINATIONS, combine

#: ``epochs=auto``, below LARGE_TEXT and from there on.
USUAL_EPOCHS, MANY_EPOCHS = 6, 8

Ridge = Annotated[float, Option("L2 penalty on all vectors", low=0)]
Unseen = Annotated[
    str,
    Option(
        "unseen pairs: quadratic approximation, exact sum, or random sample", choices=("expanded", "exact", "sampled")
    ),
]
SampledZeros = Annotated[int, Option("contexts drawn for unseen=sampled", low=1)]
Step = Annotated[
    str, Option("damped: few sweeps, better vectors; newton: lower loss, by line search", choices=("damped", "newton"))
]
Damping = Annotated[
    float | str,
    Option(
        "smaller values take longer steps; auto: 0.1, up to 0.3 below 15 M tokens",
        low=1e-3,
        high=100,
        words=("auto",),
        only_with=("step", "damped"),
    ),
]
PriorEvents = Annotated[
    float, Option("pseudo-events per row; less overfitting of rare words", low=0, only_with=("step", "damped"))
]
Center = Annotated[bool, Option("subtract the mean vector, weighted toward frequent words")]
#: ``epochs`` of recipes that have no ``auto``.
SweepCount = Annotated[int, Option("sweeps over contexts and words", low=1)]


class TwoSided(Protocol):
    """A model whose two sides are fitted in turn."""

    def side(self, which: Which, factors: Factors) -> Side:
        """Return the half problem of ``words`` or ``contexts``."""


class FactorModel(TwoSided, Protocol):
    """A model with a vector for each of ``words`` words and contexts; ``bias`` is ``none``, ``row`` or ``both``."""

    words: int
    bias: str

    def stats(self) -> dict[str, Any]:
        """Return statistics for the record."""


class StartingModel(FactorModel, Protocol):
    """A model that computes its own starting values."""

    def start(self, dimension: int) -> Factors:
        """Return starting values."""


class SweptModel(StartingModel, Protocol):
    """What ``Alternating`` needs of a model."""

    counts: Counts

    def total(self) -> float:
        """Return the sum of all counts."""


@dataclass
class Alternating:
    """``epochs`` sweeps (``auto``: more for much text). Contexts come first: words have a good start, contexts are 0.

    ``unseen`` selects the treatment of unseen pairs (``losses.py``), ``step`` the update (``updates.py``); ``damping=auto``
    depends on the counts, and ``prior_events`` shorten the steps of rare words. A number as ``combine`` adds this share of
    the contexts to the words. ``center`` subtracts a mean from all word vectors.
    """

    epochs: Annotated[
        int | str, Option("sweeps over contexts and words; auto: 6, or 8 from 50 M tokens", low=1, words=("auto",))
    ] = "auto"
    unseen: Unseen = "expanded"
    sampled_zeros: SampledZeros = 2048
    step: Step = "damped"
    damping: Damping = "auto"
    prior_events: PriorEvents = 1000.0
    ridge: Ridge = 0.0
    combine: Annotated[
        float | str,
        Option("share of context vectors added to word vectors; or u, u+c, mean", low=0, high=10, words=COMBINATIONS),
    ] = 0.1
    center: Center = True

    def solve(self, model: SweptModel, dimension: int, run: Run) -> Solution:
        """Fit the model from its own start."""
        if self.unseen == "exact":
            losses.check_dense(model.words, dimension, run)
        factors = remember_start(model, dimension, run)
        damping = self.damping_for(model)
        update = choose_update(self.step, damping, self.prior_events)
        objective = sweep(
            model, factors, self.loss_for(model, factors), update, self.epochs_for(model), self.ridge, run
        )
        stats = {"unseen": self.unseen, "halved_rows": update.halved, "kept_rows": update.kept, "damping": damping}
        return make_solution(model, factors, objective, self.combine, stats, self.center)

    @staticmethod
    def default_epochs(settings: Mapping[str, Any], tokens: int) -> int:
        """Return ``epochs=auto`` for a number of tokens: a large corpus is overfitted later."""
        return MANY_EPOCHS if tokens >= LARGE_TEXT else USUAL_EPOCHS

    def epochs_for(self, model: SweptModel) -> int:
        """Return the number of sweeps, for the model's corpus if it is ``auto``."""
        if self.epochs == "auto":
            return self.default_epochs({}, int(model.counts.vocabulary.counts.sum()))
        return int(self.epochs)

    def damping_for(self, model: SweptModel) -> float:
        """Return the damping, for the model's counts if it is ``auto``."""
        return auto_damping(model.total()) if self.damping == "auto" else float(self.damping)

    def loss_for(self, model: SweptModel, factors: Factors) -> Loss:
        """Return the loss to minimize."""
        return losses.choose_loss(self.unseen, self.sampled_zeros)


@dataclass
class AlternatingSquares:
    """``Alternating`` with few options, for the Gaussian family; the other defaults are tuned for SGNS."""

    epochs: SweepCount = 10
    step: Step = "newton"
    ridge: Ridge = 0.0
    combine: Combine = "u"

    def solve(self, model: SweptModel, dimension: int, run: Run) -> Solution:
        """Fit the model from its own start."""
        solver = Alternating(
            self.epochs,
            step=self.step,
            damping=0.1,
            prior_events=0.0,
            ridge=self.ridge,
            combine=self.combine,
            center=False,
        )
        return solver.solve(model, dimension, run)


def remember_start(model: StartingModel, dimension: int, run: Run) -> Factors:
    """Return the model's starting values, which are saved because they take a while to compute."""
    return Factors(**run.remember("factors", lambda: vars(model.start(dimension))))


def sweep(
    model: TwoSided,
    factors: Factors,
    loss: Loss,
    update: Update,
    epochs: int,
    ridge: float,
    run: Run,
    name: str = "sweeps",
    turns: int = 0,
    tolerance: float = 0.0,
) -> list[float]:
    """Take ``epochs`` sweeps in place, saved as the stage ``name``; return the objective at the start and after each.

    ``turns`` is the number of earlier half sweeps, so that random draws differ from theirs. With a ``tolerance`` it stops
    after a sweep that lowers the objective by less than this share of it.
    """
    objective: list[float] = []
    run.progress.start("sweeps", 2 * epochs)
    stage = run.stage(name)
    state = stage.restore()
    if state is not None:
        for part, array in state.arrays.items():
            getattr(factors, part)[...] = array
        objective += state.values["objective"]
        update.halved, update.kept = state.values["halved"], state.values["kept"]
        run.progress.advance(state.step)
    for number in range(state.step if state is not None else 0, 2 * epochs):
        half, turn = number % 2, turns + number + 1
        side = model.side("words" if half else "contexts", factors)
        # The loss at the start of a sweep is the one after the last: it costs little beside the gradient.
        gradient = losses.NO_GRADIENT
        if update.needs_gradient:
            gradient = loss.gradient(side, run, turn, value=half == 0 or update.needs_value)
        if half == 0:
            values = gradient.losses if update.needs_gradient else loss.values(side, run, turn)
            objective.append(_objective(values, factors, ridge, len(objective)))
            if tolerance and len(objective) > 1 and objective[-2] - objective[-1] < tolerance * abs(objective[-1]):
                return objective
        update.move(side, gradient, loss, run, turn, ridge)
        run.progress.advance(1, f"objective {objective[-1]:.6g}")
        stage.save(number + 1, vars(factors), objective=objective, halved=update.halved, kept=update.kept)
    last = loss.values(model.side("contexts", factors), run, 0)
    return [*objective, _objective(last, factors, ridge, len(objective))]


def _objective(values: Array, factors: Factors, ridge: float, sweeps: int) -> float:
    """Return the sum of losses and the ridge penalty; raise if it is not finite."""
    penalty = float(sum(penalties(part, ridge).sum() for part in (factors.words, factors.contexts)))
    total = float(values.sum()) + penalty
    if not np.isfinite(total):
        raise FirthianError(
            f"the objective is not a number after {sweeps} sweeps",
            hint="raise `damping` (such as `damping=1`) or `ridge`, or set `step=newton`",
        )
    return total


def make_solution(
    model: FactorModel,
    factors: Factors,
    objective: list[float],
    combination: str | float,
    stats: dict[str, Any],
    center: bool = False,
) -> Solution:
    """Build a solution from the factors; the first number of ``objective`` is the one at the start.

    A number as ``combination`` is the share of the contexts: words are u + share·(|u|/|c|)·c, where |u| and |c| are the root
    mean squared distances from their means. Contexts represent what a word occurs with, so related words move closer.

    ``center`` subtracts a mean vector, which is saved with the vectors. Words are weighted by the square root of their
    events: with equal weights, rare words, whose vectors are mostly noise, would dominate; weighted by events, a few function
    words would.
    """
    # a mean needs every bias, fitted or not
    biases = {"word_bias": factors.word_bias, "context_bias": factors.context_bias}
    extras = {name: bias for name, bias in biases.items() if bias.any()}
    facts = {**stats, "objective_at_start": objective[0], **model.stats()}
    weights = np.sqrt(model.side("words", factors).events)
    weights /= weights.sum()
    if isinstance(combination, str):
        words = np.ascontiguousarray(combine(factors.words, factors.contexts, combination))
    else:
        # saved, like the mean, so that u can be recovered
        factor = combination * _spread(factors.words, weights) / max(_spread(factors.contexts, weights), 1e-12)
        facts["context_factor"] = factor
        words = factors.words + np.float32(factor) * factors.contexts
    if center:
        extras["mean_vector"] = _weighted_mean(words, weights).astype(np.float32)
        words = words - extras["mean_vector"]
    return Solution(words, factors.contexts, objective[1:], "stopped", facts, extras)


def _weighted_mean(vectors: Array, weights: Array) -> Array:
    # not by BLAS, whose sums depend on its threads
    mean: Array = np.einsum("i,ij->j", weights, vectors)
    return mean


def _spread(vectors: Array, weights: Array) -> float:
    """Return the root mean squared distance of vectors from their mean."""
    mean = _weighted_mean(vectors, weights)
    return float(np.sqrt(max(np.einsum("i,ij,ij->", weights, vectors, vectors) - mean @ mean, 0.0)))
