"""Counts as draws from an exponential family whose predictor is of low rank: X[i, j] ~ family(eta), eta = u·c + a + b.

GloVe, skip-gram, SGNS, EMF and the SVD are members: a family, biases or none, a treatment of the pairs that were never
seen (``firthian.solvers.unseen``), and a number of iterations. docs/derivations/exponential_family.md has the mathematics.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from firthian.cooccurrence.counts import Counts
from firthian.errors import FirthianError
from firthian.models.families import Binomial, Family
from firthian.models.psd import WeightedPMI
from firthian.run import Run
from firthian.solvers.operators import SparseOperator
from firthian.solvers.spectral import top_eigen

Array = np.ndarray[Any, np.dtype[Any]]

#: The length of a word's vector at the start.
START_LENGTH = 2.0

#: The start is only a start: eigenvectors this exact, with at most so many products for each of them.
START_TOLERANCE, START_PRODUCTS = 0.2, 4


@dataclass(frozen=True)
class SeenPairs:
    """Counts in compressed rows. ``weights`` is empty, or holds a weight for each pair."""

    indptr: Array
    indices: Array
    values: Array
    weights: Array

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.indptr.size - 1)


@dataclass
class Factors:
    """What is fitted: word vectors, context vectors, and their biases."""

    words: Array
    contexts: Array
    word_bias: Array
    context_bias: Array


@dataclass(frozen=True)
class Side:
    """One half of a sweep: ``left`` is fitted, ``right`` is held. ``left`` and ``left_bias`` change in place."""

    family: Family
    pairs: SeenPairs
    left: Array
    right: Array
    left_bias: Array
    right_bias: Array
    #: A pair's share of what every pair costs is the product of these two.
    left_share: Array
    right_share: Array
    #: Whether ``left_bias`` is fitted.
    learns_bias: bool

    @property
    def events(self) -> Array:
        """How many draws each row stands for: its counts, and its part of what every pair costs."""
        return self._seen() + self.left_share * float(self.right_share.sum())

    def _seen(self) -> Array:
        values = self.pairs.weights if self.pairs.weights.size else self.pairs.values
        sums = np.zeros(self.pairs.rows)
        full = np.diff(self.pairs.indptr) > 0
        if full.any():
            sums[full] = np.add.reduceat(values, self.pairs.indptr[:-1][full], dtype=np.float64)
        return sums


class ExponentialFamily:
    """The likelihood of counts under a family; ``side`` gives the half problems that solvers work on.

    ``truncate_counts`` cuts counts off (0: never), ``diagonal`` keeps a word's company with itself, ``bias`` says which
    biases are fitted. With a log link, biases start at the marginals, and those that are not fitted stay 0.
    """

    def __init__(
        self,
        counts: Counts,
        run: Run,
        family: Family,
        bias: str = "none",
        truncate_counts: float = 0.0,
        diagonal: bool = True,
        truncate_weights: float = 0.0,
        negative: float = 0.0,
        ns_exponent: float = 1.0,
    ) -> None:
        if bias not in family.biases:
            raise FirthianError(
                f"the {family.name} family has no bias {bias!r}", hint=f"set bias={' or '.join(family.biases)}"
            )
        if counts.pairs == 0:
            raise FirthianError("the counts hold no pair of words", hint="use a larger corpus or a wider window")
        self.counts, self.run, self.family, self.bias = counts, run, family, bias
        self.truncate_weights = truncate_weights
        self.negative = negative
        self.pairs = _prepared(counts, truncate_counts, diagonal)
        changed = truncate_counts > 0 or not diagonal
        self.row_sums, self.column_sums = (
            _sums(self.pairs, self.words) if changed else (counts.row_sums, counts.column_sums)
        )
        self.transposed = self.pairs if counts.options.context == "both" else _transposed(self.pairs, self.words)
        noise = np.asarray(self.column_sums, dtype=np.float64) ** ns_exponent * (self.column_sums > 0)
        #: What the noise words are drawn from.
        self.noise = noise / noise.sum()

    @property
    def words(self) -> int:
        """How many words (and contexts) there are."""
        return len(self.counts.vocabulary)

    @property
    def shape(self) -> tuple[int, int]:
        """Words by contexts."""
        return self.words, self.words

    def shares(self, factors: Factors) -> tuple[Array, Array]:
        """Give each word's and each context's part of what every pair costs."""
        if isinstance(self.family, Binomial):
            # rho_ij = k·x_i·x_j^a/Z
            return self.negative * self.row_sums, self.noise
        power = self.family.share_power
        return np.exp(power * factors.word_bias), np.exp(power * factors.context_bias)

    def side(self, which: str, factors: Factors) -> Side:
        """Give the half problem of ``words`` or ``contexts``."""
        word_share, context_share = self.shares(factors)
        if which == "words":
            return Side(
                self.family,
                self.pairs,
                factors.words,
                factors.contexts,
                factors.word_bias,
                factors.context_bias,
                word_share,
                context_share,
                self.bias in ("row", "both"),
            )
        return Side(
            self.family,
            self.transposed,
            factors.contexts,
            factors.words,
            factors.context_bias,
            factors.word_bias,
            context_share,
            word_share,
            self.bias == "both",
        )

    def start(self, dimension: int) -> Factors:
        """Begin at what is quick to know: eigenvectors of the weighted PMI for words, nothing for contexts.

        Eigenvalues are taken by magnitude: the negative ones belong to words that replace each other, and carry syntax.
        """
        words = self.words
        zeros = np.zeros(words)
        vectors = spectral_words(self.counts, self.run, dimension)
        return Factors(vectors, np.zeros_like(vectors), zeros, zeros.copy())

    def stats(self) -> dict[str, Any]:
        """Give facts for the record."""
        return {"family": self.family.name, "pairs": int(self.pairs.values.size)}


def spectral_words(counts: Counts, run: Run, dimension: int) -> Array:
    """Give word vectors of one length from the strongest eigenvectors of W∘G + (1 - W)∘G/2 (PSDVec's first matrix)."""
    model = WeightedPMI(counts, run)
    values = model.targets * (0.5 + 0.5 * model.weights)
    shape = (model.words, model.words)
    operator = SparseOperator(model.indptr, model.indices, values, shape, symmetric=True)
    found, vectors = top_eigen(
        operator, dimension, run, "magnitude", tolerance=START_TOLERANCE, products=START_PRODUCTS * dimension
    )
    vectors = vectors * np.sqrt(np.abs(found)).astype(np.float32)
    lengths = np.sqrt(np.square(vectors, dtype=np.float64).sum(axis=1, keepdims=True))
    scale = np.where(lengths > 1e-12, START_LENGTH / np.maximum(lengths, 1e-12), 0.0)
    return np.ascontiguousarray(vectors * scale, dtype=np.float32)


def _prepared(counts: Counts, truncate_counts: float, diagonal: bool) -> SeenPairs:
    """Give the pairs in the types the kernels are compiled for, cut off and without the diagonal where asked."""
    indptr = np.asarray(counts.indptr).astype(np.int64, copy=False)
    indices = np.asarray(counts.indices).astype(np.int32, copy=False)
    values = np.asarray(counts.values).astype(np.float32, copy=False)
    if truncate_counts > 0:
        values = np.minimum(values, np.float32(truncate_counts))
    if not diagonal:
        kept = indices != counts.rows_of(0, len(counts.vocabulary))
        indptr = np.concatenate([[0], np.cumsum(kept)])[indptr]
        indices, values = indices[kept], values[kept]
        if values.size == 0:
            raise FirthianError("without the diagonal no pair is left", hint="use a larger corpus or diagonal=true")
    return SeenPairs(indptr, indices, values, np.empty(0, dtype=np.float32))


def _transposed(pairs: SeenPairs, words: int) -> SeenPairs:
    import scipy.sparse

    csc = scipy.sparse.csr_array((pairs.values, pairs.indices, pairs.indptr), shape=(words, words)).tocsc()
    return replace(
        pairs,
        indptr=csc.indptr.astype(np.int64, copy=False),
        indices=csc.indices.astype(np.int32, copy=False),
        values=csc.data,
    )


def _sums(pairs: SeenPairs, words: int) -> tuple[Array, Array]:
    rows = np.repeat(np.arange(words), np.diff(pairs.indptr))
    row_sums = np.bincount(rows, pairs.values, minlength=words)
    return row_sums, np.bincount(pairs.indices, pairs.values, minlength=words)


def binomial(
    counts: Counts,
    run: Run,
    negative: float = 5.0,
    ns_exponent: float = 0.75,
    truncate_counts: float = 0.0,
    diagonal: bool = True,
) -> ExponentialFamily:
    """SGNS as a likelihood (EMF): X of n = X + k·x_i·x_j^a/Z draws, with chance sigma(u·c)."""
    return ExponentialFamily(
        counts,
        run,
        Binomial(),
        truncate_counts=truncate_counts,
        diagonal=diagonal,
        negative=negative,
        ns_exponent=ns_exponent,
    )
