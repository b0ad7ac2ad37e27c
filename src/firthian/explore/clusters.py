"""Groups of words: k-means on directions, each group named by the words at its center."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.runtime.run import one_blas_thread

#: Centers are found from at most so many rows, evenly spread; every row is then given to its center.
_FIT_ROWS = 20_000

_BLOCK = 8192
_SWEEPS = 50


@dataclass(frozen=True)
class Clusters:
    """The group of each row, largest group first, and the centers, of length 1."""

    labels: Array
    centers: Array

    @one_blas_thread()
    def names(self, rows: Array, words: list[str], topn: int = 3) -> list[str]:
        """Name each group by the words nearest to its center, among the first (most frequent) two thousand."""
        shown = min(2000, len(rows))
        cosines = rows[:shown] @ self.centers.T
        names = []
        for group in range(len(self.centers)):
            own = np.flatnonzero(self.labels[:shown] == group)
            best = own[np.argsort(-cosines[own, group], kind="stable")[:topn]]
            names.append(", ".join(words[i] for i in best) or "…")
        return names


def find_clusters(rows: Array, number: int, seed: int = 1) -> Clusters:
    """Group rows of length 1 around ``number`` centers by cosine (spherical k-means, Dhillon and Modha 2001).

    >>> rows = np.array([[1, 0], [0.8, 0.6], [0, 1], [1, 0]], dtype=np.float32)
    >>> find_clusters(rows, 2).labels.tolist()
    [0, 0, 1, 0]
    """
    if number < 1:
        raise FirthianError(f"clusters must be at least 1, got {number}", hint="12 is usual")
    number = min(number, len(rows))
    random = np.random.default_rng([seed, 41])
    some = rows[:: max(1, -(-len(rows) // _FIT_ROWS))]
    with one_blas_thread():
        centers = _start(some, number, random)
        labels = np.full(len(some), -1)
        for _ in range(_SWEEPS):
            found = _assign(some, centers)
            if np.array_equal(found, labels):
                break
            labels = found
            centers = _means(some, labels, centers)
        labels = _assign(rows, centers)
    # Large groups get the first colors, which are the easiest to tell apart.
    order = np.argsort(-np.bincount(labels, minlength=number), kind="stable")
    rank = np.empty(number, dtype=np.int64)
    rank[order] = np.arange(number)
    return Clusters(rank[labels], centers[order])


def _start(rows: Array, number: int, random: np.random.Generator) -> Array:
    """Choose rows far from each other, as k-means++ does (Arthur and Vassilvitskii 2007), with 1 - cosine."""
    chosen = [int(random.integers(len(rows)))]
    distance = np.full(len(rows), np.inf)
    for _ in range(number - 1):
        distance = np.minimum(distance, np.maximum(0, 1 - (rows @ rows[chosen[-1]]).astype(np.float64)))
        total = distance.sum()
        weights = distance / total if total > 0 else np.full(len(rows), 1 / len(rows))
        chosen.append(int(random.choice(len(rows), p=weights)))
    return np.array(rows[chosen])


def _assign(rows: Array, centers: Array) -> Array:
    return np.concatenate([(rows[at : at + _BLOCK] @ centers.T).argmax(axis=1) for at in range(0, len(rows), _BLOCK)])


def _means(rows: Array, labels: Array, centers: Array) -> Array:
    """Move each center to the direction of its rows' sum; one without rows stays where it is."""
    moved = centers.copy()
    for group in range(len(centers)):
        own = rows[labels == group]
        total = own.sum(axis=0, dtype=np.float64)
        length = float(np.sqrt(total @ total))
        if length > 0:
            moved[group] = total / length
    return moved
