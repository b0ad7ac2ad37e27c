"""Lasso by coordinate descent, row by row, on products with a dictionary."""

from __future__ import annotations

import numpy as np
from numba import njit

from firthian.arrays import Array


@njit(cache=True, nogil=True)
def descend(
    gram: Array, products: Array, codes: Array, l1: float, nonnegative: bool, sweeps: int, least: float
) -> None:
    """Lower ``1/2 |x - a D|² + l1·|a|_1`` over each row a of ``codes``, in place.

    ``gram`` is ``D D'`` and ``products`` is ``x D'``. A row has converged when a sweep changes no entry by more than ``least``.
    """
    size = gram.shape[0]
    # slope = x D' - a D D' is updated incrementally, so a coordinate that does not move costs nothing.
    slope = np.empty(size, np.float64)
    for row in range(codes.shape[0]):
        for k in range(size):
            slope[k] = products[row, k]
        for k in range(size):
            value = codes[row, k]
            if value != 0:
                for m in range(size):
                    slope[m] -= value * gram[k, m]
        for _ in range(sweeps):
            largest = 0.0
            for k in range(size):
                curvature = gram[k, k]
                if curvature <= 0:
                    continue
                old = codes[row, k]
                # The minimum over one coordinate: soft thresholding.
                goal = slope[k] + curvature * old
                if goal > l1:
                    new = (goal - l1) / curvature
                elif goal < -l1 and not nonnegative:
                    new = (goal + l1) / curvature
                else:
                    new = 0.0
                new = np.float32(new)
                if new != old:
                    step = new - old
                    codes[row, k] = new
                    for m in range(size):
                        slope[m] -= step * gram[k, m]
                    largest = max(largest, abs(step))
            if largest <= least:
                break
