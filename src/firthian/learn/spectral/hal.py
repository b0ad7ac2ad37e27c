"""HAL, the hyperspace analogue to language (Lund and Burgess 1996)."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from firthian.arrays import Array
from firthian.counts.counts import Counts
from firthian.learn.solver import Solution
from firthian.learn.spectral.association import two_sides
from firthian.options import Option
from firthian.runtime.run import Run


class HAL:
    """Counts of the words before and after, side by side; the columns that vary most over words are kept.

    ``normalize`` divides each word's counts by their length before variances are computed, as later work on HAL does,
    so that frequent words do not dominate.
    """

    def __init__(
        self,
        counts: Counts,
        run: Run,
        normalize: Annotated[bool, Option("divide each word's counts by their length")] = True,
    ) -> None:
        left, right = two_sides(counts)
        if normalize:
            length = np.sqrt(_squares(left) + _squares(right))
            left, right = _divided(left, length), _divided(right, length)
        self.left, self.right = left, right

    def best_columns(self, dimension: int) -> Array:
        """Return the columns of highest variance, highest first; right contexts are numbered after left ones."""
        size = self.left.shape[0]
        variances = np.concatenate([_variances(side, size) for side in (self.left, self.right)])
        return np.asarray(np.argsort(-variances, kind="stable")[:dimension])

    def columns(self, dimension: int) -> Array:
        """Return the columns of highest variance as a dense matrix."""
        size = self.left.shape[1]
        out = np.empty((size, dimension), dtype=np.float32)
        sides = (self.left.tocsc(), self.right.tocsc())
        for place, column in enumerate(self.best_columns(dimension)):
            side = sides[column // size]
            out[:, place] = side[:, [column % size]].toarray()[:, 0]
        return out


def _squares(matrix: Any) -> Array:
    return np.asarray((matrix.astype(np.float64) ** 2) @ np.ones(matrix.shape[1]))


def _divided(matrix: Any, length: Array) -> Any:
    import scipy.sparse

    per_row = np.where(length > 0, length, 1)
    values = (matrix.data / np.repeat(per_row, np.diff(matrix.indptr))).astype(np.float32)
    return scipy.sparse.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def _variances(matrix: Any, size: int) -> Array:
    ones = np.ones(size)
    double = matrix.astype(np.float64)
    return np.asarray((double**2).T @ ones / size - (double.T @ ones / size) ** 2)


class Columns:
    """Takes the model's best columns as dimensions; nothing is fitted."""

    def solve(self, model: HAL, dimension: int, run: Run) -> Solution:
        """Return the columns as is."""
        return Solution(model.columns(dimension))
