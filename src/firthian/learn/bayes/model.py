"""Bayesian logistic factorization: every word and every context a Gaussian, over all pairs of words.

p(pair is real | i, j) = sigma(u_i·c_j + a_i + b_j), u_i ~ N(0, I), c_j ~ N(0, diag(alpha)^-1), alpha ~ Gamma.
A pair was seen X_ij times, and stands against nu_i·p_j expected negative events, nu_i = k·x_i and p_j ~ x_j^a:
the expectation of negative sampling, over *every* pair, so that the bound can be computed (docs/derivations/bayes.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.counts.counts import Counts
from firthian.errors import FirthianError
from firthian.learn.weighting import on_pattern
from firthian.runtime.executor import constant
from firthian.runtime.run import Run


@dataclass(frozen=True)
class Side:
    """The pairs as words see them, or as contexts do: compressed rows, and the rates of the background.

    A listed pair has temper·positive and temper·negative + own_rate·other_rate events; every other pair
    own_rate·other_rate negative ones. ``negative`` may be empty, which stands for zeros.
    """

    indptr: Array
    indices: Array
    positive: Array
    negative: Array
    own_rate: Array
    other_rate: Array

    def __post_init__(self) -> None:
        for name in ("indptr", "indices", "positive", "negative"):
            object.__setattr__(self, name, constant(getattr(self, name)))

    @property
    def rows(self) -> int:
        """How many words, or contexts."""
        return int(self.indptr.size - 1)

    def unlisted_mass(self, run: Run) -> Array:
        """Return the share of the background that falls on pairs that are not listed, for each row.

        Shares below a millionth are 0: they are sums over all contexts less sums over the listed ones, and float32 moments
        cannot tell them from rounding.
        """
        out = np.zeros(self.rows)

        def fill(first: int, last: int) -> None:
            low, high = int(self.indptr[first]), int(self.indptr[last])
            sums = np.concatenate([[0.0], np.cumsum(self.other_rate[self.indices[low:high]])])
            ends = np.asarray(self.indptr[first : last + 1]) - low
            out[first:last] = sums[ends[1:]] - sums[ends[:-1]]

        run.over_rows(fill, self.rows, here=True)
        total = self.other_rate.sum()
        rest = 1 - out / total if total > 0 else np.zeros(self.rows)
        return np.where(rest > 1e-6, rest, 0.0)


class BayesianLogistic:
    """The data, the priors and the bound of the model; how it is fitted is the solver's business.

    ``temper`` multiplies all counts (below 1 the posterior is wider); ``bias`` is none, row (a_i) or both (a_i, b_j).
    """

    def __init__(
        self,
        counts: Counts,
        run: Run,
        negative: float = 5.0,
        ns_exponent: float = 0.75,
        negatives: str = "expected",
        temper: float = 1.0,
        bias: str = "none",
        bound: str = "jaakkola",
        relevance_shape: float = 1e-3,
        relevance_rate: float = 1e-3,
        bias_precision: float = 0.01,
    ) -> None:
        if negative <= 0:
            raise FirthianError(
                "without negative events every pair is real, and the best vectors are all alike",
                hint="give --negative 1 or more",
            )
        if counts.total <= 0:
            raise FirthianError("no pair of words was seen", hint="give more text, or a wider --window")
        self.counts = counts
        self.run = run
        self.temper = temper
        self.bias = bias
        self.bound = bound
        self.relevance_shape, self.relevance_rate = relevance_shape, relevance_rate
        self.bias_precision = bias_precision
        row_rate = negative * temper * np.asarray(counts.row_sums, dtype=np.float64)
        noise = np.asarray(counts.column_sums, dtype=np.float64) ** ns_exponent
        noise /= noise.sum()
        nothing = np.empty(0, dtype=counts.values.dtype)
        if negatives == "expected":
            words = Side(counts.indptr, counts.indices, counts.values, nothing, row_rate, noise)
        else:
            words = sampled_events(counts, run, negative, noise)
        symmetric = counts.options.context == "both" and negatives == "expected"
        self.words = words
        self.contexts = (
            Side(words.indptr, words.indices, words.positive, nothing, words.other_rate, words.own_rate)
            if symmetric
            else transposed(words)
        )

    @classmethod
    def of_events(cls, positive: Array, negative: Array, run: Run, **options: Any) -> BayesianLogistic:
        """Build the model from two dense matrices of events, as the synthetic studies have them; no background."""
        import scipy.sparse

        model = cls.__new__(cls)
        model.run = run
        model.temper = options.get("temper", 1.0)
        model.bias = options.get("bias", "none")
        model.bound = options.get("bound", "jaakkola")
        model.relevance_shape = options.get("relevance_shape", 1e-3)
        model.relevance_rate = options.get("relevance_rate", 1e-3)
        model.bias_precision = options.get("bias_precision", 0.01)
        pattern = scipy.sparse.csr_array((positive + negative) > 0)
        rows = np.repeat(np.arange(positive.shape[0]), np.diff(pattern.indptr))
        model.words = Side(
            pattern.indptr.astype(np.int64),
            pattern.indices.astype(np.int32),
            positive[rows, pattern.indices].astype(np.float64),
            negative[rows, pattern.indices].astype(np.float64),
            np.zeros(positive.shape[0]),
            np.zeros(positive.shape[1]),
        )
        model.contexts = transposed(model.words)
        return model

    @property
    def shape(self) -> tuple[int, int]:
        """Words by contexts."""
        return self.words.rows, self.contexts.rows


def sampled_events(counts: Counts, run: Run, negative: float, noise: Array) -> Side:
    """Draw the negative events once: row i has round(k·x_i) of them, spread over contexts by ``noise``."""
    import scipy.sparse

    words = len(counts.vocabulary)
    draws = np.rint(negative * np.asarray(counts.row_sums)).astype(np.int64)
    if not draws.any():
        raise FirthianError(
            "the sample has no negative event", hint="raise --negative, or give --set negatives=expected"
        )
    ends = np.cumsum(noise)
    ends /= ends[-1]

    def draw(row: int) -> tuple[Array, Array]:
        # A generator for each row: the sample does not depend on the order in which rows are drawn.
        generator = run.generator(6, row)
        if draws[row] < words:
            # One by one, for few: most words are rare, and a number for each context of each would be V² of them.
            columns, events = np.unique(
                np.searchsorted(ends, generator.random(draws[row]), "right"), return_counts=True
            )
        else:
            everywhere = generator.multinomial(draws[row], noise)
            columns = np.flatnonzero(everywhere)
            events = everywhere[columns]
        return columns.astype(np.int32), events.astype(np.float32)

    blocks = run.over_rows(lambda first, last: [draw(row) for row in range(first, last)], words, here=True)
    drawn = [found for block in blocks for found in block]
    sizes = np.concatenate([[0], np.cumsum([columns.size for columns, _ in drawn])])
    sample = scipy.sparse.csr_array(
        (np.concatenate([events for _, events in drawn]), np.concatenate([columns for columns, _ in drawn]), sizes),
        shape=counts.shape,
    )
    # The union of both patterns.
    seen = scipy.sparse.csr_array(
        (np.ones(counts.pairs, np.float32), np.array(counts.indices), np.array(counts.indptr)), shape=counts.shape
    )
    pattern = seen + (sample != 0).astype(np.float32)
    pattern.sort_indices()
    positive = on_pattern(pattern, counts.to_scipy().astype(np.float32))
    return Side(
        pattern.indptr.astype(np.int64),
        pattern.indices.astype(np.int32),
        positive,
        on_pattern(pattern, sample),
        np.zeros(words),
        np.zeros(words),
    )


def transposed(side: Side) -> Side:
    """Return the pairs as the other side sees them."""
    import scipy.sparse

    shape = (side.rows, side.other_rate.size)
    order = scipy.sparse.csr_array(
        (np.arange(side.indices.size), np.asarray(side.indices), np.asarray(side.indptr)), shape=shape
    ).T.tocsr()
    order.sort_indices()
    negative = side.negative[order.data] if side.negative.size else side.negative
    return Side(
        order.indptr.astype(np.int64),
        order.indices.astype(np.int32),
        np.asarray(side.positive)[order.data],
        negative,
        side.other_rate,
        side.own_rate,
    )
