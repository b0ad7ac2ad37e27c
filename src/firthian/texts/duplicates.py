"""Near-duplicates: all pairs of rows with a cosine above a threshold, in blocks of exact products."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.options import Option, option_of
from firthian.runtime.executor import Threads
from firthian.runtime.run import one_blas_thread
from firthian.vectors.codes import Codes
from firthian.vectors.rows import scale_to_unit

Threshold = Annotated[float, Option("minimum cosine of near-duplicates", low=0.5, high=1)]

_BLOCK = 4096

#: Rounding to a byte moves the cosine of equal texts by less than this.
_ROUNDING = 1e-4

#: Pairs that are kept in memory.
_MOST_PAIRS = 50_000_000


def near_duplicates(parts: list[Codes], threshold: float) -> list[list[int]]:
    """Return groups of rows that are linked by cosines of at least ``threshold``, largest groups first."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    least = option_of("threshold", Threshold).check(threshold) - _ROUNDING
    blocks = [(part, first) for part in parts for first in range(0, len(part), _BLOCK)]
    starts = np.cumsum([0, *(min(_BLOCK, len(part) - first) for part, first in blocks)])
    pairs: list[tuple[Array, Array]] = []
    found = 0

    def rows(number: int) -> Array:
        part, first = blocks[number]
        return scale_to_unit(part[slice(first, min(first + _BLOCK, len(part)))])

    with one_blas_thread():
        for one in range(len(blocks)):
            left = rows(one)

            def compare(other: int, one: int = one, left: Array = left) -> tuple[Array, Array]:
                cosines = left @ (left if other == one else rows(other)).T
                first, second = np.nonzero(cosines >= least)
                first, second = first + starts[one], second + starts[other]
                kept = first < second
                return first[kept], second[kept]

            for result in Threads().map(compare, range(one, len(blocks))):
                if result[0].size:
                    pairs.append(result)
                    found += result[0].size
                if found > _MOST_PAIRS:
                    raise FirthianError(f"more than {_MOST_PAIRS:,} pairs are that similar", hint="raise `threshold`")
    if not pairs:
        return []
    first, second = (np.concatenate(ends) for ends in zip(*pairs, strict=True))
    number = int(starts[-1])
    graph = coo_array((np.ones(first.size, bool), (first, second)), shape=(number, number))
    labels = connected_components(graph, directed=False)[1]
    linked = np.unique(np.concatenate([first, second]))
    order = linked[np.argsort(labels[linked], kind="stable")]
    cuts = np.flatnonzero(np.diff(labels[order])) + 1
    groups = [group.tolist() for group in np.split(order, cuts)]
    return sorted(groups, key=lambda group: (-len(group), group[0]))
