"""Slow twin of the lasso kernel: proximal gradient steps (ISTA) on one vector after the other."""

from __future__ import annotations

import numpy as np


def objective(point, dictionary, code, l1):
    return 0.5 * np.sum((point - code @ dictionary) ** 2) + l1 * np.abs(code).sum()


def lasso(point, dictionary, l1, nonnegative, steps=5000):
    step = 1 / np.linalg.norm(dictionary @ dictionary.T, 2)
    code = np.zeros(len(dictionary))
    for _ in range(steps):
        moved = code + step * dictionary @ (point - code @ dictionary)
        code = np.sign(moved) * np.maximum(np.abs(moved) - step * l1, 0)
        if nonnegative:
            code = np.maximum(code, 0)
    return code
