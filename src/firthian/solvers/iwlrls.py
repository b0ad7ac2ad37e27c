"""Iteratively weighted low-rank least squares: from the seen pairs alone to the whole likelihood.

The first iteration starts at mu = X, where only seen pairs have a weight, and solves one weighted least squares problem by
``epochs`` sweeps. In every further iteration weights and responses are those of the present mean, all pairs count, and one
sweep is taken: a Fisher scoring step on each side. The paper solves each of these problems to the end with Adagrad; nothing
is gained by that, because the next iteration changes the weights anyway.
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar

import numpy as np

from firthian.checkpoints import Array, State
from firthian.models.exponential_family import Factors, FirstStep, HeldOut
from firthian.models.families import Tweedie
from firthian.run import Run
from firthian.solvers import steps, unseen
from firthian.solvers.alternating import solution, started, sweep
from firthian.solvers.base import Solution
from firthian.solvers.cg_als import ConjugateGradients

#: Part of the seen pairs that is held out to stop early, or to find the power.
HELD_OUT = 0.02

#: Powers that ``power=auto`` chooses from.
POWERS = (1.05, 1.15, 1.25, 1.35, 1.5, 1.65, 1.8, 1.95)


class IWLRLS:
    """``iterations`` 1 fits the seen pairs only; more go on to the likelihood of all pairs.

    Steps of later iterations are halved for a row where its loss would rise, which is reported.
    With ``early_stop`` the iteration with the lowest loss on held-out pairs is kept.
    """

    requires: ClassVar[tuple[str, ...]] = ("side", "start", "stats", "family", "hold_out")

    def __init__(
        self,
        iterations: int = 1,
        epochs: int = 2,
        early_stop: bool = False,
        unseen: str = "expanded",
        sampled_zeros: int = 2048,
        cg_steps: int = 1,
        ridge: float = 0.0,
        combine: str = "mean",
    ) -> None:
        self.iterations = iterations
        self.epochs = epochs
        self.early_stop = early_stop
        self.unseen = unseen
        self.sampled_zeros = sampled_zeros
        self.cg_steps = cg_steps
        self.ridge = ridge
        self.combine = combine

    def solve(self, model: Any, dimension: int, run: Run) -> Solution:
        """Fit the model from its own start."""
        stats: dict[str, Any] = {"unseen": "ignored" if self.iterations == 1 else self.unseen}
        start = started(model, dimension, run)
        held = model.hold_out(HELD_OUT) if self.early_stop or model.profile else None
        factors, objective = self._first(model, start, run, "first")
        if model.profile and held is not None:
            stats["power"], stats["profile"] = find_power(held, factors)
            model.family = Tweedie(stats["power"])
            factors, objective = self._first(model, start, run, "first-again")
        if self.iterations > 1:
            stats["first_iteration"] = objective[1:]
            factors, objective, facts = self._further(model, factors, held, run)
            stats |= facts
        return solution(model, factors, objective, self.combine, stats)

    def _first(self, model: Any, start: Factors, run: Run, name: str) -> tuple[Factors, list[float]]:
        factors = Factors(*(part.copy() for part in vars(start).values()))
        rule = ConjugateGradients(self.cg_steps)
        return factors, sweep(FirstStep(model), factors, unseen.Ignored(), rule, self.epochs, self.ridge, run, name)

    def _further(
        self, model: Any, factors: Factors, held: HeldOut | None, run: Run
    ) -> tuple[Factors, list[float], dict[str, Any]]:
        treatment = unseen.choose(self.unseen, self.sampled_zeros)
        rule = steps.Preconditioned(1.0, 0.1, curvature=True, careful=True)
        best: tuple[float, int, Factors] | None = None
        judged: list[float] = []
        objective: list[float] = []
        stage, inside = run.stage("further"), run.within("further")
        state = stage.restore()
        if state is not None:
            best = _restore(state, factors, rule)
            judged, objective = list(state.values["judged"]), list(state.values["objective"])
        for iteration in range(1 if state is None else state.step + 1, self.iterations):
            found = sweep(model, factors, treatment, rule, 1, self.ridge, inside, f"sweep-{iteration}")
            objective += found if not objective else found[1:]
            if held is not None and self.early_stop:
                judged.append(float(np.mean(model.family.loss(held.values, held.predictors(factors)))))
                if best is None or judged[-1] < best[0]:
                    best = judged[-1], iteration, Factors(*(part.copy() for part in vars(factors).values()))
                else:
                    break
            stage.save(
                iteration,
                functools.partial(_arrays, factors, best),
                objective=objective,
                judged=judged,
                best=None if best is None else best[:2],
                halved=rule.halved,
                kept=rule.kept,
            )
        facts: dict[str, Any] = {"halved_rows": rule.halved, "kept_rows": rule.kept}
        if best is not None:
            factors = best[2]
            objective = objective[: best[1] + 1]
            facts |= {"held_out_loss": judged, "stopped_at": best[1] + 1}
        return factors, objective, facts


def _arrays(factors: Factors, best: tuple[float, int, Factors] | None) -> dict[str, Array]:
    """Name the arrays to save: those now, and those of the best iteration."""
    kept = {} if best is None else {f"best_{name}": part for name, part in vars(best[2]).items()}
    return {**vars(factors), **kept}


def _restore(state: State, factors: Factors, rule: steps.Step) -> tuple[float, int, Factors] | None:
    """Take factors and counters from a saved iteration; give the best one."""
    for name, part in vars(factors).items():
        part[...] = state.arrays[name]
    rule.halved, rule.kept = state.values["halved"], state.values["kept"]
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
