"""The least squares problems of IWLRLS by Adagrad, as in the paper: one pair after another, many passes.

The first problem has the seen pairs only. In the later ones every pair has a weight. The paper visits all V² of them; here
the seen pairs are visited, and as many unseen ones, drawn by their shares r_i·q_j and weighted by h / (chance · draws), so
that their sum is right on average.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.learn.likelihood.model import Factors, FirstStep, SeenPairs
from firthian.learn.stochastic.cells import PARTS, padded, small_start
from firthian.learn.stochastic.glove import Pairs, check_weights, passes
from firthian.runtime.run import Run

#: A response is at most this far from the predictor: where a mean is far too small, (x - mu)/mu is no linear step.
LONGEST_RESPONSE = 2.0

#: An unseen pair weighs at most this, a seen one 1: one that is hardly ever drawn would outweigh all others of its word.
MOST_WEIGHT = 10.0

_START, _ORDER, _ZEROS = 0x5C1, 0x5C2, 0x5C3


class AdagradSquares:
    """``epochs`` passes over each problem at the rate ``alpha``; counts responses that were too far, weights too large."""

    def __init__(self, epochs: int = 15, alpha: float = 0.1) -> None:
        self.epochs, self.alpha = epochs, alpha
        self.clipped_responses = self.clipped_weights = 0

    def start(self, model: Any, dimension: int, run: Run) -> Factors:
        """Begin at small random vectors, as the paper does, and at the biases of independence."""
        words, contexts = (
            np.ascontiguousarray(small_start(run.generator(_START, side), model.words, dimension)[:, :dimension])
            for side in range(2)
        )
        return Factors(words, contexts, *model.marginals())

    def first(self, model: Any, factors: Factors, run: Run, name: str = "first") -> list[float]:
        """Fit the seen pairs; give half the weighted squares after each pass."""
        pairs = FirstStep(model).pairs
        kept = pairs.weights > 0
        rows = _rows(pairs)[kept]
        check_weights(pairs.weights, "truncate_weights", float(np.exp(pairs.values.max(initial=-np.inf))))
        return self._fit(
            model, factors, rows, pairs.indices[kept], pairs.values[kept], pairs.weights[kept], 0, run, name
        )

    def further(self, model: Any, factors: Factors, iteration: int, run: Run) -> list[float]:
        """Fit all pairs with the weights and responses of the present means; give half the weighted squares."""
        seen, drawn = self._seen(model, factors, run), self._drawn(model, factors, iteration, run)
        rows, columns, targets, weights = (np.concatenate(part) for part in zip(seen, drawn, strict=True))
        return self._fit(model, factors, rows, columns, targets, weights, iteration, run, f"passes-{iteration}")

    def _seen(self, model: Any, factors: Factors, run: Run) -> tuple[Array, Array, Array, Array]:
        from firthian.kernels.squares import seen_products

        pairs, words, contexts = model.pairs, factors.words, factors.contexts
        eta = np.empty(pairs.values.size, dtype=np.float32)
        run.over_rows(
            lambda first, last: seen_products(pairs.indptr, pairs.indices, words, contexts, first, last, eta),
            pairs.rows,
            pairs=[eta],
            pointers=pairs.indptr,
        )
        # held-out pairs are negative
        kept = pairs.values > 0
        rows, columns, x = _rows(pairs)[kept], pairs.indices[kept], pairs.values[kept]
        eta = eta[kept] + (factors.word_bias[rows] + factors.context_bias[columns]).astype(np.float32)
        # z = eta + (x - mu)/mu
        change = np.expm1(np.minimum(np.log(x) - eta, np.float32(80)))
        self.clipped_responses += int((change > LONGEST_RESPONSE).sum())
        response = eta + np.minimum(change, np.float32(LONGEST_RESPONSE))
        return rows, columns, response, model.scaled_weight(np.exp(np.minimum(eta, np.float32(80))))

    def _drawn(self, model: Any, factors: Factors, iteration: int, run: Run) -> tuple[Array, Array, Array, Array]:
        from firthian.kernels.squares import mark_seen

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
        eta = np.empty(rows.size)

        def fill(first: int, last: int) -> None:
            i, j = rows[first:last], columns[first:last]
            products = np.einsum("ik,ik->i", factors.words[i], factors.contexts[j])
            eta[first:last] = products + factors.word_bias[i] + factors.context_bias[j]

        run.over_rows(fill, rows.size, 1 << 16, writes=[eta])
        weight = model.scaled_weight(np.exp(np.minimum(eta, 80))) / (word_share[rows] * context_share[columns] * number)
        self.clipped_weights += int((weight > MOST_WEIGHT).sum())
        weight = np.minimum(weight, MOST_WEIGHT)
        # x = 0: z = eta - 1
        return rows, columns, (eta - 1).astype(np.float32), weight.astype(np.float32)

    def _fit(
        self,
        model: Any,
        factors: Factors,
        rows: Array,
        columns: Array,
        targets: Array,
        weights: Array,
        iteration: int,
        run: Run,
        name: str,
    ) -> list[float]:
        pairs = in_cells(rows, columns, targets, weights, run.generator(_ORDER, iteration))
        squares = self._first_squares(factors, rows, columns, weights)
        words = _parameters(factors.words, factors.word_bias, squares[0], model.bias in ("row", "both"))
        contexts = _parameters(factors.contexts, factors.context_bias, squares[1], model.bias == "both")
        errors = passes(pairs, words, contexts, self.alpha, self.epochs, run, name, iteration * self.epochs)
        dimension = factors.words.shape[1]
        factors.words[:], factors.word_bias[:] = words[0][:, :dimension], words[2][:, 0]
        factors.contexts[:], factors.context_bias[:] = contexts[0][:, :dimension], contexts[2][:, 0]
        return [0.5 * value for value in errors]

    def _first_squares(self, factors: Factors, rows: Array, columns: Array, weights: Array) -> tuple[Array, Array]:
        """Return the sums of squares that the words and the contexts begin with: 1 as in GloVe, more where vectors are long.

        A step on a pair of weight h changes its predictor by alpha·h·r·(|u|² + |c|² + 2)/sqrt(s). The first one must not
        be longer than the error r, or errors grow from pair to pair until nothing is finite.
        """
        lengths = [np.square(part, dtype=np.float64).sum(axis=1) for part in (factors.words, factors.contexts)]
        found = []
        for own, other, places in ((lengths[0], lengths[1], rows), (lengths[1], lengths[0], columns)):
            largest = np.zeros(own.size)
            np.maximum.at(largest, places, weights)
            found.append(np.maximum(1.0, np.square(self.alpha * largest * (own + other.max(initial=0.0) + 2))))
        return found[0], found[1]


def in_cells(rows: Array, columns: Array, targets: Array, weights: Array, generator: np.random.Generator) -> Pairs:
    """Sort pairs into the cells of ``firthian.learn.stochastic.cells``, each cell in a random order."""
    order = generator.permutation(rows.size)
    cell = ((rows % PARTS) * PARTS + columns % PARTS).astype(np.uint8)
    order = order[np.argsort(cell[order], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=PARTS * PARTS))]).astype(np.int64)
    return Pairs(rows[order].astype(np.int32), columns[order].astype(np.int32), targets[order], weights[order], starts)


def _rows(pairs: SeenPairs) -> Array:
    return np.repeat(np.arange(pairs.rows, dtype=np.int32), np.diff(pairs.indptr))


def _parameters(vectors: Array, bias: Array, squares: Array, learns: bool) -> tuple[Array, Array, Array]:
    """Return padded vectors, their sums of squares, and biases with theirs; an infinite sum keeps a bias where it is."""
    number, dimension = vectors.shape
    wide = np.zeros((number, padded(dimension)), dtype=np.float32)
    wide[:, :dimension] = vectors
    return (
        wide,
        np.repeat(squares.astype(np.float32)[:, np.newaxis], wide.shape[1], axis=1),
        np.column_stack([bias, squares if learns else np.full(number, np.inf)]).astype(np.float32),
    )
