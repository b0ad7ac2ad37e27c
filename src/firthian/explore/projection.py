"""Words on a plane: PCA, t-SNE or UMAP of their directions, cached so that no map is computed twice.

All methods get vectors of length 1, so near means a high cosine. A projection is named by a checksum of its input and
cached in the folder of the vectors (``maps/``), or in the user's cache folder if that is read-only.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from firthian.arrays import Array
from firthian.disk.atomic import staged
from firthian.disk.tensors import read_tensors, write_tensors
from firthian.errors import FirthianError, require
from firthian.options import Option, declared
from firthian.runtime.executor import check_workers
from firthian.runtime.progress import Progress, usual_progress
from firthian.runtime.run import one_blas_thread
from firthian.vectors.rows import dense_rows
from firthian.vectors.vectors import Vectors

METHODS = ("pca", "tsne", "umap")

#: The fewest words for t-SNE and UMAP.
_FEWEST = 4

#: Rows projected or compared at once; it also fixes the order of sums.
_BLOCK = 1024

#: The most rows, evenly spread, used to find the principal axes.
_AXES_ROWS = 20_000

#: The most words for exact neighbors, which take quadratic time; beyond this, Annoy approximates them.
_EXACT_NEIGHBORS = 30_000

#: The most words for which t-SNE runs in one thread.
_ONE_THREAD = 2000

#: Sparse vectors are first reduced to this many dimensions.
_DENSE_SIZE = 50

#: t-SNE iterations with early exaggeration, then without (the defaults of van der Maaten and of openTSNE).
_EARLY, _LATE, _EXAGGERATION = 250, 500, 12
_REPORT_EVERY = 25


@dataclass(frozen=True)
class ProjectionOptions:
    """The settings of a projection."""

    method: Annotated[str, Option("projection", choices=METHODS)] = "tsne"
    perplexity: Annotated[float, Option("t-SNE's effective number of neighbors", low=1, high=1000)] = 30.0
    seed: Annotated[int, Option("random seed", low=0, high=2**32 - 1)] = 1

    def __post_init__(self) -> None:
        for name, option in declared(ProjectionOptions).items():
            option.check(getattr(self, name))


@dataclass(frozen=True)
class Projection:
    """Points of words, and the two axes (columns × 2) if the projection is linear, else None."""

    points: Array
    axes: Array | None = None


def unit_rows(vectors: Vectors, numbers: Array) -> Array:
    """Return the chosen rows, dense and of length 1; sparse ones are reduced by an SVD."""
    if isinstance(vectors.matrix, np.ndarray):
        rows = vectors.matrix[numbers].astype(np.float32)
    else:
        rows = _reduced(vectors.matrix[numbers])
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    bad = np.flatnonzero(~np.isfinite(lengths))
    if bad.size:
        word = vectors.vocabulary.words[int(numbers[bad[0]])]
        raise FirthianError(f"the vector of {word!r} is not finite", hint="exclude this word")
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
    """Project words (by their rows) onto a plane, or read the projection from the cache.

    ``folder`` is the folder of the vectors. The number of workers does not change the result of PCA and t-SNE.
    """
    options = options or ProjectionOptions()
    rows = unit_rows(vectors, np.asarray(numbers, dtype=np.int64))
    if options.method == "pca":
        return _pca(rows)
    if len(rows) < _FEWEST:
        few = f"use at least {_FEWEST} words, or `method=pca`"
        raise FirthianError(f"{options.method} needs more than {len(rows)} words", hint=few)
    name = f"{options.method}-{_fingerprint(rows, options)}.safetensors"
    kept = _find(name, len(rows), folder) if keep else None
    if kept is not None:
        return Projection(kept)
    method: Callable[..., Array] = _tsne if options.method == "tsne" else _umap
    points = method(rows, options, check_workers(workers), progress or usual_progress())
    if keep:
        _keep(name, points, folder)
    return Projection(points)


def _pca(rows: Array) -> Projection:
    """Project onto the two principal axes; the largest entry of each axis is positive."""
    if min(rows.shape) < 2:
        shape = f"{rows.shape[0]} × {rows.shape[1]}"
        raise FirthianError(f"a map needs two words and two dimensions, got {shape}", hint="add words")
    some = rows[:: max(1, -(-len(rows) // _AXES_ROWS))].astype(np.float64)
    center = some.mean(axis=0)
    with one_blas_thread():
        _, vectors = np.linalg.eigh((some - center).T @ (some - center))
        axes = vectors[:, :-3:-1]
        axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])
        points = np.concatenate([(rows[at : at + _BLOCK] - center) @ axes for at in range(0, len(rows), _BLOCK)])
    return Projection(points.astype(np.float32), axes)


def _tsne(rows: Array, options: ProjectionOptions, workers: int, progress: Progress) -> Array:
    """Run t-SNE (van der Maaten and Hinton 2008) by openTSNE, initialized with PCA."""
    tsne = require("openTSNE", "viz")
    affinity = require("openTSNE.affinity", "viz")
    neighbors = require("openTSNE.nearest_neighbors", "viz")
    count = len(rows)
    # Threads synchronize 750 times: few words are faster without them.
    workers = workers if count > _ONE_THREAD else 1
    # Each word needs 3 · perplexity neighbors.
    perplexity = min(options.perplexity, (count - 1) / 3)
    k = max(1, min(count - 1, int(3 * perplexity)))
    progress.start("finding neighbors", count)
    if count <= _EXACT_NEIGHBORS:
        index = neighbors.PrecomputedNeighbors(*exact_neighbors(rows, k, progress))
    else:
        index = neighbors.Annoy(rows, k, metric="euclidean", n_jobs=1, random_state=options.seed)
    affinities = affinity.PerplexityBasedNN(knn_index=index, perplexity=perplexity, n_jobs=workers)
    start = _pca(rows).points.astype(np.float64)
    # The usual initial spread of 1e-4, with noise so that words with equal vectors start apart.
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


def exact_neighbors(rows: Array, k: int, progress: Progress | None = None) -> tuple[Array, Array]:
    """Return the ``k`` nearest other rows of each row (all of length 1) and their Euclidean distances, nearest first.

    >>> neighbors, distances = exact_neighbors(np.array([[1, 0], [0, 1], [0.8, 0.6]], dtype=np.float32), 1)
    >>> neighbors.ravel().tolist(), distances.ravel().round(3).tolist()
    ([2, 2, 0], [0.632, 0.894, 0.632])
    """
    neighbors = np.empty((len(rows), k), dtype=np.int64)
    distances = np.empty((len(rows), k))
    with one_blas_thread():
        for first in range(0, len(rows), _BLOCK):
            here = slice(first, min(first + _BLOCK, len(rows)))
            cosines = rows[here] @ rows.T
            own = np.arange(cosines.shape[0])
            cosines[own, first + own] = -np.inf
            best = np.argpartition(-cosines, k - 1, axis=1)[:, :k]
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
    """Run UMAP (McInnes et al. 2018) with its defaults; a fixed seed limits it to one thread."""
    with warnings.catch_warnings():
        # UMAP warns that its parametric variant, which we do not use, is missing.
        warnings.simplefilter("ignore", ImportWarning)
        umap = require("umap", "umap")
    progress.start("UMAP")
    neighbors = max(2, min(15, len(rows) - 1))
    model = umap.UMAP(n_neighbors=neighbors, metric="cosine", random_state=options.seed, n_jobs=1)
    return np.asarray(model.fit_transform(rows), dtype=np.float32)


def _fingerprint(rows: Array, options: ProjectionOptions) -> str:
    digest = hashlib.sha256(repr((rows.shape, options)).encode())
    digest.update(np.ascontiguousarray(rows).data)
    return digest.hexdigest()[:24]


def _places(folder: str | os.PathLike[str] | None) -> list[Path]:
    """Return the folders where maps are cached, the preferred one first."""
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
            # A damaged file is replaced by a new map.
            continue
        if np.isfinite(points).all():
            return points
    return None


def _keep(name: str, points: Array, folder: str | os.PathLike[str] | None) -> None:
    """Write to the first writable folder, if any."""
    for place in _places(folder):
        try:
            place.mkdir(parents=True, exist_ok=True)
            with staged(place / name) as staging:
                write_tensors(staging, {"points": points})
        except OSError:
            continue
        return
