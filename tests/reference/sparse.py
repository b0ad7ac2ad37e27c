"""Slow twins of the sparse kernels."""

from __future__ import annotations

import numpy as np


def dense_of(indptr, indices, values, shape):
    out = np.zeros(shape)
    for row in range(shape[0]):
        for p in range(indptr[row], indptr[row + 1]):
            out[row, indices[p]] += values[p]
    return out


def inner_products(indptr, indices, left, right):
    """left[row]·right[column] for each stored pair, in order."""
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return np.array([left[i] @ right[j] for i, j in zip(rows, indices, strict=True)])
