"""Coded rows the slow, obvious way."""

from __future__ import annotations

import numpy as np


def assign(points: np.ndarray, centers: np.ndarray) -> np.ndarray:
    return ((points[:, :, None] - centers[None]) ** 2).sum(axis=1).argmin(axis=1)


def moved_centers(points: np.ndarray, weights: np.ndarray, codes: np.ndarray, centers: np.ndarray) -> np.ndarray:
    moved = centers.copy()
    for c in set(codes.tolist()):
        here = codes == c
        moved[:, c] = np.average(points[here], axis=0, weights=weights[here])
    return moved


def decode_products(codes: np.ndarray, books: np.ndarray, groups: np.ndarray) -> np.ndarray:
    return np.array([[books[row[group], j] for j, group in enumerate(groups)] for row in codes])


def decode_rounded(codes: np.ndarray, dimension: int, bits: np.ndarray) -> np.ndarray:
    """Return the number of each dimension less the middle of its numbers."""
    extra = len(bits) // 8
    wide = 2 * (codes.shape[1] - extra) - dimension
    pairs = (dimension - wide) // 2
    rows = []
    for row in codes.tolist():
        numbers = row[:wide] + [byte % 16 for byte in row[wide : wide + pairs]]
        numbers += [byte // 16 for byte in row[wide : wide + pairs]]
        levels = [256] * wide + [16] * (2 * pairs)
        for place, j in enumerate(bits):
            byte = row[wide + pairs + place // 8]
            numbers[j] = 2 * numbers[j] + byte // 2 ** (7 - place % 8) % 2
            levels[j] *= 2
        rows.append([number - (level - 1) / 2 for number, level in zip(numbers, levels, strict=True)])
    return np.array(rows)
