"""Rows stored as codes of one byte: assign codes, decode rows, and multiply a query with rows straight from their codes.

Product codes: the dimensions are in groups, each group has one code, and a book has the values of all codes. Rounded rows:
one byte for each of the first dimensions, half a byte for each of the others, and further bits for some of these.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from firthian.arrays import Array

#: The number of values of a code.
VALUES = 256


@njit(cache=True, nogil=True)
def assign(points: Array, centers: Array, codes: Array) -> None:
    """Set ``codes[i]`` to the center nearest to point i, the first of equals; ``centers`` has one center per column."""
    distance = np.empty(centers.shape[1], np.float32)
    for i in range(points.shape[0]):
        distance[:] = 0
        for j in range(points.shape[1]):
            value = points[i, j]
            for c in range(centers.shape[1]):
                difference = value - centers[j, c]
                distance[c] += difference * difference
        best = distance[0]
        for c in range(1, centers.shape[1]):
            best = min(best, distance[c])
        for c in range(centers.shape[1]):
            if distance[c] == best:
                codes[i] = c
                break


@njit(cache=True, nogil=True)
def move_centers(points: Array, weights: Array, codes: Array, centers: Array) -> None:
    """Move each center to the weighted mean of its points, in place; one without points stays."""
    totals = np.zeros(centers.shape, np.float64)
    mass = np.zeros(centers.shape[1], np.float64)
    for i in range(points.shape[0]):
        c = codes[i]
        mass[c] += weights[i]
        for j in range(points.shape[1]):
            totals[j, c] += weights[i] * points[i, j]
    for c in range(centers.shape[1]):
        if mass[c] > 0:
            for j in range(centers.shape[0]):
                centers[j, c] = totals[j, c] / mass[c]


@njit(cache=True, nogil=True)
def decode_products(codes: Array, books: Array, groups: Array, out: Array) -> None:
    """``out[i, j] = books[codes[i, groups[j]], j]``."""
    for i in range(codes.shape[0]):
        for j in range(groups.size):
            out[i, j] = books[codes[i, groups[j]], j]


# Reassociation lets a row be summed in several chains: the order depends on the machine, never on blocks or threads.
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def table_products(codes: Array, tables: Array, lengths: Array, out: Array) -> None:
    """``out[i] = lengths[i] · Σ_g tables[256 g + codes[i, g]]``; a table has the products of a query and a group's values."""
    groups = codes.shape[1]
    whole = groups - groups % 4
    for i in range(codes.shape[0]):
        a = b = c = d = np.float32(0)
        for g in range(0, whole, 4):
            base = g * VALUES
            a += tables[base + codes[i, g]]
            b += tables[base + VALUES + codes[i, g + 1]]
            c += tables[base + 2 * VALUES + codes[i, g + 2]]
            d += tables[base + 3 * VALUES + codes[i, g + 3]]
        for g in range(whole, groups):
            a += tables[g * VALUES + codes[i, g]]
        out[i] = lengths[i] * ((a + b) + (c + d))


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def rounded_products(
    codes: Array, factors: Array, high: Array, tables: Array, offset: float, lengths: Array, out: Array
) -> None:
    """``out[i]`` = lengths[i] · (Σ factors[j]·byte_j + Σ high[k]·(upper half of byte_k) + Σ tables[byte_t] - offset).

    The bytes of a row are whole codes, then pairs of half codes, then single bits, eight of which a table adds up. A pair is
    low + 16·high, so with the query's factors u and v of the two, ``high`` is v - 16·u.
    """
    summed = factors.size
    whole = summed - high.size
    for i in range(codes.shape[0]):
        total = np.float32(0)
        row = codes[i, :summed]
        for j in range(row.size):
            total += np.float32(row[j]) * factors[j]
        row = codes[i, whole:summed]
        for k in range(row.size):
            total += np.float32(np.int32(row[k]) >> 4) * high[k]
        row = codes[i, summed:]
        for t in range(row.size):
            total += tables[t * VALUES + row[t]]
        out[i] = lengths[i] * (total - np.float32(offset))
