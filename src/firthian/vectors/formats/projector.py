"""The Embedding Projector of TensorFlow: ``vectors.tsv`` and ``metadata.tsv``, to upload or for TensorBoard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from firthian.vectors.formats.base import Format, new_export, uncertainty_column
from firthian.vectors.vectors import Vectors

NAME = "projector"

_ROWS = 4096

#: Where TensorBoard finds the two files.
_CONFIG = """embeddings {
  tensor_name: "word vectors"
  tensor_path: "vectors.tsv"
  metadata_path: "metadata.tsv"
}
"""


def write(vectors: Vectors, path: Path, force: bool) -> None:
    """Write the two tables; nine digits give back the same single-precision numbers.

    The projector takes the first line of metadata for names only where there are several columns.
    """
    line = "\t".join(["%.9g"] * vectors.vector_size) + "\n"
    counts = vectors.vocabulary.counts
    with new_export(vectors, path, force, NAME) as folder:
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


FORMAT = Format(NAME, "TSV files for the Embedding Projector (written only)", (), None, write, forbidden="\t\n\r")
