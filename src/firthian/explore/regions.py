"""Names for the regions of a map, at several scales: what its words are about, coarse from afar and fine from close by."""

from __future__ import annotations

from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.runtime.run import one_blas_thread

#: Regions by scale, the coarsest first.
SCALES = (8, 40, 200)

#: A region needs this many words, and a name comes from the most frequent of them.
_FEWEST, _NAMED_FROM = 8, 60

#: The most frequent words of a vocabulary are function words, which name nothing.
_FUNCTION_WORDS = 150

_SWEEPS = 25
_FIT_POINTS = 20_000


def name_regions(points: Array, rows: Array, words: list[str], scales: tuple[int, ...] = SCALES) -> list[list[Any]]:
    """Return, for each scale, ``[x, y, name]`` of its regions; words come by frequency, ``rows`` have length 1."""
    levels = []
    for number in scales:
        if len(words) < number * _FEWEST:
            break
        labels = _regions(points.astype(np.float64), number)
        level = []
        for region in range(number):
            own = np.flatnonzero(labels == region)
            candidates = own[own >= min(_FUNCTION_WORDS, len(words) // 10)][:_NAMED_FROM]
            if len(own) < _FEWEST or not len(candidates):
                continue
            with one_blas_thread():
                center = rows[own].sum(axis=0, dtype=np.float64)
                order = np.argsort(-(rows[candidates] @ center), kind="stable")
            middle = np.median(points[own], axis=0)
            level.append([*middle.astype(float).tolist(), _name([words[at] for at in candidates[order]])])
        levels.append(level)
    return levels


def _name(words: list[str]) -> str:
    """Return the first word, and the next one that is not another form of it.

    >>> _name(["game", "games", "gamer", "team"])
    'game, team'
    """
    first = words[0]
    for word in words[1:]:
        letters = max(3, min(len(first), len(word)) - 2)
        if word[:letters] != first[:letters]:
            return f"{first}, {word}"
    return first


def _regions(points: Array, number: int) -> Array:
    """Divide points on a plane by k-means, from starts that spread evenly: the same points give the same regions."""
    from scipy.spatial import cKDTree

    some = points[:: max(1, len(points) // _FIT_POINTS)]
    # Halve the widest part until there are enough parts; their means are the starts.
    parts = [np.arange(len(some))]
    while len(parts) < number:
        parts.sort(key=len)
        widest = parts.pop()
        axis = int(np.ptp(some[widest], axis=0).argmax())
        order = widest[np.argsort(some[widest, axis], kind="stable")]
        parts += [order[: len(order) // 2], order[len(order) // 2 :]]
    centers = np.array([some[part].mean(axis=0) for part in parts])
    for _ in range(_SWEEPS):
        nearest = cKDTree(centers).query(some)[1]
        sizes = np.bincount(nearest, minlength=number)
        sums = np.stack([np.bincount(nearest, weights=some[:, axis], minlength=number) for axis in (0, 1)], axis=1)
        centers = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centers)
    return np.asarray(cKDTree(centers).query(points)[1])
