"""Windows of a word, added up by unit of text: the vectors of its contexts, or its contexts themselves.

A context j of word i in unit d weighs g·b_dj·sigma(-u_i·c_j): g is its weight in the window, sigma(-u_i·c_j) makes the sum
the slope of SGNS's loss by u_i, so expected contexts weigh little and surprising ones much; the balance b_dj is small for
contexts that are more frequent in the unit than elsewhere, whatever the word.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from firthian.arrays import Array
from firthian.kernels.windows import DOCUMENT_END, Index, Sides


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def unit_scores(
    ids: Array,
    index: Index,
    units: Array,
    words: Array,
    sides: Sides,
    weight_unit: float,
    balance: Array,
    left: Array,
    right: Array,
    images: Array,
    scores: Array,
    mass: Array,
) -> None:
    """Add g·b·sigma(-u·c)·image of every context of some words to ``scores[word, unit]``, and g·b to ``mass[word, unit]``.

    ``units`` has the unit of every position of ``ids``, -1 for those to leave out. ``left`` are the vectors u of the words, in
    their order; ``right`` the vectors c of all contexts, ``images`` what is added up in their place.
    """
    (pointers, positions), (before, after) = index, sides
    slopes = np.full(right.shape[0], -1.0, dtype=np.float32)
    seen = np.empty(right.shape[0], dtype=np.int64)
    for row in range(words.size):
        word, vector, used = words[row], left[row], 0
        for p in range(pointers[word], pointers[word + 1]):
            here = positions[p]
            unit = units[here]
            if unit < 0:
                continue
            target = scores[row, unit]
            for side in range(2):
                weights = before if side == 0 else after
                for distance in range(1, weights.size + 1):
                    at = here - distance if side == 0 else here + distance
                    if at < 0 or at >= ids.size or ids[at] == DOCUMENT_END:
                        break
                    context = ids[at]
                    if context < 0:
                        continue
                    if slopes[context] < 0:
                        product = np.float32(0)
                        for k in range(vector.size):
                            product += vector[k] * right[context, k]
                        slopes[context] = 1 / (1 + np.exp(product))
                        seen[used] = context
                        used += 1
                    weight = np.float32(weights[distance - 1] / weight_unit * balance[unit, context])
                    mass[row, unit] += weight
                    factor = weight * slopes[context]
                    for k in range(target.size):
                        target[k] += factor * images[context, k]
        for n in range(used):
            slopes[seen[n]] = -1


@njit(cache=True, nogil=True)
def context_sums(
    ids: Array,
    index: Index,
    units: Array,
    word: int,
    sides: Sides,
    weight_unit: float,
    balance: Array,
    slices: Array,
    factors: Array,
    sums: Array,
) -> None:
    """Add ``factors[unit]·g·b`` of every context of a word to ``sums[slice, context]``, by the slice of the unit."""
    (pointers, positions), (before, after) = index, sides
    for p in range(pointers[word], pointers[word + 1]):
        here = positions[p]
        unit = units[here]
        if unit < 0:
            continue
        for side in range(2):
            weights = before if side == 0 else after
            for distance in range(1, weights.size + 1):
                at = here - distance if side == 0 else here + distance
                if at < 0 or at >= ids.size or ids[at] == DOCUMENT_END:
                    break
                if ids[at] >= 0:
                    weight = weights[distance - 1] / weight_unit * balance[unit, ids[at]]
                    sums[slices[unit], ids[at]] += factors[unit] * weight


@njit(cache=True, nogil=True)
def unit_histogram(ids: Array, units: Array, counts: Array) -> None:
    """Add the number of occurrences of each word in each unit to ``counts[unit, word]``."""
    for t in range(ids.size):
        if ids[t] >= 0 and units[t] >= 0:
            counts[units[t], ids[t]] += 1
