"""Brown clustering: greedy merging of classes so that the mutual information of neighbours falls least.

With h(v) = v·log v, counts M of neighbouring classes, row sums l, column sums r and total N, the average mutual
information of neighbouring classes is, times N,

    I = sum_ab h(M_ab) - sum_a h(l_a) - sum_b h(r_b) + h(N).

Merging s and t replaces pairs of entries a, b by a + b, so it costs sums of ``g(a, b) = h(a) + h(b) - h(a + b)``, which is
zero when either is: rare words are cheap. ``cost`` holds, for each two classes, the part of the loss from entries
with *other* classes; it is kept up to date, as Liang (2005) does, so a word costs O(classes²) at most. ``corners`` holds
the part from the four entries between the two and from the marginals.
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
    """What is lost when two entries become one."""
    if a <= 0 or b <= 0:
        return 0.0
    return h(a) + h(b) - h(a + b)


@njit(cache=True, nogil=True)
def corner(table: Array, left: Array, right: Array, s: int, t: int) -> float:
    """Give the part of the loss of merging s and t from the entries between them and from the marginals."""
    inside = h(table[s, s]) + h(table[s, t]) + h(table[t, s]) + h(table[t, t])
    inside -= h(table[s, s] + table[s, t] + table[t, s] + table[t, t])
    return inside - g(left[s], left[t]) - g(right[s], right[t])


@njit(cache=True, nogil=True)
def cheapest(used: Array, cost: Array, corners: Array) -> tuple[int, int]:
    """Give the two classes whose merging loses least, the first of equals; -1 when there are no two."""
    best, s, t = np.inf, -1, -1
    for a in range(used.size):
        if used[a]:
            for b in range(a + 1, used.size):
                if used[b]:
                    loss = cost[a, b] + corners[a, b]
                    if loss < best:
                        best, s, t = loss, a, b
    return s, t


@njit(cache=True, nogil=True)
def insert(table: Array, left: Array, right: Array, used: Array, cost: Array, corners: Array, slot: int) -> None:
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
            a, b = min(slot, x), max(slot, x)
            cost[a, b] = total
            corners[a, b] = corner(table, left, right, a, b)
    used[slot] = True


@njit(cache=True, nogil=True)
def merge(table: Array, left: Array, right: Array, used: Array, cost: Array, corners: Array, s: int, t: int) -> None:
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
        a, b = min(s, x), max(s, x)
        change = -g(table[s, t], table[x, t]) - g(table[t, s], table[t, x])
        for d in range(size):
            if used[d] and d != x:
                if table[t, d] > 0:
                    change += g(table[s, d] + table[t, d], table[x, d]) - g(table[s, d], table[x, d])
                if table[d, t] > 0:
                    change += g(table[d, s] + table[d, t], table[d, x]) - g(table[d, s], table[d, x])
        cost[a, b] += change
    table[s, s] += table[s, t] + table[t, s] + table[t, t]
    for d in range(size):
        if used[d]:
            table[s, d] += table[t, d]
            table[d, s] += table[d, t]
    table[t, :] = 0.0
    table[:, t] = 0.0
    left[s] += left[t]
    right[s] += right[t]
    used[s] = True
    for x in range(size):
        if used[x] and x != s:
            a, b = min(s, x), max(s, x)
            corners[a, b] = corner(table, left, right, a, b)


@njit(cache=True, nogil=True)
def entries(table: Array, slot: int) -> int:
    """Count the entries of a class."""
    return np.count_nonzero(table[slot]) + np.count_nonzero(table[:, slot])


@njit(cache=True, nogil=True)
def cluster(
    indptr: Array,
    indices: Array,
    values: Array,
    t_indptr: Array,
    t_indices: Array,
    t_values: Array,
    left_sums: Array,
    right_sums: Array,
    classes: int,
    class_of: Array,
    merges: Array,
) -> None:
    """Assign each word, the first first, to one of ``classes`` classes, then merge the classes to one tree.

    The rows are those of M (``indptr`` ...) and of its transpose (``t_indptr`` ...). ``class_of`` receives the class
    of each word; ``merges`` the two classes of each merge of the tree, in order; the first keeps its number.
    """
    words = class_of.size
    size = classes + 1
    table, cost, corners = np.zeros((size, size)), np.zeros((size, size)), np.zeros((size, size))
    left, right = np.zeros(size), np.zeros(size)
    used = np.zeros(size, np.bool_)
    # The words of a class are a chain from its head; -1 ends it.
    head, tail, after = np.full(size, -1), np.full(size, -1), np.full(words, -1)
    class_of[:] = -1
    unused = classes
    for word in range(words):
        slot = word if word < classes else unused
        class_of[word] = slot
        for p in range(indptr[word], indptr[word + 1]):
            other = class_of[indices[p]]
            if other >= 0:
                table[slot, other] += values[p]
        for p in range(t_indptr[word], t_indptr[word + 1]):
            other = class_of[t_indices[p]]
            if other >= 0 and other != slot:
                table[other, slot] += t_values[p]
        left[slot], right[slot] = left_sums[word], right_sums[word]
        head[slot] = tail[slot] = word
        insert(table, left, right, used, cost, corners, slot)
        if word >= classes:
            s, t = cheapest(used, cost, corners)
            if entries(table, s) < entries(table, t):
                s, t = t, s
            merge(table, left, right, used, cost, corners, s, t)
            member = head[t]
            while member >= 0:
                class_of[member] = s
                member = after[member]
            after[tail[s]] = head[t]
            tail[s] = tail[t]
            unused = t
    for step in range(merges.shape[0]):
        s, t = cheapest(used, cost, corners)
        merge(table, left, right, used, cost, corners, s, t)
        merges[step, 0], merges[step, 1] = s, t
