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


def block_descent(g, w, seen, rank, iterations, ridge=0.0):
    """Algorithm 1 with X_0 = G/2 on seen pairs and 0 elsewhere; gives the last X and the loss after each iteration."""
    x = np.where(seen, g / 2, 0.0)
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


def document_log_prob(factor, log_unigram, ids, window, residual=lambda earlier, later: 0.0):
    """Eq. 8, term by term."""
    terms = []
    for place, word in enumerate(ids):
        term = log_unigram[word]
        for other in ids[max(0, place - window) : place]:
            term += factor[word] @ factor[other] + residual(other, word)
        terms.append(term)
    return np.array(terms)
