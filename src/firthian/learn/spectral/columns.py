"""Dimensions that are columns of the model, chosen by the model."""

from __future__ import annotations

from typing import Any, ClassVar

from firthian.learn.solver import Solution
from firthian.runtime.run import Run


class Columns:
    """Takes the model's best columns as they are."""

    requires: ClassVar[tuple[str, ...]] = ("columns",)

    def solve(self, model: Any, dimension: int, run: Run) -> Solution:
        """Ask for as many columns as dimensions."""
        return Solution(model.columns(dimension))
