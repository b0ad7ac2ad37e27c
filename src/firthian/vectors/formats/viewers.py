"""Viewers of vectors: TensorFlow's Embedding Projector and embedding-atlas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.runtime.run import one_blas_thread
from firthian.vectors.formats import parquet
from firthian.vectors.formats.base import Format, new_export, uncertainty_column
from firthian.vectors.rows import row_slices
from firthian.vectors.vectors import Vectors

_ROWS = 4096

#: Where TensorBoard finds the two tables.
_CONFIG = """embeddings {
  tensor_name: "word vectors"
  tensor_path: "vectors.tsv"
  metadata_path: "metadata.tsv"
}
"""


def write_projector(vectors: Vectors, path: Path, force: bool) -> None:
    """Write ``vectors.tsv`` and ``metadata.tsv``; nine digits preserve single-precision numbers.

    The projector reads column names from the first line of the metadata only if there are several columns.
    """
    line = "\t".join(["%.9g"] * vectors.vector_size) + "\n"
    counts = vectors.vocabulary.counts
    with new_export(vectors, path, force, "projector") as folder:
        with (folder / "vectors.tsv").open("w", encoding="ascii", newline="\n") as file:
            for first in range(0, len(vectors), _ROWS):
                file.write("".join([line % tuple(row) for row in vectors.matrix[first : first + _ROWS].tolist()]))
        with (folder / "metadata.tsv").open("w", encoding="utf-8", newline="\n") as file:
            columns: dict[str, list[Any]] = {"count": counts.tolist()} if np.any(counts) else {}
            columns |= {
                name: [f"{value:.4g}" for value in values] for name, values in uncertainty_column(vectors).items()
            }
            if columns:
                file.write("\t".join(["word", *columns]) + "\n")
            file.writelines(
                "\t".join(map(str, row)) + "\n" for row in zip(vectors.vocabulary.words, *columns.values(), strict=True)
            )
        (folder / "projector_config.pbtxt").write_text(_CONFIG, encoding="ascii", newline="\n")


def write_atlas(vectors: Vectors, path: Path, force: bool, *, coordinates: Any = None) -> None:
    """Write the columns of ``parquet`` and x, y: ``coordinates``, or the first two principal components.

    ``embedding-atlas FILE --text word --x x --y y`` shows the file.
    """
    if coordinates is None:
        places = principal_plane(vectors.matrix)
    else:
        places = np.asarray(coordinates, dtype=np.float32)
        if places.shape != (len(vectors), 2) or not np.isfinite(places).all():
            raise FirthianError(
                f"coordinates of shape {places.shape} for {len(vectors)} words", hint="pass two finite numbers per word"
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
        for block in row_slices(len(matrix)):
            rows = matrix[block].astype(np.float64)
            total += rows.sum(axis=0)
            second += rows.T @ rows
        mean = total / len(matrix)
        # Σ (x - m)(x - m)ᵀ = Σ x·xᵀ - n·m·mᵀ
        axes = np.linalg.eigh(second - len(matrix) * np.outer(mean, mean))[1][:, ::-1][:, :2]
        axes = axes * np.sign(axes[np.argmax(np.abs(axes), axis=0), np.arange(axes.shape[1])])
        for block in row_slices(len(matrix)):
            places[block, : axes.shape[1]] = (matrix[block].astype(np.float64) - mean) @ axes
    return places


PROJECTOR = Format(
    "projector", "TSV files for the Embedding Projector (written only)", (), None, write_projector, forbidden="\t\n\r"
)
ATLAS = Format(
    "atlas", "Parquet for embedding-atlas: word, vector, count, x, y", (), None, write_atlas, options=("coordinates",)
)
