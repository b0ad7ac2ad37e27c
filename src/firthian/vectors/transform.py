"""Vectors made from vectors: scaled, centered, combined, rotated onto others.

``provenance.transforms`` of each result lists what was done. What belonged to the old geometry (context vectors,
covariances, biases, n-grams) is dropped; ``subset`` keeps it. N-grams also follow a rotation, and stay with vectors of
length 1, since a composed vector is used for its direction.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError, suggest
from firthian.runtime.run import one_blas_thread
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.codes import Codes
from firthian.vectors.exports import Exports
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


class Transforms(Exports):
    """The part of ``Vectors`` that makes vectors from vectors."""

    def subset(self, words: int | Iterable[str]) -> Self:
        """Return the first N words, or the named ones in this order, with everything about them."""
        if isinstance(words, int | np.integer):
            if words < 0:
                raise FirthianError(f"cannot keep {words} words", hint="pass 0 or more")
            ids = np.arange(min(words, len(self)))
        else:
            named = [words] if isinstance(words, str) else list(words)
            ids = np.array([self.vocabulary[word] for word in named], dtype=np.int64)
            if len(set(named)) != len(named):
                raise FirthianError("a word is listed twice", hint="list each word once")
        vocabulary = Vocabulary([self.vocabulary.words[i] for i in ids], self.vocabulary.counts[ids])
        extras = {
            name: array if name in OF_ALL_WORDS or array.shape[:1] != (len(self),) else array[ids]
            for name, array in self.extras.items()
        }
        contexts = self.contexts
        if contexts is not None and contexts.shape[0] == len(self):
            contexts = contexts[ids]
        state, core = dict(self.state), self.state.get("core")
        if isinstance(core, int):
            state["core"] = _core(ids, core)
        provenance = self.provenance.transformed("subset", words=len(ids))
        stored = self.stored
        kept = stored.take(ids) if isinstance(stored, Codes) else stored[ids]
        return type(self)(
            kept, vocabulary, contexts=contexts, extras=extras, provenance=provenance, state=state, subwords=self.subwords
        )  # fmt: skip

    def normalized(self) -> Self:
        """Return the vectors scaled to length 1; vectors of zeros stay."""
        inverse = self.searcher.inverse
        if isinstance(self.matrix, np.ndarray):
            result = self._derived(self.matrix * inverse[:, None], "normalized")
            result.subwords = self.subwords and replace(self.subwords, blend=0.0, variance=None)
            return result
        matrix = self.matrix.copy()
        matrix.data = matrix.data * np.repeat(inverse, np.diff(matrix.indptr))
        return self._derived(matrix, "normalized")

    def combined(self, how: str = "u+c") -> Self:
        """Combine word vectors u and context vectors c: ``u``, ``u+c`` or ``mean``."""
        if how not in COMBINATIONS:
            raise FirthianError(f"unknown combination {how!r}", hint=suggest(how, COMBINATIONS))
        if how == "u":
            return self._derived(self.learned, "combined", how=how)
        if self.contexts is None:
            raise FirthianError("these vectors have no context vectors", hint="use 'u'")
        if self.contexts.shape != self.matrix.shape:
            shapes = f"{self.matrix.shape} and {self.contexts.shape}"
            raise FirthianError(f"word and context vectors have different shapes, {shapes}", hint="use 'u'")
        return self._derived(combine(self.learned, self.contexts, how), "combined", how=how)

    def with_eigenvalue_power(self, power: float) -> Self:
        """Reweight the dimensions as Q·Λ^power, for vectors Q·Λ^p of an eigen- or singular value decomposition."""
        name = next((name for name in PER_DIMENSION if name in self.extras), None)
        if name is None:
            raise FirthianError(
                "these vectors have no eigenvalues", hint="train with a recipe that decomposes a matrix"
            )
        old = self.state.get("eigenvalue_power")
        if not isinstance(old, int | float):
            changes = ", ".join(str(step.get("name")) for step in self.provenance.transforms)
            if not changes:
                raise FirthianError("the eigenvalue power of these vectors is unknown", hint="train them again")
            message = f"the dimensions are no longer those of the decomposition ({changes})"
            raise FirthianError(message, hint="change the eigenvalue power before other transforms")
        values = np.abs(np.asarray(self.extras[name], dtype=np.float64))
        if values.shape != (self.vector_size,):
            raise FirthianError(f"{values.size} eigenvalues for {self.vector_size} dimensions", hint="train again")
        # A dimension of eigenvalue 0 was 0 under every positive power, and stays so.
        scale = np.where(values > 0, np.where(values > 0, values, 1.0) ** (power - old), 0.0 if power > 0 else 1.0)
        self._dense("changing the eigenvalue power")
        matrix = self.learned * scale.astype(np.float32)
        result = self._derived(matrix, "eigenvalue_power", power=float(power))
        result.state["eigenvalue_power"] = float(power)
        return result

    def centered(self) -> Self:
        """Subtract the mean vector."""
        matrix = self._dense("centering")
        return self._derived(matrix - _mean(matrix), "centered")

    def without_top_components(self, number: int) -> Self:
        """Center, and remove the ``number`` strongest principal components (Mu and Viswanath 2018, algorithm 1)."""
        matrix = self._dense("removing components")
        if not 0 <= number <= self.vector_size:
            raise FirthianError(f"cannot remove {number} of {self.vector_size} components", hint="1 in 100 is typical")
        center = matrix - _mean(matrix)
        with one_blas_thread():
            covariance = np.zeros((self.vector_size, self.vector_size))
            for block in row_slices(len(center)):
                rows = center[block].astype(np.float64)
                covariance += rows.T @ rows
            strongest = np.linalg.eigh(covariance)[1][:, self.vector_size - number :].astype(np.float32)
            for block in row_slices(len(center)):
                rows = center[block]
                rows -= (rows @ strongest) @ strongest.T
        return self._derived(center, "without_top_components", number=number)

    def align_to(self, other: Vectors, topn: int = 20) -> Alignment:
        """Rotate onto ``other`` by orthogonal Procrustes on the unit vectors of shared words (Hamilton et al. 2016, eq. 4).

        The result also lists the ``topn`` words that moved most; a word whose vector is zero in either set has no direction
        and is not among them. Covariances are not rotated: a warning says that the result has none.
        """
        if has_uncertainty(self):
            warnings.warn("aligned vectors have no covariances: ask the original ones for intervals", stacklevel=2)
        if self.vector_size != other.vector_size:
            sizes = f"{self.vector_size} and of {other.vector_size}"
            raise FirthianError(f"cannot align vectors of {sizes} dimensions", hint="train both with one `vector_size`")
        shared = [word for word in self.vocabulary.words if word in other.vocabulary]
        if not shared:
            raise FirthianError("the two sets of vectors have no word in common", hint="align vectors of one language")
        mine = self.searcher.unit_rows([self.vocabulary[word] for word in shared])
        theirs = other.searcher.unit_rows([other.vocabulary[word] for word in shared])
        matrix = self._dense("aligning")
        with one_blas_thread():
            cross = np.zeros((self.vector_size, self.vector_size))
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
        result = self._derived(rotated, "aligned", shared=len(shared))
        result.subwords = self.subwords and self.subwords.rotated(rotation)
        return Alignment(cast("Vectors", result), moved, len(shared))

    def _derived(self, matrix: Any, name: str, **settings: Any) -> Self:
        """Return vectors of the same words, with the transform in their provenance; extras of the dimensions stay."""
        extras = {key: array for key, array in self.extras.items() if key in PER_DIMENSION}
        state = dict(self.state)
        if name not in _KEEP_DIMENSIONS:
            state.pop("eigenvalue_power", None)
        provenance = self.provenance.transformed(name, **settings)
        return type(self)(matrix, self.vocabulary, extras=extras, provenance=provenance, state=state)

    def _dense(self, operation: str) -> Array:
        if not isinstance(self.matrix, np.ndarray):
            raise FirthianError(
                f"{operation} would make sparse vectors dense", hint="reduce their dimensions by svd first"
            )
        return self.matrix


def _core(ids: Array, core: int) -> int | None:
    """Return how many of the chosen words are in the core of psd; None if these do not come first.

    >>> _core(np.array([4, 0, 7]), 5), _core(np.array([7, 0]), 5)
    (2, None)
    """
    inside = ids < core
    number = int(np.count_nonzero(inside))
    return number if inside[:number].all() else None


def _mean(matrix: Array) -> Array:
    """Return the mean row, summed in double precision in fixed blocks."""
    total = np.zeros(matrix.shape[1])
    for block in row_slices(len(matrix)):
        total += matrix[block].sum(axis=0, dtype=np.float64)
    return (total / max(1, len(matrix))).astype(np.float32)
