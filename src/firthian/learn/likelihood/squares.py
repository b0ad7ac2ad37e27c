"""The least squares problems of IWLRLS, and their solution by Adagrad as in the paper: pair by pair, in many passes.

The first problem has the seen pairs only. In later ones every pair has a weight. The paper visits all V² of them; here the
seen pairs are visited, and as many unseen ones, drawn by their shares r_i·q_j and weighted by h / (probability · draws), so
that their sum is unbiased.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol, Self

import numpy as np

from firthian.arrays import Array
from firthian.learn.likelihood.alternating import StartingModel
from firthian.learn.likelihood.families import Family, Gaussian
from firthian.learn.likelihood.losses import Loss, SeenOnly
from firthian.learn.likelihood.model import Factors, Side, Which
from firthian.learn.likelihood.pairs import HeldOut, SeenPairs
from firthian.learn.likelihood.updates import penalties
from firthian.learn.stochastic.cells import PARTS, padded, small_start
from firthian.learn.stochastic.glove import Pairs, Parameters, passes
from firthian.runtime.run import Run

#: The longest distance of a response from the predictor: where a mean is far too small, (x - mu)/mu is no linear step.
LONGEST_RESPONSE = 2.0

#: The largest weight of an unseen pair, where a seen one has 1: a pair hardly ever drawn would dominate its word.
MOST_WEIGHT = 10.0

#: Pairs per step of Adagrad, as in the paper.
BATCH = 512

#: Predictors are kept within this range where weights are computed, so that means fit a float.
LARGEST_PREDICTOR = 30.0

#: Rows, columns, targets and weights of pairs.
WeightedTargets = tuple[Array, Array, Array, Array]

_START, _ORDER, _ZEROS = 0x5C1, 0x5C2, 0x5C3


class ReweightedModel(StartingModel, Protocol):
    """What IWLRLS needs of a model: its pairs by word and by context (``transposed``), and the sums of its counts.

    ``estimates_power`` tells whether the power of the variance is to be estimated from held-out pairs.
    """

    family: Family
    pairs: SeenPairs
    transposed: SeenPairs
    row_sums: Array
    estimates_power: bool

    @property
    def weight_scale(self) -> float:
        """The factor by which weights of least squares problems are divided."""

    def first_squares(self, pairs: SeenPairs, which: Which) -> tuple[Array, Array]:
        """Return targets and weights of the first least squares problem."""

    def shares(self, factors: Factors) -> tuple[Array, Array]:
        """Return the noise shares of words and of contexts."""

    def marginals(self) -> tuple[Array, Array]:
        """Return the biases under independence."""

    def hold_out(self, share: float) -> tuple[Self, HeldOut]:
        """Return a model that does not fit a share of the seen pairs, and those pairs."""

    def with_family(self, family: Family) -> Self:
        """Return the same model with another family."""

    def draw_unseen(self, number: int) -> HeldOut:
        """Draw cells without a count."""


class FirstProblem:
    """The first least squares problem of IWLRLS: mu = X, so only seen pairs have a weight, and z = g(x).

    With a log link the weights are h = min(x, x_max)^(2-p), scaled to at most 1: with p = 1.25 this is GloVe's objective,
    halved. A ridge is divided by ``model.weight_scale``, so that it means the same in every iteration.
    """

    def __init__(self, model: ReweightedModel) -> None:
        self.model = model
        self.pairs = self._squares(model.pairs, "words")
        # noise shares of words and contexts differ, even where counts are symmetric
        is_symmetric = model.transposed is model.pairs and model.family.share_power != 0
        self.transposed = self.pairs if is_symmetric else self._squares(model.transposed, "contexts")
        self._word_share, self._context_share = (
            np.bincount(pairs.indices, pairs.weights, minlength=model.words) for pairs in (self.transposed, self.pairs)
        )

    def _squares(self, pairs: SeenPairs, which: Which) -> SeenPairs:
        targets, weights = self.model.first_squares(pairs, which)
        return SeenPairs(pairs.indptr, pairs.indices, targets, np.where(pairs.fitted, weights, 0).astype(np.float32))

    def side(self, which: Which, factors: Factors) -> Side:
        """Return the half problem of ``words`` or ``contexts``."""
        is_words = which == "words"
        return replace(
            self.model.side(which, factors),
            family=Gaussian(),
            pairs=self.pairs if is_words else self.transposed,
            left_share=np.zeros(self.model.words),
            right_share=self._context_share if is_words else self._word_share,
        )


class AdagradSquares:
    """``epochs`` passes over each problem at the rate ``alpha``; ``loss`` is that of all pairs.

    As in the paper: batches of 512, textbook accumulators that start at 0, and a ridge. Clipped responses and weights
    are counted.
    """

    def __init__(self, epochs: int, alpha: float, loss: Loss, ridge: float = 0.0) -> None:
        self.epochs, self.alpha, self.loss, self.ridge = epochs, alpha, loss, ridge
        self.clipped_responses = self.clipped_weights = 0
        #: Half the weighted squares after each pass, for each problem, without the ridge.
        self.passes: list[list[float]] = []

    def start(self, model: ReweightedModel, dimension: int, run: Run) -> Factors:
        """Return small random vectors, as in the paper, and the biases under independence."""
        words, contexts = (
            np.ascontiguousarray(small_start(run.generator(_START, side), model.words, dimension)[:, :dimension])
            for side in range(2)
        )
        return Factors(words, contexts, *model.marginals())

    def fit_first(self, model: ReweightedModel, factors: Factors, run: Run, name: str = "first") -> list[float]:
        """Fit the seen pairs; return the objective at the start and after the passes."""
        problem = FirstProblem(model)
        pairs = problem.pairs
        kept = pairs.weights > 0
        data = pairs.row_ids()[kept], pairs.indices[kept], pairs.values[kept], pairs.weights[kept]
        ridge = self.ridge / model.weight_scale

        def objective() -> float:
            return float(SeenOnly().values(problem.side("words", factors), run, 0).sum()) + _penalty(factors, ridge)

        before = objective()
        self.passes = [self._fit(model, factors, data, 0, run, name)]
        return [before, objective()]

    def fit_next(self, model: ReweightedModel, factors: Factors, iteration: int, run: Run) -> list[float]:
        """Fit all pairs with current weights and responses; return the loss of all pairs before and after."""
        before = self._total_loss(model, factors, run)
        seen, drawn = self._seen(model, factors, run), self._drawn(model, factors, iteration, run)
        rows, columns, targets, weights = (np.concatenate(part) for part in zip(seen, drawn, strict=True))
        data = rows, columns, targets, weights
        self.passes.append(self._fit(model, factors, data, iteration, run, f"passes-{iteration}"))
        return [before, self._total_loss(model, factors, run)]

    def stats(self) -> dict[str, Any]:
        """Return statistics for the record, which ``resume`` takes back."""
        return {name: getattr(self, name) for name in ("passes", "clipped_responses", "clipped_weights")}

    def resume(self, stats: dict[str, Any]) -> None:
        """Restore saved statistics."""
        self.passes = list(stats["passes"])
        self.clipped_responses, self.clipped_weights = stats["clipped_responses"], stats["clipped_weights"]

    def _total_loss(self, model: ReweightedModel, factors: Factors, run: Run) -> float:
        losses = self.loss.values(model.side("words", factors), run, 0)
        return float(losses.sum()) + _penalty(factors, self.ridge)

    def _working(
        self, model: ReweightedModel, factors: Factors, rows: Array, columns: Array, x: Any, eta: Array
    ) -> tuple[Array, Array]:
        """Return the responses z = eta - l'/h, clipped, and the weights h of pairs, scaled as in the first problem."""
        word_share, context_share = model.shares(factors)
        rho = (word_share[rows] * context_share[columns]).astype(np.float32)
        near = np.clip(eta, -LARGEST_PREDICTOR, LARGEST_PREDICTOR)
        weights = model.family.curvature(x, near, rho)
        change = -model.family.slope(x, near, rho) / np.maximum(weights, np.float32(1e-30))
        self.clipped_responses += int((np.abs(change) > LONGEST_RESPONSE).sum())
        response = eta + np.clip(change, -LONGEST_RESPONSE, LONGEST_RESPONSE)
        return response.astype(np.float32), (weights / model.weight_scale).astype(np.float32)

    def _seen(self, model: ReweightedModel, factors: Factors, run: Run) -> WeightedTargets:
        from firthian.kernels.likelihood import seen_products

        pairs, words, contexts = model.pairs, factors.words, factors.contexts
        eta = np.empty(pairs.values.size, dtype=np.float32)
        run.over_rows(
            lambda first, last: seen_products(pairs.indptr, pairs.indices, words, contexts, first, last, eta),
            pairs.row_count,
            pairs=[eta],
            pointers=pairs.indptr,
        )
        kept = pairs.fitted
        rows, columns, x = pairs.row_ids()[kept], pairs.indices[kept], pairs.values[kept]
        eta = eta[kept] + (factors.word_bias[rows] + factors.context_bias[columns]).astype(np.float32)
        return rows, columns, *self._working(model, factors, rows, columns, x, eta)

    def _drawn(self, model: ReweightedModel, factors: Factors, iteration: int, run: Run) -> WeightedTargets:
        from firthian.kernels.likelihood import mark_seen

        pairs, generator = model.pairs, run.generator(_ZEROS, iteration)
        number = pairs.values.size
        word_share, context_share = (share / share.sum() for share in model.shares(factors))
        rows, columns = (
            generator.choice(share.size, number, p=share).astype(np.int32) for share in (word_share, context_share)
        )
        seen = np.empty(number, dtype=bool)
        run.over_rows(
            lambda first, last: mark_seen(pairs.indptr, pairs.indices, rows, columns, first, last, seen),
            number,
            1 << 20,
            writes=[seen],
        )
        rows, columns = rows[~seen], columns[~seen]
        eta = np.empty(rows.size, dtype=np.float32)

        def fill(first: int, last: int) -> None:
            i, j = rows[first:last], columns[first:last]
            products = np.einsum("ik,ik->i", factors.words[i], factors.contexts[j])
            eta[first:last] = products + factors.word_bias[i] + factors.context_bias[j]

        run.over_rows(fill, rows.size, 1 << 16, writes=[eta])
        response, weight = self._working(model, factors, rows, columns, np.float32(0), eta)
        weight = weight / (word_share[rows] * context_share[columns] * number)
        self.clipped_weights += int((weight > MOST_WEIGHT).sum())
        return rows, columns, response, np.minimum(weight, MOST_WEIGHT).astype(np.float32)

    def _fit(
        self,
        model: ReweightedModel,
        factors: Factors,
        data: WeightedTargets,
        iteration: int,
        run: Run,
        name: str,
    ) -> list[float]:
        from firthian.kernels.glove import adagrad_batches

        pairs = in_cells(*data, run.generator(_ORDER, iteration))
        words = _parameters(factors.words, factors.word_bias, model.bias != "none")
        contexts = _parameters(factors.contexts, factors.context_bias, model.bias == "both")
        # each pair carries its part of the ridge of its word and of its context
        ridges = [
            (self.ridge / model.weight_scale / np.maximum(np.bincount(places, minlength=model.words), 1)).astype(
                np.float32
            )
            for places in data[:2]
        ]

        def steps(cell: WeightedTargets, words: Parameters, contexts: Parameters, alpha: np.float32) -> None:
            adagrad_batches(cell, words, contexts, *ridges, alpha, BATCH, PARTS)

        errors = passes(pairs, words, contexts, self.alpha, self.epochs, run, name, iteration * self.epochs, steps)
        dimension = factors.words.shape[1]
        factors.words[:], factors.word_bias[:] = words[0][:, :dimension], words[2][:, 0]
        factors.contexts[:], factors.context_bias[:] = contexts[0][:, :dimension], contexts[2][:, 0]
        return [0.5 * value for value in errors]


def _penalty(factors: Factors, ridge: float) -> float:
    return float(sum(penalties(part, ridge).sum() for part in (factors.words, factors.contexts)))


def in_cells(rows: Array, columns: Array, targets: Array, weights: Array, generator: np.random.Generator) -> Pairs:
    """Sort pairs into the cells of ``firthian.learn.stochastic.cells``, shuffled inside each cell."""
    order = generator.permutation(rows.size)
    cell = ((rows % PARTS) * PARTS + columns % PARTS).astype(np.uint8)
    order = order[np.argsort(cell[order], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=PARTS * PARTS))]).astype(np.int64)
    return Pairs(rows[order].astype(np.int32), columns[order].astype(np.int32), targets[order], weights[order], starts)


def _parameters(vectors: Array, bias: Array, learns: bool) -> Parameters:
    """Return padded vectors, their sums of squares, and biases with theirs; an infinite sum fixes a bias."""
    number, dimension = vectors.shape
    wide = np.zeros((number, padded(dimension)), dtype=np.float32)
    wide[:, :dimension] = vectors
    squares = np.full(number, 0.0 if learns else np.inf)
    return wide, np.zeros_like(wide), np.column_stack([bias, squares]).astype(np.float32)
