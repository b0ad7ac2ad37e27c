"""Vectors made from vectors: scaled, centered, combined, rotated onto others.

``provenance.transforms`` of each result lists what was done. What belonged to the old geometry (context vectors,
covariances, biases, n-grams) is dropped; ``subset`` keeps it. N-grams also follow a rotation, and stay with vectors of
length 1, since a composed vector is used for its direction.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError, suggest
from firthian.runtime.run import one_blas_thread
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.codes import Codes
from firthian.vectors.rows import row_slices
from firthian.vectors.uncertainty import has_uncertainty

if TYPE_CHECKING:
    from firthian.vectors.vectors import Vectors


#: Extras with one number per dimension, not one row per word.
PER_DIMENSION = ("eigenvalues", "singular_values")

#: Extras of all words together: they have no row per word, though perhaps as many rows as there are words.
OF_ALL_WORDS = (*PER_DIMENSION, "center", "mean_vector", "dictionary")

#: Transforms after which each dimension is still that of the decomposition, times a number.
_KEEP_DIMENSIONS = ("centered", "eigenvalue_power")

#: Combinations of word vectors u and context vectors c.
COMBINATIONS = ("u", "u+c", "mean")


def combine(words: Array, contexts: Array, how: str) -> Array:
    """Combine word and context vectors: ``u``, ``u+c``, or ``mean`` = (u + c)/2.

    >>> combine(np.array([[2.0]]), np.array([[4.0]]), "mean")
    array([[3.]])
    """
    if how == "u":
        return words
    total: Array = words + contexts
    return total if how == "u+c" else total / 2


class Alignment(NamedTuple):
    """Vectors rotated onto others, and how far each shared word is from its counterpart, farthest first."""

    vectors: Vectors
    #: (word, 1 - cosine) of the words that moved most.
    moved: list[tuple[str, float]]
    #: Number of words in both vocabularies.
    shared: int


def derived(vectors: Vectors, matrix: Any, name: str, **settings: Any) -> Vectors:
    """Build vectors of the same words, with the transform in their provenance; extras of the dimensions stay."""
    extras = {key: array for key, array in vectors.extras.items() if key in PER_DIMENSION}
    state = dict(vectors.state)
    if name not in _KEEP_DIMENSIONS:
        state.pop("eigenvalue_power", None)
    provenance = vectors.provenance.transformed(name, **settings)
    return type(vectors)(matrix, vectors.vocabulary, extras=extras, provenance=provenance, state=state)


def subset(vectors: Vectors, words: int | Iterable[str]) -> Vectors:
    """Return the first ``words`` words, or the named ones in their order, with everything about them."""
    if isinstance(words, int | np.integer):
        if words < 0:
            raise FirthianError(f"cannot keep {words} words", hint="pass 0 or more")
        ids = np.arange(min(words, len(vectors)))
    else:
        named = [words] if isinstance(words, str) else list(words)
        ids = np.array([vectors.vocabulary[word] for word in named], dtype=np.int64)
        if len(set(named)) != len(named):
            raise FirthianError("a word is listed twice", hint="list each word once")
    vocabulary = Vocabulary([vectors.vocabulary.words[i] for i in ids], vectors.vocabulary.counts[ids])
    extras = {
        name: array if name in OF_ALL_WORDS or array.shape[:1] != (len(vectors),) else array[ids]
        for name, array in vectors.extras.items()
    }
    contexts = vectors.contexts
    if contexts is not None and contexts.shape[0] == len(vectors):
        contexts = contexts[ids]
    state, core = dict(vectors.state), vectors.state.get("core")
    if isinstance(core, int):
        state["core"] = _core(ids, core)
    provenance = vectors.provenance.transformed("subset", words=len(ids))
    stored = vectors.stored
    return type(vectors)(
        stored.take(ids) if isinstance(stored, Codes) else stored[ids],
        vocabulary,
        contexts=contexts,
        extras=extras,
        provenance=provenance,
        state=state,
        subwords=vectors.subwords,
    )


def _core(ids: Array, core: int) -> int | None:
    """Return how many of the chosen words are in the core of psd; None if these do not come first.

    >>> _core(np.array([4, 0, 7]), 5), _core(np.array([7, 0]), 5)
    (2, None)
    """
    inside = ids < core
    number = int(np.count_nonzero(inside))
    return number if inside[:number].all() else None


def normalized(vectors: Vectors) -> Vectors:
    """Scale every vector to length 1; vectors of zeros stay."""
    inverse = vectors.searcher.inverse
    if isinstance(vectors.matrix, np.ndarray):
        result = derived(vectors, vectors.matrix * inverse[:, None], "normalized")
        result.subwords = vectors.subwords and replace(vectors.subwords, blend=0.0, variance=None)
        return result
    matrix = vectors.matrix.copy()
    matrix.data = matrix.data * np.repeat(inverse, np.diff(matrix.indptr))
    return derived(vectors, matrix, "normalized")


def combined(vectors: Vectors, how: str) -> Vectors:
    """Combine word and context vectors, see ``combine``."""
    if how not in COMBINATIONS:
        raise FirthianError(f"unknown combination {how!r}", hint=suggest(how, COMBINATIONS))
    if how == "u":
        return derived(vectors, vectors.learned, "combined", how=how)
    if vectors.contexts is None:
        raise FirthianError("these vectors have no context vectors", hint="use 'u'")
    if vectors.contexts.shape != vectors.matrix.shape:
        shapes = f"{vectors.matrix.shape} and {vectors.contexts.shape}"
        raise FirthianError(f"word and context vectors have different shapes, {shapes}", hint="use 'u'")
    return derived(vectors, combine(vectors.learned, vectors.contexts, how), "combined", how=how)


def with_eigenvalue_power(vectors: Vectors, power: float) -> Vectors:
    """Reweight the dimensions as Q·Λ^power, for vectors Q·Λ^p of an eigen- or singular value decomposition."""
    name = next((name for name in PER_DIMENSION if name in vectors.extras), None)
    if name is None:
        raise FirthianError("these vectors have no eigenvalues", hint="train with a recipe that decomposes a matrix")
    old = vectors.state.get("eigenvalue_power")
    if not isinstance(old, int | float):
        changes = ", ".join(str(step.get("name")) for step in vectors.provenance.transforms)
        if not changes:
            raise FirthianError("these vectors do not know their eigenvalue power", hint="train them again")
        message = f"the dimensions are no longer those of the decomposition ({changes})"
        raise FirthianError(message, hint="change the eigenvalue power before other transforms")
    values = np.abs(np.asarray(vectors.extras[name], dtype=np.float64))
    if values.shape != (vectors.vector_size,):
        raise FirthianError(f"{values.size} eigenvalues for {vectors.vector_size} dimensions", hint="train again")
    # A dimension of eigenvalue 0 was 0 under every positive power, and stays so.
    scale = np.where(values > 0, np.where(values > 0, values, 1.0) ** (power - old), 0.0 if power > 0 else 1.0)
    _dense(vectors, "changing the eigenvalue power")
    matrix = vectors.learned * scale.astype(np.float32)
    result = derived(vectors, matrix, "eigenvalue_power", power=float(power))
    result.state["eigenvalue_power"] = float(power)
    return result


def centered(vectors: Vectors) -> Vectors:
    """Subtract the mean vector."""
    matrix = _dense(vectors, "centering")
    return derived(vectors, matrix - _mean(matrix), "centered")


def without_top_components(vectors: Vectors, number: int) -> Vectors:
    """Center, and remove the ``number`` strongest principal components (Mu and Viswanath 2018, algorithm 1)."""
    matrix = _dense(vectors, "removing components")
    if not 0 <= number <= vectors.vector_size:
        raise FirthianError(f"cannot remove {number} of {vectors.vector_size} components", hint="1 in 100 is usual")
    center = matrix - _mean(matrix)
    with one_blas_thread():
        covariance = np.zeros((vectors.vector_size, vectors.vector_size))
        for block in row_slices(len(center)):
            rows = center[block].astype(np.float64)
            covariance += rows.T @ rows
        strongest = np.linalg.eigh(covariance)[1][:, vectors.vector_size - number :].astype(np.float32)
        for block in row_slices(len(center)):
            rows = center[block]
            rows -= (rows @ strongest) @ strongest.T
    return derived(vectors, center, "without_top_components", number=number)


def align_to(vectors: Vectors, other: Vectors, topn: int) -> Alignment:
    """Rotate onto ``other`` by orthogonal Procrustes on the unit vectors of shared words (Hamilton et al. 2016, eq. 4).

    A word whose vector is zero in either set has no direction and is not among those that moved. Covariances are not
    rotated: a warning says that the result has none.
    """
    if has_uncertainty(vectors):
        warnings.warn("aligned vectors have no covariances: ask the original ones for intervals", stacklevel=3)
    if vectors.vector_size != other.vector_size:
        sizes = f"{vectors.vector_size} and of {other.vector_size}"
        raise FirthianError(f"cannot align vectors of {sizes} dimensions", hint="train both with one `vector_size`")
    shared = [word for word in vectors.vocabulary.words if word in other.vocabulary]
    if not shared:
        raise FirthianError("the two sets of vectors have no word in common", hint="align vectors of one language")
    mine = vectors.searcher.unit_rows([vectors.vocabulary[word] for word in shared])
    theirs = other.searcher.unit_rows([other.vocabulary[word] for word in shared])
    matrix = _dense(vectors, "aligning")
    with one_blas_thread():
        cross = np.zeros((vectors.vector_size, vectors.vector_size))
        for block in row_slices(len(shared)):
            cross += mine[block].T.astype(np.float64) @ theirs[block].astype(np.float64)
        # R = U·Vᵀ maximizes tr(RᵀAᵀB), where AᵀB = U·Σ·Vᵀ.
        left, _, right = np.linalg.svd(cross)
        rotation = (left @ right).astype(np.float32)
        rotated = np.empty_like(matrix)
        distance = np.empty(len(shared), dtype=np.float32)
        for block in row_slices(len(matrix)):
            rotated[block] = matrix[block] @ rotation
        for block in row_slices(len(shared)):
            distance[block] = 1 - np.einsum("ij,ij->i", mine[block] @ rotation, theirs[block])
    directed = np.flatnonzero(mine.any(axis=1) & theirs.any(axis=1))
    order = directed[np.argsort(-distance[directed], kind="stable")[:topn]]
    moved = [(shared[i], float(distance[i])) for i in order]
    result = derived(vectors, rotated, "aligned", shared=len(shared))
    result.subwords = vectors.subwords and vectors.subwords.rotated(rotation)
    return Alignment(result, moved, len(shared))


def _dense(vectors: Vectors, operation: str) -> Array:
    if not isinstance(vectors.matrix, np.ndarray):
        raise FirthianError(f"{operation} would make sparse vectors dense", hint="reduce their dimensions by svd first")
    return vectors.matrix


def _mean(matrix: Array) -> Array:
    """Return the mean row, summed in double precision in fixed blocks."""
    total = np.zeros(matrix.shape[1])
    for block in row_slices(len(matrix)):
        total += matrix[block].sum(axis=0, dtype=np.float64)
    return (total / max(1, len(matrix))).astype(np.float32)
