"""embedding-atlas: a Parquet file with the words, their vectors and their places on a map.

``embedding-atlas FILE --text word --x x --y y`` shows it; with ``--vector vector`` it makes a map of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.runtime.run import one_blas_thread
from firthian.vectors.formats import parquet
from firthian.vectors.formats.base import Format
from firthian.vectors.search import BLOCK_ROWS
from firthian.vectors.vectors import Vectors

NAME = "atlas"


def write(vectors: Vectors, path: Path, force: bool, *, coordinates: Any = None) -> None:
    """Write the columns of ``parquet`` and x, y: ``coordinates``, or the first two principal components."""
    if coordinates is None:
        places = principal_plane(vectors.matrix)
    else:
        places = np.asarray(coordinates, dtype=np.float32)
        if places.shape != (len(vectors), 2) or not np.isfinite(places).all():
            raise FirthianError(
                f"coordinates of shape {places.shape} for {len(vectors)} words",
                hint="give two finite numbers a word",
            )
    parquet.write(vectors, path, force, columns={"x": places[:, 0], "y": places[:, 1]})


def principal_plane(matrix: Array) -> Array:
    """Project onto the two strongest principal components; the largest entry of each is positive.

    >>> principal_plane(np.array([[0, 0, 2], [0, 0, -2], [1, 0, 0], [-1, 0, 0]], dtype=np.float32)).tolist()
    [[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
    """
    size = matrix.shape[1]
    places = np.zeros((len(matrix), 2), dtype=np.float32)
    if not matrix.size:
        return places
    total, second = np.zeros(size), np.zeros((size, size))
    with one_blas_thread():
        for first in range(0, len(matrix), BLOCK_ROWS):
            block = matrix[first : first + BLOCK_ROWS].astype(np.float64)
            total += block.sum(axis=0)
            second += block.T @ block
        mean = total / len(matrix)
        # Σ (x - m)(x - m)ᵀ = Σ x·xᵀ - n·m·mᵀ
        axes = np.linalg.eigh(second - len(matrix) * np.outer(mean, mean))[1][:, ::-1][:, :2]
        axes = axes * np.sign(axes[np.argmax(np.abs(axes), axis=0), np.arange(axes.shape[1])])
        for first in range(0, len(matrix), BLOCK_ROWS):
            block = matrix[first : first + BLOCK_ROWS].astype(np.float64) - mean
            places[first : first + BLOCK_ROWS, : axes.shape[1]] = block @ axes
    return places


FORMAT = Format(
    NAME, "Parquet for embedding-atlas: word, vector, count, x, y", (), None, write, options=("coordinates",)
)
