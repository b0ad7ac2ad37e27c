"""Vectors of single occurrences, à la carte (Khodak et al. 2018): a matrix times the mean vector of the words around.

The matrix A is learned where both sides are known: for every frequent word, its vector should be A times the mean vector of
its contexts; words weigh log(count).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from firthian.arrays import Array, offsets
from firthian.ask.targets import Occurrences
from firthian.ask.tokens import TokenTable
from firthian.disk.opening import map_npy
from firthian.errors import FirthianError, os_errors
from firthian.runtime.executor import Executor, Threads
from firthian.runtime.run import one_blas_thread
from firthian.vectors.rows import dense_rows
from firthian.vectors.vectors import Vectors

#: Occurrences that a task works on.
_BLOCK = 4096

#: Words to learn the matrix from are at least this frequent, and a word has at most this many contexts, evenly chosen.
LEARN_FROM, _MOST_CONTEXTS = 5, 500

#: Ridge, as a share of the mean diagonal of the Gram matrix.
_RIDGE = 1e-7


@dataclass(frozen=True)
class Contexts:
    """The words around occurrences: tokens, the vector row of each word (-1 for none), the vectors, the window."""

    tokens: TokenTable
    rows: Array
    matrix: Array
    window: int
    executor: Executor

    @classmethod
    def of(
        cls, tokens: TokenTable, vectors: Vectors, usable: Array, window: int, executor: Executor | None = None
    ) -> Contexts:
        """Look up the vectors of the ``usable`` words of the corpus."""
        known = np.array([vectors.vocabulary.get(word) for word in tokens.vocabulary.words], dtype=np.int64)
        known[~usable] = -1
        present = np.flatnonzero(known >= 0)
        if not present.size:
            raise FirthianError(
                "no word of the corpus has a vector",
                hint="use vectors of this language and spelling, or lower `min_count`",
            )
        rows = np.full(known.size, -1, dtype=np.int32)
        rows[present] = np.arange(present.size)
        return cls(tokens, rows, dense_rows(vectors.matrix, known[present]), window, executor or Threads())

    @cached_property
    def known(self) -> Array:
        """The words that have vectors, by id, in the order of ``matrix``."""
        return np.flatnonzero(self.rows >= 0)

    @property
    def coverage(self) -> float:
        """The share of tokens with a vector."""
        return float((self.rows[self.tokens.ids] >= 0).mean())

    def means(self, found: Occurrences) -> tuple[Array, Array]:
        """Return the mean context vector of each occurrence, and the number of words it is the mean of."""
        from firthian.kernels.contexts import mean_contexts

        starts = self.tokens.starts
        spans = (
            found.positions, found.positions + found.lengths, starts[found.documents], starts[found.documents + 1],
        )  # fmt: skip
        out = np.empty((len(found), self.matrix.shape[1]))
        counts = np.empty(len(found), dtype=np.int64)
        mean_contexts(self.tokens.ids, self.rows, spans, self.window, self.matrix, out, counts)
        return out, counts

    def blocks(self, found: Occurrences) -> Iterator[tuple[slice, Array, Array]]:
        """Yield mean context vectors in blocks of occurrences, computed in parallel."""
        parts = [slice(first, min(first + _BLOCK, len(found))) for first in range(0, len(found), _BLOCK)]
        results = self.executor.map(lambda part: self.means(found.select(part)), parts)
        for part, (means, counts) in zip(parts, results, strict=True):
            yield part, means, counts

    def sums(self, found: Occurrences, groups: Array, number: int) -> tuple[Array, Array, Array]:
        """Return sums of mean context vectors by group, the occurrences in each, and which occurrences have contexts."""
        from firthian.kernels.contexts import group_sums

        sums, sizes = np.zeros((number, self.matrix.shape[1])), np.zeros(number, dtype=np.int64)
        have = np.zeros(len(found), dtype=bool)
        for part, means, counts in self.blocks(found):
            group_sums(means, counts, groups[part], sums, sizes)
            have[part] = counts > 0
        return sums, sizes, have


@dataclass(frozen=True)
class Transform:
    """The matrix A (None is the identity), and where it comes from."""

    matrix: Array | None
    source: str

    def apply(self, means: Array) -> Array:
        """Return the vectors of mean contexts."""
        return means if self.matrix is None else means @ self.matrix.T


def load_transform(source: str | os.PathLike[str] | Array, dimensions: int) -> Transform:
    """Return a given matrix, or read it from a file of numpy; raise unless it fits the vectors."""
    name = "given"
    if isinstance(source, str | os.PathLike):
        name = Path(source).name
        with os_errors(str(source)):
            loaded = map_npy(Path(source))
        if not isinstance(loaded, np.ndarray):
            raise FirthianError(f"{source} is not a numpy matrix", hint="save it with numpy.save, without objects")
        source = loaded
    matrix = np.asarray(source)
    if matrix.shape != (dimensions, dimensions) or matrix.dtype.kind not in "fiu" or not np.isfinite(matrix).all():
        raise FirthianError(
            f"the transform must be a finite {dimensions} × {dimensions} matrix, got the shape {matrix.shape}",
            hint="use the transform that belongs to these vectors, or omit `transform` to learn one",
        )
    return Transform(matrix.astype(np.float64), name)


def every_occurrence(tokens: TokenTable, words: Array, most: int | None = None) -> tuple[Occurrences, Array]:
    """Return occurrences of words, word by word, at most N of each, and where those of each word begin."""
    from firthian.kernels.contexts import sort_positions

    pointers = offsets(np.bincount(tokens.ids, minlength=len(tokens.vocabulary)))
    positions = np.empty(pointers[-1], dtype=np.int64)
    sort_positions(tokens.ids, pointers, positions)
    chosen = []
    for word in words:
        own = positions[pointers[word] : pointers[word + 1]]
        chosen.append(own if most is None or own.size <= most else own[np.arange(most) * own.size // most])
    places = np.concatenate(chosen) if chosen else np.empty(0, dtype=np.int64)
    found = Occurrences(places, np.ones(places.size, dtype=np.int64), tokens.documents_of(places), frozenset())
    return found, offsets([own.size for own in chosen])


@one_blas_thread()
def learn_transform(contexts: Contexts) -> Transform:
    """Learn A from every word of the corpus that has a vector and occurs often enough."""
    counts = contexts.tokens.vocabulary.counts
    words = contexts.known[counts[contexts.known] >= LEARN_FROM]
    found, starts = every_occurrence(contexts.tokens, words, _MOST_CONTEXTS)
    groups = np.repeat(np.arange(words.size), np.diff(starts))
    sums, sizes, _ = contexts.sums(found, groups, words.size)
    used = np.flatnonzero(sizes > 0)
    d = contexts.matrix.shape[1]
    if used.size < d // 2 + 1:
        raise FirthianError(
            f"only {used.size:,} frequent words to learn a transform of {d} × {d} from",
            hint="pass `transform`, or `transform=none` to average context vectors",
        )
    # A = argmin Σ_w α_w ‖v_w - A u_w‖², u_w the mean context, α_w = log n_w
    u = sums[used] / sizes[used, None]
    v = contexts.matrix[contexts.rows[words[used]]].astype(np.float64)
    alpha = np.log(counts[words[used]])[:, None]
    gram = u.T @ (alpha * u)
    gram[np.diag_indices(d)] += _RIDGE * np.trace(gram) / d
    matrix = np.linalg.solve(gram, u.T @ (alpha * v)).T
    return Transform(matrix, f"learned from {used.size:,} words of the corpus")
