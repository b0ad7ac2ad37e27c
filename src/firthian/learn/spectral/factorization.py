"""Truncated singular value decomposition: vectors are ``U · s^power``."""

from __future__ import annotations

from typing import Annotated, Protocol

import numpy as np

from firthian.arrays import Array
from firthian.learn.linalg.operators import Operator
from firthian.learn.linalg.spectral import top_singular
from firthian.learn.solver import Solution
from firthian.options import Option
from firthian.runtime.run import Run


class HasOperator(Protocol):
    """A model that is a matrix; ``contexts_are_words = False`` says that its columns are not the words."""

    def operator(self, dimension: int) -> Operator:
        """Return the matrix; ``dimension`` is the number of singular vectors needed."""
        ...


class SVD:
    """Factorizes a model's ``operator`` into ``U S V'``.

    Words are ``U·s^eigenvalue_power``, contexts ``V·s^(1 - eigenvalue_power)``, so that their product is the
    approximation whatever the power (Levy et al. 2015 find powers of 0 and 0.5 better than 1 for words).
    ``normalize`` gives every word vector length 1; contexts are then left out, since the product has no meaning, and so are
    the singular values beside the vectors, since no power of theirs can be changed later.
    """

    def __init__(
        self,
        eigenvalue_power: Annotated[float, Option("power p of the singular values in U·s^p", low=0, high=2)] = 0.5,
        normalize: Annotated[bool, Option("scale every word vector to length 1")] = False,
        tolerance: Annotated[
            float, Option("relative residual of a converged singular vector", low=1e-6, high=1)
        ] = 0.01,
    ) -> None:
        self.eigenvalue_power, self.normalize, self.tolerance = eigenvalue_power, normalize, tolerance

    def solve(self, model: HasOperator, dimension: int, run: Run) -> Solution:
        """Find the largest singular values and make vectors of them."""
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
    """Return powers in float32; a singular value of zero stays zero, whatever the power, since its vector is arbitrary."""
    positive = values > 1e-6 * max(float(values[0]), 1e-300)
    return np.power(values, power, where=positive, out=np.zeros(values.shape)).astype(np.float32)


def unit_rows(matrix: Array) -> Array:
    """Return rows of length 1; rows of zeros stay.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]], dtype=np.float32))
    array([[0.6, 0.8],
           [0. , 0. ]], dtype=float32)
    """
    length = np.sqrt(np.square(matrix, dtype=np.float64).sum(axis=1, keepdims=True))
    return (matrix / np.where(length > 0, length, 1)).astype(np.float32)
