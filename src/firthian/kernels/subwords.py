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
def word_frequencies(indptr: Array, buckets: Array, size: int) -> Array:
    """Return for each bucket the number of words with an n-gram in it."""
    frequency, last = np.zeros(size, np.int32), np.full(size, -1, np.int32)
    for word in range(indptr.size - 1):
        for p in range(indptr[word], indptr[word + 1]):
            bucket = buckets[p]
            if last[bucket] != word:
                last[bucket] = word
                frequency[bucket] += 1
    return frequency


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
def arrange(
    order: Array, indptr: Array, places: Array, rows: tuple[Array, Array], columns: tuple[Array, Array]
) -> Array:
    """Number n-grams by their first use, with words in ``order``; return the number of each.

    ``rows`` gets where the n-grams of each word begin, in that order, and their numbers; ``columns`` where the words of each
    n-gram begin, and the words: their places in the order, by ascending original number, so that sums are those of the
    original order. Neighbors in a good order share n-grams, which are then in the cache.
    """
    (row_starts, row_numbers), (column_starts, column_words) = rows, columns
    numbers = np.full(column_starts.size - 1, -1, np.int32)
    position = np.empty(order.size, np.int32)
    used, at = 0, 0
    for n in range(order.size):
        word = order[n]
        position[word] = n
        row_starts[n] = at
        for p in range(indptr[word], indptr[word + 1]):
            if numbers[places[p]] < 0:
                numbers[places[p]] = used
                used += 1
            row_numbers[at] = numbers[places[p]]
            column_starts[row_numbers[at] + 1] += 1
            at += 1
    row_starts[order.size] = at
    for g in range(numbers.size):
        if numbers[g] < 0:
            numbers[g] = used
            used += 1
        column_starts[g + 1] += column_starts[g]
    fill = column_starts[:-1].copy()
    for word in range(order.size):
        for p in range(indptr[word], indptr[word + 1]):
            g = numbers[places[p]]
            column_words[fill[g]] = position[word]
            fill[g] += 1
    return numbers


@njit(cache=True, nogil=True)
def sum_rows(
    starts: Array, places: Array, weights: Array, vectors: Array, ridge: Array, plus: Array, out: Array
) -> None:
    """``out[n] = ridge[n]·plus[n] + weights[n] · Σ vectors[places]``; no weights are ones, no ridges zeros.

    Matrices have COLUMNS columns.
    """
    total = np.empty(COLUMNS, np.float32)
    for n in range(starts.size - 1):
        for k in range(COLUMNS):
            total[k] = ridge[n] * plus[n, k] if ridge.size > 0 else np.float32(0)
        if weights.size == 0 or weights[n] != 0:
            for p in range(starts[n], starts[n + 1]):
                row = vectors[np.uint64(places[p])]
                for k in range(COLUMNS):
                    total[k] += row[k]
        weight = weights[n] if weights.size > 0 else np.float32(1)
        for k in range(COLUMNS):
            out[n, k] = weight * total[k]


@njit(cache=True, nogil=True)
def column_products(left: Array, right: Array, scales: Array) -> Array:
    """Return ``Σ_n scales[n]·left[n, k]·right[n, k]`` for each of COLUMNS columns, in double precision."""
    total = np.zeros(COLUMNS, np.float64)
    for n in range(left.shape[0]):
        for k in range(COLUMNS):
            total[k] += np.float64(scales[n] * left[n, k]) * np.float64(right[n, k])
    return total


@njit(cache=True, nogil=True)
def add_multiples(factors: Array, rows: Array, scales: Array, other: Array, out: Array) -> None:
    """``out[n, k] = factors[k]·rows[n, k] + scales[n]·other[n, k]``; ``out`` may be one of the others."""
    for n in range(rows.shape[0]):
        for k in range(COLUMNS):
            out[n, k] = factors[k] * rows[n, k] + scales[n] * other[n, k]
