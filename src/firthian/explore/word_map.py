"""A map of words: their positions, clusters, and for Bayesian vectors their uncertainty."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.explore.projection import ProjectionOptions, project, unit_rows
from firthian.explore.regions import name_regions
from firthian.runtime.progress import Progress, usual_progress
from firthian.runtime.run import one_blas_thread
from firthian.runtime.table import Column, Table, Tabular
from firthian.vectors.lookup import with_composed
from firthian.vectors.uncertainty import covariances, has_uncertainty, uncertainties
from firthian.vectors.vectors import Vectors

#: The most rows, evenly spread, used to find the centers; every row is then assigned to one.
_FIT_ROWS = 20_000

_BLOCK = 8192
_SWEEPS = 50


@dataclass(frozen=True)
class Clusters:
    """The cluster of each row, largest cluster first, and the centers, of length 1."""

    labels: Array
    centers: Array

    @one_blas_thread()
    def names(self, rows: Array, words: list[str], topn: int = 3) -> list[str]:
        """Name each cluster by the words nearest to its center, among the first (most frequent) 2,000."""
        shown = min(2000, len(rows))
        cosines = rows[:shown] @ self.centers.T
        names = []
        for group in range(len(self.centers)):
            own = np.flatnonzero(self.labels[:shown] == group)
            best = own[np.argsort(-cosines[own, group], kind="stable")[:topn]]
            names.append(", ".join(words[i] for i in best) or "…")
        return names


def find_clusters(rows: Array, number: int, seed: int = 1) -> Clusters:
    """Cluster rows of length 1 around ``number`` centers by cosine (spherical k-means, Dhillon and Modha 2001).

    >>> rows = np.array([[1, 0], [0.8, 0.6], [0, 1], [1, 0]], dtype=np.float32)
    >>> find_clusters(rows, 2).labels.tolist()
    [0, 0, 1, 0]
    """
    if number < 1:
        raise FirthianError(f"`clusters` must be at least 1, got {number}", hint="the default is 12")
    number = min(number, len(rows))
    random = np.random.default_rng([seed, 41])
    some = rows[:: max(1, -(-len(rows) // _FIT_ROWS))]
    with one_blas_thread():
        centers = _start(some, number, random)
        labels = np.full(len(some), -1)
        for _ in range(_SWEEPS):
            assigned = _assign(some, centers)
            if np.array_equal(assigned, labels):
                break
            labels = assigned
            centers = _means(some, labels, centers)
        labels = _assign(rows, centers)
    # Large clusters get the first colors, which are the most distinct.
    order = np.argsort(-np.bincount(labels, minlength=number), kind="stable")
    rank = np.empty(number, dtype=np.int64)
    rank[order] = np.arange(number)
    return Clusters(rank[labels], centers[order])


def _start(rows: Array, number: int, random: np.random.Generator) -> Array:
    """Choose initial centers by k-means++ (Arthur and Vassilvitskii 2007), with distance 1 - cosine."""
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
    """Move each center to the direction of its rows' sum; a center without rows stays."""
    moved = centers.copy()
    for group in range(len(centers)):
        own = rows[labels == group]
        total = own.sum(axis=0, dtype=np.float64)
        length = float(np.sqrt(total @ total))
        if length > 0:
            moved[group] = total / length
    return moved


#: Ellipses are drawn for the first words only; more could not be told apart.
ELLIPSES = 1000

#: An ellipse covers 90 % of a normal distribution on the plane: sqrt(-2 log 0.1) standard deviations.
DEVIATIONS = 2.146


@dataclass(frozen=True)
class WordMap(Tabular):
    """Words, their frequencies, points on a plane, clusters, and the names of the clusters.

    ``ellipses`` has a row (half width, half height, angle in degrees) for each of the first words, if known.
    """

    words: list[str]
    counts: Array
    points: Array
    groups: Array
    names: list[str]
    method: str
    ellipses: Array = field(default_factory=lambda: np.empty((0, 3)))
    #: Pairs of rows: from where a word was to where it is.
    arrows: Array = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))
    #: Whether the groups are the user's, not clusters that were found.
    named: bool = False
    #: Names of regions at several scales, see ``name_regions``.
    regions: list[list[Any]] = field(default_factory=list)
    #: The relative error of each word's vector, if known.
    uncertainty: Array = field(default_factory=lambda: np.empty(0))

    @property
    def table(self) -> Table:
        """The words with their frequencies, points and groups."""
        columns = (
            Column("word"), Column("count", int), Column("x", float), Column("y", float), Column("group", int),
            Column("group_name"),
        )  # fmt: skip
        groups = self.groups.tolist()
        rows = zip(
            self.words, self.counts.tolist(), *self.points.T.astype(float).tolist(), groups,
            (self.names[group] for group in groups), strict=True,
        )  # fmt: skip
        return Table(f"Map of words ({self.method})", columns, list(rows))

    def __len__(self) -> int:
        return len(self.words)

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON, with points rounded to screen precision."""
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
            "regions": [[[round(x, digits), round(y, digits), name] for x, y, name in level] for level in self.regions],
            "uncertainty": np.round(self.uncertainty, 4).tolist(),
        }


def choose_words(vectors: Vectors, limit: int, words: Sequence[str] | None = None) -> Array:
    """Return the rows of the given words, without duplicates, or of the ``limit`` most frequent ones."""
    if words is not None:
        rows = np.array(vectors.numbers(dict.fromkeys(words)), dtype=np.int64)
    else:
        if limit < 1:
            raise FirthianError(f"a map needs two words or more, got {limit}", hint="raise `limit`")
        rows = np.arange(min(limit, len(vectors)))
    if rows.size < 2:
        raise FirthianError(f"a map needs two words or more, got {rows.size}", hint="name more `words`")
    return rows


def make_map(
    vectors: Vectors,
    *,
    limit: int = 2000,
    words: Sequence[str] | None = None,
    options: ProjectionOptions | None = None,
    clusters: int = 12,
    folder: str | os.PathLike[str] | None = None,
    keep: bool = True,
    workers: int | None = None,
    progress: Progress | None = None,
) -> WordMap:
    """Choose words, project them onto a plane, and cluster them.

    >>> import firthian as ft
    >>> matrix = np.array([[1, 0, 0], [0.9, 0.1, 0], [0, 1, 0], [0, 0.9, 0.1]])
    >>> vectors = ft.Vectors(matrix, ft.Vocabulary(["tea", "coffee", "sun", "moon"]))
    >>> made = make_map(vectors, options=ProjectionOptions("pca"), clusters=2)
    >>> [made.names[group] for group in made.groups]
    ['tea, coffee', 'tea, coffee', 'sun, moon', 'sun, moon']
    """
    options = options or ProjectionOptions()
    progress = progress or usual_progress()
    vectors = with_composed(vectors, words or ())
    numbers = choose_words(vectors, limit, words)
    projection = project(vectors, numbers, options, folder=folder, keep=keep, workers=workers, progress=progress)
    progress.start("clustering")
    rows = unit_rows(vectors, numbers)
    groups = find_clusters(rows, clusters, options.seed)
    names = [vectors.vocabulary.words[i] for i in numbers.tolist()]
    ellipses = np.empty((0, 3))
    if projection.axes is not None and has_uncertainty(vectors):
        ellipses = _ellipses(vectors, numbers[:ELLIPSES], projection.axes)
    counts, labels = np.asarray(vectors.vocabulary.counts)[numbers], groups.names(rows, names)
    certain = np.empty(0)
    if has_uncertainty(vectors) and int(numbers.max()) < len(vectors):
        certain = np.asarray(uncertainties(vectors)["relative"])[numbers]
    return WordMap(
        names, counts, projection.points, groups.labels, labels, options.method, ellipses,
        regions=name_regions(projection.points, rows, names), uncertainty=certain,
    )  # fmt: skip


def map_axes(vectors: Vectors, x: str, y: str, limit: int) -> WordMap:
    """Place the most frequent words between two pairs of poles, such as ``bad:good`` and ``man:woman``.

    A coordinate is the cosine with the difference of the unit vectors of the poles; a pole may be several words, joined by
    commas.
    """
    numbers = choose_words(vectors, limit)
    rows = unit_rows(vectors, numbers)
    columns = []
    for name, text in (("x", x), ("y", y)):
        poles = [[word.strip() for word in side.split(",") if word.strip()] for side in text.split(":")]
        if len(poles) != 2 or not all(poles):
            raise FirthianError(f"`{name}` must be two poles, got {text!r}", hint="write bad:good")
        low, high = (vectors.get_mean_vector(side, ignore_missing=False) for side in poles)
        columns.append(vectors.cosine_similarities(high - low, rows))
    names = [vectors.vocabulary.words[at] for at in numbers.tolist()]
    groups = find_clusters(rows, 12)
    points, counts = np.stack(columns, axis=1).astype(np.float32), np.asarray(vectors.vocabulary.counts)[numbers]
    return WordMap(names, counts, points, groups.labels, groups.names(rows, names), "axes")


def grouped(word_map: WordMap, groups: Mapping[str, str]) -> WordMap:
    """Return a map with groups of your own, by word; other words are in the group ``other``."""
    names = list(dict.fromkeys(groups.values()))
    if any(word not in groups for word in word_map.words):
        names.append("other")
    numbers = np.array([names.index(groups.get(word, "other")) for word in word_map.words], dtype=np.int64)
    return replace(word_map, groups=numbers, names=names, named=True)


def map_change(old: Vectors, new: Vectors, words: Sequence[str], options: ProjectionOptions | None = None) -> WordMap:
    """Map words where they were and where they are: ``new`` is rotated onto ``old``, and arrows connect the two places."""
    listed = list(dict.fromkeys(words))
    for vectors, name in ((old, "old"), (new, "new")):
        for word in listed:
            if word not in vectors:
                raise FirthianError(f"{word!r} is not in the vocabulary of the {name} vectors", hint="omit it")
    turned = new.align_to(old).vectors
    matrix = np.concatenate([old.subset(listed).to_numpy(), turned.subset(listed).to_numpy()])
    counts = [vectors.vocabulary.counts[vectors.vocabulary[word]] for vectors in (old, new) for word in listed]
    # A word stands for itself before; with an arrow it is what it has become.
    both = Vectors(matrix, type(old.vocabulary)([*listed, *(f"→ {word}" for word in listed)], counts))
    made = make_map(both, limit=len(both), options=options or ProjectionOptions("pca"), clusters=1, keep=False)
    arrows = np.stack([np.arange(len(listed)), np.arange(len(listed)) + len(listed)], axis=1)
    return replace(made, arrows=arrows, groups=np.repeat([0, 1], len(listed)), names=["before", "after"], named=True)


def _ellipses(vectors: Vectors, numbers: Array, axes: Array) -> Array:
    """Return the ellipse of each word's posterior on the plane.

    The map shows directions, u/|u|; to first order a covariance S of u becomes S/|u|² across u, so the component along
    u is removed before the projection.
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
