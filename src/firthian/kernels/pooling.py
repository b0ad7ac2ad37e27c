"""Vectors of texts: weighted means of the rows of their words, and the linear map that follows."""

from __future__ import annotations

import numpy as np
from numba import njit

from firthian.arrays import Array


@njit(cache=True, nogil=True)
def weighted_means(ids: Array, starts: Array, weights: Array, rows: Array, out: Array, totals: Array) -> None:
    """``out[n] = Σ w·row / Σ w`` over the words ``ids[starts[n]:starts[n + 1]]``, and ``totals[n] = Σ w``.

    Words of weight 0 are skipped. Sums are in double precision, in the order of the words.
    """
    width = rows.shape[1]
    total = np.empty(width)
    for n in range(starts.size - 1):
        total[:] = 0.0
        weight = 0.0
        for at in range(starts[n], starts[n + 1]):
            w = weights[ids[at]]
            if w == 0.0:
                continue
            weight += w
            row = rows[ids[at]]
            for k in range(width):
                total[k] += w * row[k]
        totals[n] = weight
        scale = 1.0 / weight if weight > 0.0 else 0.0
        for k in range(width):
            out[n, k] = total[k] * scale


@njit(cache=True, nogil=True)
def map_rows(means: Array, totals: Array, center: Array, weights: Array, out: Array) -> None:
    """``out[n] = (means[n] - center) @ weights``; zeros where ``totals[n]`` is 0.

    Unlike a product by BLAS, a row does not depend on the rows beside it, so a text has the same vector in any batch.
    """
    width, dimension = weights.shape
    total = np.empty(dimension, dtype=np.float32)
    for n in range(means.shape[0]):
        total[:] = 0.0
        if totals[n] > 0.0:
            for j in range(width):
                x = means[n, j] - center[j]
                for k in range(dimension):
                    total[k] += x * weights[j, k]
        out[n] = total


@njit(cache=True, nogil=True)
def add_to_words(ids: Array, starts: Array, texts: Array, sums: Array, counts: Array) -> None:
    """Add the vector of each text to the sum of every distinct word in it, and 1 to its count."""
    last = np.full(counts.size, -1, np.int64)
    for n in range(starts.size - 1):
        for at in range(starts[n], starts[n + 1]):
            word = ids[at]
            if last[word] == n:
                continue
            last[word] = n
            counts[word] += 1
            for k in range(texts.shape[1]):
                sums[word, k] += texts[n, k]
