"""What to do about the pairs that were never seen: nearly all of them, and they all cost something.

Each way gives loss and gradient of one side of a model. ``expanded`` and ``sampled`` take time for the seen pairs and for
d×d matrices only; ``exact`` visits every pair; ``ignored`` leaves the unseen ones out (a different objective).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.learn.likelihood.model import Side
from firthian.learn.linalg.tall import inner, times_small
from firthian.runtime.memory import show_size
from firthian.runtime.run import Run

#: Rows of seen pairs for a worker at a time; few, because the rows of frequent words are the fullest.
ROWS_AT_ONCE = 256

#: Rows of a dense block; fixed, so that results do not depend on the memory there is.
DENSE_ROWS = 128

#: Dense arrays alive at a time for one block.
DENSE_ARRAYS = 5

#: Nodes of the quadrature over a normal distribution.
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(12)
NODE_WEIGHTS = NODE_WEIGHTS / NODE_WEIGHTS.sum()

_ZEROS = 0x2E50


@dataclass(frozen=True)
class Gradient:
    """Losses of a side's rows, their derivatives by ``left`` and ``left_bias``, and each row's sum of curvatures."""

    losses: Array
    vectors: Array
    bias: Array
    curvature: Array


#: What a rule is given that needs none.
NO_GRADIENT = Gradient(*(np.empty(0) for _ in range(4)))


class Unseen(Protocol):
    """A way to treat unseen pairs."""

    def gradient(self, side: Side, run: Run, turn: int, value: bool = True) -> Gradient:
        """Return losses (0 where no ``value`` is wanted) and gradient; ``turn`` numbers the calls of a fit."""
        ...

    def losses(self, side: Side, run: Run, turn: int, active: Array | None = None) -> Array:
        """Return each row's loss; rows that are not ``active`` may get anything."""
        ...


class Ignored:
    """Seen pairs only."""

    def gradient(self, side: Side, run: Run, turn: int, value: bool = True) -> Gradient:
        """Add up the seen pairs."""
        vectors, sums = _over_seen(side, run, "NOTHING", None, value, True)
        return Gradient(sums[:, 0], vectors, sums[:, 1], sums[:, 2])

    def losses(self, side: Side, run: Run, turn: int, active: Array | None = None) -> Array:
        """Add up the seen pairs."""
        return _over_seen(side, run, "NOTHING", None, True, False, active)[1][:, 0]


class Expanded:
    """Seen pairs exactly; the unseen ones of a row by a quadratic in u·c.

    The quadratic is the best one for a normal distribution with the mean and variance that u·c really has over the row's
    unseen contexts (Stein's lemma). Its sum over contexts is a product with the Gram matrix sum_j q_j c_j c_j'.
    """

    def gradient(self, side: Side, run: Run, turn: int, value: bool = True) -> Gradient:
        """Add up the seen pairs, then the quadratic over all pairs."""
        total, first, gram = _gram(side, run)
        image = times_small(side.left, gram, run)
        moments = _moments(side, total, first, image, run)
        vectors, sums = _over_seen(side, run, "QUADRATIC", moments, value, True)
        intercept, bend = side.left_share * sums[:, 3], side.left_share * sums[:, 4]

        def finish(begin: int, end: int) -> None:
            part = slice(begin, end)
            vectors[part] += intercept[part, np.newaxis] * first + bend[part, np.newaxis] * image[part]

        run.over_rows(finish, len(vectors), here=True)
        bias = sums[:, 1] + intercept * total + bend * moments[:, 1]
        return Gradient(sums[:, 0], vectors, bias, sums[:, 2] + bend * total)

    def losses(self, side: Side, run: Run, turn: int, active: Array | None = None) -> Array:
        """Add up the seen pairs, and what a normal distribution gives for the others."""
        total, first, gram = _gram(side, run)
        moments = _moments(side, total, first, times_small(side.left, gram, run), run)
        return _over_seen(side, run, "QUADRATIC", moments, True, False, active)[1][:, 0]


class Sampled:
    """Seen pairs exactly; what every pair costs from ``number`` contexts drawn by their shares, anew at each turn."""

    def __init__(self, number: int = 2048) -> None:
        self.number = number

    def gradient(self, side: Side, run: Run, turn: int, value: bool = True) -> Gradient:
        """Add up the seen pairs, then the drawn ones, each for many."""
        vectors, sums = _over_seen(side, run, "UNSEEN", None, value, True)
        drawn = side.right[self._draw(side, run, turn)]
        each = float(side.right_share.sum()) / self.number
        share = side.left_share * each

        def block(begin: int, end: int) -> None:
            part = slice(begin, end)
            # a mean too large for a float is infinite, and so is the loss: steps notice
            with np.errstate(over="ignore", invalid="ignore"):
                level, slope, bend = side.family.unseen(side.left[part] @ drawn.T)
                vectors[part] += share[part, np.newaxis] * (slope @ drawn)
                sums[part, 0] += share[part] * level.sum(axis=1, dtype=np.float64)
                sums[part, 1] += share[part] * slope.sum(axis=1, dtype=np.float64)
                sums[part, 2] += share[part] * bend.sum(axis=1, dtype=np.float64)

        run.over_rows(block, len(vectors), DENSE_ROWS, updates=[vectors, sums])
        return Gradient(sums[:, 0], vectors, sums[:, 1], np.maximum(sums[:, 2], 0))

    def losses(self, side: Side, run: Run, turn: int, active: Array | None = None) -> Array:
        """Estimate the losses with the draw of this turn."""
        losses = _over_seen(side, run, "UNSEEN", None, True, False, active)[1][:, 0]
        drawn = side.right[self._draw(side, run, turn)]
        share = side.left_share * (float(side.right_share.sum()) / self.number)

        def block(begin: int, end: int) -> None:
            if active is None or active[begin:end].any():
                part = slice(begin, end)
                with np.errstate(over="ignore", invalid="ignore"):
                    level = side.family.unseen(side.left[part] @ drawn.T)[0]
                    losses[part] += share[part] * level.sum(axis=1, dtype=np.float64)

        run.over_rows(block, len(losses), DENSE_ROWS, updates=[losses])
        return losses

    def _draw(self, side: Side, run: Run, turn: int) -> Array:
        chances = side.right_share / side.right_share.sum()
        drawn: Array = run.generator(_ZEROS, turn).choice(chances.size, self.number, p=chances)
        return drawn


class Exact:
    """Every pair, in dense blocks of rows that never exist together."""

    def gradient(self, side: Side, run: Run, turn: int, value: bool = True) -> Gradient:
        """Go over all blocks."""
        check_dense(len(side.right), side.right.shape[1], run)
        vectors = np.empty_like(side.left)
        sums = np.zeros((len(vectors), 3))

        def block(begin: int, end: int) -> None:
            # a mean too large for a float is infinite, and so is the loss: steps notice
            with np.errstate(over="ignore", invalid="ignore"):
                fill(begin, end)

        def fill(begin: int, end: int) -> None:
            part = slice(begin, end)
            eta, rho, x, places = self._block(side, begin, end)
            slope = side.family.slope(np.float32(0), eta, rho)
            kept = x >= 0
            slope[places] = np.where(kept, side.family.slope(x, eta[places], rho[places]), 0)
            np.matmul(slope, side.right, out=vectors[part])
            sums[part, 1] = slope.sum(axis=1, dtype=np.float64)
            curvature = side.family.curvature(eta, rho)
            curvature[places] = np.where(kept, side.family.curvature(eta[places], rho[places], x), 0)
            sums[part, 2] = curvature.sum(axis=1, dtype=np.float64)
            if value:
                sums[part, 0] = self._loss(side, eta, rho, x, places)

        run.over_rows(block, len(vectors), DENSE_ROWS, writes=[vectors], updates=[sums])
        return Gradient(sums[:, 0], vectors, sums[:, 1], sums[:, 2])

    def losses(self, side: Side, run: Run, turn: int, active: Array | None = None) -> Array:
        """Go over all blocks with an active row."""
        check_dense(len(side.right), side.right.shape[1], run)
        losses = np.zeros(len(side.left))

        def block(begin: int, end: int) -> None:
            if active is not None and not active[begin:end].any():
                return
            with np.errstate(over="ignore", invalid="ignore"):
                losses[begin:end] = self._loss(side, *self._block(side, begin, end))

        run.over_rows(block, len(losses), DENSE_ROWS, updates=[losses])
        return losses

    @staticmethod
    def _block(side: Side, begin: int, end: int) -> tuple[Array, Array, Array, tuple[Array, Array]]:
        """Return eta and the shares of all pairs of some rows, and the counts of the seen ones and their places."""
        pairs = side.pairs
        low, high = int(pairs.indptr[begin]), int(pairs.indptr[end])
        rows = np.repeat(np.arange(end - begin), np.diff(pairs.indptr[begin : end + 1]))
        eta = side.left[begin:end] @ side.right.T
        eta += side.left_bias[begin:end, np.newaxis].astype(np.float32)
        eta += side.right_bias.astype(np.float32)
        rho = np.multiply.outer(side.left_share[begin:end].astype(np.float32), side.right_share.astype(np.float32))
        return eta, rho, pairs.values[low:high], (rows, pairs.indices[low:high])

    @staticmethod
    def _loss(side: Side, eta: Array, rho: Array, x: Array, places: tuple[Array, Array]) -> Array:
        loss = side.family.loss(np.float32(0), eta, rho)
        loss[places] = np.where(x >= 0, side.family.loss(x, eta[places], rho[places]), 0)
        total: Array = loss.sum(axis=1, dtype=np.float64)
        return total


def choose(unseen: str, sampled_zeros: int = 2048) -> Unseen:
    """Find a way by its name (see also ``check_dense``)."""
    ways: dict[str, Any] = {"expanded": Expanded, "exact": Exact, "ignored": Ignored}
    return Sampled(sampled_zeros) if unseen == "sampled" else ways[unseen]()


def check_dense(words: int, dimension: int, run: Run) -> None:
    """Say so when dense blocks of rows with this many contexts do not fit the budget."""
    blocks = DENSE_ARRAYS * 4 * DENSE_ROWS * words * run.threads.workers
    needed = blocks + 4 * 4 * words * dimension
    if 0 < run.budget < needed:
        raise FirthianError(
            f"the exact treatment of {words:,} words takes {show_size(needed)}, more than the memory budget",
            hint="give --set unseen=expanded, or more --memory",
        )


def _gram(side: Side, run: Run) -> tuple[float, Array, Array]:
    """Return sum q_j, sum q_j c_j and sum q_j c_j c_j' over all contexts."""
    share = side.right_share.astype(np.float32)[:, np.newaxis]
    weighted = share * side.right
    ones = np.ones((len(side.right), 1), dtype=np.float32)
    return float(side.right_share.sum()), inner(ones, weighted, run)[0], inner(side.right, weighted, run)


def _moments(side: Side, total: float, first: Array, image: Array, run: Run) -> Array:
    """Return the sums of q_j, q_j·s and q_j·s² over all contexts, for each row."""
    moments = np.empty((len(side.left), 3))
    moments[:, 0] = total

    def fill(begin: int, end: int) -> None:
        left = side.left[begin:end].astype(np.float64)
        moments[begin:end, 1] = left @ first
        moments[begin:end, 2] = (left * image[begin:end]).sum(axis=1)

    run.over_rows(fill, len(moments), here=True)
    return moments


def _over_seen(
    side: Side,
    run: Run,
    taken: str,
    moments: Array | None,
    value: bool,
    slope: bool,
    active: Array | None = None,
) -> tuple[Array, Array]:
    """Run the kernel over all rows: gradient, and the columns of sums it gives."""
    from firthian.kernels import likelihood as kernel

    pairs, family = side.pairs, side.family
    vectors = np.empty_like(side.left) if slope else np.empty((0, side.left.shape[1]), dtype=np.float32)
    sums = np.zeros((len(side.left), 5))
    given = np.empty((0, 3)) if moments is None else moments
    wanted = np.ones(len(side.left), dtype=bool) if active is None else active

    def block(begin: int, end: int) -> None:
        kernel.seen_rows(
            family.code,
            float(family.parameter),
            pairs.indptr,
            pairs.indices,
            pairs.values,
            pairs.weights,
            side.left,
            side.right,
            side.left_bias,
            side.right_bias,
            side.left_share,
            side.right_share,
            getattr(kernel, taken),
            given,
            NODES,
            NODE_WEIGHTS,
            wanted,
            value,
            slope,
            begin,
            end,
            vectors,
            sums,
        )

    run.over_rows(block, len(side.left), ROWS_AT_ONCE, writes=[vectors] if slope else [], updates=[sums])
    return vectors, sums
