"""Mean-field variational inference by full sweeps: every word, every context, every precision, to its best in turn.

Each update maximizes the bound over one factor with the others fixed, so the bound never falls. It is exact, and it
costs nothing extra: the pass that updates the words computes the bound of the state it starts from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.kernels.packing import packed_size, unpack
from firthian.learn.bayes.ard import Relevance
from firthian.learn.bayes.bounds import Background
from firthian.learn.bayes.model import BayesianLogistic, Side
from firthian.learn.bayes.posterior import BLOCK, Gaussians, Moments, State, coordinates
from firthian.learn.bayes.rotation import LIVE_SHARE, balance, rotate, signal_shares
from firthian.learn.bayes.starts import noise_start, spectral_start
from firthian.learn.solver import AUTO, Solution
from firthian.runtime.memory import INTERPRETER_BYTES, show_size
from firthian.runtime.run import Run

#: Columns whose moments are used by all rows of a block before the next ones are touched.
_TILE = 256

#: The kernels' numbers for what takes the place of the logistic function.
_BOUNDS = {"jaakkola": 0, "boehning": 1, "logistic": 2}


@dataclass(frozen=True)
class VariationalSweeps:
    """Coordinate ascent on the evidence lower bound.

    ``epochs`` sweeps at most, fewer when one raises the bound by less than ``tolerance`` of itself. ``rotate`` finds,
    after each sweep, the best common change of basis of words and contexts: the likelihood does not see it, the
    priors do, and plain sweeps take hundreds of rounds to get there. ``prune`` removes the dimensions that ended up
    with a smaller ``signal_shares``; 0 keeps all. ``calibrate`` computes the covariances anew at the end, with the
    curvature of the logistic function instead of the bound's (``solvers/calibration.py``). A dimension of ``AUTO`` is
    chosen by the bound (``solvers/selection.py``), ``largest`` at most; dimensions that are not in use go.
    """

    epochs: int = 8
    covariance: str = "full"
    start: str = "spectral"
    rotate: bool = True
    tolerance: float = 0.0
    prune: float = 0.0
    eigenvalue_power: float = 0.25
    center: bool = False
    calibrate: bool = True
    dtype: str = "float32"
    largest: int = 128

    requires: ClassVar[tuple[str, ...]] = ("words", "contexts", "bound", "temper", "bias")

    def solve(self, model: BayesianLogistic, dimension: int, run: Run) -> Solution:
        """Fit the model; the vectors are posterior means, their covariances an extra."""
        from firthian.learn.bayes.calibration import calibrate
        from firthian.learn.bayes.selection import HELD_STATES, choose_dimension

        solver, more = self, {}
        if dimension == AUTO:
            # By the options and the data alone: what memory there is must not change the result, so it may only be refused.
            largest = min(self.largest, *model.shape)
            check_memory(model, largest, self.covariance, run, self.dtype, "--set largest=", HELD_STATES)
            state, trials = choose_dimension(model, largest, self, run)
            solver = replace(self, prune=self.prune or LIVE_SHARE)
            more = {"dimensions_tried": [trial.to_dict() for trial in trials]}
        else:
            state = self.fit(model, dimension, run)
        if self.calibrate:
            run.progress.start("calibrating covariances")
            calibrate(model, state, run)
        solution = solver.finish(state, run, model.bias)
        return replace(solution, stats={**solution.stats, **more})

    def fit(self, model: BayesianLogistic, dimension: int, run: Run) -> State:
        """Run the sweeps."""
        check_memory(model, dimension, self.covariance, run, self.dtype)
        state = self._begin(model, dimension, run)
        masses = model.words.unlisted_mass(run)
        run.progress.start("variational sweeps", self.epochs)
        stage = run.stage("sweeps")
        saved = stage.restore()
        if saved is not None:
            state.take(saved.arrays, saved.values)
            run.progress.advance(saved.step)
        prior = _prior_value(model, state)
        for sweep in range(0 if saved is None else saved.step, self.epochs):
            background, data = _update_words(model, state, masses, run)
            state.record(data + prior, full=sweep > 0)
            if self._settled(state):
                run.progress.advance(self.epochs - sweep, f"converged, bound {state.history[-1]:.6g}")
                return state
            prior = _prior_value(model, state)
            state.record(prior + _update_contexts(model, state, background, run), full=False)
            state.relevance = state.relevance.update(state.contexts.rows, state.contexts.squares()[: state.dimension])
            if self.rotate and self.covariance == "full":
                rotate(state, run)
            prior = _prior_value(model, state)
            run.progress.advance(1, f"bound {state.halves[-1]:.6g}")
            stage.save(sweep + 1, state.arrays(), **state.values())
        state.record(prior + _evaluate(model, state, masses, run), full=True)
        return state

    def _begin(self, model: BayesianLogistic, dimension: int, run: Run) -> State:
        begin = spectral_start if self.start == "spectral" else noise_start
        start = run.remember(
            "start", lambda: dict(zip(("words", "contexts"), begin(model, dimension, run), strict=True))
        )
        words, contexts = start["words"], start["contexts"]
        size, word_layout, context_layout = coordinates(dimension, model.bias)
        sides = []
        for means, layout in ((words, word_layout), (contexts, context_layout)):
            padded = np.zeros((means.shape[0], size))
            padded[:, :dimension] = means
            sides.append(Gaussians(padded, 0.1, *layout, self.covariance == "diagonal", np.dtype(self.dtype)))
        relevance = Relevance.start(dimension, model.relevance_shape, model.relevance_rate)
        return State(sides[0], sides[1], relevance, dimension)

    def _settled(self, state: State) -> bool:
        if self.tolerance <= 0 or len(state.history) < 2:
            return False
        return state.history[-1] - state.history[-2] < self.tolerance * abs(state.history[-1])

    def finish(self, state: State, run: Run, bias: str = "none") -> Solution:
        """Make vectors of the state: pruned, with the scale shared between words and contexts, perhaps centered.

        ``bias`` says which biases the model has.
        """
        live = signal_shares(state) >= (self.prune or LIVE_SHARE)
        stats: dict[str, Any] = {
            "sweeps": len(state.history),
            "live_dimensions": int(live.sum()),
            "calibrated": state.calibrated,
            "log_precisions": [round(float(value), 4) for value in np.log(state.relevance.mean)],
        }
        if self.prune > 0 and not live.any():
            raise FirthianError(
                "no dimension is in use: the counts say too little",
                hint="give more text, a higher temper, or a --dim without prune",
            )
        if self.prune > 0 and not live.all():
            kept = np.flatnonzero(np.append(live, np.ones(state.words.size - state.dimension, dtype=bool)))
            state.words.keep(kept)
            state.contexts.keep(kept)
            state.dimension = int(live.sum())
        balance(state, self.eigenvalue_power, run)
        d = state.dimension
        means = state.words.means[:, :d].astype(np.float32)
        if self.center:
            means -= means.mean(axis=0)
        extras = {"covariances" if self.covariance == "full" else "variances": _inner(state.words, d)}
        if bias != "none":
            extras["biases"] = state.words.means[:, d].astype(np.float32)
        if bias == "both":
            extras["context_biases"] = state.contexts.means[:, d + 1].astype(np.float32)
        return Solution(
            means,
            state.contexts.means[:, :d].astype(np.float32),
            state.history,
            "converged" if len(state.history) < self.epochs else "stopped",
            stats,
            extras,
        )


def settle(model: BayesianLogistic, state: State, run: Run) -> None:
    """Sweep once with the precisions and the basis as they are.

    A sweep of ``fit`` ends with both changed, so its posteriors hold the priors of before; after this they hold today's.
    """
    background, _ = _update_words(model, state, model.words.unlisted_mass(run), run)
    _update_contexts(model, state, background, run)


def _inner(side: Gaussians, dimension: int) -> Array:
    """Return the covariances of the vectors alone, without the biases', in float32."""
    if side.diagonal:
        return np.ascontiguousarray(side.covariances[:, :dimension], dtype=np.float32)
    if side.free.size == dimension:
        return side.covariances.astype(np.float32, copy=False)
    from firthian.kernels.packing import pack

    out = np.empty((side.rows, packed_size(dimension)), dtype=np.float32)
    for first in range(0, side.rows, BLOCK):
        block = unpack(side.covariances[first : first + BLOCK], side.free.size)
        out[first : first + BLOCK] = pack(block[:, :dimension, :dimension])
    return out


def gather_block(
    side: Side,
    own: Gaussians,
    other: Moments,
    weights: Array,
    temper: float,
    bound: str,
    first: int,
    last: int,
    fold: bool = False,
) -> tuple[Array, ...]:
    """Sum what the listed pairs of some rows say, by the kernel ``gather``."""
    from firthian.kernels.bayes import gather

    rows, width = last - first, own.width
    outputs = (
        np.empty((rows, width), dtype=own.moments.dtype),
        np.empty((rows, width), dtype=own.moments.dtype),
        np.empty((rows, own.size)),
        np.empty((rows, own.size)),
        np.empty(rows),
    )
    gather(
        side.indptr, side.indices, side.positive, side.negative, temper, side.own_rate, side.other_rate, weights,
        _BOUNDS[bound], fold, own.diagonal, own.means, own.moments, other.means, other.moments,
        first, last, _TILE, *outputs,
    )  # fmt: skip
    return outputs


def background_of(
    bound: str, rate: Array, own: Gaussians, masses: Array, sums: tuple[Array, Array],
    listed: Array, listed_linear: Array, first: int, last: int,
) -> Background:  # fmt: skip
    """Bound the unlisted pairs of some rows, from the sums over all contexts and over the listed ones."""
    mass = masses[first:last]
    safe = np.where(mass > 0, mass, 1.0)
    moments = own.packed_moments(first, last)
    square = np.einsum("ik,ik->i", moments, sums[0] - listed) / safe
    mean = np.einsum("ik,ik->i", own.means[first:last].astype(np.float64), sums[1] - listed_linear) / safe
    return Background(bound, rate[first:last], mass, np.maximum(square, 0), mean)


def _update_words(model: BayesianLogistic, state: State, masses: Array, run: Run) -> tuple[list[Background], float]:
    """Update every word; give the background after it, block by block, and the data's part of the bound *before* it."""
    from firthian.kernels.bayes import posterior

    words, contexts, noise = state.words, state.contexts, model.words.other_rate
    sums = contexts.weighted_sums(noise, noise, run)
    weights = np.stack([noise, noise], axis=1)
    prior = np.ones(words.free.size)
    prior[state.dimension :] = model.bias_precision
    side, others, temper, bound = model.words, contexts.others, model.temper, model.bound

    def block(first: int, last: int) -> tuple[Background, float, int]:
        pairs, listed, linear, listed_linear, value = gather_block(
            side, words, others, weights, temper, bound, first, last
        )
        before = background_of(bound, side.own_rate, words, masses, sums, listed, listed_linear, first, last)
        total = value.sum() + before.value.sum()
        if bound == "jaakkola":
            total += np.sum(linear * words.means[first:last])
        linear -= before.linear[:, None] * (sums[1] - listed_linear)
        failed = posterior(
            pairs, listed, linear, sums[0], before.quadratic, prior, words.free, words.fixed, words.diagonal, first,
            words.means, words.moments, words.covariances, words.log_determinants,
        )  # fmt: skip
        after = background_of(bound, side.own_rate, words, masses, sums, listed, listed_linear, first, last)
        return after, float(total), failed

    results = run.over_rows(block, words.rows, BLOCK, updates=words.arrays)
    check_failures(sum(failed for _, _, failed in results))
    return [after for after, _, _ in results], sum(total for _, total, _ in results)


def _update_contexts(model: BayesianLogistic, state: State, background: list[Background], run: Run) -> float:
    """Update every context; give the data's part of the bound before it."""
    from firthian.kernels.bayes import posterior

    words, contexts, side = state.words, state.contexts, model.contexts
    quadratic = np.concatenate([part.quadratic for part in background])
    linear_weight = np.concatenate([part.linear for part in background])
    sums = words.weighted_sums(quadratic, linear_weight, run)
    weights = np.stack([quadratic, linear_weight], axis=1)
    prior = np.full(contexts.free.size, model.bias_precision)
    prior[: state.dimension] = state.relevance.mean
    others, temper, bound = words.others, model.temper, model.bound

    def block(first: int, last: int) -> tuple[float, int]:
        pairs, listed, linear, listed_linear, value = gather_block(
            side, contexts, others, weights, temper, bound, first, last, fold=True
        )
        total = value.sum()
        if bound == "jaakkola":
            total += np.sum(linear * contexts.means[first:last])
        noise = side.own_rate[first:last]
        linear -= noise[:, None] * (sums[1] - listed_linear)
        failed = posterior(
            pairs, listed, linear, sums[0], noise, prior, contexts.free, contexts.fixed, contexts.diagonal, first,
            contexts.means, contexts.moments, contexts.covariances, contexts.log_determinants,
        )  # fmt: skip
        return float(total), failed

    results = run.over_rows(block, contexts.rows, BLOCK, updates=contexts.arrays)
    check_failures(sum(failed for _, failed in results))
    return sum(total for total, _ in results) + float(sum(part.value.sum() for part in background))


def _evaluate(model: BayesianLogistic, state: State, masses: Array, run: Run) -> float:
    """Return the data's part of the bound, changing nothing."""
    words, contexts, noise = state.words, state.contexts, model.words.other_rate
    sums = contexts.weighted_sums(noise, noise, run)
    weights = np.stack([noise, noise], axis=1)
    side, others, temper, bound = model.words, contexts.others, model.temper, model.bound

    def block(first: int, last: int) -> float:
        _, listed, linear, listed_linear, value = gather_block(side, words, others, weights, temper, bound, first, last)
        rest = background_of(bound, side.own_rate, words, masses, sums, listed, listed_linear, first, last)
        total = value.sum() + rest.value.sum()
        if bound == "jaakkola":
            total += np.sum(linear * words.means[first:last])
        return float(total)

    return sum(run.over_rows(block, words.rows, BLOCK))


def _prior_value(model: BayesianLogistic, state: State) -> float:
    """Return the priors' part of the bound: minus the divergences of all factors."""
    d, words, contexts = state.dimension, state.words, state.contexts
    precision = np.ones(words.free.size)
    precision[d:] = model.bias_precision
    total = words.divergence(precision, np.log(precision))
    precision = np.full(contexts.free.size, model.bias_precision)
    log_precision = np.log(precision)
    precision[:d], log_precision[:d] = state.relevance.mean, state.relevance.mean_log
    return -(total + contexts.divergence(precision, log_precision) + state.relevance.divergence())


def check_failures(failures: int) -> None:
    """Say so when posteriors could not be computed."""
    if failures:
        raise FirthianError(
            f"the precision of {failures} words is not positive definite: the counts are too large for float32",
            hint="lower temper, for example --set temper=0.1, or (bayes) give --set dtype=float64",
        )


def memory_needed(
    model: BayesianLogistic, dimension: int, covariance: str, run: Run, dtype: str = "float32", states: int = 1
) -> int:
    """Return the bytes that the posteriors (of so many fits) and the work on them take, biases and all."""
    size, rows, number = dimension + 2, sum(model.shape), np.dtype(dtype).itemsize
    stored = 3 * size if covariance == "diagonal" else 2 * packed_size(size) + size
    # Blocks of rows that are at work at a time; a small text has fewer.
    busy = min((run.threads.workers + 2) * BLOCK, max(model.shape))
    blocks = 6 * busy * packed_size(size) * number
    return states * rows * stored * number + blocks + INTERPRETER_BYTES


def check_memory(
    model: BayesianLogistic,
    dimension: int,
    covariance: str,
    run: Run,
    dtype: str = "float32",
    flag: str = "--dim ",
    states: int = 1,
) -> None:
    """Say before the work whether the covariances fit the memory budget, and what would; ``flag`` sets the dimension."""

    def fits(size: int, kind: str) -> bool:
        return memory_needed(model, size, kind, run, dtype, states) <= run.budget

    if not run.budget or fits(dimension, covariance):
        return
    needed = memory_needed(model, dimension, covariance, run, dtype, states)
    remedies = ["more --memory"]
    if covariance == "full" and fits(dimension, "diagonal"):
        remedies.insert(0, "--covariance diagonal")
    smaller = next((size for size in range(dimension - 1, 0, -1) if fits(size, covariance)), None)
    if smaller is not None:
        remedies.insert(0, f"{flag}{smaller}")
    raise FirthianError(
        f"covariances of {sum(model.shape):,} vectors with {dimension} dimensions need "
        f"{show_size(needed)}, more than the budget of {show_size(run.budget)}",
        hint=f"give {' or '.join(remedies)}",
    )
