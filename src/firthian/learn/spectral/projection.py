"""Random projection: as many random combinations of the columns as dimensions, and nothing is fitted."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from firthian.arrays import Array
from firthian.learn.solver import Solution
from firthian.runtime.run import Run


class RandomProjection:
    """Multiplies a model's ``operator`` with a random matrix R; squared distances are kept in expectation.

    ``gaussian``: entries are N(0, 1/d). ``sparse``: ``±sqrt(1/(d·density))`` with probability ``density``, else 0, with
    density ``1/sqrt(columns)`` (Li, Hastie and Church 2006); it is random indexing (Sahlgren 2005) of given counts.
    """

    requires: ClassVar[tuple[str, ...]] = ("operator",)

    def __init__(self, projection: str = "gaussian") -> None:
        self.projection = projection

    def solve(self, model: Any, dimension: int, run: Run) -> Solution:
        """Multiply."""
        operator = model.operator(dimension)
        matrix = random_matrix(operator.shape[1], dimension, self.projection, run.generator(0x9207))
        return Solution(operator.times(matrix, run))


def random_matrix(rows: int, columns: int, projection: str, generator: np.random.Generator) -> Array:
    """Return the random matrix; each row has expected length 1."""
    if projection == "gaussian":
        return generator.standard_normal((rows, columns), dtype=np.float32) / np.float32(np.sqrt(columns))
    density = 1 / np.sqrt(rows)
    chance = generator.random((rows, columns), dtype=np.float32)
    signs = np.where(chance < density / 2, -1, np.where(chance < density, 1, 0))
    matrix: Array = (signs / np.sqrt(columns * density)).astype(np.float32)
    return matrix
