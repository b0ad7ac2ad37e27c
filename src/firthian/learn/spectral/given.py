"""Vectors that were learned before, as the data of a further model."""

from __future__ import annotations

import numpy as np

from firthian.errors import FirthianError
from firthian.learn.spectral.factorization import unit_rows
from firthian.runtime.run import Run
from firthian.vectors.vectors import Vectors


class GivenVectors:
    """Given dense vectors, each divided by its length, so that every word weighs the same."""

    def __init__(self, vectors: Vectors, run: Run) -> None:
        if not isinstance(vectors.matrix, np.ndarray):
            raise FirthianError("these vectors are sparse already", hint="give dense vectors, such as those of svd")
        self.points = unit_rows(vectors.matrix)
