"""Mean vectors of the words around single occurrences."""

from __future__ import annotations

from numba import njit

from firthian.arrays import Array


@njit(cache=True, nogil=True)
def mean_contexts(
    ids: Array,
    rows: Array,
    spans: tuple[Array, Array, Array, Array],
    window: int,
    matrix: Array,
    out: Array,
    known: Array,
) -> None:
    """Write the mean vector of the ``window`` words on each side of every occurrence, and of how many words it is.

    ``spans`` are, for each occurrence, its first position, the position after it, and the ends of its document. ``rows``
    maps the ids of words to rows of ``matrix``, -1 for words without a vector.
    """
    first, after, begin, end = spans
    for n in range(first.size):
        out[n] = 0.0
        count = 0
        for place in range(max(begin[n], first[n] - window), min(end[n], after[n] + window)):
            if first[n] <= place < after[n]:
                continue
            row = rows[ids[place]]
            if row >= 0:
                count += 1
                for k in range(matrix.shape[1]):
                    out[n, k] += matrix[row, k]
        if count:
            for k in range(matrix.shape[1]):
                out[n, k] /= count
        known[n] = count


@njit(cache=True, nogil=True)
def group_sums(values: Array, known: Array, groups: Array, sums: Array, sizes: Array) -> None:
    """Add the rows of ``values`` that are ``known`` to the rows ``groups`` of ``sums``, in order."""
    for n in range(groups.size):
        if known[n]:
            sizes[groups[n]] += 1
            for k in range(values.shape[1]):
                sums[groups[n], k] += values[n, k]


@njit(cache=True, nogil=True)
def sort_positions(ids: Array, pointers: Array, positions: Array) -> None:
    """Write where each word occurs, ``positions[pointers[w]:pointers[w + 1]]``, ascending."""
    fill = pointers[:-1].copy()
    for place in range(ids.size):
        word = ids[place]
        positions[fill[word]] = place
        fill[word] += 1
