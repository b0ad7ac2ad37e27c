"""Seen pairs of the binomial family without biases, in single precision: what ``likelihood.seen_rows`` computes, vectorized.

A pair's loss is n·log(1 + e^s) - x·s with s = u·c, n = x + rho. Both the loss and its slope n·sigma(s) - x follow from
e^-|s|, which a polynomial approximates to a relative error of 1e-7, so that the compiler can work on many pairs at once.
Fetching the rows of the right side takes most of the time, so these are integers of 16 bits times a scale for each column,
and many left rows use a tile of right ones, which stays in the cache, before the next tile is fetched.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from firthian.arrays import Array
from firthian.kernels.likelihood import BINOMIAL, quadratic, row_products
from firthian.kernels.sparse import add_rows

_FAST = {"reassoc", "contract", "nsz", "arcp"}

_LOG2_E, _HALF, _ONE, _ZERO = np.float32(1.4426950408889634), np.float32(0.5), np.float32(1), np.float32(0)
#: Bytes of the right rows of a tile, and how many pairs a left row should have in each.
TILE_BYTES, LEAST = 1 << 21, 32

#: Below 2^-120, e^-|s| makes no difference to single precision.
_LOWEST = np.float32(-120)

# Least squares at Chebyshev nodes: 2^t on [-1/2, 1/2] (relative), and log(1 + e)/e on [0, 1].
_E0, _E1, _E2, _E3, _E4, _E5, _E6 = (
    np.float32(c)
    for c in (1.0, 0.69314718, 0.24022646, 0.055503290, 0.0096185198, 0.0013399860, 0.00015337577)
)  # fmt: skip
_L0, _L1, _L2, _L3, _L4, _L5, _L6, _L7, _L8 = (
    np.float32(c)
    for c in (1.0, -0.49999502, 0.33319271, -0.24844369, 0.19111431, -0.13674770, 0.078361668, -0.029588507, 0.0052534579)
)  # fmt: skip


@njit(cache=True, nogil=True, fastmath=_FAST)
def exponentials(products: Array, number: int, powers: Array, out: Array) -> None:
    """``out[p] = exp(-|products[p]|)``; ``powers`` is an int32 buffer for 2^n, written as the bits of a float32."""
    for p in range(number):
        t = max(-abs(products[p]) * _LOG2_E, _LOWEST)
        whole = np.floor(t + _HALF)
        r = t - whole
        out[p] = _E0 + r * (_E1 + r * (_E2 + r * (_E3 + r * (_E4 + r * (_E5 + r * _E6)))))
        powers[p] = (np.int32(whole) + np.int32(127)) << np.int32(23)
    scales = powers.view(np.float32)
    for p in range(number):
        out[p] *= scales[p]


@njit(cache=True, nogil=True, inline="always", fastmath=_FAST)
def log1p_unit(e: float) -> float:
    """Return log(1 + e) for e in [0, 1]."""
    return e * (_L0 + e * (_L1 + e * (_L2 + e * (_L3 + e * (_L4 + e * (_L5 + e * (_L6 + e * (_L7 + e * _L8))))))))


@njit(cache=True, nogil=True)
def tiles(indptr: Array, indices: Array, first: int, last: int, right: Array) -> Array:
    """Return where the pairs of each row are divided: tile ``t`` has those from ``cuts[t]`` to ``cuts[t + 1]``.

    Rows with few pairs have wide tiles, because a few pairs at a time take longer than many.
    """
    number = min(
        1 + right.size * right.itemsize // TILE_BYTES, (indptr[last] - indptr[first]) // (LEAST * (last - first))
    )
    number = max(number, 1)
    width = 1 + len(right) // number
    cuts = np.empty((number + 1, last - first), dtype=np.int64)
    for row in range(first, last):
        at, end = indptr[row], indptr[row + 1]
        cuts[0, row - first], cuts[number, row - first] = at, end
        for tile in range(1, number):
            at += np.searchsorted(indices[at:end], tile * width)
            cuts[tile, row - first] = at
    return cuts


@njit(cache=True, nogil=True, fastmath=_FAST)
def binomial_rows(
    pairs: tuple[Array, Array, Array],
    sides: tuple[Array, Array, Array],
    shares: tuple[Array, Array],
    quadrature: tuple[Array, Array, Array],
    wanted: tuple[Array, bool, bool],
    first: int,
    last: int,
    gradient: Array,
    sums: Array,
) -> None:
    """Sum over the seen pairs of each row; the results are those of ``likelihood.seen_rows`` with ``QUADRATIC``.

    ``pairs`` are compressed rows, ``sides`` the left rows and the right ones as integers with their scales, ``shares`` those
    of left and right, ``quadrature`` the moments over all contexts with nodes and weights, ``wanted`` the active rows and
    whether to compute losses and gradients. Rows of integers may be wider than the scales, with zeros at the end.
    """
    indptr, indices, values = pairs
    left, right, scales = sides
    left_share, right_share = shares
    moments, nodes, node_weights = quadrature
    active, with_value, with_slope = wanted
    longest, base, width = 0, indptr[first], right.shape[1]
    for row in range(first, last):
        longest = max(longest, indptr[row + 1] - indptr[row])
    products, rho = np.zeros(indptr[last] - base, dtype=np.float32), np.empty(longest, dtype=np.float32)
    e, powers = np.empty(longest, dtype=np.float32), np.empty(longest, dtype=np.int32)
    cuts = tiles(indptr, indices, first, last, right)
    # rows of the left side, later their gradients
    rows = np.zeros((last - first, width), dtype=np.float32)
    # all contexts are 0 at the start
    moved = active[first:last].copy()
    for row in range(first, last):
        moved[row - first] &= np.any(left[row] != 0)
        for k in range(scales.size):
            rows[row - first, k] = left[row, k] * scales[k]
    for tile in range(len(cuts) - 1):
        for row in range(first, last):
            begin, end = cuts[tile, row - first], cuts[tile + 1, row - first]
            if moved[row - first] and end > begin:
                row_products(indices, begin, end - begin, rows[row - first], right, products[begin - base :])
    rows[:] = 0
    for row in range(first, last):
        if not active[row]:
            continue
        begin, number = indptr[row], indptr[row + 1] - indptr[row]
        s = products[begin - base : begin - base + number]
        share = np.float32(left_share[row])
        zeroth, first_moment, second_moment = 0.0, 0.0, 0.0
        for p in range(number):
            q = right_share[np.uint64(indices[begin + p])]
            rho[p] = share * q
            zeroth += np.float64(q)
            first_moment += np.float64(q * s[p])
            second_moment += np.float64(q * s[p] * s[p])
        seen = zeroth, first_moment, second_moment
        rest, level, intercept, curvature = quadratic(BINOMIAL, 0.0, moments[row], seen, nodes, node_weights)
        exponentials(s, number, powers, e)
        total = left_share[row] * rest * level
        if with_value:
            for p in range(number):
                x = values[begin + p]
                total += np.float64((rho[p] + x) * (max(s[p], _ZERO) + log1p_unit(e[p])) - x * s[p])
        bias_sum, mass = 0.0, 0.0
        if with_slope:
            start, bend = np.float32(intercept), np.float32(curvature)
            for p in range(number):
                x = values[begin + p]
                n = rho[p] + x
                inverse = _ONE / (_ONE + e[p])
                sigma = inverse if s[p] >= _ZERO else e[p] * inverse
                mass += np.float64(n * e[p] * inverse * inverse - rho[p] * bend)
                s[p] = n * sigma - x - rho[p] * (start + bend * s[p])
                bias_sum += np.float64(s[p])
        sums[row, 0] = total
        sums[row, 1] = bias_sum
        sums[row, 2] = mass
        sums[row, 3] = intercept
        sums[row, 4] = curvature
    if not with_slope:
        return
    for tile in range(len(cuts) - 1):
        for row in range(first, last):
            begin, end = cuts[tile, row - first], cuts[tile + 1, row - first]
            if active[row] and end > begin:
                add_rows(indices[begin:end], products[begin - base : end - base], right, rows[row - first])
    for row in range(first, last):
        if active[row]:
            for k in range(scales.size):
                gradient[row, k] = rows[row - first, k] * scales[k]
