"""Counts drawn from an exponential family whose predictor has low rank: X[i, j] ~ family(eta), eta = u·c + a + b.

GloVe, skip-gram, SGNS, EMF and the SVD are members: each is a family, a choice of biases, a treatment of unseen pairs
(``losses.py``) and a number of iterations. docs/derivations/exponential_family.md has the derivations.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self

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
    Truncated,
    Tweedie,
)
from firthian.learn.likelihood.pairs import (
    HeldOut,
    SeenPairs,
    draw_unseen,
    hold_out,
    pairs_of,
    transpose,
    without_held_out,
)
from firthian.learn.linalg.krylov import top_eigen
from firthian.learn.linalg.operators import SparseOperator
from firthian.learn.psd.model import WeightedPMI
from firthian.learn.recipe import Smoothing
from firthian.options import Option
from firthian.runtime.run import Run

#: Initial length of a word vector, and the power of eigenvalues: low powers keep weak directions alive.
START_LENGTH, START_POWER = 2.0, 0.25

#: Rows without pairs need a finite bias, too.
SMALLEST_COUNT = 1e-2

#: Tolerance of the initial eigenvectors, and the most products per eigenvector: rough ones will do.
START_TOLERANCE, START_PRODUCTS = 0.2, 4

#: Pairs of a task that needs little time for each.
PAIRS_AT_ONCE = 1 << 18

_UNSEEN_CELLS = 0x0CE1

#: Which factor a half sweep fits.
Which = Literal["words", "contexts"]

Negative = Annotated[float, Option("negative samples per observed pair (k)", low=1e-9)]
TruncateCounts = Annotated[float | str, Option("cap on counts; none: no cap", low=1e-9, words=("none",))]
Diagonal = Annotated[bool, Option("keep the counts of a word with itself")]
Bias = Annotated[
    str,
    Option(
        "both, row (words only), base (words, contexts fixed at log marginals), none (both fixed)",
        choices=("none", "row", "base", "both"),
    ),
]
TruncateWeights = Annotated[
    float | str,
    Option(
        "mean from which on weights do not grow; none: no limit",
        low=1e-9,
        high=1e12,
        words=("none",),
    ),
]


@dataclass
class Factors:
    """The parameters of a fit: word vectors, context vectors and their biases."""

    words: Array
    contexts: Array
    word_bias: Array
    context_bias: Array

    def copy(self) -> Factors:
        """Return a deep copy."""
        return Factors(*(part.copy() for part in vars(self).values()))


@dataclass(frozen=True)
class Side:
    """One half of a sweep: ``left`` and ``left_bias`` are fitted in place while ``right`` is fixed."""

    family: Family
    pairs: SeenPairs
    left: Array
    left_bias: Array
    #: The noise share of a pair is the product of its left and right share.
    left_share: Array
    right: Array
    right_bias: Array
    right_share: Array
    #: Whether ``left_bias`` is fitted.
    learns_bias: bool
    #: Events behind each row that are not among its pairs.
    extra_events: Array | float = 0.0

    @property
    def events(self) -> Array:
        """The events behind each row: its counts, its noise share and the extra ones."""
        events: Array = self.pairs.events + self.left_share * float(self.right_share.sum()) + self.extra_events
        return events

    def refresh_shares(self) -> Side:
        """Return the side with the shares that belong to its biases after these have moved."""
        power = self.family.share_power
        if not self.learns_bias or power == 0:
            return self
        return replace(self, left_share=np.exp(power * self.left_bias))


class ExponentialFamily:
    """The likelihood of counts under a family; ``side`` returns the half problems that solvers work on.

    Counts above ``truncate_counts`` are truncated; ``diagonal`` keeps the counts of a word with itself. With a log link,
    biases start at the marginals, log x_i and log x_j; ``bias`` selects the fitted ones, and with ``row`` contexts have none.
    ``truncate_weights`` limits the weights in every iteration (``families.Truncated``).
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
        estimates_power: bool = False,
    ) -> None:
        if bias not in family.biases:
            raise FirthianError(
                f"the {family.name} family does not support `bias={bias}`",
                hint=f"set `bias={'` or `bias='.join(family.biases)}`",
            )
        self.counts, self.run, self.bias = counts, run, bias
        #: The number of words, and of contexts.
        self.words = len(counts.vocabulary)
        #: Whether the power of the variance is to be estimated from held-out pairs.
        self.estimates_power = estimates_power
        most = np.inf if truncate_counts == "none" else float(truncate_counts)
        self.pairs = pairs_of(counts, most, diagonal)
        largest = self.pairs.values.max(initial=SMALLEST_COUNT)
        self._x_max = None if truncate_weights == "none" else float(truncate_weights)
        #: The count of the largest weight in the first iteration.
        self.largest = np.float32(largest if self._x_max is None else min(self._x_max, largest))
        self.family = self._truncated(family)
        changed = most < np.inf or not diagonal
        self.row_sums, self.column_sums = (
            self.pairs.marginals(self.words) if changed else (counts.row_sums, counts.column_sums)
        )
        self._is_symmetric = counts.options.context == "both"
        self.transposed = self.pairs if self._is_symmetric else transpose(self.words, self.pairs)

    def total(self) -> float:
        """Return the sum of all counts, after truncation."""
        return float(self.pairs.values.sum(dtype=np.float64))

    def _truncated(self, family: Family) -> Family:
        return family if self._x_max is None else Truncated(family, self._x_max)

    @property
    def weight_scale(self) -> float:
        """The factor by which weights of least squares problems are divided, so that those of the first are at most 1."""
        return float(self.family.weight(self.largest))

    def first_squares(self, pairs: SeenPairs, which: Which) -> tuple[Array, Array]:
        """Return targets and weights of the first least squares problem, at mu = x: g(x), and h(x) divided by the largest."""
        return self.family.link(pairs.values), self.family.weight(pairs.values) / self.family.weight(self.largest)

    def shares(self, factors: Factors) -> tuple[Array, Array]:
        """Return the noise shares of words and of contexts."""
        power = self.family.share_power
        return np.exp(power * factors.word_bias), np.exp(power * factors.context_bias)

    def side(self, which: Which, factors: Factors) -> Side:
        """Return the half problem of ``words`` or ``contexts``."""
        word_share, context_share = self.shares(factors)
        words = factors.words, factors.word_bias, word_share
        contexts = factors.contexts, factors.context_bias, context_share
        if which == "words":
            return Side(self.family, self.pairs, *words, *contexts, learns_bias=self.bias != "none")
        return Side(self.family, self.transposed, *contexts, *words, learns_bias=self.bias == "both")

    def start(self, dimension: int) -> Factors:
        """Return cheap starting values: eigenvectors of the weighted PMI for words, zeros for contexts."""
        counts = without_held_out(self.counts, self.pairs) if self.pairs.held_out.size else self.counts
        vectors = spectral_words(counts, self.run, dimension)
        factors = Factors(vectors, np.zeros_like(vectors), *self.marginals())
        if self.bias == "row" and self.family.share_power:
            # contexts have no bias, so one dimension starts as theirs, and the means again at independence
            frequency = self._log_marginals()[1]
            frequency -= frequency.mean()
            length = np.sqrt(max(float(np.sqrt(np.mean(frequency**2))), 1e-6))
            factors.words[:, -1], factors.contexts[:, -1] = length, frequency / length
        return factors

    def marginals(self) -> tuple[Array, Array]:
        """Return the biases under independence, mu = x_i·x_j/x; zeros if the link is not the logarithm.

        Where contexts have no bias, the mean of a word is the same for all of them.
        """
        if self.family.share_power == 0:
            return np.zeros(self.words), np.zeros(self.words)
        word_bias, context_bias = self._log_marginals()
        if self.bias == "row":
            return word_bias + context_bias.mean(), np.zeros(self.words)
        return word_bias, context_bias

    def _log_marginals(self) -> tuple[Array, Array]:
        half = 0.5 * np.log(self.row_sums.sum())
        word_bias, context_bias = (
            np.log(np.maximum(sums, SMALLEST_COUNT)) - half for sums in (self.row_sums, self.column_sums)
        )
        return word_bias, context_bias

    def hold_out(self, share: float) -> tuple[Self, HeldOut]:
        """Return a model that does not fit a share of the seen pairs, chosen by the seed, and those pairs."""
        rest = copy.copy(self)
        rest.pairs, held_out = hold_out(self.pairs, share, self.run.seed)
        rest.transposed = rest.pairs if self._is_symmetric else hold_out(self.transposed, share, self.run.seed)[0]
        return rest, held_out

    def with_family(self, family: Family) -> Self:
        """Return the same model with another family."""
        other = copy.copy(self)
        other.family = other._truncated(family)
        return other

    def draw_unseen(self, number: int) -> HeldOut:
        """Draw cells without a count, for validation."""
        return draw_unseen(self.pairs, self.row_sums, self.column_sums, number, self.run.generator(_UNSEEN_CELLS))

    def stats(self) -> dict[str, Any]:
        """Return statistics for the record."""
        return {"family": self.family.name, "pairs": int(self.pairs.values.size)}


class NegativeSampling(ExponentialFamily):
    """SGNS as a likelihood (EMF): X of n = X + k·x_i·x_j^a/Z trials, each with probability sigma(u·c)."""

    def __init__(
        self,
        counts: Counts,
        run: Run,
        negative: Negative = 6.0,
        ns_exponent: Smoothing = 0.6,
        truncate_counts: TruncateCounts = "none",
        diagonal: Diagonal = True,
    ) -> None:
        super().__init__(counts, run, Binomial(), truncate_counts=truncate_counts, diagonal=diagonal)
        self.negative = negative
        noise = np.asarray(self.column_sums, dtype=np.float64) ** ns_exponent * (self.column_sums > 0)
        #: The noise distribution of contexts.
        self.noise = noise / noise.sum()

    def shares(self, factors: Factors | None = None) -> tuple[Array, Array]:
        """Return k·x_i and x_j^a/Z, whose product rho_ij is the expected number of noise events."""
        return self.negative * self.row_sums, self.noise

    @property
    def weight_scale(self) -> float:
        """1: the weights of the first problem are not scaled."""
        return 1.0

    def first_squares(self, pairs: SeenPairs, which: Which) -> tuple[Array, Array]:
        """At pi = x/(x + rho): the shifted PMI log(x/rho), and h = n·pi·(1 - pi) = x·rho/(x + rho)."""
        left, right = self.shares() if which == "words" else self.shares()[::-1]
        rho = left[pairs.row_ids()] * right[pairs.indices]
        return np.log(pairs.values / rho).astype(np.float32), pairs.values * rho / (pairs.values + rho)


def tweedie(
    counts: Counts,
    run: Run,
    power: Annotated[
        float | str,
        Option("p of the variance mu^p; auto: estimated from held-out pairs", low=1, high=2, words=("auto",)),
    ] = 1.25,
    bias: Bias = "both",
    truncate_weights: TruncateWeights = 10.0,
    truncate_counts: TruncateCounts = "none",
    diagonal: Diagonal = True,
) -> ExponentialFamily:
    """Build a model with variance mu^p: GloVe after one iteration, a likelihood of harmonic counts after more."""
    family = Tweedie(1.25 if power == "auto" else float(power))
    return ExponentialFamily(
        counts, run, family, bias, truncate_counts, diagonal, truncate_weights, estimates_power=power == "auto"
    )


def poisson(
    counts: Counts,
    run: Run,
    bias: Bias = "both",
    truncate_weights: TruncateWeights = 10.0,
    truncate_counts: TruncateCounts = "none",
    diagonal: Diagonal = True,
) -> ExponentialFamily:
    """Build a model with variance mu."""
    return ExponentialFamily(counts, run, Poisson(), bias, truncate_counts, diagonal, truncate_weights)


def negative_binomial(
    counts: Counts,
    run: Run,
    theta: Annotated[float, Option("shape; large values approach Poisson", low=1e-6)] = 1.0,
    bias: Bias = "both",
    truncate_weights: TruncateWeights = 10.0,
    truncate_counts: TruncateCounts = "none",
    diagonal: Diagonal = True,
) -> ExponentialFamily:
    """Build a model with variance mu + mu²/theta."""
    return ExponentialFamily(counts, run, NegativeBinomial(theta), bias, truncate_counts, diagonal, truncate_weights)


def gaussian(
    counts: Counts,
    run: Run,
    link: Annotated[
        str, Option("identity: singular vectors; log: positive means, and biases", choices=("identity", "log"))
    ] = "identity",
    truncate_counts: TruncateCounts = 10.0,
    diagonal: Diagonal = True,
) -> ExponentialFamily:
    """Build a model with constant variance: the SVD of the counts, or positive means and biases with a log link."""
    family, bias = (LogGaussian(), "both") if link == "log" else (Gaussian(), "none")
    return ExponentialFamily(counts, run, family, bias, truncate_counts, diagonal)


def spectral_words(counts: Counts, run: Run, dimension: int) -> Array:
    """Return word vectors of equal length from the top eigenvectors of W∘G + (1 - W)∘G/2, PSDVec's first matrix.

    Eigenvalues are ranked by magnitude: the negative ones belong to words that replace each other, and carry syntax.
    """
    model = WeightedPMI(counts, run)
    values = model.weights

    def fill(begin: int, end: int) -> None:
        part = slice(begin, end)
        values[part] = model.targets[part] * (np.float32(0.5) + np.float32(0.5) * model.weights[part])

    run.over_rows(fill, values.size, PAIRS_AT_ONCE, here=True)
    del model.targets
    shape = (model.words, model.words)
    operator = SparseOperator(model.indptr, model.indices, values, shape, symmetric=True)
    eigenvalues, vectors = top_eigen(
        operator,
        dimension,
        run,
        "magnitude",
        tolerance=START_TOLERANCE,
        products=START_PRODUCTS * dimension,
        name="start",
    )
    powers = (np.abs(eigenvalues) ** START_POWER).astype(np.float32)

    def scale(begin: int, end: int) -> None:
        rows = vectors[begin:end]
        rows *= powers
        lengths = np.sqrt(np.square(rows, dtype=np.float64).sum(axis=1, keepdims=True))
        rows *= np.where(lengths > 1e-12, START_LENGTH / np.maximum(lengths, 1e-12), 0.0).astype(np.float32)

    run.over_rows(scale, len(vectors), here=True)
    return vectors
