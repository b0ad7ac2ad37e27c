"""Weighted, smoothed PMI of seen pairs, in single precision."""

from __future__ import annotations

import numpy as np
from numba import njit

from firthian.arrays import Array
from firthian.kernels.binomial import log1p_unit

_LOG_2 = np.float32(0.69314718)
_MANTISSA, _ONE_BITS = np.int32(0x7FFFFF), np.int32(0x3F800000)
_ONE = np.float32(1)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def logarithms(numbers: Array, number: int, out: Array) -> None:
    """``out[p] = log(numbers[p])`` for positive, normal float32; the error is at most 2e-7 or, if larger, 2e-7 of it.

    A float32 is m·2^e with m in [1, 2), both of which are read off its bits.
    """
    bits = numbers.view(np.int32)
    mantissas = ((bits[:number] & _MANTISSA) | _ONE_BITS).view(np.float32)
    for p in range(number):
        exponent = np.float32((bits[p] >> np.int32(23)) - np.int32(127))
        out[p] = exponent * _LOG_2 + log1p_unit(mantissas[p] - _ONE)


@njit(cache=True, nogil=True, error_model="numpy")
def weighted_pmi(
    pairs: tuple[Array, Array, Array],
    marginals: tuple[Array, Array],
    scale: tuple[float, float, float],
    first: int,
    last: int,
    targets: Array,
    weights: Array,
) -> None:
    """Write G = log((1 - kappa)·x·x_ij/(x_i·x_j) + kappa) and f(H) = min(x_ij^power/root, 1) of the pairs of some rows.

    ``pairs`` are compressed rows, ``marginals`` x_i and x_j/x, ``scale`` is kappa, root and power. The weight of a word with
    itself is 0.
    """
    indptr, indices, values = pairs
    row_sums, column_shares = marginals
    kappa, root, power = scale
    longest = 0
    for row in range(first, last):
        longest = max(longest, indptr[row + 1] - indptr[row])
    ratios = np.empty(longest, dtype=np.float32)
    for row in range(first, last):
        begin, number = indptr[row], indptr[row + 1] - indptr[row]
        if number == 0:
            continue
        factor = (1 - kappa) / row_sums[row]
        for p in range(number):
            column = np.uint64(indices[begin + p])
            ratios[p] = factor * values[begin + p] / column_shares[column] + kappa
        logarithms(ratios, number, targets[begin : begin + number])
        for p in range(number):
            x = np.float64(values[begin + p])
            strength = np.sqrt(x) if power == 0.5 else x**power
            # The root may be 0: then every pair has full weight.
            weights[begin + p] = 1.0 if strength >= root else strength / root
            if indices[begin + p] == row:
                weights[begin + p] = 0
