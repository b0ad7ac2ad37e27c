"""Word classes as vectors: one-hot features of a model that clusters words."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from firthian.learn.solver import Solution
from firthian.runtime.run import Run


class Clusters:
    """Takes a model's ``features``; the class of each word is kept beside the vectors as ``classes``."""

    requires: ClassVar[tuple[str, ...]] = ("features",)

    def solve(self, model: Any, dimension: int, run: Run) -> Solution:
        """Cluster, and give the features."""
        matrix, classes, ways = model.features()
        extras = {"classes": np.asarray(classes, dtype=np.int32)}
        return Solution(matrix, stats={"classes": len(ways), "bit_strings": ways}, extras=extras)
