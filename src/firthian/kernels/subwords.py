"""Character n-grams of words: hashing, composed vectors, and the normal equations of a regression on n-grams.

Words are packed: ``pool`` has their UTF-8 bytes, each between ``<`` and ``>``, and word w is ``pool[starts[w]:starts[w + 1]]``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from firthian.arrays import Array

_OFFSET = np.uint32(2166136261)
_PRIME = np.uint32(16777619)

#: Columns that are solved together, a row of them in one cache line; a constant, so that loops over them are unrolled.
COLUMNS = 16


@njit(cache=True, nogil=True)
def count_ngrams(pool: Array, starts: Array, low: int, high: int, out: Array) -> None:
    """``out[w]`` = the number of n-grams of word w, repeated ones included; ``<`` and ``>`` alone are not n-grams."""
    for word in range(starts.size - 1):
        characters = 0
        for at in range(starts[word], starts[word + 1]):
            if pool[at] & 0xC0 != 0x80:
                characters += 1
        total = 0
        for n in range(low, min(high, characters) + 1):
            total += characters - n + 1
            if n == 1:
                total -= min(2, characters)
        out[word] = total


@njit(cache=True, nogil=True)
def hash_ngrams(pool: Array, starts: Array, low: int, high: int, buckets: int, indptr: Array, out: Array) -> None:
    """Write the bucket of each n-gram of each word, by first character, then by length.

    The hash is fastText's 32-bit FNV-1a, which takes bytes as signed: those of other scripts set the upper bits.
    """
    for word in range(starts.size - 1):
        first, last = starts[word], starts[word + 1]
        place = indptr[word]
        for begin in range(first, last):
            if pool[begin] & 0xC0 == 0x80:
                continue
            hash_ = _OFFSET
            at = begin
            for n in range(1, high + 1):
                if at >= last:
                    break
                while True:
                    byte = np.uint32(pool[at])
                    if byte >= 0x80:
                        byte |= np.uint32(0xFFFFFF00)
                    hash_ = np.uint32((hash_ ^ byte) * _PRIME)
                    at += 1
                    if at >= last or pool[at] & 0xC0 != 0x80:
                        break
                if n >= low and not (n == 1 and (begin == first or at == last)):
                    out[place] = np.int64(hash_) % buckets
                    place += 1


@njit(cache=True, nogil=True)
def compose(indptr: Array, places: Array, rows: Array, scales: Array, out: Array) -> None:
    """``out[w] = scales[w] · Σ rows[places]`` over the n-grams of word w; negative places are skipped."""
    width = rows.shape[1]
    for word in range(indptr.size - 1):
        for k in range(width):
            out[word, k] = 0
        for p in range(indptr[word], indptr[word + 1]):
            place = places[p]
            if place >= 0:
                for k in range(width):
                    out[word, k] += rows[place, k]
        for k in range(width):
            out[word, k] *= scales[word]


@njit(cache=True, nogil=True)
def normal_product(indptr: Array, places: Array, weights: Array, ridge: float, vectors: Array, out: Array) -> None:
    """``out = Sᵀ diag(weights) S @ vectors + ridge · vectors``, where S has a one for each n-gram of a word.

    Repeated n-grams add up. The scale of a word's row is part of its weight. Matrices have COLUMNS columns.
    """
    total = np.empty(COLUMNS, np.float32)
    for g in range(vectors.shape[0]):
        for k in range(COLUMNS):
            out[g, k] = np.float32(ridge) * vectors[g, k]
    for word in range(indptr.size - 1):
        weight = weights[word]
        if weight == 0:
            continue
        for k in range(COLUMNS):
            total[k] = 0
        for p in range(indptr[word], indptr[word + 1]):
            row = vectors[np.uint64(places[p])]
            for k in range(COLUMNS):
                total[k] += row[k]
        for k in range(COLUMNS):
            total[k] *= weight
        for p in range(indptr[word], indptr[word + 1]):
            row = out[np.uint64(places[p])]
            for k in range(COLUMNS):
                row[k] += total[k]


@njit(cache=True, nogil=True)
def add_targets(indptr: Array, places: Array, weights: Array, targets: Array, out: Array) -> None:
    """``out += Sᵀ diag(weights) @ targets``; matrices have COLUMNS columns."""
    for word in range(indptr.size - 1):
        if weights[word] == 0:
            continue
        for p in range(indptr[word], indptr[word + 1]):
            row = out[np.uint64(places[p])]
            for k in range(COLUMNS):
                row[k] += weights[word] * targets[word, k]
