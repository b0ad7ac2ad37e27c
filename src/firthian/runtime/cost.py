"""The cost model of a run: seconds, memory and disk from the numbers of tokens, words, pairs and dimensions.

The constants in ``cost.json`` are fitted to measured runs by ``benchmarks/scale.py``; ``docs/scale.md`` shows how well
they predict.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from firthian.errors import FirthianError, suggest
from firthian.runtime.memory import Memory, show_size

CONSTANTS = Path(__file__).parent / "cost.json"

#: The shortest run, in seconds, that tells the speed of a machine.
_SHORTEST = 0.05


class Size(NamedTuple):
    """The size of a run."""

    tokens: float
    words: float
    pairs: float
    dimension: float = 0


#: Terms that costs grow with; ``once`` is a constant. See docs/scale.md.
TERMS: dict[str, Callable[[Size], float]] = {
    "once": lambda s: 1.0,
    "token": lambda s: s.tokens,
    "word": lambda s: s.words,
    "pair": lambda s: s.pairs,
    "word_dim": lambda s: s.words * s.dimension,
    "word_dim2": lambda s: s.words * s.dimension**2,
    "word_dim3": lambda s: s.words * s.dimension**3,
    "pair_dim": lambda s: s.pairs * s.dimension,
    "pair_dim2": lambda s: s.pairs * s.dimension**2,
}


@functools.cache
def constants() -> dict[str, Any]:
    """Read the fitted constants."""
    return json.loads(CONSTANTS.read_text())  # type: ignore[no-any-return]


def memory_of(recipe: str) -> Memory:
    """Return the memory of a measured recipe, the same that ``predict`` returns.

    >>> memory_of("psd").pair > memory_of("svd").pair
    True
    """
    return Memory(**constants()["costs"][recipe]["peak_bytes"])


@dataclass(frozen=True)
class Cost:
    """The cost of a run: processor seconds of all cores, wall-clock seconds, peak anonymous memory, disk."""

    cpu: float
    seconds: float
    peak_bytes: int
    disk_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """Return the figures by name."""
        return asdict(self)


def known() -> list[str]:
    """Return what can be predicted: ``count`` and the measured recipes."""
    return list(constants()["costs"])


def predict(what: str, size: Size, workers: int = 2, speed: float = 1.0, passes: float = 1.0) -> Cost:
    """Predict counting (``count``) or training by a recipe.

    ``speed=2`` is a machine twice as fast as the measured one, ``passes=2`` a run with twice the default epochs.

    >>> small, large = (predict("count", Size(tokens, 5e4, 1e7)) for tokens in (1e6, 1e8))
    >>> small.seconds < large.seconds and small.disk_bytes == large.disk_bytes
    True
    """
    if what not in constants()["costs"]:
        raise FirthianError(f"the cost of {what} has not been measured", hint=suggest(what, known()))
    fitted = constants()["costs"][what]
    sums = {
        measure: sum(TERMS[name](size) * value for name, value in fitted[measure].items())
        for measure in ("cpu", "peak_bytes", "disk_bytes")
    }
    once = fitted["cpu"].get("once", 0.0)
    cpu = (once + (sums["cpu"] - once) * passes) / speed
    # ``parallel`` is the share of time that each of two workers was busy; a single worker never waits.
    busy = 1.0 if workers == 1 else workers * fitted["parallel"]
    return Cost(cpu, cpu / busy, round(sums["peak_bytes"]), round(sums["disk_bytes"]))


def speed_of(what: str, size: Size, seconds: float, workers: int) -> float:
    """Return the speed of this machine, from a run in a warm process without one-time costs.

    Return 1 for a very short run, which consists mostly of overhead (threads, files).
    """
    fitted = constants()["costs"][what]["cpu"]
    warm = predict(what, size, workers)
    busy = warm.cpu / warm.seconds
    expected: float = (warm.cpu - fitted.get("once", 0.0)) / busy
    return min(10.0, max(0.05, expected / max(seconds, 1e-6))) if expected >= _SHORTEST else 1.0


def describe(cost: Cost, workers: int) -> list[str]:
    """Return the figures as lines of text."""
    return [
        f"{'disk':<18} {show_size(cost.disk_bytes)}",
        f"{'memory':<18} {show_size(cost.peak_bytes)} without a budget",
        f"{'time':<18} {cost.seconds:.0f} s with {workers} worker{'s' if workers > 1 else ''}",
    ]
