"""Words that join a trained PSDVec model: each is a weighted ridge regression on the vectors that are there.

This is the paper's online blockwise regression (section 5.3). Old vectors are never touched.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg  # noqa: F401 - the BLAS of the kernel: it must be there to be held to one thread

from firthian.arrays import Array, on_pattern
from firthian.counts.counts import Counts
from firthian.learn.psd.model import Scale
from firthian.runtime.run import Run

#: Words are regressed in blocks of this size.
BLOCK_WORDS = 128

#: So many words are regressed between two chances to save; a multiple of the block.
SAVED_WORDS = 32 * BLOCK_WORDS


@dataclass(frozen=True)
class Relations:
    """Weights f and targets g of some words against the core, in compressed rows."""

    indptr: Array
    indices: Array
    weights: Array
    targets: Array

    @property
    def unrelated(self) -> Array:
        """The words that share no pair with the core."""
        return np.flatnonzero(np.diff(self.indptr) == 0)


def relate(
    counts: Counts, words: Array, core_ids: Array, scale: Scale, sums: tuple[Array, Array] | None = None
) -> Relations:
    """Measure ``words`` (ids of the counts) against a core; ``core_ids`` maps an id of the counts to the core's, or -1.

    f = f12 + f21 and g is the weighted mean of both directions (eq. 18). ``sums`` are x_i and x_j, those of the counts
    unless given.
    """
    import scipy.sparse

    rows, columns = sums or (counts.row_sums, counts.column_sums)
    forward = _part(counts.to_scipy(), rows, columns / counts.total, words, core_ids, scale)
    if counts.options.context == "both":
        weight, product = forward
        weight, product = weight * 2, product * 2
    else:
        backward = _part(counts.to_scipy().T.tocsr(), columns, rows / counts.total, words, core_ids, scale)
        weight, product = forward[0] + backward[0], forward[1] + backward[1]
    # A sum of sparse matrices leaves out its zeros, and products of both directions may cancel: weights cannot.
    weight, product = scipy.sparse.csr_array(weight), scipy.sparse.csr_array(product)
    weight.sort_indices()
    product.sort_indices()
    return Relations(
        weight.indptr.astype(np.int64),
        weight.indices.astype(np.int32),
        weight.data.astype(np.float32),
        (on_pattern(weight, product) / weight.data).astype(np.float32),
    )


def _part(matrix: Any, sums: Array, shares: Array, words: Array, core_ids: Array, scale: Scale) -> tuple[Any, Any]:
    """Return (W, W∘G) of one direction as sparse matrices, words by core; ``sums`` are of rows, ``shares`` of columns."""
    import scipy.sparse

    rows = matrix[words].tocoo()
    column = core_ids[rows.col]
    known = (column >= 0) & (rows.data > 0)
    row, old, column, value = rows.row[known], rows.col[known], column[known], rows.data[known].astype(np.float64)
    expected = sums[words[row]] * shares[old]
    weight = scale.weights(value)
    target = scale.targets(value, expected)
    shape = (words.size, int(core_ids.max(initial=0)) + 1)
    sums = scipy.sparse.coo_array((weight, (row, column)), shape=shape).tocsr()
    products = scipy.sparse.coo_array((weight * target, (row, column)), shape=shape).tocsr()
    return sums, products


def regress(relations: Relations, core: Array, ridge: Array, run: Run) -> Array:
    """Return the vectors of related words; ``ridge`` holds mu of each word."""
    core = np.ascontiguousarray(core, dtype=np.float32)
    words = relations.indptr.size - 1
    out = np.empty((words, core.shape[1]), dtype=np.float32)
    ridge = np.ascontiguousarray(ridge, dtype=np.float64)

    stage = run.stage("regression")
    state = stage.restore()
    done = 0
    if state is not None:
        done = state.step
        out[:done] = state.arrays["vectors"]
        run.progress.advance(done)
    for begin in range(done, words, SAVED_WORDS):
        end = min(begin + SAVED_WORDS, words)
        pointers, mu, rows = relations.indptr[begin : end + 1], ridge[begin:end], out[begin:end]
        task = functools.partial(_fold_in, relations, pointers, core, mu, rows)
        run.over_rows(task, end - begin, BLOCK_WORDS, writes=[rows])
        run.progress.advance(end - begin)
        stage.save(end, {"vectors": out[:end]})
    return out


def _fold_in(
    relations: Relations, pointers: Array, core: Array, ridge: Array, out: Array, first: int, last: int
) -> None:
    from firthian.kernels.regression import fold_in

    fold_in(pointers, relations.indices, relations.weights, relations.targets, core, ridge, first, last, out)


def bands(words: int, ridges: tuple[float, ...]) -> Array:
    """Return each word its mu: as many equal bands as there are values, the rarest words in the last.

    >>> bands(5, (2.0, 4.0))
    array([2., 2., 2., 4., 4.])
    """
    cuts = np.array_split(np.arange(words), len(ridges))
    return np.concatenate([np.full(part.size, mu) for part, mu in zip(cuts, ridges, strict=True)])
