"""Slow, obvious twins of what ``change`` computes fast."""

from __future__ import annotations

import numpy as np
import scipy.optimize


def windows(ids, position, weights):
    """Yield (context, weight) of one occurrence; -1 ends a document, -2 is a hole."""
    for step in (-1, 1):
        for distance in range(1, len(weights) + 1):
            at = position + step * distance
            if not 0 <= at < len(ids) or ids[at] == -1:
                break
            if ids[at] >= 0:
                yield ids[at], weights[distance - 1]


def unit_scores(ids, units, number, word, weights, balance, u, contexts, images):
    """Return the sum over contexts of g·b·sigma(-u·c)·image, and of g·b, by unit."""
    scores, mass = np.zeros((number, images.shape[1])), np.zeros(number)
    for position, token in enumerate(ids):
        if token == word and units[position] >= 0:
            for context, weight in windows(ids, position, weights):
                weight *= balance[units[position], context]
                scores[units[position]] += weight / (1 + np.exp(u @ contexts[context])) * images[context]
                mass[units[position]] += weight
    return scores, mass


def context_sums(ids, units, word, weights, balance, slices, factors, shape):
    """Return the weighted counts of contexts by slice."""
    sums = np.zeros(shape)
    for position, token in enumerate(ids):
        if token == word and units[position] >= 0:
            for context, weight in windows(ids, position, weights):
                weight *= balance[units[position], context]
                sums[slices[units[position]], context] += factors[units[position]] * weight
    return sums


def distances(means, weights, labels, slices):
    """Return the mean squared distance of two slices and its expectation, from means and variances one by one."""
    centers, variances = [], []
    for number in range(slices):
        y, w = means[labels == number], weights[labels == number]
        if len(y) < 2:
            continue
        center = w @ y / w.sum()
        centers.append(center)
        variances.append((w**2 * ((y - center) ** 2).sum(axis=1)).sum() / (w.sum() ** 2 - (w**2).sum()))
    if len(centers) < 2:
        return np.nan, np.nan
    pairs = [(a, b) for a in range(len(centers)) for b in range(a)]
    distance = np.mean([((centers[a] - centers[b]) ** 2).sum() for a, b in pairs])
    return distance, np.mean([variances[a] + variances[b] for a, b in pairs])


def solve_row(contexts, noise, negative, prior, rates, counts, events):
    """Return the minimum of SGNS's loss with a prior, by SciPy."""
    s = contexts @ prior
    sigma = 1 / (1 + np.exp(-s))
    weights = (negative * noise + rates) * sigma * (1 - sigma)
    curvature = contexts.T @ (weights[:, None] * contexts)
    curvature += np.trace(curvature) / len(prior) * np.eye(len(prior))
    trials = negative * noise * counts.sum() + counts

    def loss(u):
        s = contexts @ u
        away = u - prior
        value = trials @ np.logaddexp(0, s) - counts @ s + events / 2 * away @ curvature @ away
        slope = contexts.T @ (trials / (1 + np.exp(-s)) - counts) + events * curvature @ away
        return value, slope

    return scipy.optimize.minimize(loss, prior, jac=True, method="BFGS", options={"gtol": 1e-8}).x
