"""Ids -> co-occurrence sums, by an inverted index: no hashing, no sorting of pairs, rows independent.

A stream of ids contains words (>= 0), DOCUMENT_END, and HOLE for a dropped word that keeps its position. All sums are integers,
so that no order of addition can change them.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from firthian.arrays import Array
from firthian.kernels.prefetch import prefetch

#: How many occurrences ahead memory is asked for.
AHEAD = 8

DOCUMENT_END, HOLE = -1, -2

_ONE = np.uint64(1)
_SIX = np.uint64(6)
_SIXTY_THREE = np.uint64(63)
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)


def _bit_positions() -> Array:
    table = np.zeros(64, dtype=np.int32)
    for k in range(64):
        table[((int(_DE_BRUIJN) << k) & 0xFFFFFFFFFFFFFFFF) >> 58] = k
    return table


_BIT = _bit_positions()


@njit(cache=True, nogil=True)
def histogram(ids: Array, counts: Array) -> None:
    """Add the number of occurrences of each word to ``counts``."""
    for t in range(ids.size):
        if ids[t] >= 0:
            counts[ids[t]] += 1


@njit(cache=True, nogil=True)
def place(ids: Array, begin: int, end: int, first: int, last: int, fill: Array, positions: Array) -> None:
    """Write the positions of the words ``first:last`` in ``ids[begin:end]`` to their next free places; ``fill`` moves on."""
    for t in range(begin, end):
        word = ids[t]
        if first <= word < last:
            positions[fill[word]] = t
            fill[word] += 1


@njit(cache=True, nogil=True)
def _emit(accumulator: Array, marks: Array, columns: Array, sums: Array, at: int) -> int:
    """Move the marked entries of ``accumulator`` to ``columns`` and ``sums``, in order; leave both cleared."""
    for block in range(marks.size):
        mark = marks[block]
        if mark == 0:
            continue
        marks[block] = 0
        base = block << 6
        while mark != 0:
            lowest = mark & (~mark + _ONE)
            column = base + _BIT[(lowest * _DE_BRUIJN) >> np.uint64(58)]
            mark ^= lowest
            columns[at] = column
            sums[at] = accumulator[column]
            accumulator[column] = 0
            at += 1
    return at


@njit(cache=True, nogil=True)
def count_rows(
    ids: Array,
    pointers: Array,
    positions: Array,
    first_row: int,
    last_row: int,
    before: Array,
    after: Array,
    accumulator: Array,
    marks: Array,
    row_sizes: Array,
    columns: Array,
    sums: Array,
) -> int:
    """Sum the windows of the words ``first_row .. last_row - 1``; return the number of pairs.

    ``before[k]`` and ``after[k]`` are the integer weights at distance ``k + 1``; an empty array means that side does
    not count. ``accumulator`` and ``marks`` (one bit for each word) come cleared and are left so.
    """
    at = 0
    for row in range(first_row, last_row):
        for p in range(pointers[row], pointers[row + 1]):
            here = positions[p]
            if p + AHEAD < positions.size:
                coming = np.int64(positions[p + AHEAD])
                prefetch(ids, max(coming - before.size, 0))
                prefetch(ids, min(coming + after.size, ids.size - 1))
            low = max(here - before.size, 0)
            for t in range(here - 1, low - 1, -1):
                word = ids[t]
                if word < 0:
                    if word == DOCUMENT_END:
                        break
                    continue
                # Unsigned, so that the compiler need not think of negative places.
                place_ = np.uint64(word)
                if accumulator[place_] == 0:
                    marks[place_ >> _SIX] |= _ONE << (place_ & _SIXTY_THREE)
                accumulator[place_] += before[here - 1 - t]
            high = min(here + after.size, ids.size - 1)
            for t in range(here + 1, high + 1):
                word = ids[t]
                if word < 0:
                    if word == DOCUMENT_END:
                        break
                    continue
                place_ = np.uint64(word)
                if accumulator[place_] == 0:
                    marks[place_ >> _SIX] |= _ONE << (place_ & _SIXTY_THREE)
                accumulator[place_] += after[t - here - 1]
        begin = at
        at = _emit(accumulator, marks, columns, sums, at)
        row_sizes[row - first_row] = at - begin
    return at


@njit(cache=True, nogil=True)
def merge_rows(
    pointers: Array,
    columns_in: Array,
    sums_in: Array,
    accumulator: Array,
    marks: Array,
    row_sizes: Array,
    columns: Array,
    sums: Array,
) -> int:
    """Add rows of several runs; return the number of pairs.

    Row ``r`` of run ``n`` is the part ``pointers[n, r] .. pointers[n, r + 1]`` of ``columns_in`` and ``sums_in``.
    """
    at = 0
    for row in range(pointers.shape[1] - 1):
        for run in range(pointers.shape[0]):
            for p in range(pointers[run, row], pointers[run, row + 1]):
                word = columns_in[p]
                if accumulator[word] == 0:
                    marks[word >> 6] |= _ONE << np.uint64(word & 63)
                accumulator[word] += sums_in[p]
        begin = at
        at = _emit(accumulator, marks, columns, sums, at)
        row_sizes[row] = at - begin
    return at


@njit(cache=True, nogil=True)
def finish_rows(
    first_row: int,
    sizes: Array,
    columns: Array,
    sums: Array,
    unit: float,
    keep: Array,
    values: Array,
    row_totals: Array,
    column_totals: Array,
    inexact: Array,
) -> int:
    """Convert integer sums to stored values and totals; return the number of values that cannot be converted back.

    ``keep`` is each word's probability of being kept, for sub-sampling by expectation; it is empty otherwise.
    ``inexact`` receives the positions of values that were rounded. ``column_totals`` may be empty,
    for a symmetric matrix, whose columns add up to the same as its rows.
    """
    at = 0
    n_inexact = 0
    for r in range(sizes.size):
        total = np.int64(0)
        expected = 0.0
        for p in range(at, at + sizes[r]):
            column = columns[p]
            if keep.size:
                # x_ij · (p_i p_j): the probabilities first, so that x_ij and x_ji round alike. In float32 they do anyway.
                if values.itemsize == 8:
                    value = sums[p] * (keep[first_row + r] * keep[column]) / unit
                else:
                    value = sums[p] * keep[first_row + r] * keep[column] / unit
                values[p] = value
                expected += value
                if column_totals.size:
                    column_totals[column] += value
            else:
                values[p] = sums[p] / unit
                total += sums[p]
                if column_totals.size:
                    column_totals[column] += sums[p]
                if np.int64(np.rint(np.float64(values[p]) * unit)) != sums[p]:
                    inexact[n_inexact] = p
                    n_inexact += 1
        row_totals[r] = expected if keep.size else total / unit
        at += sizes[r]
    return n_inexact
