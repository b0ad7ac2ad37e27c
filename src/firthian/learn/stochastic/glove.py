"""GloVe: logarithms of co-occurrence counts by weighted least squares (Pennington, Socher and Manning 2014)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firthian.arrays import Array
from firthian.counts.counts import Counts
from firthian.errors import FirthianError
from firthian.learn.cells import PARTS
from firthian.runtime.memory import show_size
from firthian.runtime.run import Run

#: Row, column, target and weight of a pair.
BYTES_PER_PAIR = 4 * 4

#: With smaller weights than this nothing moves: Adagrad begins with squares of 1, beside which gradients are nothing.
LEAST_WEIGHT = 1e-6


@dataclass(frozen=True)
class Pairs:
    """Pairs with targets and weights, cell after cell; those of cell (p, q) begin at ``starts[p * PARTS + q]``."""

    rows: Array
    columns: Array
    targets: Array
    weights: Array
    starts: Array

    def cell(self, part: int, other: int) -> tuple[Array, Array, Array, Array]:
        """Return the rows, columns, targets and weights of a cell."""
        number = part * PARTS + other
        place = slice(int(self.starts[number]), int(self.starts[number + 1]))
        return self.rows[place], self.columns[place], self.targets[place], self.weights[place]


def check_weights(weights: Array, name: str, largest: float) -> None:
    """Refuse weights with which Adagrad would leave everything as it was; ``name`` is the option that made them so."""
    if weights.size and weights.max() < LEAST_WEIGHT:
        raise FirthianError(
            f"{name} is so far above the largest count, {largest:g}, that no pair has a weight to learn from",
            hint=f"give --set {name}={largest:g} or less",
        )


class GloVe:
    """``J = sum f(X_ij) (u_i·c_j + a_i + b_j - log X_ij)²`` over the pairs that were seen (eq. 8).

    ``f(x) = min((x / x_max)^exponent, 1)`` (eq. 9): rare pairs are noise and count less, frequent ones count at most 1.
    """

    def __init__(self, counts: Counts, run: Run, x_max: float = 10.0, weight_exponent: float = 0.75) -> None:
        self.counts = counts
        self.run = run
        self.x_max = x_max
        self.weight_exponent = weight_exponent

    @property
    def shape(self) -> tuple[int, int]:
        """Words by contexts."""
        return self.counts.shape

    def weight(self, values: Array) -> Array:
        """Return f of some counts."""
        # eq. 9
        weights: Array = np.minimum((values / np.float32(self.x_max)) ** np.float32(self.weight_exponent), 1)
        return weights

    def weighted_pairs(self) -> Pairs:
        """Return log X and f(X) of every pair, sorted into cells, shuffled inside each by the seed."""
        from firthian.kernels import glove as kernel

        counts = self.counts
        needed = counts.pairs * BYTES_PER_PAIR
        if 0 < self.run.budget < needed:
            raise FirthianError(
                f"{counts.pairs:,} pairs take {show_size(needed)}, more than the memory budget",
                hint="raise --memory, or count with a higher --min-count",
            )
        sparse = (counts.indptr, counts.indices, counts.values)
        sizes = np.zeros((PARTS, PARTS), dtype=np.int64)
        parts = range(PARTS)
        list(self.run.threads.map(lambda part: kernel.count_cells(*sparse, part, PARTS, sizes[part]), parts))
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        pairs = int(starts[-1])
        rows, columns = np.empty(pairs, dtype=np.int32), np.empty(pairs, dtype=np.int32)
        targets, weights = np.empty(pairs, dtype=np.float32), np.empty(pairs, dtype=np.float32)
        seed = np.uint64(self.run.seed)

        def fill(part: int) -> None:
            own = starts[part * PARTS : (part + 1) * PARTS + 1]
            kernel.fill_cells(*sparse, part, PARTS, own, seed, rows, columns, targets)
            place = slice(int(own[0]), int(own[-1]))
            weights[place] = self.weight(targets[place])
            np.log(targets[place], out=targets[place])

        list(self.run.threads.map(fill, parts))
        check_weights(weights, "x_max", float(counts.values.max(initial=0)))
        return Pairs(rows, columns, targets, weights, starts)
