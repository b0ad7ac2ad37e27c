"""Supervised explicit matrix factorization: known analogies help to fit the vectors (Li et al. 2015, eq. 14).

A question a : b = c : d makes u_b - u_a + u_c a second vector of the word d, so the counts of d should be likely
under it, too: L = L(X, U C') + lambda · sum L(X_d, (u_b - u_a + u_c) C'). Each question is one more row of the problem.

This moves the words of the questions only. But L(X, U C') is the same for U A and C A⁻ᵀ with any matrix A: counts determine the
vectors up to a linear map, on which cosines depend. ``teach=metric`` chooses the map by the questions, and all words move.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from firthian.arrays import Array
from firthian.counts.counts import Counts
from firthian.errors import FirthianError
from firthian.learn.likelihood.alternating import (
    Alternating,
    Center,
    Damping,
    FactorModel,
    PriorEvents,
    Ridge,
    SampledZeros,
    SweepCount,
    SweptModel,
    Unseen,
)
from firthian.learn.likelihood.losses import Gradient, Loss
from firthian.learn.likelihood.model import Diagonal, Factors, Negative, NegativeSampling, Side, TruncateCounts, Which
from firthian.learn.likelihood.pairs import SeenPairs, transpose
from firthian.learn.likelihood.recipes import SEMF_MEMORY
from firthian.learn.recipe import Combine, Smoothing
from firthian.learn.solver import Solution
from firthian.options import Option
from firthian.runtime.memory import Problem, check_fits
from firthian.runtime.run import Run, one_blas_thread

#: Cosines are multiplied by this before the softmax that chooses a metric.
SHARPNESS = 20.0

#: The metric shrinks no direction more than this, so that it can be inverted.
LEAST_SCALE = 0.1

#: The most frequent words that may be wrong answers, and the questions whose scores are in memory together.
MOST_CANDIDATES, QUESTIONS_AT_ONCE = 10_000, 256


@dataclass(frozen=True)
class Analogies:
    """Questions as word ids (rows of a, b, c, d), and the number skipped because a word is unknown."""

    ids: Array
    unknown: int

    def stats(self) -> dict[str, Any]:
        """Return statistics for the record."""
        return {"analogies": len(self.ids), "unknown_analogies": self.unknown}


class TaughtMetric(NegativeSampling):
    """Plain EMF, and the analogies that choose its metric after the fit."""

    def __init__(self, model: NegativeSampling, analogies: Analogies, ridge: float) -> None:
        vars(self).update(vars(model))
        self.analogies, self.metric_ridge = analogies, ridge

    def stats(self) -> dict[str, Any]:
        """Return statistics for the record."""
        return {**super().stats(), **self.analogies.stats()}


class SupervisedEMF:
    """EMF plus lambda times the likelihood of analogies. Solvers use ``side`` and ``analogy_rows``."""

    def __init__(self, model: NegativeSampling, analogies: Analogies, weight: float) -> None:
        self.model, self.analogies, self.weight = model, analogies, weight
        self.bias, self.family, self.words, self.start = model.bias, model.family, model.words, model.start
        self.counts, self.total = model.counts, model.total
        answers = analogies.ids[:, 3]
        self.shares = weight * model.negative * model.row_sums[answers]
        events = weight * model.row_sums[answers] * (1 + model.negative)
        #: Events behind the questions a word is part of; three words move for each, so each question counts three times.
        self.extra_events = np.bincount(analogies.ids[:, :3].ravel(), np.repeat(3 * events, 3), minlength=model.words)

    @cached_property
    def pairs(self) -> SeenPairs:
        """The weighted counts of the answers, one row per question."""
        pairs, rows = self.model.pairs, self.analogies.ids[:, 3]
        sizes = np.diff(pairs.indptr)[rows]
        indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        places = np.repeat(pairs.indptr[rows] - indptr[:-1], sizes) + np.arange(indptr[-1])
        return SeenPairs(indptr, pairs.indices[places], np.float32(self.weight) * pairs.values[places])

    @cached_property
    def transposed(self) -> SeenPairs:
        """The columns of the counts stacked on the questions."""
        return transpose(self.words, self.model.pairs, self.pairs)

    def check_memory(self, dimension: int, run: Run) -> None:
        """Raise if the questions exceed the memory budget: each adds all the pairs of its answer."""
        own = self.model.pairs.values.size
        added = int(np.diff(self.model.pairs.indptr)[self.analogies.ids[:, 3]].sum())
        needed = SEMF_MEMORY.needed(Problem(self.words, own + added, dimension))
        what = f"learning {len(self.analogies.ids):,} analogies ({added:,} pairs beside the {own:,} counted ones)"
        check_fits(what, needed, run.budget, "use fewer analogies")

    def stats(self) -> dict[str, Any]:
        """Return statistics for the record."""
        return {**self.model.stats(), **self.analogies.stats()}

    def combined(self, factors: Factors) -> Array:
        """Return u_b - u_a + u_c of each question."""
        a, b, c = self.analogies.ids[:, :3].T
        vectors: Array = factors.words[b] - factors.words[a] + factors.words[c]
        return vectors

    def analogy_rows(self, factors: Factors) -> Side:
        """Return the rows of the questions as a half problem of their own."""
        side = self.model.side("words", factors)
        zeros = np.zeros(len(self.analogies.ids))
        return replace(side, pairs=self.pairs, left=self.combined(factors), left_bias=zeros, left_share=self.shares)

    def side(self, which: Which, factors: Factors) -> Side:
        """Return the half problem of ``words`` (without the questions) or ``contexts`` (with them)."""
        side = self.model.side(which, factors)
        if which == "words":
            return replace(side, extra_events=self.extra_events)
        return replace(
            side,
            pairs=self.transposed,
            right=np.concatenate([factors.words, self.combined(factors)]),
            right_bias=np.zeros(self.words + len(self.shares)),
            right_share=np.concatenate([side.right_share, self.shares]),
        )


class AnalogyLoss:
    """A loss that adds the gradient of the questions to the words they combine."""

    def __init__(self, loss: Loss, model: SupervisedEMF, factors: Factors) -> None:
        self.loss, self.model, self.factors = loss, model, factors

    def gradient(self, side: Side, run: Run, turn: int, value: bool = True) -> Gradient:
        """Return the gradient of one side; the contexts' side has the questions among its pairs already."""
        gradient = self.loss.gradient(side, run, turn, value)
        if side.left is not self.factors.words:
            return gradient
        extra = self.loss.gradient(self.model.analogy_rows(self.factors), run, turn, value)
        vectors, curvature = gradient.vectors, gradient.curvature.copy()
        a, b, c = self.model.analogies.ids[:, :3].T
        # d(u_b - u_a + u_c), the questions in their order, so that sums do not depend on the workers
        np.add.at(vectors, b, extra.vectors)
        np.subtract.at(vectors, a, extra.vectors)
        np.add.at(vectors, c, extra.vectors)
        for ids in (a, b, c):
            np.add.at(curvature, ids, extra.curvature)
        return replace(gradient, vectors=vectors, curvature=curvature)

    def values(self, side: Side, run: Run, turn: int, active: Array | None = None) -> Array:
        """Return the losses of the contexts' side, which are those of the whole problem."""
        return self.loss.values(side, run, turn, active)


class Supervised(Alternating):
    """``Alternating`` by damped steps for models with analogies; the same without.

    Learning the questions takes longer steps than ``Alternating`` by default, however small the corpus.
    """

    def __init__(
        self,
        epochs: SweepCount = 6,
        unseen: Unseen = "expanded",
        sampled_zeros: SampledZeros = 2048,
        damping: Damping = 0.1,
        prior_events: PriorEvents = 0.0,
        ridge: Ridge = 0.0,
        combine: Combine = "u",
        center: Center = True,
    ) -> None:
        super().__init__(epochs, unseen, sampled_zeros, "damped", damping, prior_events, ridge, combine, center)

    def solve(self, model: SweptModel, dimension: int, run: Run) -> Solution:
        """Fit the model from its own start."""
        if isinstance(model, SupervisedEMF):
            model.check_memory(dimension, run)
        return teach_metric(model, super().solve(model, dimension, run))

    def loss_for(self, model: SweptModel, factors: Factors) -> Loss:
        """Return the loss to minimize."""
        loss = super().loss_for(model, factors)
        return AnalogyLoss(loss, model, factors) if isinstance(model, SupervisedEMF) else loss


def semf(
    counts: Counts,
    run: Run,
    analogies: Annotated[str, Option("file of questions to learn from; empty: plain EMF")] = "",
    teach: Annotated[
        str,
        Option(
            "what analogies change: the vectors of their words, as in the paper, or the metric of all words",
            choices=("vectors", "metric"),
        ),
    ] = "vectors",
    lambda_: Annotated[
        float,
        Option("weight of an analogy relative to a word's own counts", low=0, only_with=("teach", "vectors")),
    ] = 0.05,
    metric_ridge: Annotated[
        float, Option("penalty on changing the metric", low=1e-6, only_with=("teach", "metric"))
    ] = 1.0,
    negative: Negative = 6.0,
    ns_exponent: Smoothing = 0.6,
    truncate_counts: TruncateCounts = "none",
    diagonal: Diagonal = True,
) -> SupervisedEMF | NegativeSampling:
    """Build EMF taught by the questions in a file, or plain EMF without one."""
    model = NegativeSampling(counts, run, negative, ns_exponent, truncate_counts, diagonal)
    if not analogies:
        return model
    questions = read_analogies(Path(analogies), counts)
    if teach == "metric":
        return TaughtMetric(model, questions, metric_ridge)
    return SupervisedEMF(model, questions, lambda_)


def teach_metric(model: FactorModel, solution: Solution) -> Solution:
    """Return the solution in the metric that the model's analogies choose; unchanged if it has none."""
    if not isinstance(model, TaughtMetric):
        return solution
    metric = fit_metric(solution.words, model.analogies.ids, model.metric_ridge)
    extras = dict(solution.extras)
    if "mean_vector" in extras:
        extras["mean_vector"] = extras["mean_vector"] @ metric
    # u·c, and with it the likelihood of the counts, stays the same
    contexts = solution.contexts
    if contexts is not None:
        contexts = (contexts @ np.linalg.inv(metric.astype(np.float64)).T).astype(np.float32)
    change = float(np.linalg.norm(metric - np.eye(len(metric))))
    return replace(
        solution,
        words=solution.words @ metric,
        contexts=contexts,
        extras=extras,
        stats={**solution.stats, "metric_change": change},
    )


def fit_metric(words: Array, questions: Array, ridge: float) -> Array:
    """Return the matrix A with which the vectors ``words @ A`` answer the questions (ids of a, b, c, d) best.

    It minimizes the cross-entropy of the answers under a softmax of the scores of 3CosAdd, plus ridge/2·|A - I|². Wrong answers
    are the frequent words and those of other questions.
    """
    from scipy.optimize import minimize

    chosen = np.union1d(np.arange(min(len(words), MOST_CANDIDATES)), questions)
    questions = np.searchsorted(chosen, questions)
    vectors = words[chosen]
    vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    shape, identity = (vectors.shape[1],) * 2, np.eye(vectors.shape[1])

    def objective(change: Array) -> tuple[float, Array]:
        moved = vectors @ (identity + change.reshape(shape)).astype(np.float32)
        lengths = np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-12)
        unit = moved / lengths
        slopes, total = np.zeros_like(unit), 0.0
        for first in range(0, len(questions), QUESTIONS_AT_ONCE):
            total += _add_slopes(unit, questions[first : first + QUESTIONS_AT_ONCE], slopes)
        # the derivative of u/|u|
        slopes = (slopes - (slopes * unit).sum(axis=1, keepdims=True) * unit) / lengths
        gradient = (vectors.T @ slopes).astype(np.float64).ravel() / len(questions) + ridge * change
        return total / len(questions) + 0.5 * ridge * float(change @ change), gradient

    with one_blas_thread():
        found = minimize(objective, np.zeros(identity.size), jac=True, method="L-BFGS-B", options={"maxiter": 30})
        left, scales, right = np.linalg.svd(identity + found.x.reshape(shape))
    metric: Array = ((left * np.maximum(scales, LEAST_SCALE)) @ right).astype(np.float32)
    return metric


def _add_slopes(unit: Array, questions: Array, slopes: Array) -> float:
    """Return the cross-entropy of the answers to questions; add its derivative by ``unit`` to ``slopes``."""
    a, b, c, d = questions.T
    rows = np.arange(len(questions))
    target = unit[b] - unit[a] + unit[c]
    scores = np.float32(SHARPNESS) * (target @ unit.T)
    for given in (a, b, c):
        scores[rows, given] = -np.inf
    scores -= scores.max(axis=1, keepdims=True)
    answers = scores[rows, d].astype(np.float64)
    np.exp(scores, out=scores)
    sums = scores.sum(axis=1, keepdims=True)
    scores /= sums
    scores[rows, d] -= 1
    scores *= np.float32(SHARPNESS)
    slopes += scores.T @ target
    back = scores @ unit
    for ids, sign in ((a, -1), (b, 1), (c, 1)):
        np.add.at(slopes, ids, np.float32(sign) * back)
    return float((np.log(sums[:, 0]) - answers).sum())


def read_analogies(path: Path, counts: Counts) -> Analogies:
    """Read questions, skipping and counting those with a word outside the vocabulary."""
    from firthian.datasets.word_tasks import Questions, read

    questions = read(path, "analogy")
    if not isinstance(questions, Questions):
        raise FirthianError(f"{path} has no analogies", hint="write four words per line, such as: man king woman queen")
    vocabulary, known = counts.vocabulary, []
    for question in questions.words:
        words = [word.lower() if vocabulary.lowercase else word for word in question]
        if all(word in vocabulary for word in words):
            known.append([vocabulary[word] for word in words])
    if not known:
        raise FirthianError(f"no question in {path} has four known words", hint="lower `min_count`")
    return Analogies(np.array(known, dtype=np.int64), len(questions) - len(known))
