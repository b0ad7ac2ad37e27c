"""Brown clustering: greedy merging of classes so that the mutual information of neighbours falls least.

With counts M of neighbouring classes, class totals l (as first word) and r (as second), the information is, times N,

    I = sum_ab M_ab · log(M_ab·N / (l_a·r_b)).

Write h(v) = v·log v, and A_a, B_a for the row and column sums of M, which grow to l and r as words come in. Merging s
and t replaces pairs of entries a, b by a + b. The loss of information is the sum of ``g(a, b) = h(a) + h(b) - h(a + b)``
over these pairs (never positive), plus, from the totals (never negative),

    A_s·log((l_s + l_t)/l_s) + A_t·log((l_s + l_t)/l_t)      and the same with B, r.

g is zero when either entry is: rare words are cheap. ``cost`` holds, for each two classes, the part of the loss from
entries with *other* classes; it is kept up to date, as Liang (2005) does, so a word costs O(classes²) at most.
``corners`` holds the part from the four entries between the two, ``joint`` the logarithms of l_s + l_t and r_s + r_t.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

Array = np.ndarray[Any, np.dtype[Any]]


@njit(cache=True, nogil=True)
def h(value: float) -> float:
    """``v·log v``, 0 at 0."""
    return value * np.log(value) if value > 0 else 0.0


@njit(cache=True, nogil=True)
def g(a: float, b: float) -> float:
    """What the information loses when two entries become one."""
    if a <= 0 or b <= 0:
        return 0.0
    return h(a) + h(b) - h(a + b)


@njit(cache=True, nogil=True)
def log(value: float) -> float:
    """The logarithm of a total; one of zero is multiplied with zero, so any finite number will do."""
    return np.log(value) if value > 0 else 0.0


@njit(cache=True, nogil=True)
def pair_up(table: Array, totals: Array, used: Array, corners: Array, joint: Array, slot: int) -> None:
    """Compute anew what a class has with each other one: their four entries, their joint totals."""
    for other in range(used.size):
        if used[other] and other != slot:
            a, b = min(slot, other), max(slot, other)
            aa, ab, ba, bb = table[a, a], table[a, b], table[b, a], table[b, b]
            corners[a, b] = h(aa) + h(ab) + h(ba) + h(bb) - h(aa + ab + ba + bb)
            for side in range(2):
                joint[side, a, b] = log(totals[side, a] + totals[side, b])


@njit(cache=True, nogil=True)
def cheapest(table: Array, totals: Array, used: Array, cost: Array, corners: Array, joint: Array) -> tuple[int, int]:
    """Give the two classes whose merging loses least, the first of equals; -1 when there are no two."""
    size = used.size
    # A, B and sum_sides A·log l
    sums, own = np.zeros((2, size)), np.zeros(size)
    for a in range(size):
        if used[a]:
            for b in range(size):
                if used[b]:
                    sums[0, a] += table[a, b]
                    sums[1, b] += table[a, b]
    for a in range(size):
        own[a] = sums[0, a] * log(totals[0, a]) + sums[1, a] * log(totals[1, a])
    best, s, t = np.inf, -1, -1
    for a in range(size):
        if used[a]:
            for b in range(a + 1, size):
                if used[b]:
                    totals_part = (sums[0, a] + sums[0, b]) * joint[0, a, b] + (sums[1, a] + sums[1, b]) * joint[
                        1, a, b
                    ]
                    loss = cost[a, b] + corners[a, b] + totals_part - own[a] - own[b]
                    # Losses are differences of large sums: their rounding must not choose between equals.
                    if loss < best - 1e-9 * abs(loss):
                        best, s, t = loss, a, b
    return s, t


@njit(cache=True, nogil=True)
def insert(table: Array, totals: Array, used: Array, cost: Array, corners: Array, joint: Array, slot: int) -> None:
    """Take in the class in an unused slot, whose entries are in the table already."""
    size = used.size
    for a in range(size):
        if not used[a]:
            continue
        for b in range(a + 1, size):
            # The two classes a and b have one more neighbour.
            if used[b]:
                cost[a, b] += g(table[a, slot], table[b, slot]) + g(table[slot, a], table[slot, b])
    for x in range(size):
        if used[x]:
            total = 0.0
            for d in range(size):
                if used[d] and d != x:
                    total += g(table[slot, d], table[x, d]) + g(table[d, slot], table[d, x])
            cost[min(slot, x), max(slot, x)] = total
    used[slot] = True
    pair_up(table, totals, used, corners, joint, slot)


@njit(cache=True, nogil=True)
def merge(table: Array, totals: Array, used: Array, cost: Array, corners: Array, joint: Array, s: int, t: int) -> None:
    """Merge class t into class s; the slot of t becomes unused. It is quickest when t has few entries."""
    size = used.size
    used[s] = used[t] = False
    for x in range(size):
        if not used[x]:
            continue
        for y in range(x + 1, size):
            # Two other classes: their entries with s and with t become one. Where t has none, nothing changes.
            if not used[y]:
                continue
            if table[x, t] > 0 or table[y, t] > 0:
                cost[x, y] += g(table[x, s] + table[x, t], table[y, s] + table[y, t])
                cost[x, y] -= g(table[x, s], table[y, s]) + g(table[x, t], table[y, t])
            if table[t, x] > 0 or table[t, y] > 0:
                cost[x, y] += g(table[s, x] + table[t, x], table[s, y] + table[t, y])
                cost[x, y] -= g(table[s, x], table[s, y]) + g(table[t, x], table[t, y])
        # The merged class and x: t is no neighbour any more, and entries of s have grown where t had some.
        change = -g(table[s, t], table[x, t]) - g(table[t, s], table[t, x])
        for d in range(size):
            if used[d] and d != x:
                if table[t, d] > 0:
                    change += g(table[s, d] + table[t, d], table[x, d]) - g(table[s, d], table[x, d])
                if table[d, t] > 0:
                    change += g(table[d, s] + table[d, t], table[d, x]) - g(table[d, s], table[d, x])
        cost[min(s, x), max(s, x)] += change
    table[s, s] += table[s, t] + table[t, s] + table[t, t]
    for d in range(size):
        if used[d]:
            table[s, d] += table[t, d]
            table[d, s] += table[d, t]
    table[t, :] = 0.0
    table[:, t] = 0.0
    totals[:, s] += totals[:, t]
    used[s] = True
    pair_up(table, totals, used, corners, joint, s)


@njit(cache=True, nogil=True)
def entries(table: Array, slot: int) -> int:
    """Count the entries of a class."""
    return np.count_nonzero(table[slot]) + np.count_nonzero(table[:, slot])


@njit(cache=True, nogil=True)
def take_in(
    indptr: Array,
    indices: Array,
    values: Array,
    t_indptr: Array,
    t_indices: Array,
    t_values: Array,
    word_totals: Array,
    first: int,
    last: int,
    class_of: Array,
    table: Array,
    totals: Array,
    used: Array,
    cost: Array,
    corners: Array,
    joint: Array,
) -> None:
    """Make classes of the words from ``first`` to ``last``; whenever no slot is left unused, merge two classes.

    The rows are those of M (``indptr`` ...) and of its transpose (``t_indptr`` ...). ``class_of`` is the slot of each
    word, -1 for those still to come. There is one slot more than classes.
    """
    for word in range(first, last):
        slot = np.argmin(used)
        class_of[word] = slot
        for p in range(indptr[word], indptr[word + 1]):
            other = class_of[indices[p]]
            if other >= 0:
                table[slot, other] += values[p]
        for p in range(t_indptr[word], t_indptr[word + 1]):
            other = class_of[t_indices[p]]
            if other >= 0 and other != slot:
                table[other, slot] += t_values[p]
        totals[:, slot] = word_totals[:, word]
        insert(table, totals, used, cost, corners, joint, slot)
        if used.all():
            s, t = cheapest(table, totals, used, cost, corners, joint)
            if entries(table, s) < entries(table, t):
                s, t = t, s
            merge(table, totals, used, cost, corners, joint, s, t)
            for member in range(word + 1):
                if class_of[member] == t:
                    class_of[member] = s


@njit(cache=True, nogil=True)
def build_tree(
    table: Array, totals: Array, used: Array, cost: Array, corners: Array, joint: Array, merges: Array
) -> None:
    """Merge all classes to one; ``merges`` receives the two slots of each merge, in order; the first keeps its number."""
    for step in range(merges.shape[0]):
        s, t = cheapest(table, totals, used, cost, corners, joint)
        merge(table, totals, used, cost, corners, joint, s, t)
        merges[step, 0], merges[step, 1] = s, t
