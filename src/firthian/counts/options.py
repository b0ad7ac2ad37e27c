"""What is counted: the window, its weights, its sides, sub-sampling."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError, suggest
from firthian.runtime.checks import real, whole, yes_or_no
from firthian.runtime.run import check_seed

WEIGHTINGS = ("flat", "harmonic", "dynamic")
CONTEXTS = ("both", "left", "right")
SAMPLE_MODES = ("drop", "expected")

#: The widest window; weights of farther words would be noise, and sums could leave 64 bits.
WIDEST_WINDOW = 10_000


@dataclass(frozen=True)
class CountOptions:
    """How co-occurrence is counted; CONTRACT: see docs/counting.md.

    >>> CountOptions(window=0)
    Traceback (most recent call last):
    ...
    firthian.errors.FirthianError: window must be from 1 to 10000, got 0: 5 is usual
    """

    window: int = 5
    weighting: str = "dynamic"
    context: str = "both"
    keep_positions: bool = False
    sample: float = 0.0
    sample_mode: str = "drop"
    seed: int = 1
    dtype: str = "float32"

    def __post_init__(self) -> None:
        object.__setattr__(self, "window", whole("window", self.window, hint="5 is usual"))
        object.__setattr__(self, "sample", real("sample", self.sample, hint="1e-3 is usual, 0 is off"))
        object.__setattr__(self, "seed", check_seed(self.seed))
        object.__setattr__(self, "keep_positions", yes_or_no("keep_positions", self.keep_positions))
        if not 1 <= self.window <= WIDEST_WINDOW:
            raise FirthianError(f"window must be from 1 to {WIDEST_WINDOW}, got {self.window}", hint="5 is usual")
        for name, value, known in (
            ("weighting", self.weighting, WEIGHTINGS),
            ("context", self.context, CONTEXTS),
            ("sample_mode", self.sample_mode, SAMPLE_MODES),
            ("dtype", self.dtype, ("float32", "float64")),
        ):
            if value not in known:
                raise FirthianError(
                    f"{name} must be one of {', '.join(known)}, got {value!r}", hint=suggest(str(value), known)
                )
        if not (0 <= self.sample < 1 and math.isfinite(self.sample)):
            raise FirthianError(f"sample must be from 0 to below 1, got {self.sample}", hint="1e-3 is usual, 0 is off")

    def as_dict(self) -> dict[str, Any]:
        """Return the options by name, for the record."""
        return asdict(self)

    def integer_weights(self) -> tuple[Array, int]:
        """Return the weight at distance 1, 2, ... as integers, and the unit they are divided by.

        Where 1/1 ... 1/window have no small common multiple, the unit is 2^32 and weights are rounded to it.

        >>> CountOptions(window=4, weighting="harmonic").integer_weights()
        (array([12,  6,  4,  3]), 12)
        """
        distances = range(1, self.window + 1)
        if self.weighting == "flat":
            return np.ones(self.window, dtype=np.int64), 1
        if self.weighting == "dynamic":
            return np.array([self.window + 1 - k for k in distances], dtype=np.int64), self.window
        unit = math.lcm(*distances) if self.window <= 22 else 2**32
        return np.array([round(unit / k) for k in distances], dtype=np.int64), unit

    def check_sums(self, occurrences: int) -> None:
        """Refuse a text in which the most frequent word occurs so often that an integer sum could leave 63 bits."""
        weights, _ = self.integer_weights()
        if occurrences * int(weights.sum()) * 2 >= 2**62:
            raise FirthianError(
                f"sums for a window of {self.window} would not fit 64 bits on a corpus of this size",
                hint="count with a narrower window or another weighting",
            )

    def sides(self, weights: Array) -> tuple[Array, Array]:
        """Return the weights before and after the word; a side that does not count is empty."""
        nothing = weights[:0]
        return (
            weights if self.context != "right" else nothing,
            weights if self.context != "left" else nothing,
        )

    def keep_probabilities(self, counts: Array) -> Array:
        """Return the probability min(1, sqrt(t/f) + t/f) of each word; ones when sub-sampling is off."""
        if self.sample == 0:
            return np.ones(counts.size)
        frequency = counts / counts.sum()
        ratio = self.sample / frequency
        kept: Array = np.minimum(1.0, np.sqrt(ratio) + ratio)
        return kept
