"""Brown clustering: greedy merging of classes with the least loss of mutual information between neighbors.

With counts M of neighboring classes, class totals l (as first word) and r (as second), the information is, times N,

    I = sum_ab M_ab · log(M_ab·N / (l_a·r_b)).

Write h(v) = v·log v, and A_a, B_a for the row and column sums of M, which grow to l and r as words are added. Merging s
and t replaces pairs of entries a, b by a + b. The loss of information is the sum of ``g(a, b) = h(a) + h(b) - h(a + b)``
over these pairs (never positive), plus, from the totals (never negative),

    A_s·log((l_s + l_t)/l_s) + A_t·log((l_s + l_t)/l_t)      and the same with B, r.

g is zero when either entry is: rare words are cheap. ``cost`` holds, for every two classes, the part of the loss from
entries with *other* classes; it is updated incrementally (Liang 2005), so a word costs at most O(classes²).
``corners`` holds the part from the four entries between the two, ``joint`` the logarithms of l_s + l_t and r_s + r_t,
``entropic`` h of every entry.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from firthian.arrays import Array

#: ``(table, entropic, totals, used, cost, corners, joint)``, changed in place.
State = tuple[Array, ...]

#: ``(indptr, indices, values)`` of a matrix in compressed sparse rows.
Sparse = tuple[Array, Array, Array]


@njit(cache=True, nogil=True)
def h(value: float) -> float:
    """``v·log v``, 0 at 0."""
    return value * np.log(value) if value > 0 else 0.0


@njit(cache=True, nogil=True)
def log(value: float) -> float:
    """The logarithm of a total; that of zero is multiplied by zero, so any finite number works."""
    return np.log(value) if value > 0 else 0.0


@njit(cache=True, nogil=True)
def pair_up(state: State, slot: int) -> None:
    """Recompute ``corners`` and ``joint`` of a class with every other."""
    table, entropic, totals, used, _, corners, joint = state
    for other in range(used.size):
        if used[other] and other != slot:
            a, b = min(slot, other), max(slot, other)
            separate = entropic[a, a] + entropic[a, b] + entropic[b, a] + entropic[b, b]
            corners[a, b] = separate - h(table[a, a] + table[a, b] + table[b, a] + table[b, b])
            for side in range(2):
                joint[side, a, b] = log(totals[side, a] + totals[side, b])


@njit(cache=True, nogil=True)
def cheapest(state: State) -> tuple[int, int]:
    """Return the two classes whose merger loses least, the first of ties; -1 if there are not two."""
    table, _, totals, used, cost, corners, joint = state
    size = used.size
    # A, B and, of each class, A·log l + B·log r
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
                    together = (sums[0, a] + sums[0, b]) * joint[0, a, b] + (sums[1, a] + sums[1, b]) * joint[1, a, b]
                    loss = cost[a, b] + corners[a, b] + together - own[a] - own[b]
                    # Losses are differences of large sums: rounding must not decide ties.
                    if loss < best - 1e-9 * abs(loss):
                        best, s, t = loss, a, b
    return s, t


@njit(cache=True, nogil=True)
def insert(state: State, slot: int) -> None:
    """Add the class in an unused slot, whose entries are already in the table."""
    table, entropic, _, used, cost, _, _ = state
    size = used.size
    for d in range(size):
        entropic[slot, d], entropic[d, slot] = h(table[slot, d]), h(table[d, slot])
    for a in range(size):
        if not used[a]:
            continue
        before, after = table[a, slot] > 0, table[slot, a] > 0
        for b in range(a + 1, size):
            # The two classes a and b have one more neighbor.
            if used[b]:
                if before and table[b, slot] > 0:
                    cost[a, b] += entropic[a, slot] + entropic[b, slot] - h(table[a, slot] + table[b, slot])
                if after and table[slot, b] > 0:
                    cost[a, b] += entropic[slot, a] + entropic[slot, b] - h(table[slot, a] + table[slot, b])
        total = 0.0
        for d in range(size):
            if used[d] and d != a:
                if table[slot, d] > 0 and table[a, d] > 0:
                    total += entropic[slot, d] + entropic[a, d] - h(table[slot, d] + table[a, d])
                if table[d, slot] > 0 and table[d, a] > 0:
                    total += entropic[d, slot] + entropic[d, a] - h(table[d, slot] + table[d, a])
        cost[min(slot, a), max(slot, a)] = total
    used[slot] = True
    pair_up(state, slot)


@njit(cache=True, nogil=True)
def merge_lines(lines: Array, entropic: Array, used: Array, cost: Array, s: int, t: int) -> None:
    """Update the costs for merging s and t, as far as entries ``lines[s]``, ``lines[t]`` with other classes matter.

    ``lines`` is the table, or its transpose for the entries of the other direction; s and t are not ``used`` now.
    """
    size = used.size
    # Gain of a class's entries with s and t by merging: h(a + b) - h(a) - h(b)
    gain = np.zeros(size)
    for d in range(size):
        if used[d] and lines[t, d] > 0:
            gain[d] = h(lines[s, d] + lines[t, d]) - entropic[s, d] - entropic[t, d]
    for x in range(size):
        if not used[x]:
            continue
        xs, xt = lines[s, x], lines[t, x]
        for y in range(x + 1, size):
            # Two other classes: their entries with s and with t become one. Where t has none, nothing changes.
            if used[y] and (xt > 0 or lines[t, y] > 0):
                ys, yt = lines[s, y], lines[t, y]
                cost[x, y] += gain[x] + gain[y] - h(xs + xt + ys + yt) + h(xs + ys) + h(xt + yt)
        # The merged class and x: t is no longer a neighbor, and entries of s have grown where t had some.
        change = h(lines[t, s] + lines[t, x]) - entropic[t, s] - entropic[t, x]
        for d in range(size):
            if used[d] and d != x and lines[t, d] > 0 and lines[x, d] > 0:
                grown = lines[s, d] + lines[t, d]
                change += gain[d] + entropic[t, d] - h(grown + lines[x, d]) + h(lines[s, d] + lines[x, d])
        cost[min(s, x), max(s, x)] += change


@njit(cache=True, nogil=True)
def merge(state: State, s: int, t: int) -> None:
    """Merge class t into class s and free the slot of t; fastest when t has few entries."""
    table, entropic, totals, used, cost, _, _ = state
    size = used.size
    used[s] = used[t] = False
    merge_lines(table, entropic, used, cost, s, t)
    merge_lines(table.T, entropic.T, used, cost, s, t)
    table[s, s] += table[s, t] + table[t, s] + table[t, t]
    for d in range(size):
        if used[d]:
            table[s, d] += table[t, d]
            table[d, s] += table[d, t]
    for lines in (table, entropic):
        lines[t, :] = 0.0
        lines[:, t] = 0.0
    used[s] = True
    for d in range(size):
        if used[d]:
            entropic[s, d], entropic[d, s] = h(table[s, d]), h(table[d, s])
    totals[:, s] += totals[:, t]
    pair_up(state, s)


@njit(cache=True, nogil=True)
def entries(table: Array, slot: int) -> int:
    """Count the entries of a class."""
    return np.count_nonzero(table[slot]) + np.count_nonzero(table[:, slot])


@njit(cache=True, nogil=True)
def cluster_words(
    rows: Sparse, columns: Sparse, word_totals: Array, first: int, last: int, class_of: Array, state: State
) -> None:
    """Make classes of the words from ``first`` to ``last``; merge two classes whenever no slot is unused.

    ``rows`` is M and ``columns`` its transpose. ``class_of`` is the slot of each word, -1 for later ones. There is one more
    slot than classes.
    """
    (indptr, indices, values), (t_indptr, t_indices, t_values) = rows, columns
    table, _, totals, used, _, _, _ = state
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
        insert(state, slot)
        if used.all():
            s, t = cheapest(state)
            if entries(table, s) < entries(table, t):
                s, t = t, s
            merge(state, s, t)
            for member in range(word + 1):
                if class_of[member] == t:
                    class_of[member] = s


@njit(cache=True, nogil=True)
def build_tree(state: State, merges: Array) -> None:
    """Merge all classes into one; ``merges`` receives the two slots of each merge in order; the first keeps its number."""
    for step in range(merges.shape[0]):
        s, t = cheapest(state)
        merge(state, s, t)
        merges[step, 0], merges[step, 1] = s, t
