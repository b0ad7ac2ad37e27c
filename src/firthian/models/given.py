"""Vectors that were learnt before, as the data of a further model."""

from __future__ import annotations

from typing import Any

import numpy as np

from firthian.errors import FirthianError
from firthian.run import Run
from firthian.solvers.factorization import unit_rows
from firthian.vectors.vectors import Vectors

Array = np.ndarray[Any, np.dtype[Any]]


class GivenVectors:
    """Given dense vectors, each divided by its length, so that every word weighs the same."""

    def __init__(self, vectors: Vectors, run: Run) -> None:
        if not isinstance(vectors.matrix, np.ndarray):
            raise FirthianError("these vectors are sparse already", hint="give dense vectors, such as those of svd")
        self.points = unit_rows(vectors.matrix)
