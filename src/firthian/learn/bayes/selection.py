"""How many dimensions? The bound of a fit says how well a number of them explains the data, ARD how many it uses.

The bound is a bound of the evidence p(data), so it may be compared between dimensions: it rises while further dimensions
explain more than their priors cost, and falls slowly behind that point, where ARD switches them off.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from firthian.learn.bayes.model import BayesianLogistic
from firthian.learn.bayes.posterior import State
from firthian.learn.bayes.rotation import LIVE_SHARE, signal_shares
from firthian.runtime.run import Run

if TYPE_CHECKING:
    from firthian.learn.bayes.variational import VariationalSweeps

#: The first dimension that is tried; each further one is twice the last, so that all of them together cost a third more
#: than the largest alone.
FIRST = 8

#: The best fit so far is kept beside the one at work.
HELD_STATES = 2


@dataclass(frozen=True)
class Trial:
    """A fit with so many dimensions: its bound, and how many of them are in use."""

    dimension: int
    bound: float
    live: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return asdict(self)


def bound_by_dimension(
    model: BayesianLogistic, dimensions: Iterable[int], solver: VariationalSweeps, run: Run
) -> list[Trial]:
    """Fit the model with each of these dimensions.

    >>> import numpy as np
    >>> from firthian.learn.bayes.variational import VariationalSweeps
    >>> random = np.random.default_rng(0)
    >>> real = random.standard_normal((30, 2)) @ random.standard_normal((2, 30)) > 0
    >>> run = Run.create()
    >>> model = BayesianLogistic.of_events(5.0 * real, 5.0 * ~real, run)
    >>> trials = bound_by_dimension(model, (1, 2, 4), VariationalSweeps(40, start="noise"), run)
    >>> max(trials, key=lambda trial: trial.bound).dimension
    2
    """
    return [_fit(model, dimension, solver, run)[0] for dimension in dimensions]


def choose_dimension(
    model: BayesianLogistic, largest: int, solver: VariationalSweeps, run: Run
) -> tuple[State, list[Trial]]:
    """Double the dimension until ARD switches some off or the bound falls, then try the number that ARD left.

    Give the fit with the highest bound, and all that were tried. Where neither happens up to ``largest``, that is the best
    there is: the data have more structure than it holds.
    """
    best, state = _fit(model, min(FIRST, largest), solver, run)
    trials = [best]

    def attempt(dimension: int) -> None:
        # A function, so that a fit that is not the best goes before the next one comes.
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


def _fit(model: BayesianLogistic, dimension: int, solver: VariationalSweeps, run: Run) -> tuple[Trial, State]:
    # Saved steps of one dimension are no steps of another.
    state = solver.fit(model, dimension, run.within(f"dimension-{dimension}"))
    live = int((signal_shares(state) >= LIVE_SHARE).sum())
    return Trial(dimension, float(state.history[-1]), live), state
