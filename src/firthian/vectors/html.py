"""How vectors look in a notebook: a line, the facts, a corner of the matrix. Cheap for any size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from firthian.counts.html import ROWS, notebook_table, shortened
from firthian.vectors.search import dense_rows

if TYPE_CHECKING:
    from firthian.vectors.vectors import Vectors

#: The number of columns shown.
_COLUMNS = 6


def vectors_as_html(vectors: Vectors) -> str:
    """Show the first words with the first numbers of their vectors, and where the vectors come from."""
    from firthian.vectors.formats.model_card import provenance

    words = vectors.vocabulary.words[:ROWS]
    rows = dense_rows(vectors.matrix, np.arange(len(words)))
    counts = vectors.vocabulary.counts[: len(words)]
    counted = bool(np.any(vectors.vocabulary.counts))
    shown = min(_COLUMNS, vectors.vector_size)
    more = ["…"] if vectors.vector_size > shown else []
    lines = [
        [
            shortened(word),
            *([f"{count:,}"] if counted else []),
            f"{float(np.linalg.norm(row.astype(np.float64))):.3f}",
            *(f"{value:.3f}" for value in row[:shown]),
            *more,
        ]
        for word, count, row in zip(words, counts.tolist(), rows, strict=True)
    ]
    head = ["word", *(["count"] if counted else []), "length", *(str(i + 1) for i in range(shown)), *more]
    return notebook_table(repr(vectors), head, lines, len(vectors) - len(words), provenance(vectors))
