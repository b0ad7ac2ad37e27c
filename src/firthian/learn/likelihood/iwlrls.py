"""Iteratively weighted low-rank least squares: from the seen pairs alone to the whole likelihood.

The first iteration starts at mu = X, where only seen pairs have a weight, and solves one weighted least squares problem by
``epochs`` sweeps. In every further iteration weights and responses are those of the present mean, all pairs count, and one
sweep is taken: a Fisher scoring step on each side. The paper solves each of these problems to the end with Adagrad
(``solver="adagrad"``); little is gained by that, because the next iteration changes the weights anyway.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from firthian.arrays import Array
from firthian.disk.checkpoints import State
from firthian.errors import FirthianError
from firthian.learn.likelihood import steps, unseen
from firthian.learn.likelihood.alternating import solution, started, sweep
from firthian.learn.likelihood.cg_als import ConjugateGradients
from firthian.learn.likelihood.families import Tweedie
from firthian.learn.likelihood.held_out import HeldOut
from firthian.learn.likelihood.model import Factors, FirstStep
from firthian.learn.likelihood.squares import AdagradSquares
from firthian.learn.solver import Solution
from firthian.runtime.run import Run

#: Part of the seen pairs that is held out to stop early, or to find the power.
HELD_OUT = 0.02

#: Cells that are drawn to judge by; those where nothing was seen are kept.
UNSEEN_CELLS = 200_000

#: ``epochs=auto``: sweeps or passes of the first problem (Adagrad: of every problem; the paper takes up to 50).
EPOCHS = {"sweeps": 2, "adagrad": 15}

#: Powers that ``power=auto`` chooses from.
POWERS = (1.05, 1.15, 1.25, 1.35, 1.5, 1.65, 1.8, 1.95)


class IWLRLS:
    """``iterations`` 1 fits the seen pairs only; more go on to the likelihood of all pairs.

    Steps of later iterations are halved for a row where its loss would rise, which is reported.
    With ``early_stop`` the iteration with the lowest loss on held-out pairs is kept. ``solver="adagrad"`` fits every least
    squares problem by ``epochs`` passes of Adagrad from a random start (``firthian.learn.likelihood.squares``).
    """

    requires: ClassVar[tuple[str, ...]] = (
        "side", "start", "stats", "words", "family", "hold_out", "take_back", "draw_unseen", "profile",
    )  # fmt: skip

    def __init__(
        self,
        iterations: int = 1,
        solver: str = "sweeps",
        epochs: int | str = "auto",
        alpha: float = 0.1,
        early_stop: bool = False,
        unseen: str = "expanded",
        sampled_zeros: int = 2048,
        cg_steps: int = 1,
        ridge: float = 0.0,
        combine: str = "mean",
    ) -> None:
        if solver == "adagrad" and ridge > 0:
            raise FirthianError("solver=adagrad has no ridge", hint="set ridge=0, or solver=sweeps")
        if early_stop and iterations == 1:
            raise FirthianError(
                "early_stop chooses between iterations, and there is one", hint="give more, such as --set iterations=10"
            )
        self.iterations = iterations
        self.solver = solver
        self.epochs = self.usual_epochs({"solver": solver}) if epochs == "auto" else int(epochs)
        self.alpha = alpha
        self.early_stop = early_stop
        self.unseen = unseen
        self.sampled_zeros = sampled_zeros
        self.cg_steps = cg_steps
        self.ridge = ridge
        self.combine = combine

    @staticmethod
    def usual_epochs(settings: Mapping[str, Any], tokens: int = 0) -> int:
        """Return what ``epochs=auto`` is with these settings, whatever the tokens."""
        return EPOCHS[settings["solver"]]

    def solve(self, model: Any, dimension: int, run: Run) -> Solution:
        """Fit the model from its own start."""
        stats: dict[str, Any] = {"unseen": "ignored" if self.iterations == 1 else self.unseen, "solver": self.solver}
        if self.unseen == "exact" and self.iterations > 1:
            unseen.check_dense(model.words, dimension, run)
        way: Sweeps | Passes = Sweeps(self) if self.solver == "sweeps" else Passes(self)
        held = _hold_out(model) if self.early_stop or model.profile else None
        start = way.start(model, dimension, run)
        factors = _copy(start)
        objective = way.first(model, factors, run, "first")
        if model.profile and held is not None:
            stats["power"], stats["profile"] = find_power(held, factors)
            model.family = Tweedie(stats["power"])
            if not self.early_stop:
                model.take_back()
            factors = _copy(start)
            objective = way.first(model, factors, run, "first-again")
        if self.iterations > 1:
            stats["first_iteration"] = objective[1:]
            factors, likelihood, facts = self._further(model, factors, held if self.early_stop else None, way, run)
            stats |= facts
            # where the first iteration is the best its own objective is what was minimized
            objective = objective if facts.get("stopped_at") == 1 else likelihood
        return solution(model, factors, objective, self.combine, stats | way.facts())

    def _further(
        self, model: Any, factors: Factors, held: HeldOut | None, way: Sweeps | Passes, run: Run
    ) -> tuple[Factors, list[float], dict[str, Any]]:
        best: tuple[float, int, Factors] | None = None
        judged: list[float] = []
        objective: list[float] = []
        if held is not None:
            judge = Judge(model, held)
            judged = [judge(factors)]
            best = judged[0], 0, _copy(factors)
        stage, inside = run.stage("further"), run.within("further")
        state = stage.restore()
        if state is not None:
            best = _restore(state, factors)
            way.resume(state.values["way"])
            judged, objective = list(state.values["judged"]), list(state.values["objective"])
        for iteration in range(1 if state is None else state.step + 1, self.iterations):
            found = way.further(model, factors, iteration, inside)
            objective += found if not objective else found[1:]
            if best is not None:
                judged.append(judge(factors))
                if judged[-1] < best[0]:
                    best = judged[-1], iteration, _copy(factors)
                else:
                    break
            stage.save(
                iteration,
                functools.partial(_arrays, factors, best),
                objective=objective,
                judged=judged,
                best=None if best is None else best[:2],
                way=way.facts(),
            )
        if best is None:
            return factors, objective, {}
        return best[2], objective[: best[1] + 1], {"held_out_loss": judged, "stopped_at": best[1] + 1}


class Judge:
    """What pairs that are not fitted cost, a count: seen ones, and cells where nothing was seen.

    By the seen ones alone the first iteration, which is fitted to nothing else, would always be the best.
    """

    def __init__(self, model: Any, held: HeldOut) -> None:
        self.model, self.seen = model, held
        self.unseen = model.draw_unseen(UNSEEN_CELLS)

    def __call__(self, factors: Factors) -> float:
        """Return the mean loss."""
        loss = self.seen.loss(self.model.family, factors) + self.unseen.loss(self.model.family, factors)
        return float(loss / self.model.row_sums.sum())


class Sweeps:
    """The first problem by conjugate gradients, every further one by a single careful sweep."""

    def __init__(self, settings: IWLRLS) -> None:
        self.settings = settings
        self.treatment = unseen.choose(settings.unseen, settings.sampled_zeros)
        self.rule = steps.Preconditioned(1.0, 0.1, curvature=True, careful=True)

    def start(self, model: Any, dimension: int, run: Run) -> Factors:
        """Begin where the model says."""
        return started(model, dimension, run)

    def first(self, model: Any, factors: Factors, run: Run, name: str) -> list[float]:
        """Fit the seen pairs; give the objective at the start and after each sweep."""
        settings = self.settings
        rule = ConjugateGradients(settings.cg_steps)
        return sweep(FirstStep(model), factors, unseen.Ignored(), rule, settings.epochs, settings.ridge, run, name)

    def further(self, model: Any, factors: Factors, iteration: int, run: Run) -> list[float]:
        """Go on with the likelihood of all pairs; give it before and after."""
        name, turns = f"sweep-{iteration}", 2 * (iteration - 1)
        return sweep(model, factors, self.treatment, self.rule, 1, self.settings.ridge, run, name, turns)

    def facts(self) -> dict[str, Any]:
        """Return facts for the record."""
        return {"halved_rows": self.rule.halved, "kept_rows": self.rule.kept} if self.settings.iterations > 1 else {}

    def resume(self, facts: dict[str, Any]) -> None:
        """Take up facts that were saved."""
        self.rule.halved, self.rule.kept = facts["halved_rows"], facts["kept_rows"]


class Passes:
    """Every problem by passes of Adagrad, as in the paper."""

    def __init__(self, settings: IWLRLS) -> None:
        self.squares = AdagradSquares(settings.epochs, settings.alpha)
        self.treatment = unseen.choose(settings.unseen, settings.sampled_zeros)
        #: Half the weighted squares after each pass, for each problem.
        self.passes: list[list[float]] = []

    def start(self, model: Any, dimension: int, run: Run) -> Factors:
        """Begin at random."""
        return self.squares.start(model, dimension, run)

    def first(self, model: Any, factors: Factors, run: Run, name: str) -> list[float]:
        """Fit the seen pairs; give the objective at the start and after each pass."""
        before = unseen.Ignored().losses(FirstStep(model).side("words", factors), run, 0).sum()
        self.passes = [self.squares.first(model, factors, run, name)]
        return [float(before), *self.passes[0]]

    def further(self, model: Any, factors: Factors, iteration: int, run: Run) -> list[float]:
        """Fit all pairs with present weights; give the likelihood of all pairs before and after."""
        before = self._likelihood(model, factors, run)
        self.passes.append(self.squares.further(model, factors, iteration, run))
        return [before, self._likelihood(model, factors, run)]

    def _likelihood(self, model: Any, factors: Factors, run: Run) -> float:
        return float(self.treatment.losses(model.side("words", factors), run, 0).sum())

    def facts(self) -> dict[str, Any]:
        """Return facts for the record."""
        squares = self.squares
        return {
            "passes": self.passes,
            "clipped_responses": squares.clipped_responses,
            "clipped_weights": squares.clipped_weights,
        }

    def resume(self, facts: dict[str, Any]) -> None:
        """Take up facts that were saved."""
        self.passes = list(facts["passes"])
        self.squares.clipped_responses, self.squares.clipped_weights = (
            facts["clipped_responses"],
            facts["clipped_weights"],
        )


def _hold_out(model: Any) -> HeldOut:
    held: HeldOut = model.hold_out(HELD_OUT)
    if held.rows.size in (0, model.pairs.values.size):
        raise FirthianError(
            f"{model.pairs.values.size:,} pairs are too few to hold some out",
            hint="use a larger corpus, or leave out early_stop and power=auto",
        )
    return held


def _copy(factors: Factors) -> Factors:
    return Factors(*(part.copy() for part in vars(factors).values()))


def _arrays(factors: Factors, best: tuple[float, int, Factors] | None) -> dict[str, Array]:
    """Name the arrays to save: those now, and those of the best iteration."""
    kept = {} if best is None else {f"best_{name}": part for name, part in vars(best[2]).items()}
    return {**vars(factors), **kept}


def _restore(state: State, factors: Factors) -> tuple[float, int, Factors] | None:
    """Take factors from a saved iteration; give the best one."""
    for name, part in vars(factors).items():
        part[...] = state.arrays[name]
    if state.values["best"] is None:
        return None
    judged, iteration = state.values["best"]
    return judged, iteration, Factors(**{name: np.array(state.arrays[f"best_{name}"]) for name in vars(factors)})


def find_power(held: HeldOut, factors: Factors) -> tuple[float, list[float]]:
    """Choose the power of the variance by the extended quasi-likelihood of held-out pairs (Nelder and Pregibon 1987).

    -2·Q = n·log(phi) + sum log V(x) with the dispersion phi at its best, the mean deviance: unlike deviances alone, these
    can be compared between variance functions.
    """
    mu = np.exp(np.clip(held.predictors(factors), -30, 30))
    logs = float(np.mean(np.log(held.values)))
    scores = [float(np.log(np.mean(Tweedie(p).deviance(held.values, mu))) + p * logs) for p in POWERS]
    return POWERS[int(np.argmin(scores))], scores
