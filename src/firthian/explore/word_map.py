"""A map of words: who is on it, where, in which group, and for Bayesian vectors how surely."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.explore.clusters import find_clusters
from firthian.explore.projection import Options, project, unit_rows
from firthian.runtime.progress import Progress, Silent
from firthian.vectors.uncertainty import covariances, has_uncertainty
from firthian.vectors.vectors import Vectors

#: Ellipses are given for so many words at most, the first ones: more could not be told apart.
ELLIPSES = 1000

#: An ellipse holds about 90 % of a normal distribution on the plane: sqrt(-2 log 0.1) standard deviations.
DEVIATIONS = 2.146


@dataclass(frozen=True)
class WordMap:
    """Words, their frequencies, points on a plane, groups, and the names of the groups.

    ``ellipses`` has a row (half width, half height, angle in degrees) for each of the first words, where known.
    """

    words: list[str]
    counts: Array
    points: Array
    groups: Array
    names: list[str]
    method: str
    ellipses: Array = field(default_factory=lambda: np.empty((0, 3)))

    def __len__(self) -> int:
        return len(self.words)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON knows it; points are rounded to what a screen can show."""
        scale = max(float(np.abs(self.points).max(initial=0)), 1e-30)
        digits = max(0, 5 - int(np.floor(np.log10(scale))))
        return {
            "method": self.method,
            "words": self.words,
            "counts": self.counts.tolist(),
            "x": np.round(self.points[:, 0].astype(np.float64), digits).tolist(),
            "y": np.round(self.points[:, 1].astype(np.float64), digits).tolist(),
            "groups": self.groups.tolist(),
            "names": self.names,
            "ellipses": np.round(self.ellipses, digits + 1).tolist(),
        }


def choose_words(vectors: Vectors, limit: int, words: Sequence[str] | None = None) -> Array:
    """Return the rows of the named words, or of the first, most frequent ones; each word once."""
    if words is not None:
        rows = np.array(vectors.numbers(dict.fromkeys(words)), dtype=np.int64)
    else:
        if limit < 1:
            raise FirthianError(f"a map needs two words or more, got {limit}", hint="raise --limit")
        rows = np.arange(min(limit, len(vectors)))
    if rows.size < 2:
        raise FirthianError(f"a map needs two words or more, got {rows.size}", hint="name more with --words")
    return rows


def make_map(
    vectors: Vectors,
    *,
    limit: int = 2000,
    words: Sequence[str] | None = None,
    options: Options | None = None,
    clusters: int = 12,
    folder: str | os.PathLike[str] | None = None,
    keep: bool = True,
    workers: int | None = None,
    progress: Progress | None = None,
) -> WordMap:
    """Choose words, put them on a plane, and color them by groups of like words.

    >>> import firthian as ft
    >>> matrix = np.array([[1, 0, 0], [0.9, 0.1, 0], [0, 1, 0], [0, 0.9, 0.1]])
    >>> vectors = ft.Vectors(matrix, ft.Vocabulary(["tea", "coffee", "sun", "moon"]))
    >>> made = make_map(vectors, options=Options("pca"), clusters=2)
    >>> [made.names[group] for group in made.groups]
    ['tea, coffee', 'tea, coffee', 'sun, moon', 'sun, moon']
    """
    options = options or Options()
    progress = progress or Silent()
    numbers = choose_words(vectors, limit, words)
    found = project(vectors, numbers, options, folder=folder, keep=keep, workers=workers, progress=progress)
    progress.start("grouping")
    rows = unit_rows(vectors, numbers)
    groups = find_clusters(rows, clusters, options.seed)
    names = [vectors.vocabulary.words[i] for i in numbers.tolist()]
    ellipses = np.empty((0, 3))
    if found.axes is not None and has_uncertainty(vectors):
        ellipses = _ellipses(vectors, numbers[:ELLIPSES], found.axes)
    return WordMap(
        names,
        np.asarray(vectors.vocabulary.counts)[numbers],
        found.points,
        groups.labels,
        groups.names(rows, names),
        options.method,
        ellipses,
    )


def _ellipses(vectors: Vectors, numbers: Array, axes: Array) -> Array:
    """Return the ellipse of each word's posterior on the plane.

    The map shows directions, u/|u|; to first order a covariance S of u becomes S/|u|² across u, so the part along u is
    taken out before it is projected.
    """
    means = vectors.matrix[numbers].astype(np.float64)
    lengths = np.maximum(np.sqrt(np.einsum("ij,ij->i", means, means)), 1e-30)
    units = means / lengths[:, None]
    # Rows of the Jacobian of the projected direction: (A - (A·u)uᵀ)/|u| with the axes A.
    along = units @ axes
    slopes = (axes.T[None] - along[:, :, None] * units[:, None, :]) / lengths[:, None, None]
    out = np.empty((len(numbers), 3))
    for first in range(0, len(numbers), 128):
        here = slice(first, first + 128)
        shapes = slopes[here] @ covariances(vectors, numbers[here]) @ slopes[here].transpose(0, 2, 1)
        values, basis = np.linalg.eigh(shapes)
        out[here, :2] = DEVIATIONS * np.sqrt(np.maximum(values[:, ::-1], 0))
        out[here, 2] = np.degrees(np.arctan2(basis[:, 1, 1], basis[:, 0, 1]))
    return out
