"""Words on a plane: PCA, t-SNE or UMAP of their directions, kept so that the same map is never computed twice.

All methods see vectors of length 1, so that near means a high cosine. A projection is named by a checksum of what went
into it; it is kept in the folder of the vectors (``maps/``), or in the user's cache where that cannot be written.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.disk.atomic import staged
from firthian.disk.tensors import read_tensors, write_tensors
from firthian.errors import FirthianError, require, suggest
from firthian.runtime.executor import check_workers
from firthian.runtime.progress import Progress, Silent
from firthian.runtime.run import one_blas_thread
from firthian.vectors.rows import dense_rows
from firthian.vectors.vectors import Vectors

METHODS = ("pca", "tsne", "umap")

#: Fewer words than this make no map by neighbors.
_FEWEST = 4

#: Rows that are projected or compared together; also fixes the order of sums.
_BLOCK = 1024

#: Principal axes are found from at most so many rows, evenly spread; a plane needs no more.
_AXES_ROWS = 20_000

#: Exact neighbors take the square of the words in time; beyond this, Annoy's approximate ones are used.
_EXACT_NEIGHBORS = 30_000

#: Maps of up to so many words are made in one thread.
_ONE_THREAD = 2000

#: Sparse vectors are first brought down to so many dimensions.
_DENSE_SIZE = 50

#: Sweeps of t-SNE: with the attraction exaggerated, then without (the defaults of van der Maaten and of openTSNE).
_EARLY, _LATE, _EXAGGERATION = 250, 500, 12
_REPORT_EVERY = 25


@dataclass(frozen=True)
class ProjectionOptions:
    """What decides a projection besides the vectors."""

    method: str = "tsne"
    perplexity: float = 30.0
    seed: int = 1

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise FirthianError(f"there is no projection {self.method!r}", hint=suggest(self.method, METHODS))
        if not 1 <= self.perplexity <= 1000:
            raise FirthianError(f"`perplexity` must be from 1 to 1000, got {self.perplexity}", hint="the default is 30")
        if not 0 <= self.seed < 2**32:
            raise FirthianError(f"`seed` must be from 0 to 2^32 - 1, got {self.seed}", hint="the default is 1")


@dataclass(frozen=True)
class Projection:
    """Points of words, and for a linear projection its two axes (columns × 2), else None."""

    points: Array
    axes: Array | None = None


def unit_rows(vectors: Vectors, numbers: Array) -> Array:
    """Return the chosen rows, dense and of length 1; sparse ones brought down to a few dimensions by an SVD."""
    if isinstance(vectors.matrix, np.ndarray):
        rows = vectors.matrix[numbers].astype(np.float32)
    else:
        rows = _reduced(vectors.matrix[numbers])
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    bad = np.flatnonzero(~np.isfinite(lengths))
    if bad.size:
        word = vectors.vocabulary.words[int(numbers[bad[0]])]
        raise FirthianError(f"the vector of {word!r} is not finite", hint="leave this word out")
    return np.asarray(np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0))


def _reduced(rows: Any) -> Array:
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import svds

    size = min(_DENSE_SIZE, min(rows.shape) - 1)
    if size < 2:
        return dense_rows(rows, np.arange(rows.shape[0]))
    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    scaled = diags_array(np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0)) @ rows
    with one_blas_thread():
        left, values, _ = svds(scaled, size, v0=np.ones(min(rows.shape)))
    return np.asarray(left * values, dtype=np.float32)


def project(
    vectors: Vectors,
    numbers: Array,
    options: ProjectionOptions | None = None,
    *,
    folder: str | os.PathLike[str] | None = None,
    keep: bool = True,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Projection:
    """Put words (by their rows) on a plane; a map that was made before is read from where it was kept.

    ``folder`` is where the vectors are. The number of workers does not change the result of PCA and t-SNE.
    """
    options = options or ProjectionOptions()
    rows = unit_rows(vectors, np.asarray(numbers, dtype=np.int64))
    if options.method == "pca":
        return _pca(rows)
    if len(rows) < _FEWEST:
        raise FirthianError(
            f"{options.method} needs more than {len(rows)} words", hint=f"use at least {_FEWEST} words, or `method=pca`"
        )
    name = f"{options.method}-{_fingerprint(rows, options)}.safetensors"
    kept = _find(name, len(rows), folder) if keep else None
    if kept is not None:
        return Projection(kept)
    method: Callable[..., Array] = _tsne if options.method == "tsne" else _umap
    points = method(rows, options, check_workers(workers), progress or Silent())
    if keep:
        _keep(name, points, folder)
    return Projection(points)


def _pca(rows: Array) -> Projection:
    """Project onto the two directions of largest variance; signs are fixed by the largest entry of each axis."""
    if min(rows.shape) < 2:
        raise FirthianError(f"a map of {rows.shape[0]} words in {rows.shape[1]} dimensions", hint="give more words")
    some = rows[:: max(1, -(-len(rows) // _AXES_ROWS))].astype(np.float64)
    center = some.mean(axis=0)
    with one_blas_thread():
        _, vectors = np.linalg.eigh((some - center).T @ (some - center))
        axes = vectors[:, :-3:-1]
        axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])
        points = np.concatenate([(rows[at : at + _BLOCK] - center) @ axes for at in range(0, len(rows), _BLOCK)])
    return Projection(points.astype(np.float32), axes)


def _tsne(rows: Array, options: ProjectionOptions, workers: int, progress: Progress) -> Array:
    """Minimize the Kullback-Leibler divergence of van der Maaten and Hinton 2008, by openTSNE, from PCA."""
    tsne = require("openTSNE", "viz")
    affinity = require("openTSNE.affinity", "viz")
    neighbors = require("openTSNE.nearest_neighbors", "viz")
    count = len(rows)
    # Threads wait for each other 750 times: few words are faster without them.
    workers = workers if count > _ONE_THREAD else 1
    # Each word needs 3 · perplexity neighbors.
    perplexity = min(options.perplexity, (count - 1) / 3)
    wanted = max(1, min(count - 1, int(3 * perplexity)))
    progress.start("finding neighbors", count)
    if count <= _EXACT_NEIGHBORS:
        index = neighbors.PrecomputedNeighbors(*exact_neighbors(rows, wanted, progress))
    else:
        index = neighbors.Annoy(rows, wanted, metric="euclidean", n_jobs=1, random_state=options.seed)
    affinities = affinity.PerplexityBasedNN(knn_index=index, perplexity=perplexity, n_jobs=workers)
    start = _pca(rows).points.astype(np.float64)
    # A spread of 1e-4, as t-SNE begins; words with equal vectors must not begin at one place.
    start *= 1e-4 / max(float(start[:, 0].std()), 1e-12)
    start += np.random.default_rng([options.seed, 40]).normal(0, 1e-6, start.shape)
    progress.start("t-SNE", _EARLY + _LATE)

    def report(sweep: int, divergence: float, _: Any) -> None:
        progress.advance(_REPORT_EVERY, f"divergence {divergence:.3f}")

    embedding = tsne.TSNEEmbedding(
        start, affinities, n_jobs=workers, random_state=options.seed,
        negative_gradient_method="bh" if count < 4000 else "fft",
        callbacks=report, callbacks_every_iters=_REPORT_EVERY,
    )  # fmt: skip
    embedding = embedding.optimize(_EARLY, exaggeration=_EXAGGERATION, momentum=0.5)
    embedding = embedding.optimize(_LATE, momentum=0.8)
    return np.asarray(embedding, dtype=np.float32)


def exact_neighbors(rows: Array, wanted: int, progress: Progress | None = None) -> tuple[Array, Array]:
    """Return the nearest other rows of each row, all of length 1, and their Euclidean distances, nearest first.

    >>> neighbors, distances = exact_neighbors(np.array([[1, 0], [0, 1], [0.8, 0.6]], dtype=np.float32), 1)
    >>> neighbors.ravel().tolist(), distances.ravel().round(3).tolist()
    ([2, 2, 0], [0.632, 0.894, 0.632])
    """
    neighbors = np.empty((len(rows), wanted), dtype=np.int64)
    distances = np.empty((len(rows), wanted))
    with one_blas_thread():
        for first in range(0, len(rows), _BLOCK):
            here = slice(first, min(first + _BLOCK, len(rows)))
            cosines = rows[here] @ rows.T
            own = np.arange(cosines.shape[0])
            cosines[own, first + own] = -np.inf
            best = np.argpartition(-cosines, wanted - 1, axis=1)[:, :wanted]
            best.sort(axis=1)
            value = np.take_along_axis(cosines, best, axis=1)
            order = np.argsort(-value, axis=1, kind="stable")
            neighbors[here] = np.take_along_axis(best, order, axis=1)
            # |u - v|^2 = 2 - 2 cos
            distances[here] = np.sqrt(np.maximum(0, 2 - 2 * np.take_along_axis(value, order, axis=1)))
            if progress is not None:
                progress.advance(cosines.shape[0])
    return neighbors, distances


def _umap(rows: Array, options: ProjectionOptions, workers: int, progress: Progress) -> Array:
    """Use UMAP (McInnes et al. 2018) with its own defaults; a fixed seed makes it run on one thread."""
    with warnings.catch_warnings():
        # It says that its parametric variant, which we do not use, is missing.
        warnings.simplefilter("ignore", ImportWarning)
        umap = require("umap", "umap")
    progress.start("UMAP")
    neighbors = max(2, min(15, len(rows) - 1))
    made = umap.UMAP(n_neighbors=neighbors, metric="cosine", random_state=options.seed, n_jobs=1)
    return np.asarray(made.fit_transform(rows), dtype=np.float32)


def _fingerprint(rows: Array, options: ProjectionOptions) -> str:
    digest = hashlib.sha256(repr((rows.shape, options)).encode())
    digest.update(np.ascontiguousarray(rows).data)
    return digest.hexdigest()[:24]


def _places(folder: str | os.PathLike[str] | None) -> list[Path]:
    """Return the folders where maps may be, the preferred one first."""
    from firthian.datasets.sources import cache_folder

    places = [cache_folder() / "maps"]
    if folder is not None and (Path(folder) / "vectors.json").is_file():
        places.insert(0, Path(folder) / "maps")
    return places


def _find(name: str, count: int, folder: str | os.PathLike[str] | None) -> Array | None:
    for place in _places(folder):
        try:
            table = {"points": {"dtype": "F32", "shape": [count, 2]}}
            points = np.array(read_tensors(place / name, table, verify=False)["points"])
        except FirthianError:
            # A damaged file is as good as none: the map is made again.
            continue
        if np.isfinite(points).all():
            return points
    return None


def _keep(name: str, points: Array, folder: str | os.PathLike[str] | None) -> None:
    """Write to the first place that can be written; a map that cannot be kept anywhere is still a map."""
    for place in _places(folder):
        try:
            place.mkdir(parents=True, exist_ok=True)
            with staged(place / name) as staging:
                write_tensors(staging, {"points": points})
        except OSError:
            continue
        return
