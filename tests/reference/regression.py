"""Embedding regression, slowly: à la carte vectors one by one, refits for the jackknife, refits for permutations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def mean_context(tokens: Sequence[str], first: int, after: int, window: int, vectors: dict[str, Array]) -> Array | None:
    """The mean vector of the known words around ``tokens[first:after]``."""
    around = [*tokens[max(0, first - window) : first], *tokens[after : after + window]]
    known = [vectors[word] for word in around if word in vectors]
    return np.mean(known, axis=0) if known else None


def coefficients(x: Array, y: Array) -> Array:
    return np.linalg.lstsq(x, y, rcond=None)[0]


def norms(x: Array, y: Array) -> Array:
    return np.square(coefficients(x, y)).sum(axis=1)


def jackknife_se(x: Array, y: Array, clusters: Array) -> Array:
    """Refit without each cluster."""
    left = np.array([norms(x[clusters != c], y[clusters != c]) for c in np.unique(clusters)])
    return np.sqrt((len(left) - 1) / len(left) * np.square(left - left.mean(axis=0)).sum(axis=0))


def bias(x: Array, y: Array, clusters: Array) -> Array:
    """The trace of the robust covariance of each coefficient, from its definition: CR2, or HC1 for single occurrences."""
    n, k = x.shape
    total = np.zeros(k)
    for c in np.unique(clusters):
        own = clusters == c
        h = x[own] @ np.linalg.inv(x.T @ x) @ x[own].T
        values, axes = np.linalg.eigh(np.eye(own.sum()) - h)
        root = axes @ np.diag(1 / np.sqrt(values)) @ axes.T
        if np.unique(clusters).size == n:
            root = np.eye(1) * np.sqrt(n / (n - k))
        residuals = root @ (y - x @ coefficients(x, y))[own]
        total += np.square(np.linalg.inv(x.T @ x) @ x[own].T @ residuals).sum(axis=1)
    return total


def robust(x: Array, y: Array, clusters: Array) -> Array:
    """The same without corrections (CR0)."""
    inverse, residuals = np.linalg.inv(x.T @ x), y - x @ coefficients(x, y)
    scores = [inverse @ x[clusters == c].T @ residuals[clusters == c] for c in np.unique(clusters)]
    return np.square(scores).sum(axis=(0, 2))


def ratios(x: Array, y: Array, clusters: Array) -> Array:
    """The statistic of the permutation test."""
    return norms(x, y) / robust(x, y, clusters)


def permuted(x: Array, clusters: Array, order: Array) -> Array:
    """The design in which cluster c has the row of cluster ``order[c]``."""
    first = np.array([np.flatnonzero(clusters == c)[0] for c in range(clusters.max() + 1)])
    return x[first[order[clusters]]]
