"""Solvers for a model that is a matrix: singular vectors, random projection, or the rows themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import numpy as np

from firthian.arrays import Array, unit_rows
from firthian.learn.linalg.krylov import top_singular
from firthian.learn.linalg.operators import Operator
from firthian.learn.recipe import EigenvaluePower
from firthian.learn.solver import Solution
from firthian.options import Option
from firthian.runtime.run import Run


class HasOperator(Protocol):
    """A model that is a matrix; it sets ``contexts_are_words = False`` if the columns are not the words."""

    def operator(self, dimension: int) -> Operator:
        """Return the matrix; ``dimension`` is the number of singular vectors needed."""
        ...


class HasMatrix(Protocol):
    """A model that is a sparse matrix."""

    def matrix(self) -> Any:
        """Return a SciPy CSR array, one row per word."""
        ...


@dataclass
class SVD:
    """Factorizes a model's ``operator`` into ``U S V'``.

    Words are ``U·s^eigenvalue_power``, contexts ``V·s^(1 - eigenvalue_power)``, so that their product is the
    approximation for any power (Levy et al. 2015 find powers of 0 and 0.5 better than 1 for words). Vectors scaled to
    length 1 come without contexts and singular values: no product or other power can be computed from them.
    """

    eigenvalue_power: EigenvaluePower = 0.5
    normalize: Annotated[bool, Option("scale every word vector to length 1")] = False
    tolerance: Annotated[float, Option("relative residual of a converged singular vector", low=1e-6, high=1)] = 0.01

    def solve(self, model: HasOperator, dimension: int, run: Run) -> Solution:
        """Compute the largest singular values and their vectors."""
        operator = model.operator(dimension)
        left, values, right = top_singular(operator, dimension, run, tolerance=self.tolerance, name="svd")
        words = left * _power(values, self.eigenvalue_power)
        stats = {"singular_values": [float(value) for value in values]}
        if self.normalize:
            return Solution(unit_rows(words), stats=stats)
        contexts = None
        if getattr(model, "contexts_are_words", True):
            contexts = right * _power(values, 1 - self.eigenvalue_power)
        return Solution(words, contexts, stats=stats, extras={"singular_values": values})


def _power(values: Array, power: float) -> Array:
    """Return powers in float32; zero stays zero for any power, since the vector of a zero singular value is arbitrary."""
    positive = values > 1e-6 * max(float(values[0]), 1e-300)
    return np.power(values, power, where=positive, out=np.zeros(values.shape)).astype(np.float32)


@dataclass
class RandomProjection:
    """Multiplies a model's ``operator`` by a random matrix, which preserves squared distances in expectation.

    ``gaussian``: entries are N(0, 1/d). ``sparse``: ``±sqrt(1/(d·density))`` with probability ``density``, else 0, with
    density ``1/sqrt(columns)`` (Li, Hastie and Church 2006); this is random indexing (Sahlgren 2005) of the counts.
    """

    projection: Annotated[str, Option("entries of the random matrix", choices=("gaussian", "sparse"))] = "gaussian"

    def solve(self, model: HasOperator, dimension: int, run: Run) -> Solution:
        """Project; nothing is fitted."""
        operator = model.operator(dimension)
        matrix = random_matrix(operator.shape[1], dimension, self.projection, run.generator(0x9207))
        return Solution(operator.times(matrix, run))


def random_matrix(rows: int, columns: int, projection: str, generator: np.random.Generator) -> Array:
    """Draw a random matrix whose rows have expected length 1."""
    if projection == "gaussian":
        return generator.standard_normal((rows, columns), dtype=np.float32) / np.float32(np.sqrt(columns))
    density = 1 / np.sqrt(rows)
    chance = generator.random((rows, columns), dtype=np.float32)
    signs = np.where(chance < density / 2, -1, np.where(chance < density, 1, 0))
    return np.asarray((signs / np.sqrt(columns * density)).astype(np.float32))


class Rows:
    """Takes the rows of the model's matrix as sparse vectors, with one dimension per context."""

    def solve(self, model: HasMatrix, dimension: int, run: Run) -> Solution:
        """Return the matrix as is."""
        return Solution(model.matrix())
