"""Analogies answered one at a time, straight from Levy and Goldberg (2014), eqs. 3 and 5."""

from __future__ import annotations

import numpy as np


def unit_rows(matrix):
    matrix = np.asarray(matrix, dtype=np.float64)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def answer(matrix, a, b, c, epsilon=0.001):
    """Return the best word by 3CosAdd and by 3CosMul, never a, b or c; the first of equals."""
    unit = unit_rows(matrix)
    cosines = unit @ unit.T
    # eq. 3: arg max cos(x, b) - cos(x, a) + cos(x, c)
    added = cosines[b] - cosines[a] + cosines[c]
    similarity = cosines if (np.asarray(matrix) >= 0).all() else (cosines + 1) / 2
    # eq. 5: arg max cos(x, b) cos(x, c) / (cos(x, a) + ε)
    multiplied = similarity[b] * similarity[c] / (similarity[a] + epsilon)
    for scores in (added, multiplied):
        scores[[a, b, c]] = -np.inf
    return int(np.argmax(added)), int(np.argmax(multiplied))


def sparse_products(rows, questions):
    """The plain product of two dense matrices, rows as columns of the result."""
    return np.asarray(questions) @ np.asarray(rows).T
