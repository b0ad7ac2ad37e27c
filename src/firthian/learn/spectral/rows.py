"""No fitting at all: the rows of the model's matrix are the vectors."""

from __future__ import annotations

from typing import Any, ClassVar

from firthian.learn.solver import Solution
from firthian.runtime.run import Run


class Rows:
    """Takes the rows of a sparse matrix as sparse vectors."""

    requires: ClassVar[tuple[str, ...]] = ("matrix",)

    def solve(self, model: Any, dimension: int, run: Run) -> Solution:
        """Return the matrix as it is; it has as many dimensions as contexts."""
        return Solution(model.matrix())
