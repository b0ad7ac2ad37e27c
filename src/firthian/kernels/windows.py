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

#: Where each word occurs: positions ``[pointers[w]:pointers[w + 1]]``, as ``(pointers, positions)``.
Index = tuple[Array, Array]

#: Integer weights at distances 1, 2, ... before and after a word; an empty array means that the side does not count.
Sides = tuple[Array, Array]

#: A sum for each word, and a bit for each that is not 0: ``(accumulator, marks)``, cleared before and after use.
Scratch = tuple[Array, Array]

#: ``(sizes, columns, sums)``: the number of pairs of each row, and the pairs.
Rows = tuple[Array, Array, Array]

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


# The addition to a sum stands in both kernels: as a function of its own, it would count references to the arrays each time,
# which takes ten times as long as the rest.


@njit(cache=True, nogil=True)
def count_rows(
    ids: Array, index: Index, first_row: int, last_row: int, sides: Sides, scratch: Scratch, rows: Rows
) -> int:
    """Sum the windows of the words ``first_row .. last_row - 1`` into ``rows``; return the number of pairs."""
    (pointers, positions), (before, after) = index, sides
    (accumulator, marks), (row_sizes, columns, sums) = scratch, rows
    at = 0
    for row in range(first_row, last_row):
        for p in range(pointers[row], pointers[row + 1]):
            here = positions[p]
            if p + AHEAD < positions.size:
                coming = np.int64(positions[p + AHEAD])
                prefetch(ids, max(coming - before.size, 0))
                prefetch(ids, min(coming + after.size, ids.size - 1))
            for step in (-1, 1):
                reach = min(before.size, here) if step < 0 else min(after.size, ids.size - 1 - here)
                for distance in range(reach):
                    word = ids[here + step * (distance + 1)]
                    if word < 0:
                        if word == DOCUMENT_END:
                            break
                        continue
                    # Unsigned, so that the compiler need not think of negative places.
                    place_ = np.uint64(word)
                    if accumulator[place_] == 0:
                        marks[place_ >> _SIX] |= _ONE << (place_ & _SIXTY_THREE)
                    accumulator[place_] += before[distance] if step < 0 else after[distance]
        begin = at
        at = _emit(accumulator, marks, columns, sums, at)
        row_sizes[row - first_row] = at - begin
    return at


@njit(cache=True, nogil=True)
def merge_rows(pointers: Array, columns_in: Array, sums_in: Array, scratch: Scratch, rows: Rows) -> int:
    """Add rows of several runs into ``rows``; return the number of pairs.

    Row ``r`` of run ``n`` is the part ``pointers[n, r] .. pointers[n, r + 1]`` of ``columns_in`` and ``sums_in``.
    """
    (accumulator, marks), (row_sizes, columns, sums) = scratch, rows
    at = 0
    for row in range(pointers.shape[1] - 1):
        for run in range(pointers.shape[0]):
            for p in range(pointers[run, row], pointers[run, row + 1]):
                place_ = np.uint64(columns_in[p])
                if accumulator[place_] == 0:
                    marks[place_ >> _SIX] |= _ONE << (place_ & _SIXTY_THREE)
                accumulator[place_] += sums_in[p]
        begin = at
        at = _emit(accumulator, marks, columns, sums, at)
        row_sizes[row] = at - begin
    return at


@njit(cache=True, nogil=True)
def finish_rows(
    first_row: int, rows: Rows, unit: float, keep: Array, values: Array, totals: tuple[Array, Array], inexact: Array
) -> int:
    """Convert integer sums to stored values and totals; return the number of values that cannot be converted back.

    ``keep`` is each word's probability of being kept, for sub-sampling by expectation; it is empty otherwise.
    ``inexact`` receives the positions of values that were rounded. ``totals`` are those of the rows and of the columns; the
    latter may be empty, for a symmetric matrix, whose columns add up to the same as its rows.
    """
    (sizes, columns, sums), (row_totals, column_totals) = rows, totals
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
