"""Iteratively weighted low-rank least squares: from the seen pairs alone to the whole likelihood.

The first iteration starts at mu = X, where only seen pairs have a weight, and solves one weighted least squares problem by
``epochs`` sweeps. In every further iteration weights and responses are those of the current mean, all pairs count, and one
sweep is taken: a Fisher scoring step on each side. The paper solves each of these problems to the end with Adagrad
(``solver="adagrad"``); little is gained by that, because the next iteration changes the weights anyway.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from firthian.arrays import Array
from firthian.disk.checkpoints import Checkpoint
from firthian.errors import FirthianError
from firthian.learn.likelihood.alternating import Ridge, SampledZeros, Unseen, make_solution, remember_start, sweep
from firthian.learn.likelihood.families import Poisson, Tweedie
from firthian.learn.likelihood.losses import SeenOnly, check_dense, choose_loss
from firthian.learn.likelihood.model import Factors
from firthian.learn.likelihood.pairs import HeldOut
from firthian.learn.likelihood.squares import AdagradSquares, FirstProblem, ReweightedModel
from firthian.learn.likelihood.updates import ConjugateGradients, Preconditioned, bias_step
from firthian.learn.recipe import Combine
from firthian.learn.solver import Solution
from firthian.options import Option
from firthian.runtime.run import Run

#: Share of the seen pairs held out to stop early or to estimate the power.
HELD_OUT = 0.02

#: Seen pairs held out to estimate the power, at most MOST_HELD_OUT of all; of more than MOST_PAIRS a part is used.
POWER_PAIRS, MOST_HELD_OUT, MOST_PAIRS = 4000, 0.2, 20_000

#: Cells drawn for validation, of which those without a count are kept.
UNSEEN_CELLS = 200_000

#: ``epochs=auto``: sweeps or passes of the first problem (Adagrad: of every problem, as in the paper).
EPOCHS = {"sweeps": 2, "adagrad": 50}

#: ``epochs=converged``: the least relative gain of a sweep, the most sweeps, and the least conjugate gradient steps of each.
TOLERANCE, MOST_SWEEPS, CONVERGED_STEPS = 0.005, 100, 3

#: The range of ``power=auto``.
POWERS = (1.01, 1.99)

#: Terms of the series of Tweedie densities; where the largest is beyond FAR_TERM, the saddlepoint approximation serves.
SERIES_TERMS, FAR_TERM = 60, 20.0

#: Held-out loss, number and factors of the best iteration.
Best = tuple[float, int, Factors]


@dataclass
class IWLRLS:
    """``iterations=1`` fits the seen pairs only; more continue with the likelihood of all pairs.

    ``epochs="converged"`` solves the first problem until a sweep gains little.
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
        Option(
            "sweeps of the first iteration (auto: 2), or Adagrad passes of each (auto: 50)",
            low=1,
            words=("auto", "converged"),
        ),
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
        if self.solver == "adagrad" and self.epochs == "converged":
            raise FirthianError(
                "`epochs=converged` works only with `solver=sweeps`", hint="set a number of passes, such as `epochs=50`"
            )
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
            loss = choose_loss(self.unseen, self.sampled_zeros)
            method = AdagradSquares(self.epoch_count(), self.alpha, loss, self.ridge)
        fitted, held_out = _hold_out(model) if self.early_stop or model.estimates_power else (model, None)
        start = method.start(fitted, dimension, run)
        factors = start.copy()
        objective = method.fit_first(fitted, factors, run, "first")
        if model.estimates_power and held_out is not None:
            stats["power"], stats["dispersion"] = estimate_power(*cells_for_power(fitted, held_out, factors))
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
            if isinstance(getattr(fitted.family, "family", fitted.family), Poisson) and fitted.bias in ("row", "base"):
                normalize(fitted, factors, self.unseen, run)
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
        shares = self.model.shares(factors)
        loss = sum(cells.loss(self.model.family, factors, shares) for cells in (self.seen, self.unseen))
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
        problem, ridge = FirstProblem(model), settings.ridge / model.weight_scale
        if settings.epochs == "converged":
            update, epochs = ConjugateGradients(max(settings.cg_steps, CONVERGED_STEPS)), MOST_SWEEPS
            return sweep(problem, factors, SeenOnly(), update, epochs, ridge, run, name, tolerance=TOLERANCE)
        update, epochs = ConjugateGradients(settings.cg_steps), settings.epoch_count()
        return sweep(problem, factors, SeenOnly(), update, epochs, ridge, run, name)

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


def normalize(model: ReweightedModel, factors: Factors, unseen: str, run: Run) -> None:
    """Set the biases of words in place so that the means of a word sum to its counts, as those of a multinomial do."""
    side = replace(model.side("words", factors), family=Poisson())
    factors.word_bias[:] -= bias_step(choose_loss(unseen).gradient(side, run, 0, value=False))


def _hold_out(model: ReweightedModel) -> tuple[ReweightedModel, HeldOut]:
    pairs = model.pairs.values.size
    # a power needs a few thousand pairs, even if there are few
    least = min(POWER_PAIRS / max(pairs, 1), MOST_HELD_OUT) if model.estimates_power else 0.0
    rest, held_out = model.hold_out(max(HELD_OUT, least))
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


def cells_for_power(model: ReweightedModel, held_out: HeldOut, factors: Factors) -> tuple[Array, Array, Array]:
    """Return counts, predictors and weights of cells that are a sample of all, seen or not.

    Held-out pairs are drawn at one rate, unseen cells by the product of their marginals. Weighted by the smaller of the two
    rates over their own, both stand for a sample at that rate, which does not depend on whether a pair was seen.
    """
    unseen = model.draw_unseen(UNSEEN_CELLS)
    every = -(-held_out.rows.size // MOST_PAIRS)
    seen = HeldOut(*(part[::every] for part in (held_out.rows, held_out.columns, held_out.values)))
    rate = 1 / (float(held_out.weights) * every)
    rows, columns = model.pairs.marginals(model.words)
    chance = UNSEEN_CELLS * rows[seen.rows] * columns[seen.columns] / (rows.sum() * columns.sum())
    weights = np.concatenate([np.minimum(1, chance / rate), np.minimum(1, rate * np.asarray(unseen.weights))])
    x = np.concatenate([seen.values, unseen.values])
    return x, np.concatenate([seen.predictors(factors), unseen.predictors(factors)]), weights


def estimate_power(x: Array, eta: Array, weights: Array) -> tuple[float, float]:
    """Return the power and the dispersion with the highest Tweedie likelihood of cells, P(0) included.

    The first iteration knows seen pairs only, so its means are too large: each power is judged with log mu = a + b·eta, where
    a and b fit these cells best.
    """
    from scipy.optimize import minimize_scalar

    found: list[tuple[float, float, float]] = []

    def score(p: float) -> float:
        mu = np.exp(np.clip(_calibrated(p, x, eta, weights), -30, 30))
        best = minimize_scalar(
            lambda log_phi: -float(weights @ tweedie_logs(p, x, mu, float(np.exp(log_phi)))),
            bounds=(-6, 6),
            method="bounded",
            options={"xatol": 1e-2},
        )
        found.append((float(best.fun), p, float(np.exp(best.x))))
        return float(best.fun)

    minimize_scalar(score, bounds=POWERS, method="bounded", options={"xatol": 3e-3})
    _, power, phi = min(found)
    return round(power, 3), phi


def _calibrated(p: float, x: Array, eta: Array, weights: Array) -> Array:
    """Return a + b·eta with the highest quasi-likelihood, by Fisher scoring."""
    design, line = np.stack([np.ones_like(eta), np.clip(eta, -30, 30)]), np.array([0.0, 1.0])
    for _ in range(30):
        mu = np.exp(np.clip(line @ design, -30, 30))
        hessian = (design * (weights * mu ** (2 - p))) @ design.T + 1e-9 * np.eye(2)
        step = np.linalg.solve(hessian, design @ (weights * (x - mu) * mu ** (1 - p)))
        line += np.clip(step, [-2, -0.5], [2, 0.5])
        if np.abs(step).max() < 1e-6:
            break
    calibrated: Array = line @ design
    return calibrated


def tweedie_logs(p: float, x: Array, mu: Array, phi: float) -> Array:
    """Return log P(0) where x is 0, else the log density of x, for a variance of phi·mu^p.

    A count is the sum of n ~ Poisson(lam) gamma variables, so P(0) = e^-lam, and the density of x > 0 is a series over n.
    """
    from scipy.special import gammaln, logsumexp

    shape, lam = (2 - p) / (p - 1), mu ** (2 - p) / (phi * (2 - p))
    logs = -lam
    far = x ** (2 - p) / (phi * (2 - p)) > FAR_TERM
    logs[far] = -0.5 * (np.log(2 * np.pi * phi * x[far] ** p) + Tweedie(p).deviance(x[far], mu[far]) / phi)
    near = np.flatnonzero((x > 0) & ~far)
    n = np.arange(1, SERIES_TERMS + 1)[:, np.newaxis]
    for part in np.array_split(near, len(near) // 4096 + 1):
        scaled = x[part] * mu[part] ** (1 - p) / ((p - 1) * phi)
        terms = n * (np.log(lam[part]) + shape * np.log(scaled)) - gammaln(n + 1) - gammaln(n * shape)
        logs[part] = logsumexp(terms, axis=0) - lam[part] - scaled - np.log(x[part])
    return logs
