"""Iteratively weighted low-rank least squares: from the seen pairs alone to the whole likelihood.

The first iteration starts at mu = X, where only seen pairs have a weight, and solves one weighted least squares problem by
``epochs`` sweeps. In every further iteration weights and responses are those of the current mean, all pairs count, and one
sweep is taken: a Fisher scoring step on each side. The paper solves each of these problems to the end with Adagrad
(``solver="adagrad"``); little is gained by that, because the next iteration changes the weights anyway.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from firthian.arrays import Array
from firthian.disk.checkpoints import Checkpoint
from firthian.errors import FirthianError
from firthian.learn.likelihood.alternating import Ridge, SampledZeros, Unseen, make_solution, remember_start, sweep
from firthian.learn.likelihood.families import Tweedie
from firthian.learn.likelihood.losses import SeenOnly, check_dense, choose_loss
from firthian.learn.likelihood.model import Factors
from firthian.learn.likelihood.pairs import HeldOut
from firthian.learn.likelihood.squares import AdagradSquares, FirstProblem, ReweightedModel
from firthian.learn.likelihood.updates import ConjugateGradients, Preconditioned
from firthian.learn.recipe import Combine
from firthian.learn.solver import Solution
from firthian.options import Option
from firthian.runtime.run import Run

#: Share of the seen pairs held out to stop early or to estimate the power.
HELD_OUT = 0.02

#: Cells drawn for validation, of which those without a count are kept.
UNSEEN_CELLS = 200_000

#: ``epochs=auto``: sweeps or passes of the first problem (Adagrad: of every problem; the paper takes up to 50).
EPOCHS = {"sweeps": 2, "adagrad": 15}

#: Powers that ``power=auto`` chooses from.
POWERS = (1.05, 1.15, 1.25, 1.35, 1.5, 1.65, 1.8, 1.95)

#: Held-out loss, number and factors of the best iteration.
Best = tuple[float, int, Factors]


@dataclass
class IWLRLS:
    """``iterations=1`` fits the seen pairs only; more continue with the likelihood of all pairs.

    In later iterations a row's step is halved while its loss would rise, and these rows are counted.
    With ``early_stop`` the iteration with the lowest loss on held-out pairs is kept. ``solver="adagrad"`` fits every least
    squares problem by ``epochs`` passes of Adagrad from a random start (``firthian.learn.likelihood.squares``).
    """

    iterations: Annotated[int, Option("1 fits the seen pairs only, more the likelihood of all pairs", low=1)] = 1
    solver: Annotated[
        str, Option("sweeps, or adagrad as in the paper: slower, from a random start", choices=("sweeps", "adagrad"))
    ] = "sweeps"
    epochs: Annotated[
        int | str,
        Option("sweeps of the first iteration (auto: 2), or Adagrad passes of each (auto: 15)", low=1, words=("auto",)),
    ] = "auto"
    alpha: Annotated[float, Option("learning rate of solver=adagrad", low=1e-9, high=10)] = 0.1
    early_stop: Annotated[bool, Option("keep the iteration with the lowest held-out loss")] = False
    unseen: Unseen = "expanded"
    sampled_zeros: SampledZeros = 2048
    cg_steps: Annotated[
        int, Option("conjugate gradient steps per row and sweep", low=1, only_with=("solver", "sweeps"))
    ] = 1
    ridge: Ridge = 0.0
    combine: Combine = "mean"

    def __post_init__(self) -> None:
        if self.solver == "adagrad" and self.ridge > 0:
            raise FirthianError("`solver=adagrad` does not support a ridge", hint="set `ridge=0` or `solver=sweeps`")
        if self.early_stop and self.iterations == 1:
            raise FirthianError(
                "`early_stop` chooses between iterations, but there is only one",
                hint="raise `iterations`, such as `iterations=10`",
            )

    def epoch_count(self) -> int:
        """Return the number of sweeps or passes."""
        return self.default_epochs({"solver": self.solver}) if self.epochs == "auto" else int(self.epochs)

    @staticmethod
    def default_epochs(settings: Mapping[str, Any], tokens: int = 0) -> int:
        """Return ``epochs=auto`` for these settings and any number of tokens."""
        return EPOCHS[settings["solver"]]

    def solve(self, model: ReweightedModel, dimension: int, run: Run) -> Solution:
        """Fit the model from its own start."""
        stats: dict[str, Any] = {"unseen": "ignored" if self.iterations == 1 else self.unseen, "solver": self.solver}
        if self.unseen == "exact" and self.iterations > 1:
            check_dense(model.words, dimension, run)
        if self.solver == "sweeps":
            method: Sweeps | AdagradSquares = Sweeps(self)
        else:
            method = AdagradSquares(self.epoch_count(), self.alpha, choose_loss(self.unseen, self.sampled_zeros))
        fitted, held_out = _hold_out(model) if self.early_stop or model.estimates_power else (model, None)
        start = method.start(fitted, dimension, run)
        factors = start.copy()
        objective = method.fit_first(fitted, factors, run, "first")
        if model.estimates_power and held_out is not None:
            stats["power"], stats["profile"] = estimate_power(held_out, factors)
            fitted = (fitted if self.early_stop else model).with_family(Tweedie(stats["power"]))
            factors = start.copy()
            objective = method.fit_first(fitted, factors, run, "first-again")
        if self.iterations > 1:
            stats["first_iteration"] = objective[1:]
            validate = ValidationLoss(fitted, held_out) if self.early_stop and held_out is not None else None
            factors, likelihood, more = self._iterate(fitted, factors, validate, method, run)
            stats |= more
            # if the first iteration is the best, its own objective is what was minimized
            objective = objective if more.get("stopped_at") == 1 else likelihood
        return make_solution(fitted, factors, objective, self.combine, stats | method.stats())

    def _iterate(
        self,
        model: ReweightedModel,
        factors: Factors,
        validate: ValidationLoss | None,
        method: Sweeps | AdagradSquares,
        run: Run,
    ) -> tuple[Factors, list[float], dict[str, Any]]:
        """Take further iterations; return factors, objective and statistics, of the best one if they are validated."""
        best: Best | None = None
        validation: list[float] = []
        objective: list[float] = []
        if validate is not None:
            validation = [validate(factors)]
            best = validation[0], 0, factors.copy()
        stage, inside = run.stage("further"), run.within("further")
        state = stage.restore()
        if state is not None:
            best = _restore(state, factors)
            method.resume(state.values["method"])
            validation, objective = list(state.values["validation"]), list(state.values["objective"])
        for iteration in range(1 if state is None else state.step + 1, self.iterations):
            values = method.fit_next(model, factors, iteration, inside)
            objective += values if not objective else values[1:]
            if validate is not None and best is not None:
                validation.append(validate(factors))
                if not validation[-1] < best[0]:
                    break
                best = validation[-1], iteration, factors.copy()
            stage.save(
                iteration,
                functools.partial(_arrays, factors, best),
                objective=objective,
                validation=validation,
                best=None if best is None else best[:2],
                method=method.stats(),
            )
        if best is None:
            return factors, objective, {}
        return best[2], objective[: best[1] + 1], {"held_out_loss": validation, "stopped_at": best[1] + 1}


class ValidationLoss:
    """The loss per count of pairs that are not fitted: seen ones, and cells without a count.

    By the seen ones alone the first iteration, which fits nothing else, would always be the best.
    """

    def __init__(self, model: ReweightedModel, held_out: HeldOut) -> None:
        self.model, self.seen = model, held_out
        self.unseen = model.draw_unseen(UNSEEN_CELLS)

    def __call__(self, factors: Factors) -> float:
        """Return the mean loss."""
        loss = self.seen.loss(self.model.family, factors) + self.unseen.loss(self.model.family, factors)
        return float(loss / self.model.row_sums.sum())


class Sweeps:
    """The first problem by conjugate gradients, every further one by a single sweep with a line search."""

    def __init__(self, settings: IWLRLS) -> None:
        self.settings = settings
        self.loss = choose_loss(settings.unseen, settings.sampled_zeros)
        self.update = Preconditioned(1.0, 0.1, curvature=True, line_search=True)

    def start(self, model: ReweightedModel, dimension: int, run: Run) -> Factors:
        """Return the model's own start."""
        return remember_start(model, dimension, run)

    def fit_first(self, model: ReweightedModel, factors: Factors, run: Run, name: str) -> list[float]:
        """Fit the seen pairs; return the objective at the start and after each sweep."""
        settings = self.settings
        update, epochs = ConjugateGradients(settings.cg_steps), settings.epoch_count()
        return sweep(FirstProblem(model), factors, SeenOnly(), update, epochs, settings.ridge, run, name)

    def fit_next(self, model: ReweightedModel, factors: Factors, iteration: int, run: Run) -> list[float]:
        """Take one sweep on the likelihood of all pairs; return it before and after."""
        name, turns = f"sweep-{iteration}", 2 * (iteration - 1)
        return sweep(model, factors, self.loss, self.update, 1, self.settings.ridge, run, name, turns)

    def stats(self) -> dict[str, Any]:
        """Return statistics for the record, which ``resume`` takes back."""
        if self.settings.iterations == 1:
            return {}
        return {"halved_rows": self.update.halved, "kept_rows": self.update.kept}

    def resume(self, stats: dict[str, Any]) -> None:
        """Restore saved statistics."""
        self.update.halved, self.update.kept = stats["halved_rows"], stats["kept_rows"]


def _hold_out(model: ReweightedModel) -> tuple[ReweightedModel, HeldOut]:
    rest, held_out = model.hold_out(HELD_OUT)
    pairs = model.pairs.values.size
    if held_out.rows.size in (0, pairs):
        raise FirthianError(
            f"{pairs:,} pairs are too few to hold some out",
            hint="use a larger corpus, or omit `early_stop` and `power=auto`",
        )
    return rest, held_out


def _arrays(factors: Factors, best: Best | None) -> dict[str, Array]:
    """Return the arrays to save by name: the current ones, and those of the best iteration."""
    saved = {} if best is None else {f"best_{name}": part for name, part in vars(best[2]).items()}
    return {**vars(factors), **saved}


def _restore(state: Checkpoint, factors: Factors) -> Best | None:
    """Restore the factors of a saved iteration in place; return the best iteration."""
    for name, part in vars(factors).items():
        part[...] = state.arrays[name]
    if state.values["best"] is None:
        return None
    validation, iteration = state.values["best"]
    return validation, iteration, Factors(**{name: np.array(state.arrays[f"best_{name}"]) for name in vars(factors)})


def estimate_power(held_out: HeldOut, factors: Factors) -> tuple[float, list[float]]:
    """Choose the power of the variance by the extended quasi-likelihood of held-out pairs (Nelder and Pregibon 1987).

    -2·Q = n·log(phi) + sum log V(x) with the dispersion phi at its optimum, the mean deviance: unlike deviances alone, these
    can be compared between variance functions.
    """
    mu = np.exp(np.clip(held_out.predictors(factors), -30, 30))
    logs = float(np.mean(np.log(held_out.values)))
    scores = [float(np.log(np.mean(Tweedie(p).deviance(held_out.values, mu))) + p * logs) for p in POWERS]
    return POWERS[int(np.argmin(scores))], scores
