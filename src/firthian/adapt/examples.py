"""Counts of words -> the vectors x that the learner sees: how a word weighs, and one number that scales a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from firthian.arrays import Array

#: binary: a word is there or not, as in the paper; tfidf: (1 + log count) × idf; given: the numbers as they are.
WEIGHTINGS = ("binary", "idf", "tfidf", "count", "given")

#: embedding: the document's vector under the first Phi has length 1, as in the paper; length: x itself has; none.
SCALINGS = ("embedding", "length", "none")


@dataclass(frozen=True)
class Examples:
    """Documents ready to be learned from: ``matrix`` (CSR) holds x, and ``hot × x`` are its one-hot features."""

    matrix: Any
    hot: Array

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __getitem__(self, rows: Array) -> Examples:
        return Examples(self.matrix[rows], self.hot[rows])


def inverse_document_frequency(counts: Any) -> Array:
    """Return ``log((1 + n) / (1 + df)) + 1`` for each word, as scikit-learn smooths it."""
    found = np.bincount(counts.indices, minlength=counts.shape[1])
    idf: Array = np.log((1 + counts.shape[0]) / (1 + found)) + 1
    return idf.astype(np.float32)


def weigh(counts: Any, weighting: str, idf: Array) -> Any:
    """Weigh the words of each document."""
    matrix = counts.astype(np.float32)
    if weighting in ("binary", "idf"):
        matrix.data = np.ones_like(matrix.data)
    elif weighting == "tfidf":
        matrix.data = 1 + np.log(np.maximum(matrix.data, 1))
    if weighting in ("idf", "tfidf"):
        matrix.data = matrix.data * idf[matrix.indices]
    return matrix


def scale(weighed: Any, base: Array, scaling: str, one_hot: float) -> Examples:
    """Multiply each document by one number that never changes, so that the model stays linear in Phi.

    A document whose vector is zero under the first Phi is scaled by its own length instead. One-hot features, where
    there are any, have the length ``one_hot`` whatever the document.
    """
    lengths = np.sqrt(weighed.multiply(weighed).sum(axis=1), dtype=np.float64)
    size = np.ones(weighed.shape[0])
    if scaling == "embedding":
        vectors = np.linalg.norm((weighed @ base).astype(np.float64), axis=1)
        # Rounding leaves traces of sums that are truly zero; sums of huge numbers are no numbers any more.
        size = np.where((vectors > 1e-6 * lengths) & np.isfinite(vectors), vectors, lengths)
    elif scaling == "length":
        size = lengths
    size[size == 0] = 1.0
    matrix = weighed.copy()
    matrix.data = (matrix.data / np.repeat(size, np.diff(matrix.indptr))).astype(np.float32)
    hot = one_hot * size / np.where(lengths > 0, lengths, 1.0)
    return Examples(matrix, hot)
