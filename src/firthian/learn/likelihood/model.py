"""Counts as draws from an exponential family whose predictor is of low rank: X[i, j] ~ family(eta), eta = u·c + a + b.

GloVe, skip-gram, SGNS, EMF and the SVD are members: a family, biases or none, a treatment of the pairs that were never
seen (``unseen.py``), and a number of iterations. docs/derivations/exponential_family.md has the mathematics.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.counts.counts import Counts
from firthian.errors import FirthianError
from firthian.learn.likelihood.families import (
    Binomial,
    Family,
    Gaussian,
    LogGaussian,
    NegativeBinomial,
    Poisson,
    Tweedie,
)
from firthian.learn.likelihood.held_out import HeldOut, hidden, unseen_cells, without_hidden
from firthian.learn.linalg.operators import SparseOperator
from firthian.learn.linalg.spectral import top_eigen
from firthian.learn.psd.model import WeightedPMI
from firthian.runtime.executor import constant
from firthian.runtime.run import Run

#: The length of a word's vector at the start, and the power of eigenvalues: low powers give weak directions a chance.
START_LENGTH, START_POWER = 2.0, 0.25

#: A word without company has a bias too.
SMALLEST_COUNT = 1e-2

#: The start is only a start: eigenvectors this exact, with at most so many products for each of them.
START_TOLERANCE, START_PRODUCTS = 0.2, 4

_UNSEEN_CELLS = 0x0CE1


@dataclass(frozen=True)
class SeenPairs:
    """Counts in compressed rows. ``weights`` is empty, or holds a weight for each pair."""

    indptr: Array
    indices: Array
    values: Array
    weights: Array

    def __post_init__(self) -> None:
        for name, array in vars(self).items():
            object.__setattr__(self, name, constant(array))

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.indptr.size - 1)

    @cached_property
    def events(self) -> Array:
        """Each row's weights, or its counts but those held out, which are negative; asked for in every half of a sweep."""
        return self.row_sums(self.weights if self.weights.size else np.maximum(self.values, 0))

    def row_sums(self, numbers: Array) -> Array:
        """Add up a number of each pair over its row."""
        sums = np.zeros(self.rows)
        full = np.diff(self.indptr) > 0
        if full.any():
            sums[full] = np.add.reduceat(numbers, self.indptr[:-1][full], dtype=np.float64)
        return sums


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
    #: Draws behind each row that are not among its pairs.
    more_events: Array | float = 0.0

    @property
    def events(self) -> Array:
        """How many draws each row stands for: its counts, and its part of what every pair costs."""
        events: Array = self.pairs.events + self.left_share * float(self.right_share.sum()) + self.more_events
        return events

    def renewed(self) -> Side:
        """Return the side with the shares that belong to its biases, after these were moved."""
        power = self.family.share_power
        if not self.learns_bias or power == 0:
            return self
        return replace(self, left_share=np.exp(power * self.left_bias))


class FirstStep:
    """The first least squares problem of IWLRLS: mu = X, so only seen pairs have a weight, and z = log x.

    Weights are h = min(x, x_max)^(2-p), scaled to at most 1: with p = 1.25 this is GloVe's objective, halved.
    """

    def __init__(self, model: ExponentialFamily) -> None:
        self.model, self.bias, self.stats = model, model.bias, model.stats
        self.pairs = self._squares(model.pairs)
        self.transposed = self.pairs if model.transposed is model.pairs else self._squares(model.transposed)
        self._word_share, self._context_share = (
            np.bincount(pairs.indices, pairs.weights, minlength=model.words) for pairs in (self.transposed, self.pairs)
        )

    def _squares(self, pairs: SeenPairs) -> SeenPairs:
        values = pairs.values
        positive = np.abs(values)
        weights = self.model.scaled_weight(positive)
        # held-out pairs have weight 0
        return replace(pairs, values=np.log(positive), weights=np.where(values > 0, weights, 0).astype(np.float32))

    def side(self, which: str, factors: Factors) -> Side:
        """Return the half problem of ``words`` or ``contexts``."""
        side = self.model.side(which, factors)
        words = which == "words"
        return replace(
            side,
            family=Gaussian(),
            pairs=self.pairs if words else self.transposed,
            left_share=np.zeros(self.model.words),
            right_share=self._context_share if words else self._word_share,
        )


class ExponentialFamily:
    """The likelihood of counts under a family; ``side`` gives the half problems that solvers work on.

    ``truncate_counts`` cuts counts off, ``diagonal`` keeps a word's company with itself. With a log link, biases start at
    the marginals, log x_i and log x_j; ``bias`` says which of them are fitted, the others stay there. ``truncate_weights``
    limits the weights of least squares problems; ``none`` is the largest count, so that no count is cut off.
    """

    def __init__(
        self,
        counts: Counts,
        run: Run,
        family: Family,
        bias: str = "none",
        truncate_counts: float | str = "none",
        diagonal: bool = True,
        truncate_weights: float | str = "none",
        negative: float = 0.0,
        ns_exponent: float = 1.0,
    ) -> None:
        if bias not in family.biases:
            raise FirthianError(
                f"the {family.name} family has no bias {bias!r}", hint=f"give --set bias={' or '.join(family.biases)}"
            )
        self.counts, self.run, self.family, self.bias = counts, run, family, bias
        self.negative = negative
        #: Whether the power is to be found on held-out pairs.
        self.profile = False
        most = np.inf if truncate_counts == "none" else float(truncate_counts)
        self.pairs = _prepared(counts, most, diagonal)
        largest = self.pairs.values.max(initial=SMALLEST_COUNT)
        #: x_max: means from here on have weight 1.
        self.truncate_weights = np.float32(largest if truncate_weights == "none" else truncate_weights)
        changed = most < np.inf or not diagonal
        self.row_sums, self.column_sums = (
            _sums(self.pairs, self.words) if changed else (counts.row_sums, counts.column_sums)
        )
        self.transposed = self.pairs if counts.options.context == "both" else _transposed(self.pairs, self.words)
        #: All pairs, while some of them are held out.
        self._whole: tuple[SeenPairs, SeenPairs] | None = None
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

    def scaled_weight(self, mu: Array) -> Array:
        """Return h = min(mu, x_max)^(2-p) and the like, scaled so that the largest is 1."""
        top = self.truncate_weights
        scaled: Array = self.family.weight(np.minimum(mu, top)) / self.family.weight(top)
        return scaled

    def shares(self, factors: Factors) -> tuple[Array, Array]:
        """Return each word's and each context's part of what every pair costs."""
        if isinstance(self.family, Binomial):
            # rho_ij = k·x_i·x_j^a/Z
            return self.negative * self.row_sums, self.noise
        power = self.family.share_power
        return np.exp(power * factors.word_bias), np.exp(power * factors.context_bias)

    def side(self, which: str, factors: Factors) -> Side:
        """Return the half problem of ``words`` or ``contexts``."""
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
        counts = self.counts if self._whole is None else without_hidden(self.counts, self.pairs)
        vectors = spectral_words(counts, self.run, dimension)
        return Factors(vectors, np.zeros_like(vectors), *self.marginals())

    def marginals(self) -> tuple[Array, Array]:
        """Return the biases of independence, mu = x_i·x_j/x; 0 where the link is not the logarithm."""
        if self.family.share_power == 0:
            return np.zeros(self.words), np.zeros(self.words)
        half = 0.5 * np.log(self.row_sums.sum())
        word_bias, context_bias = (
            np.log(np.maximum(sums, SMALLEST_COUNT)) - half for sums in (self.row_sums, self.column_sums)
        )
        return word_bias, context_bias

    def hold_out(self, share: float) -> HeldOut:
        """Take some seen pairs out of the fit, chosen by the seed, and give them."""
        self._whole = self.pairs, self.transposed
        self.pairs, held = hidden(self.pairs, share, self.run.seed)
        symmetric = self.counts.options.context == "both"
        self.transposed = self.pairs if symmetric else hidden(self.transposed, share, self.run.seed)[0]
        return held

    def take_back(self) -> None:
        """Fit the pairs again that were held out."""
        if self._whole is not None:
            (self.pairs, self.transposed), self._whole = self._whole, None

    def draw_unseen(self, number: int) -> HeldOut:
        """Draw cells where nothing was seen, to judge by."""
        return unseen_cells(self.pairs, self.row_sums, self.column_sums, number, self.run.generator(_UNSEEN_CELLS))

    def stats(self) -> dict[str, Any]:
        """Return facts for the record."""
        return {"family": self.family.name, "pairs": int(self.pairs.values.size)}


def spectral_words(counts: Counts, run: Run, dimension: int) -> Array:
    """Return word vectors of one length from the strongest eigenvectors of W∘G + (1 - W)∘G/2 (PSDVec's first matrix)."""
    model = WeightedPMI(counts, run)
    values = model.targets * (0.5 + 0.5 * model.weights)
    shape = (model.words, model.words)
    operator = SparseOperator(model.indptr, model.indices, values, shape, symmetric=True)
    found, vectors = top_eigen(
        operator,
        dimension,
        run,
        "magnitude",
        tolerance=START_TOLERANCE,
        products=START_PRODUCTS * dimension,
        name="start",
    )
    vectors = vectors * (np.abs(found) ** START_POWER).astype(np.float32)
    lengths = np.sqrt(np.square(vectors, dtype=np.float64).sum(axis=1, keepdims=True))
    scale = np.where(lengths > 1e-12, START_LENGTH / np.maximum(lengths, 1e-12), 0.0)
    return np.ascontiguousarray(vectors * scale, dtype=np.float32)


def _prepared(counts: Counts, most: float, diagonal: bool) -> SeenPairs:
    """Return the pairs in the types the kernels are compiled for, cut off and without the diagonal where asked."""
    indptr = np.asarray(counts.indptr).astype(np.int64, copy=False)
    indices = np.asarray(counts.indices).astype(np.int32, copy=False)
    values = np.asarray(counts.values).astype(np.float32, copy=False)
    if most < np.inf:
        values = np.minimum(values, np.float32(most))
    if not diagonal:
        kept = indices != counts.rows_of(0, len(counts.vocabulary))
        indptr = np.concatenate([[0], np.cumsum(kept)])[indptr]
        indices, values = indices[kept], values[kept]
        if values.size == 0:
            raise FirthianError(
                "without the diagonal no pair is left", hint="use a larger corpus, or give --set diagonal=true"
            )
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
    negative: float = 6.0,
    ns_exponent: float = 0.6,
    truncate_counts: float | str = "none",
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


def tweedie(
    counts: Counts,
    run: Run,
    power: float | str = 1.25,
    bias: str = "both",
    truncate_weights: float | str = 10.0,
    truncate_counts: float | str = "none",
    diagonal: bool = True,
) -> ExponentialFamily:
    """Variance mu^p: GloVe after one iteration, a likelihood of harmonic counts after more. ``auto`` is settled later."""
    family = Tweedie(1.25 if power == "auto" else float(power))
    model = ExponentialFamily(counts, run, family, bias, truncate_counts, diagonal, truncate_weights)
    model.profile = power == "auto"
    return model


def poisson(
    counts: Counts,
    run: Run,
    bias: str = "both",
    truncate_weights: float | str = 10.0,
    truncate_counts: float | str = "none",
    diagonal: bool = True,
) -> ExponentialFamily:
    """Variance mu."""
    return ExponentialFamily(counts, run, Poisson(), bias, truncate_counts, diagonal, truncate_weights)


def negative_binomial(
    counts: Counts,
    run: Run,
    theta: float = 1.0,
    bias: str = "both",
    truncate_weights: float | str = 10.0,
    truncate_counts: float | str = "none",
    diagonal: bool = True,
) -> ExponentialFamily:
    """Variance mu + mu²/theta."""
    family = NegativeBinomial(theta)
    return ExponentialFamily(counts, run, family, bias, truncate_counts, diagonal, truncate_weights)


def gaussian(
    counts: Counts, run: Run, link: str = "identity", truncate_counts: float | str = "none", diagonal: bool = True
) -> ExponentialFamily:
    """Constant variance: the SVD of the counts themselves, or with ``link="log"`` means that cannot be negative."""
    if link == "log":
        return ExponentialFamily(counts, run, LogGaussian(), "both", truncate_counts, diagonal)
    return ExponentialFamily(counts, run, Gaussian(), "none", truncate_counts, diagonal)
