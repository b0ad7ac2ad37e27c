"""New values for the pairs that were seen, computed in blocks of rows: what all matrices of association share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.counts.counts import Counts
from firthian.errors import FirthianError
from firthian.runtime.run import Run

#: Rows worked on at a time: the first rows are the fullest, so blocks are small.
BLOCK = 256


def seen_pairs(
    counts: Counts, run: Run, function: Callable[[Array, Array, Array], Array], keep_zeros: bool = True
) -> Any:
    """Return a SciPy CSR array with ``function(rows, columns, counts)`` on the pairs that were seen.

    Without ``keep_zeros`` pairs whose new value is zero are left out.
    """
    import scipy.sparse

    def of_rows(first: int, last: int) -> tuple[Array, Array, Array]:
        low, high = int(counts.indptr[first]), int(counts.indptr[last])
        rows, columns = counts.rows_of(first, last), counts.indices[low:high]
        values = function(rows, columns, counts.values[low:high]).astype(np.float32)
        sizes = np.diff(counts.indptr[first : last + 1])
        if not keep_zeros:
            kept = values != 0
            columns, values = columns[kept], values[kept]
            sizes = np.bincount(rows[kept] - first, minlength=last - first)
        return sizes, np.asarray(columns), values

    parts = run.over_rows(of_rows, counts.shape[0], BLOCK, here=True)
    indptr = np.concatenate([[0], np.cumsum(np.concatenate([sizes for sizes, _, _ in parts]))])
    columns = np.concatenate([columns for _, columns, _ in parts])
    values = np.concatenate([values for _, _, values in parts])
    return scipy.sparse.csr_array((values, columns, indptr), shape=counts.shape)


def logarithms(values: Array) -> Array:
    """Return the logarithms, 0 where the value is 0 (no pair refers to it)."""
    values = np.asarray(values, dtype=np.float64)
    logs: Array = np.log(values, where=values > 0, out=np.zeros(values.shape))
    return logs


def inverse_powers(values: Array, power: float) -> Array:
    """Return ``values^-power``, 0 where the value is 0: a word without pairs has a zero vector."""
    values = np.asarray(values, dtype=np.float64)
    powers: Array = np.power(values, -power, where=values > 0, out=np.zeros(values.shape))
    return powers


def on_pattern(pattern: Any, matrix: Any) -> Array:
    """Return the values of ``matrix`` at every place of ``pattern``, which contains its own; both have sorted rows.

    >>> import scipy.sparse
    >>> pattern, matrix = scipy.sparse.csr_array(np.ones((2, 2))), scipy.sparse.csr_array(np.diag([-1.0, 3.0]))
    >>> on_pattern(pattern, matrix)
    array([-1., 0., 0., 3.])
    """
    width = pattern.shape[1]
    places, wanted = (
        np.repeat(np.arange(one.shape[0], dtype=np.int64) * width, np.diff(one.indptr)) + one.indices
        for one in (pattern, matrix)
    )
    values = np.zeros(places.size, dtype=matrix.dtype)
    values[np.searchsorted(places, wanted)] = matrix.data
    return values


def two_sides(counts: Counts, recipe: str) -> tuple[Any, Any]:
    """Return the counts of contexts to the left and to the right of each word, as SciPy CSR arrays.

    Directional counts hold one; the other is its transpose, since "j is before i" is "i is after j".
    """
    side = counts.options.context
    if side == "both":
        raise FirthianError(
            f"the recipe {recipe} tells left from right contexts, these counts do not", hint="count with --context left"
        )
    one = counts.to_scipy()
    other = one.T.tocsr()
    return (one, other) if side == "left" else (other, one)
