"""PSDVec by dense matrices: slow and obvious."""

from __future__ import annotations

import numpy as np


def targets_and_weights(x, kappa, cut, power=0.5):
    """G and f(H) from a dense matrix of counts; both directions averaged where they differ."""
    total = x.sum()
    row, column = x.sum(axis=1) / total, x.sum(axis=0) / total
    g = np.log((1 - kappa) * (x / total) / np.outer(row, column).clip(1e-300) + kappa)
    rank = min(max(round(cut * x.size), 1), np.count_nonzero(x))
    root = np.sort(x[x > 0])[-rank] ** power
    w = np.where(x > 0, np.minimum(x**power / root, 1), 0.0)
    np.fill_diagonal(w, 0)
    return g, w


def nearest_psd(matrix, rank, ridge=0.0):
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    values = np.maximum(values[::-1][:rank] - ridge, 0)
    vectors = vectors[:, ::-1][:, :rank]
    return (vectors * values) @ vectors.T


def block_descent(g, w, seen, rank, iterations, ridge=0.0, unseen=0.0):
    """Algorithm 1 with X_0 = G/2 on seen pairs and ``unseen`` elsewhere; returns the last X and the losses."""
    x = np.where(seen, g / 2, unseen)
    losses = []
    for _ in range(iterations):
        x = nearest_psd(w * np.where(seen, g, 0) + (1 - w) * x, rank, ridge)
        losses.append(0.5 * (w * (np.where(seen, g, 0) - x) ** 2).sum() + ridge * np.trace(x))
    return x, losses


def regression(core, weights, targets, ridge, unseen=0.0):
    """v = (U' diag(f) U + mu I)^-1 U' diag(f) g; rows of U without a weight have the weight ``unseen`` and the target 0."""
    f = np.where(weights > 0, weights, unseen)
    left = core.T @ (f[:, None] * core) + ridge * np.eye(core.shape[1])
    return np.linalg.solve(left, core.T @ (weights * targets))


def document_log_prob(products, log_unigram, ids, window, distances):
    """Eq. 8 normalized over the vocabulary, term by term; ``products`` is U·diag(s)·Uᵀ, plus the residuals [earlier, later]."""
    terms = []
    for place, word in enumerate(ids):
        scores = log_unigram.copy()
        for other in range(max(0, place - window), place):
            scores += distances[place - other - 1] * products[ids[other]]
        terms.append(scores[word] - np.log(np.exp(scores).sum()))
    return np.array(terms)
