"""What the methods are made of: weights of words by frequency, and linear maps from statistics of texts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.runtime.run import one_blas_thread
from firthian.text.vocabulary import Vocabulary
from firthian.texts.pooling import Weights

#: uSIF's number of words of a text before any is seen, as in its authors' program.
_USUAL_LENGTH = 11.0

#: Share of the mean variance that is added to all variances, so that rare directions are not blown up.
_RIDGE = 1e-4


@dataclass(frozen=True)
class Method:
    """A row of the table of methods: how words are weighed, and what is done with the weighted means."""

    summary: str
    #: flat, sif or usif.
    weights: str
    #: The strongest components of texts that are removed, and whether only in proportion to their strength.
    components: int = 0
    piecewise: bool = False
    #: Whether the map is learned from neighboring spans.
    spans: bool = False
    #: Whether each word then gets the mean vector of the texts in which it occurs.
    topics: bool = False


METHODS = {
    "mean": Method("the mean of the word vectors", "flat"),
    "sif": Method("frequent words weigh less; one common component removed (Arora, Liang and Ma 2017)", "sif", 1),
    "usif": Method(
        "weights without a parameter; five components removed by strength (Ethayarajh 2018)", "usif", 5, True
    ),
    "spans": Method("sif weights; a map by which neighboring spans of a text agree", "sif", spans=True),
    "topics": Method(
        "spans; then words get the mean vector of the texts they occur in", "sif", spans=True, topics=True
    ),
}


@dataclass(frozen=True)
class Moments:
    """Sums over vectors of texts or spans: their number, their sum, the sums of outer products, also of neighbors."""

    number: int
    total: Array
    products: Array
    #: Σ (x yᵀ + y xᵀ) over neighbors, where each counts as often as it has one.
    cross: Array
    tokens: int = 0

    @classmethod
    def zero(cls, width: int) -> Moments:
        """Return the sums over nothing."""
        return cls(0, np.zeros(width), np.zeros((width, width)), np.zeros((width, width)))

    @classmethod
    def of(cls, rows: Array, tokens: int = 0) -> Moments:
        """Add up the vectors of texts."""
        wide = rows.astype(np.float64)
        return cls(len(wide), wide.sum(axis=0), wide.T @ wide, np.zeros((wide.shape[1],) * 2), tokens)

    @classmethod
    def of_pairs(cls, left: Array, right: Array) -> Moments:
        """Add up the vectors of neighbors."""
        both, cross = cls.of(np.concatenate([left, right])), left.astype(np.float64).T @ right.astype(np.float64)
        return cls(both.number, both.total, both.products, cross + cross.T)

    def __add__(self, other: Moments) -> Moments:
        return Moments(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))


def word_weights(vocabulary: Vocabulary, kind: str, smoothing: float, length: float = _USUAL_LENGTH) -> Weights:
    """Return the weights of words; those outside the vocabulary weigh as much as a word of probability 0.

    ``length`` is the mean number of words of a text, which only uSIF uses.
    """
    if kind == "flat":
        return Weights(np.ones(len(vocabulary)), 1.0)
    counts = vocabulary.counts
    if not counts.any():
        raise FirthianError("these vectors have no word counts", hint="use `method=mean`")
    p = counts / counts.sum()
    if kind == "usif":
        # Ethayarajh 2018, section 4: alpha is the share of words expected in a text of this length more than by chance.
        threshold = 1 - (1 - 1 / len(vocabulary)) ** length
        alpha = np.count_nonzero(p > threshold) / len(vocabulary)
        a = (1 - alpha) / max(alpha * len(vocabulary) / 2, 1e-12)
        smoothing = a / 2
        return Weights(a / (a / 2 + p), 2.0)
    # Arora, Liang and Ma 2017, eq. 3.
    return Weights(smoothing / (smoothing + p), 1.0)


def remove_components(moments: Moments, components: int, piecewise: bool) -> Array:
    """Return the projection that removes the strongest common components of texts (not centered, as in the papers)."""
    width = moments.total.size
    same: Array = np.eye(width)
    if not components or not moments.number:
        return same
    with one_blas_thread():
        strengths, directions = np.linalg.eigh(moments.products / moments.number)
    common, strengths = directions[:, ::-1][:, :components], np.maximum(strengths[::-1][:components], 0)
    # Arora et al., algorithm 1, line 6: v - u uᵀ v. Ethayarajh, section 4: each share is σᵢ² / Σ σⱼ².
    shares = strengths / max(strengths.sum(), 1e-300) if piecewise else np.ones(common.shape[1])
    removed: Array = same - (common * shares) @ common.T
    return removed


def agreement_map(moments: Moments, power: float) -> tuple[Array, Array, Array]:
    """Return the center of spans, the map W·Λ^power, and the agreements Λ, largest first.

    W maximizes tr(Wᵀ C₁₂ W) under Wᵀ C₁₁ W = I, where C₁₁ is the covariance of spans and C₁₂ that of neighbors: its columns
    are the directions in which neighbors agree, and Λ their correlations.
    """
    from scipy.linalg import eigh

    width, number = moments.total.size, moments.number
    center = moments.total / number
    outer = np.outer(center, center)
    within, between = moments.products / number - outer, moments.cross / number - outer
    within += np.eye(width) * (_RIDGE * np.trace(within) / width + 1e-12)
    with one_blas_thread():
        # C₁₂ w = λ C₁₁ w
        values, directions = eigh(between, within)
    values, directions = np.clip(values[::-1], 0, 1), directions[:, ::-1]
    # The sign of an eigenvector is arbitrary.
    signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(width)])
    return center, directions * signs * values**power, values
