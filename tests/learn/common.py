"""Counts for tests: from a dense matrix, or of a corpus with planted topics."""

from __future__ import annotations

import numpy as np

from firthian.counts.counts import Counts
from firthian.counts.settings import WindowSettings
from firthian.text.vocabulary import Vocabulary


def counts_of(matrix, context="both"):
    """Counts with these values; the zeros are pairs that were never seen."""
    import scipy.sparse

    matrix = np.asarray(matrix, dtype=np.float64)
    csr = scipy.sparse.csr_array(matrix.astype(np.float32))
    words = [f"w{number:03}" for number in range(len(matrix))]
    return Counts(
        csr.indptr.astype(np.int64),
        csr.indices,
        csr.data,
        Vocabulary(words, np.arange(len(words), 0, -1)),
        matrix.sum(axis=1),
        matrix.sum(axis=0),
        WindowSettings(context=context),
        {},
        (np.empty(0, np.int64), np.empty(0, np.int64)),
    )


def random_counts(size=30, seed=0, context="both", zero_word=None):
    """Counts of a random skewed matrix, on request with a word that has no pairs."""
    rng = np.random.default_rng(seed)
    rates = np.outer(1 / np.arange(1, size + 1), 1 / np.arange(1, size + 1)) * 300
    matrix = rng.poisson(rates * rng.gamma(1, 1, (size, size))).astype(float)
    if context == "both":
        matrix = matrix + matrix.T
    if zero_word is not None:
        matrix[zero_word] = matrix[:, zero_word] = 0
    return matrix, counts_of(matrix, context)


def offset_of_answers(vectors, ids):
    """The mean distance of b - a + c from d over analogies, in units of the vectors' mean length."""
    a, b, c, d = ids.T
    matrix = vectors.matrix / np.linalg.norm(vectors.matrix, axis=1).mean()
    return np.linalg.norm(matrix[b] - matrix[a] + matrix[c] - matrix[d], axis=1).mean()
