"""Vectors of texts, as plainly as possible."""

from __future__ import annotations

import numpy as np


def encode(texts: list[list[str]], rows: dict[str, np.ndarray], weights: dict[str, float], center, map_) -> np.ndarray:
    """Return the mapped weighted means; a text without a known word is zeros."""
    out = np.zeros((len(texts), map_.shape[1]))
    for n, text in enumerate(texts):
        known = [word for word in text if word in rows]
        total = sum(weights[word] for word in known)
        if total:
            mean = sum(weights[word] * rows[word].astype(np.float64) for word in known) / total
            out[n] = (mean - center) @ map_
    return out


def without_components(vectors: np.ndarray, components: int) -> np.ndarray:
    """Return vectors without their first right singular vectors."""
    _, _, directions = np.linalg.svd(vectors, full_matrices=False)
    for direction in directions[:components]:
        vectors = vectors - np.outer(vectors @ direction, direction)
    return vectors


def agreement(left: np.ndarray, right: np.ndarray, ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the agreements of neighboring spans and the directions W, by whitening C11 and rotating C12."""
    both = np.concatenate([left, right])
    center = both.mean(axis=0)
    x, y = left - center, right - center
    within = (x.T @ x + y.T @ y) / len(both)
    within += np.eye(len(within)) * ridge * np.trace(within) / len(within)
    between = (x.T @ y + y.T @ x) / len(both)
    values, vectors = np.linalg.eigh(within)
    white = vectors / np.sqrt(values)
    agreements, rotation = np.linalg.eigh(white.T @ between @ white)
    return agreements[::-1], (white @ rotation)[:, ::-1]


def word_means(texts: list[list[str]], vectors: np.ndarray) -> dict[str, np.ndarray]:
    """Return for each word the sum of the vectors of the texts it occurs in, and their number."""
    words = sorted({word for text in texts for word in text})
    where = {word: [n for n, text in enumerate(texts) if word in text] for word in words}
    return {word: vectors[rows].sum(axis=0) for word, rows in where.items()}
