"""Loss and gradient of one side of a model, with four treatments of the pairs that were never seen: nearly all of them.

``expanded`` and ``sampled`` take time for the seen pairs and for d×d matrices only; ``exact`` visits every pair; ``ignored``
leaves the unseen ones out, which is a different objective.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from firthian.arrays import Array
from firthian.learn.likelihood.model import Side
from firthian.learn.linalg.tall import times_small, weighted_gram
from firthian.runtime.memory import check_fits
from firthian.runtime.run import Run

#: Rows of seen pairs per task; few, because the rows of frequent words are the longest.
ROWS_AT_ONCE = 256

#: Pairs and rows of a task at most, where the cache keeps what rows share: many, but enough tasks for many workers.
PAIRS_AT_ONCE, MOST_ROWS = 1 << 20, 2048

#: Rows of a dense block; fixed, so that results do not depend on the memory available.
DENSE_ROWS = 128

#: Dense arrays alive at a time for one block.
DENSE_ARRAYS = 5

#: Gauss-Hermite quadrature over a standard normal distribution.
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(12)
NODE_WEIGHTS = NODE_WEIGHTS / NODE_WEIGHTS.sum()

#: Numbers of 32 bits in a vector register.
REGISTER = 8

_ZEROS = 0x2E50


@dataclass(frozen=True)
class Gradient:
    """Losses of a side's rows, their derivatives by ``left`` and ``left_bias``, and each row's sum of curvatures."""

    losses: Array
    vectors: Array
    bias: Array
    curvature: Array


#: Passed to updates that need no gradient.
NO_GRADIENT = Gradient(*(np.empty(0) for _ in range(4)))


class Loss(Protocol):
    """A treatment of unseen pairs."""

    def gradient(self, side: Side, run: Run, turn: int, value: bool = True) -> Gradient:
        """Return losses (zeros without ``value``) and gradient; ``turn`` numbers the half sweeps of a fit."""

    def values(self, side: Side, run: Run, turn: int, active: Array | None = None) -> Array:
        """Return each row's loss; entries of rows that are not ``active`` are undefined."""


class SeenOnly:
    """Seen pairs only."""

    def gradient(self, side: Side, run: Run, turn: int, value: bool = True) -> Gradient:
        """Sum over the seen pairs."""
        vectors, sums = _sum_seen(side, run, "NOTHING", None, value, True)
        return Gradient(sums[:, 0], vectors, sums[:, 1], sums[:, 2])

    def values(self, side: Side, run: Run, turn: int, active: Array | None = None) -> Array:
        """Sum over the seen pairs."""
        return _sum_seen(side, run, "NOTHING", None, True, False, active)[1][:, 0]


class Expanded:
    """Seen pairs exactly; the unseen ones of a row by a quadratic in u·c.

    The quadratic is the best one for a normal distribution with the mean and variance that u·c really has over the row's
    unseen contexts (Stein's lemma). Its sum over contexts is a product with the Gram matrix sum_j q_j c_j c_j'.
    """

    def gradient(self, side: Side, run: Run, turn: int, value: bool = True) -> Gradient:
        """Sum over the seen pairs, then add the quadratic over all pairs."""
        total, first, image, moments = _moments(side, run)
        vectors, sums = _sum_seen(side, run, "QUADRATIC", moments, value, True)
        intercept, curvature = side.left_share * sums[:, 3], side.left_share * sums[:, 4]

        def finish(begin: int, end: int) -> None:
            part = slice(begin, end)
            vectors[part] += intercept[part, np.newaxis] * first + curvature[part, np.newaxis] * image[part]

        run.over_rows(finish, len(vectors), here=True)
        bias = sums[:, 1] + intercept * total + curvature * moments[:, 1]
        return Gradient(sums[:, 0], vectors, bias, sums[:, 2] + curvature * total)

    def values(self, side: Side, run: Run, turn: int, active: Array | None = None) -> Array:
        """Sum over the seen pairs, and add the expectation under the normal distribution for the others."""
        moments = _moments(side, run)[3]
        return _sum_seen(side, run, "QUADRATIC", moments, True, False, active)[1][:, 0]


class Sampled:
    """Seen pairs exactly; noise from ``number`` contexts drawn by their shares, redrawn at each turn."""

    def __init__(self, number: int = 2048) -> None:
        self.number = number

    def gradient(self, side: Side, run: Run, turn: int, value: bool = True) -> Gradient:
        """Sum over the seen pairs, then add the weighted sum over the drawn ones."""
        vectors, sums = _sum_seen(side, run, "UNSEEN", None, value, True)
        drawn, share, ids = self._draw(side, run, turn)

        def block(begin: int, end: int) -> None:
            part = slice(begin, end)
            # a mean too large for a float is infinite, and so is the loss: updates notice
            with np.errstate(over="ignore", invalid="ignore"):
                level, slope, curvature = _unseen(side, part, drawn, ids)
                vectors[part] += share[part, np.newaxis] * (slope @ drawn)
                for column, term in enumerate((level, slope, curvature)):
                    sums[part, column] += share[part] * term.sum(axis=1, dtype=np.float64)

        run.over_rows(block, len(vectors), DENSE_ROWS, updates=[vectors, sums])
        return Gradient(sums[:, 0], vectors, sums[:, 1], np.maximum(sums[:, 2], 0))

    def values(self, side: Side, run: Run, turn: int, active: Array | None = None) -> Array:
        """Estimate the losses with the draw of this turn."""
        losses = _sum_seen(side, run, "UNSEEN", None, True, False, active)[1][:, 0]
        drawn, share, ids = self._draw(side, run, turn)

        def block(begin: int, end: int) -> None:
            if active is None or active[begin:end].any():
                part = slice(begin, end)
                with np.errstate(over="ignore", invalid="ignore"):
                    level = _unseen(side, part, drawn, ids)[0]
                    losses[part] += share[part] * level.sum(axis=1, dtype=np.float64)

        run.over_rows(block, len(losses), DENSE_ROWS, updates=[losses])
        return losses

    def _draw(self, side: Side, run: Run, turn: int) -> tuple[Array, Array, Array]:
        """Return the vectors of the drawn contexts, the noise that each stands for in each row, and the contexts."""
        chances = side.right_share / side.right_share.sum()
        ids = run.generator(_ZEROS, turn).choice(chances.size, self.number, p=chances)
        return side.right[ids], side.left_share * (float(side.right_share.sum()) / self.number), ids


def _unseen(side: Side, part: slice, drawn: Array, ids: Array) -> tuple[Array, Array, Array]:
    """Return phi and its derivatives for rows and drawn contexts, with truncated weights where means are large."""
    products = side.left[part] @ drawn.T
    terms = side.family.unseen(products)
    if side.family.top < np.inf:
        eta = products + side.left_bias[part, np.newaxis] + side.right_bias[ids]
        above = np.nonzero(eta > side.family.top)
        rho = side.left_share[part][above[0]] * side.right_share[ids][above[1]]
        family, high, zero = side.family, eta[above], np.float32(0)
        for term, value in zip(
            terms, (family.loss(zero, high), family.slope(zero, high), family.weight(np.exp(high))), strict=True
        ):
            term[above] = value / rho
    return terms


class Exact:
    """Every pair, in dense blocks of rows that never exist together."""

    def gradient(self, side: Side, run: Run, turn: int, value: bool = True) -> Gradient:
        """Sum over all blocks."""
        check_dense(len(side.right), side.right.shape[1], run)
        vectors = np.empty_like(side.left)
        sums = np.zeros((len(vectors), 3))

        def block(begin: int, end: int) -> None:
            # a mean too large for a float is infinite, and so is the loss: updates notice
            with np.errstate(over="ignore", invalid="ignore"):
                fill(begin, end)

        def fill(begin: int, end: int) -> None:
            part, dense = slice(begin, end), _DenseBlock.of(side, begin, end)
            slope = dense.combine(side.family.slope)
            np.matmul(slope, side.right, out=vectors[part])
            sums[part, 1] = slope.sum(axis=1, dtype=np.float64)
            curvature = dense.combine(side.family.curvature)
            sums[part, 2] = curvature.sum(axis=1, dtype=np.float64)
            if value:
                sums[part, 0] = dense.combine(side.family.loss).sum(axis=1, dtype=np.float64)

        run.over_rows(block, len(vectors), DENSE_ROWS, writes=[vectors], updates=[sums])
        return Gradient(sums[:, 0], vectors, sums[:, 1], sums[:, 2])

    def values(self, side: Side, run: Run, turn: int, active: Array | None = None) -> Array:
        """Sum over all blocks with an active row."""
        check_dense(len(side.right), side.right.shape[1], run)
        losses = np.zeros(len(side.left))

        def block(begin: int, end: int) -> None:
            if active is not None and not active[begin:end].any():
                return
            with np.errstate(over="ignore", invalid="ignore"):
                dense = _DenseBlock.of(side, begin, end)
                losses[begin:end] = dense.combine(side.family.loss).sum(axis=1, dtype=np.float64)

        run.over_rows(block, len(losses), DENSE_ROWS, updates=[losses])
        return losses


class _DenseBlock(NamedTuple):
    """All pairs of some rows: predictors and shares, and the places, counts and participation of the seen ones."""

    eta: Array
    rho: Array
    places: tuple[Array, Array]
    x: Array
    fitted: Array | bool

    @classmethod
    def of(cls, side: Side, begin: int, end: int) -> _DenseBlock:
        pairs = side.pairs
        seen = slice(int(pairs.indptr[begin]), int(pairs.indptr[end]))
        rows = np.repeat(np.arange(end - begin), np.diff(pairs.indptr[begin : end + 1]))
        eta = side.left[begin:end] @ side.right.T
        eta += side.left_bias[begin:end, np.newaxis].astype(np.float32)
        eta += side.right_bias.astype(np.float32)
        rho = np.multiply.outer(side.left_share[begin:end].astype(np.float32), side.right_share.astype(np.float32))
        fitted = ~pairs.held_out[seen] if pairs.held_out.size else True
        return cls(eta, rho, (rows, pairs.indices[seen]), pairs.values[seen], fitted)

    def combine(self, term: Callable[[Any, Array, Array], Array]) -> Array:
        """Return ``term(x, eta, rho)`` of all pairs, 0 for held-out ones."""
        table = term(np.float32(0), self.eta, self.rho)
        table[self.places] = np.where(self.fitted, term(self.x, self.eta[self.places], self.rho[self.places]), 0)
        return table


def choose_loss(unseen: str, sampled_zeros: int = 2048) -> Loss:
    """Return the loss with a treatment of unseen pairs; call ``check_dense`` before long work with ``exact``."""
    if unseen == "sampled":
        return Sampled(sampled_zeros)
    kinds: dict[str, type[Loss]] = {"expanded": Expanded, "exact": Exact, "ignored": SeenOnly}
    return kinds[unseen]()


def check_dense(words: int, dimension: int, run: Run) -> None:
    """Raise if dense blocks of rows with this many contexts do not fit the memory budget."""
    blocks = DENSE_ARRAYS * 4 * DENSE_ROWS * words * run.threads.workers
    needed = blocks + 4 * 4 * words * dimension
    check_fits(f"`unseen=exact` with {words:,} words", needed, run.budget, "set `unseen=expanded`")


def _moments(side: Side, run: Run) -> tuple[float, Array, Array, Array]:
    """Return sum q_j, sum q_j c_j, the rows times sum q_j c_j c_j', and each row's sums of q_j, q_j·s and q_j·s²."""
    total = float(side.right_share.sum())
    first, gram = weighted_gram(side.right, side.right_share, run)
    image = times_small(side.left, gram, run)
    moments = np.empty((len(side.left), 3))
    moments[:, 0] = total

    def fill(begin: int, end: int) -> None:
        left = side.left[begin:end].astype(np.float64)
        moments[begin:end, 1] = left @ first
        moments[begin:end, 2] = (left * image[begin:end]).sum(axis=1)

    run.over_rows(fill, len(moments), here=True)
    return total, first, image, moments


def _sum_seen(
    side: Side,
    run: Run,
    subtracted: str,
    moments: Array | None,
    value: bool,
    slope: bool,
    active: Array | None = None,
) -> tuple[Array, Array]:
    """Run the kernel over all rows; return the gradient and the columns of sums."""
    from firthian.kernels import likelihood as kernel

    pairs, family = side.pairs, side.family
    vectors = np.empty_like(side.left) if slope else np.empty((0, side.left.shape[1]), dtype=np.float32)
    sums = np.zeros((len(side.left), 5))
    given_moments = np.empty((0, 3)) if moments is None else moments
    active_rows = np.ones(len(side.left), dtype=np.bool_) if active is None else active

    def any_family(begin: int, end: int) -> None:
        family.kernel()(
            family.code, float(family.parameter), family.top,
            pairs.indptr, pairs.indices, pairs.values, pairs.weights, pairs.held_out,
            side.left, side.right, side.left_bias, side.right_bias, side.left_share, side.right_share,
            getattr(kernel, subtracted), given_moments, NODES, NODE_WEIGHTS, active_rows, value, slope, begin, end,
            vectors, sums,
        )  # fmt: skip

    def plain_binomial(begin: int, end: int) -> None:
        from firthian.kernels.binomial import binomial_rows

        binomial_rows(
            (pairs.indptr, pairs.indices, pairs.values), (side.left, *coded), (side.left_share, right_share),
            (given_moments, NODES, NODE_WEIGHTS), (active_rows, value, slope), begin, end, vectors, sums,
        )  # fmt: skip

    task: Callable[[int, int], None] = any_family
    block: int | list[int] = ROWS_AT_ONCE
    if subtracted == "QUADRATIC" and _is_plain_binomial(side):
        task, block = plain_binomial, balanced(pairs.indptr)
        right_share, coded = side.right_share.astype(np.float32), encode(side.right, run)
    run.over_rows(task, len(side.left), block, writes=[vectors] if slope else [], updates=[sums])
    return vectors, sums


def balanced(indptr: Array, pairs: int = PAIRS_AT_ONCE, most: int = MOST_ROWS) -> list[int]:
    """Return the first rows of tasks with about ``pairs`` pairs, and ``most`` rows at most.

    >>> balanced(np.array([0, 4, 5, 6, 7, 8, 9]), pairs=3, most=2)
    [0, 1, 3, 5]
    """
    starts = [0]
    while (first := starts[-1]) < indptr.size - 1:
        enough = int(np.searchsorted(indptr, indptr[first] + pairs))
        starts.append(min(max(enough, first + 1), first + most))
    return starts[:-1]


def encode(rows: Array, run: Run) -> tuple[Array, Array]:
    """Return rows as integers of 16 bits, padded with zeros to whole vector registers, and the scale of each column.

    >>> integers, scales = encode(np.array([[1.0, -2.0], [0.5, 0.0]], dtype=np.float32), Run())
    >>> integers.shape, (integers[:, :2] * scales).round(4).tolist()
    ((2, 8), [[1.0, -2.0], [0.5, 0.0]])
    """
    integers = np.zeros((len(rows), -(-rows.shape[1] // REGISTER) * REGISTER), dtype=np.int16)
    parts = run.over_rows(lambda a, b: np.abs(rows[a:b]).max(axis=0), len(rows), here=True)
    scales = np.max(parts, axis=0) / np.float32(np.iinfo(np.int16).max)
    inverse = 1 / np.where(scales > np.finfo(np.float32).tiny, scales, np.float32(1))

    def fill(begin: int, end: int) -> None:
        # rows that are not finite have scales that are not finite either: the objective says so
        with np.errstate(invalid="ignore"):
            integers[begin:end, : rows.shape[1]] = np.rint(rows[begin:end] * inverse).astype(np.int16)

    run.over_rows(fill, len(rows), here=True)
    return integers, scales


def _is_plain_binomial(side: Side) -> bool:
    """Return whether the faster kernel applies: the binomial family with all pairs, no weights and no biases."""
    pairs = side.pairs
    special = pairs.weights.size or pairs.held_out.size or side.left_bias.any() or side.right_bias.any()
    return side.family.name == "binomial" and not special
