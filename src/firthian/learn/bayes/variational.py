"""Mean-field variational inference by full sweeps: coordinate ascent on the evidence lower bound, which never falls."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Protocol

import numpy as np

from firthian.arrays import Array
from firthian.counts.counts import Counts
from firthian.errors import FirthianError
from firthian.kernels.packing import pack, packed_size, unpack
from firthian.learn.bayes.posterior import BLOCK, Gaussians, Relevance, VariationalState, coordinates
from firthian.learn.bayes.rotation import LIVE_SHARE, balance, rotate, signal_shares
from firthian.learn.bayes.updates import LogisticModel, calibrate, prior_bound, update_contexts, update_words
from firthian.learn.solver import AUTO, Solution
from firthian.options import Option
from firthian.runtime.memory import INTERPRETER_BYTES, check_fits
from firthian.runtime.run import Run, one_blas_thread

WordPower = Annotated[float, Option("share of each dimension's strength given to the words", low=0, high=2)]
Center = Annotated[bool, Option("subtract the mean vector")]

#: The first dimension that ``vector_size="auto"`` tries. Each further one is twice the last, so that all together cost a
#: third more than the largest alone.
FIRST_DIMENSION = 8

#: Fits in memory at a time with ``vector_size="auto"``: the current one and the best so far.
FITS_IN_MEMORY = 2

#: Oversampling and power iterations of the spectral start, which need not be exact.
_OVERSAMPLING, _POWER_ITERATIONS = 16, 4


class Fittable(LogisticModel, Protocol):
    """What sweeps need of a model: also its biases, the prior of precisions, and counts to start from, if any."""

    counts: Counts | None
    bias: str
    relevance_shape: float
    relevance_rate: float

    @property
    def shape(self) -> tuple[int, int]:
        """Words by contexts."""
        ...


@dataclass(frozen=True)
class VariationalSweeps:
    """Coordinate ascent on the evidence lower bound.

    ``rotate`` finds the optimal common change of basis of words and contexts: it leaves the likelihood alone but not the
    priors, and plain sweeps take hundreds of rounds to get there. ``prune`` applies to ``signal_shares``. A dimension of
    ``AUTO`` is chosen by the bound, ``largest`` at most, and dimensions not in use are removed.
    """

    epochs: Annotated[int, Option("maximum number of sweeps over all words and contexts", low=1)] = 8
    covariance: Annotated[str, Option("covariance of each word", choices=("full", "diagonal"))] = "full"
    start: Annotated[str, Option("starting point", choices=("spectral", "noise"))] = "spectral"
    rotate: Annotated[bool, Option("rotate to the optimal basis after each sweep; needs covariance=full")] = True
    tolerance: Annotated[
        float, Option("stop when a sweep gains less than this fraction of the bound", low=0, high=1)
    ] = 0.0
    prune: Annotated[
        float, Option("drop dimensions with a smaller share of signal; try 0.5; 0 keeps all", low=0, high=1)
    ] = 0.0
    eigenvalue_power: WordPower = 0.25
    center: Center = False
    calibrate: Annotated[
        bool, Option("recompute covariances with the logistic function's own curvature at the end")
    ] = True
    dtype: Annotated[str, Option("floating-point precision", choices=("float32", "float64"))] = "float32"
    largest: Annotated[int, Option("largest dimension that vector_size=auto tries", low=1)] = 128

    def solve(self, model: Fittable, dimension: int, run: Run) -> Solution:
        """Fit the model; the vectors are posterior means, with their covariances as an extra."""
        solver, stats = self, {}
        if dimension == AUTO:
            # Options and data alone decide: available memory may stop a run, but never change its result.
            largest = min(self.largest, *model.shape)
            check_memory(model, largest, self.covariance, run, self.dtype, "largest", FITS_IN_MEMORY)
            state, trials = choose_dimension(model, largest, self, run)
            solver = replace(self, prune=self.prune or LIVE_SHARE)
            stats = {"dimensions_tried": [asdict(trial) for trial in trials]}
        else:
            state = self.fit(model, dimension, run)
        if self.calibrate:
            run.progress.start("calibrating covariances")
            calibrate(model, state, run)
        solution = solver.finish(state, run, model.bias)
        return replace(solution, stats={**solution.stats, **stats})

    def fit(self, model: Fittable, dimension: int, run: Run) -> VariationalState:
        """Run the sweeps."""
        check_memory(model, dimension, self.covariance, run, self.dtype)
        state = self._begin(model, dimension, run)
        masses = model.words.unlisted_mass(run)
        run.progress.start("variational sweeps", self.epochs)
        stage = run.stage("sweeps")
        saved = stage.restore()
        if saved is not None:
            state.restore(saved.arrays, saved.values)
            run.progress.advance(saved.step)
        prior = prior_bound(model, state)
        for sweep in range(0 if saved is None else saved.step, self.epochs):
            background, data = update_words(model, state, masses, run)
            state.record(data + prior, full=sweep > 0)
            if self._has_converged(state):
                run.progress.advance(self.epochs - sweep, f"converged, bound {state.history[-1]:.6g}")
                return state
            prior = prior_bound(model, state)
            state.record(prior + update_contexts(model, state, background, run), full=False)
            state.relevance = state.relevance.update(state.contexts.rows, state.contexts.squares()[: state.dimension])
            if self.rotate and self.covariance == "full":
                rotate(state, run)
            prior = prior_bound(model, state)
            run.progress.advance(1, f"bound {state.halves[-1]:.6g}")
            stage.save(sweep + 1, state.arrays(), **state.values())
        state.record(prior + update_words(model, state, masses, run, evaluate=True)[1], full=True)
        return state

    def _begin(self, model: Fittable, dimension: int, run: Run) -> VariationalState:
        begin = spectral_start if self.start == "spectral" else noise_start
        start = run.remember(
            "start", lambda: dict(zip(("words", "contexts"), begin(model, dimension, run), strict=True))
        )
        size, word_layout, context_layout = coordinates(dimension, model.bias)
        sides = []
        for means, layout in ((start["words"], word_layout), (start["contexts"], context_layout)):
            padded = np.zeros((means.shape[0], size))
            padded[:, :dimension] = means
            sides.append(Gaussians(padded, 0.1, *layout, self.covariance == "diagonal", np.dtype(self.dtype)))
        relevance = Relevance.start(dimension, model.relevance_shape, model.relevance_rate)
        return VariationalState(sides[0], sides[1], relevance, dimension)

    def _has_converged(self, state: VariationalState) -> bool:
        if self.tolerance <= 0 or len(state.history) < 2:
            return False
        return state.history[-1] - state.history[-2] < self.tolerance * abs(state.history[-1])

    def finish(self, state: VariationalState, run: Run, bias: str = "none") -> Solution:
        """Convert the state to vectors: prune, split the strength of dimensions between words and contexts, center."""
        live = signal_shares(state) >= (self.prune or LIVE_SHARE)
        stats: dict[str, Any] = {
            "sweeps": len(state.history),
            "live_dimensions": int(live.sum()),
            "calibrated": state.calibrated,
            "log_precisions": [round(float(value), 4) for value in np.log(state.relevance.mean)],
        }
        if self.prune > 0 and not live.any():
            raise FirthianError(
                "ARD switched all dimensions off: the counts carry too little information",
                hint="add text, raise `temper`, or set a `vector_size` and leave out `prune`",
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
        extras = {"covariances" if self.covariance == "full" else "variances": _vector_covariances(state.words, d)}
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


def _vector_covariances(side: Gaussians, dimension: int) -> Array:
    """Return the covariances of the vectors, without those of the biases, in float32."""
    if side.diagonal:
        return np.ascontiguousarray(side.covariances[:, :dimension], dtype=np.float32)
    if side.free.size == dimension:
        return side.covariances.astype(np.float32, copy=False)
    out = np.empty((side.rows, packed_size(dimension)), dtype=np.float32)
    for first in range(0, side.rows, BLOCK):
        block = unpack(side.covariances[first : first + BLOCK], side.free.size)
        out[first : first + BLOCK] = pack(block[:, :dimension, :dimension])
    return out


def noise_start(model: Fittable, dimension: int, run: Run) -> tuple[Array, Array]:
    """Return small random vectors of words and contexts."""
    words, contexts = model.shape
    random = run.generator(7)
    return 0.1 * random.standard_normal((words, dimension)), 0.1 * random.standard_normal((contexts, dimension))


def spectral_start(model: Fittable, dimension: int, run: Run) -> tuple[Array, Array]:
    """Return U = P·sqrt(s) and C = Q·sqrt(s), from the SVD of positive PMI; noise if the model has no counts."""
    counts = model.counts
    if counts is None:
        return noise_start(model, dimension, run)
    from firthian.learn.linalg.operators import SparseOperator
    from firthian.learn.spectral.association import PMI

    operator = SparseOperator.of(
        PMI(counts, run, ns_exponent=1.0, shift=1.0).matrix(), symmetric=counts.options.context == "both"
    )
    width = min(dimension + _OVERSAMPLING, min(model.shape))
    with one_blas_thread():
        basis = run.generator(8).standard_normal((model.shape[1], width))
        for _ in range(_POWER_ITERATIONS):
            basis = np.linalg.qr(operator.times(basis, run))[0]
            basis = np.linalg.qr(operator.transposed_times(basis, run))[0]
        # A Q = P diag(s) Rᵀ, so A ≈ P diag(s) (Q R)ᵀ.
        left, values, right = np.linalg.svd(operator.times(basis, run).astype(np.float64), full_matrices=False)
        right = basis @ right.T
    # The largest entry of each word dimension is positive: the same on every machine.
    signs = np.sign(left[np.abs(left).argmax(axis=0), np.arange(width)])
    scale = np.sqrt(values[:dimension])
    return left[:, :dimension] * signs[:dimension] * scale, right[:, :dimension] * signs[:dimension] * scale


@dataclass(frozen=True)
class Trial:
    """A fit with ``dimension`` dimensions: its bound, and how many of them are live."""

    dimension: int
    bound: float
    live: int


def choose_dimension(
    model: Fittable, largest: int, solver: VariationalSweeps, run: Run
) -> tuple[VariationalState, list[Trial]]:
    """Double the dimension until ARD switches some off or the bound falls, then try the number that ARD left.

    Return the fit with the highest bound, and all trials. If neither happens up to ``largest``, that is the best one: the
    data have more structure than it can hold.
    """
    best, state = _fit(model, min(FIRST_DIMENSION, largest), solver, run)
    trials = [best]

    def attempt(dimension: int) -> None:
        # In a function, so that a fit that is not the best is freed before the next one is made.
        nonlocal best, state
        trial, fitted = _fit(model, dimension, solver, run)
        trials.append(trial)
        if trial.bound > best.bound:
            best, state = trial, fitted

    while trials[-1].live == trials[-1].dimension < largest and best is trials[-1]:
        attempt(min(2 * trials[-1].dimension, largest))
    left = max(1, trials[-1].live)
    if all(left != trial.dimension for trial in trials):
        attempt(left)
    return state, trials


def _fit(model: Fittable, dimension: int, solver: VariationalSweeps, run: Run) -> tuple[Trial, VariationalState]:
    # Each dimension has checkpoints of its own.
    state = solver.fit(model, dimension, run.within(f"dimension-{dimension}"))
    live = int((signal_shares(state) >= LIVE_SHARE).sum())
    return Trial(dimension, float(state.history[-1]), live), state


def memory_needed(
    shape: tuple[int, int], dimension: int, covariance: str, run: Run, dtype: str = "float32", fits: int = 1
) -> int:
    """Return the bytes needed by the posteriors of ``fits`` fits, biases included, and by the work on them."""
    size, number = dimension + 2, np.dtype(dtype).itemsize
    stored = 3 * size if covariance == "diagonal" else 2 * packed_size(size) + size
    # Rows in blocks at work at the same time; a small vocabulary has fewer.
    busy = min((run.threads.workers + 2) * BLOCK, max(shape))
    blocks = 6 * busy * packed_size(size) * number
    return fits * sum(shape) * stored * number + blocks + INTERPRETER_BYTES


def check_memory(
    model: Fittable, dimension: int, covariance: str, run: Run, dtype: str = "float32",
    option: str = "vector_size", fits: int = 1,
) -> None:  # fmt: skip
    """Raise if the covariances exceed the memory budget, and name what would fit; ``option`` sets the dimension."""

    def needed(size: int, kind: str) -> int:
        return memory_needed(model.shape, size, kind, run, dtype, fits)

    total = needed(dimension, covariance)
    if not 0 < run.budget < total:
        return
    smaller = next((size for size in range(dimension - 1, 0, -1) if needed(size, covariance) <= run.budget), 0)
    remedies = [f"`{option}={smaller}`"] if smaller else []
    if covariance == "full" and needed(dimension, "diagonal") <= run.budget:
        remedies.append("`covariance=diagonal`")
    what = f"{covariance} covariance of {sum(model.shape):,} vectors with {dimension} dimensions"
    check_fits(what, total, run.budget, *remedies)
