"""N-grams, their buckets and the regression on them, as plainly as possible."""

from __future__ import annotations

import numpy as np


def ngrams(word: str, low: int, high: int) -> list[str]:
    text = f"<{word}>"
    places = [
        (first, last)
        for first in range(len(text))
        for last in range(first + low, min(first + high, len(text)) + 1)
        if last - first > 1 or 0 < first < len(text) - 1
    ]
    return [text[first:last] for first, last in places]


def bucket(ngram: str, buckets: int) -> int:
    value = 2166136261
    for byte in ngram.encode():
        signed = byte - 256 if byte > 127 else byte
        value = ((value ^ (signed & 0xFFFFFFFF)) * 16777619) & 0xFFFFFFFF
    return value % buckets


def incidence(words: list[str], low: int, high: int, buckets: int, ids: np.ndarray) -> np.ndarray:
    """Return the word × bucket matrix: the number of n-grams in a bucket over √(number of n-grams)."""
    column = {int(number): k for k, number in enumerate(ids)}
    matrix = np.zeros((len(words), len(ids)))
    for row, word in enumerate(words):
        found = ngrams(word, low, high)
        for ngram in found:
            if bucket(ngram, buckets) in column:
                matrix[row, column[bucket(ngram, buckets)]] += 1 / np.sqrt(len(found))
    return matrix


def ridge(matrix: np.ndarray, weights: np.ndarray, targets: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """Return argmin_G Σ ω |u - S G|² + Σ μ |g|², with a penalty for each n-gram."""
    gram = matrix.T @ (weights[:, None] * matrix) + np.diag(mu)
    return np.linalg.solve(gram, matrix.T @ (weights[:, None] * targets))
