"""PSDVec's scheme for large vocabularies: core words by block descent, all others by regression on them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from firthian.errors import FirthianError
from firthian.learn.psd.block_descent import BlockDescent
from firthian.learn.psd.words import bands, regress, relate
from firthian.learn.solver import Solution
from firthian.runtime.run import Run


class Blockwise:
    """Fits the model's core, then every other word against it, in bands of rising ridge."""

    requires: ClassVar[tuple[str, ...]] = (*BlockDescent.requires, "counts", "scale")

    def __init__(
        self,
        iterations: int | str = 4,
        ridge: float = 0.0,
        eigenvalue_power: float = 0.5,
        step: float = 1.9,
        center: bool = True,
        band_ridges: str = "2,4,8",
    ) -> None:
        self.descent = BlockDescent(iterations, ridge, 0.5, step, center=False)
        self.result = BlockDescent(eigenvalue_power=eigenvalue_power, center=center)
        self.band_ridges = read_ridges(band_ridges)

    def solve(self, model: Any, dimension: int, run: Run) -> Solution:
        """Fit the core; then the other words, which share nothing but it."""
        core = self.descent.solve(model, min(dimension, model.words), run)
        words = len(model.counts.vocabulary)
        others = np.arange(model.words, words)
        matrix, stats = core.words, dict(core.stats)
        if others.size:
            run.progress.start("regressing words", others.size)
            core_ids = np.where(np.arange(words) < model.words, np.arange(words), -1)
            relations = relate(model.counts, others, core_ids, model.scale)
            added = regress(relations, core.words, bands(others.size, self.band_ridges), run)
            matrix = np.concatenate([core.words, added])
            stats["unrelated_words"] = int(relations.unrelated.size)
        shown, extras = self.result.shown(matrix, core.extras["eigenvalues"], model.words)
        return Solution(shown, None, core.objective, core.status, stats, {**core.extras, **extras}, core.state)


def read_ridges(text: str) -> tuple[float, ...]:
    """Read mu for each band, such as ``2,4,8``.

    >>> read_ridges("2,4,8")
    (2.0, 4.0, 8.0)
    """
    try:
        ridges = tuple(float(part) for part in str(text).split(","))
    except ValueError:
        ridges = ()
    if not ridges or min(ridges) < 0 or not np.isfinite(ridges).all():
        raise FirthianError(f"band_ridges must be numbers of at least 0, got {text!r}", hint="write them as 2,4,8")
    return ridges
