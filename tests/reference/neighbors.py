"""The slow, obvious way to neighbors and analogies: all cosines in double precision, one full sort."""

from __future__ import annotations

import numpy as np


def units(matrix: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(matrix.astype(np.float64), axis=1, keepdims=True)
    return matrix / np.where(lengths > 0, lengths, 1)


def ranked(scores: np.ndarray, excluded: list[int], topn: int) -> list[tuple[int, float]]:
    order = sorted((i for i in range(len(scores)) if i not in excluded), key=lambda i: (-scores[i], i))
    return [(i, scores[i]) for i in order[:topn]]


def nearest(matrix: np.ndarray, query: np.ndarray, excluded: list[int], topn: int) -> list[tuple[int, float]]:
    return ranked(units(matrix) @ units(query[None])[0], excluded, topn)


def scaled_products(matrix: np.ndarray, query: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    return matrix.astype(np.float64) @ query * inverse


def three_cos_mul(matrix: np.ndarray, a: int, b: int, c: int, topn: int) -> list[tuple[int, float]]:
    u = units(matrix)
    shifted = [(u @ u[i] + 1) / 2 for i in (a, b, c)]
    return ranked(shifted[1] * shifted[2] / (shifted[0] + 0.001), [a, b, c], topn)
