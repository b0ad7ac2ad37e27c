"""How alike two words are: cosine, Euclidean distance, or the product kernel of Gaussian vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError, suggest
from firthian.vectors import uncertainty
from firthian.vectors.vectors import Vectors

#: Pairs are scored in blocks, so that no more than so many vectors are copied at once.
BLOCK_PAIRS = 512


def cosine(vectors: Vectors, left: Array, right: Array) -> Array:
    """Return the cosine of each pair of rows."""
    matrix = vectors.matrix
    squares = _rows_dot(matrix, left, left) * _rows_dot(matrix, right, right)
    result: Array = _rows_dot(matrix, left, right) / np.sqrt(squares)
    return result


def euclidean(vectors: Vectors, left: Array, right: Array) -> Array:
    """Return the negative Euclidean distance of each pair of rows, so that more is more alike."""
    difference = _take(vectors.matrix, left) - _take(vectors.matrix, right)
    squares = difference**2 if isinstance(difference, np.ndarray) else difference.power(2)
    return -np.sqrt(np.asarray(squares.sum(axis=1), dtype=np.float64).ravel())


def product_kernel(vectors: Vectors, left: Array, right: Array) -> Array:
    """Return ``log N(0; m_i - m_j, S_i + S_j)``, the logarithm of the product kernel of two Gaussians.

    The covariances are in ``vectors.extras``, as ``firthian.vectors.uncertainty`` reads them: ``covariances``, packed or
    whole, or ``variances`` for diagonal ones.
    """
    means = _dense(vectors)
    delta = means[left].astype(np.float64) - means[right]
    if "covariances" in vectors.extras:
        both = uncertainty.covariances(vectors, left) + uncertainty.covariances(vectors, right)
        try:
            factor = np.linalg.cholesky(both)
        except np.linalg.LinAlgError:
            raise FirthianError(
                "a covariance of the vectors is not positive definite", hint="train the vectors again"
            ) from None
        solved = np.linalg.solve(factor, delta[:, :, None])[:, :, 0]
        log_determinant = 2 * np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1)
        distance = (solved**2).sum(axis=1)
    elif "variances" in vectors.extras:
        both = uncertainty.variances(vectors, left) + uncertainty.variances(vectors, right)
        if not (both > 0).all():
            raise FirthianError("a variance of the vectors is not positive", hint="train the vectors again")
        log_determinant = np.log(both).sum(axis=1)
        distance = (delta**2 / both).sum(axis=1)
    else:
        raise FirthianError(
            "the product kernel needs Gaussian vectors, these have neither covariances nor variances",
            hint="use --score cosine, or vectors of a Bayesian recipe",
        )
    # log N(0; δ, S) = -½ (δᵀ S⁻¹ δ + log |S| + d log 2π)
    score: Array = -0.5 * (distance + log_determinant + vectors.vector_size * np.log(2 * np.pi))
    return score


#: Every way to score a pair, and the score that stands for "not alike at all", given to unknown words on request.
SCORES: dict[str, tuple[Callable[[Vectors, Array, Array], Array], float]] = {
    "cosine": (cosine, 0.0),
    "euclidean": (euclidean, -np.inf),
    "product-kernel": (product_kernel, -np.inf),
}


def score_pairs(vectors: Vectors, ids: Array, score: str = "cosine") -> Array:
    """Score pairs of rows, a block at a time."""
    check_score(score)
    function = SCORES[score][0]
    result = np.empty(len(ids), dtype=np.float64)
    for first in range(0, len(ids), BLOCK_PAIRS):
        block = ids[first : first + BLOCK_PAIRS]
        result[first : first + BLOCK_PAIRS] = function(vectors, block[:, 0], block[:, 1])
    return result


def check_score(score: str) -> None:
    """Say which scores there are."""
    if score not in SCORES:
        raise FirthianError(f"there is no score {score!r}", hint=suggest(score, SCORES))


def _take(matrix: Any, rows: Array) -> Any:
    return matrix[rows].astype(np.float64)


def _rows_dot(matrix: Any, left: Array, right: Array) -> Array:
    first, second = _take(matrix, left), _take(matrix, right)
    if isinstance(first, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", first, second))
    return np.asarray(first.multiply(second).sum(axis=1), dtype=np.float64).ravel()


def _dense(vectors: Vectors) -> Array:
    if not isinstance(vectors.matrix, np.ndarray):
        raise FirthianError("the product kernel needs dense vectors, these are sparse", hint="use --score cosine")
    return vectors.matrix
