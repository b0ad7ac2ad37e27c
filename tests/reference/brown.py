"""Slow twin of Brown clustering: tries every merge and computes the mutual information from its definition."""

from __future__ import annotations

import itertools

import numpy as np


def information(table, left, right, total):
    """Average mutual information of neighboring classes, times the total (eq. 17 of Brown et al. 1992)."""
    result = 0.0
    for a, b in itertools.product(range(len(table)), repeat=2):
        if table[a, b] > 0:
            result += table[a, b] * np.log(table[a, b] * total / (left[a] * right[b]))
    return result


def class_table(matrix, classes):
    """Neighbor counts between classes (lists of words), and their marginals from all words."""
    member = np.zeros((len(classes), len(matrix)))
    for number, words in enumerate(classes):
        member[number, words] = 1
    return member @ matrix @ member.T, member @ matrix.sum(axis=1), member @ matrix.sum(axis=0)


def best_merge(matrix, classes):
    """The merge after which most information is left."""
    best = (-np.inf, None)
    for s, t in itertools.combinations(range(len(classes)), 2):
        merged = [words for k, words in enumerate(classes) if k not in (s, t)] + [classes[s] + classes[t]]
        left_over = information(*class_table(matrix, merged), matrix.sum())
        if left_over > best[0] + 1e-9:
            best = (left_over, merged)
    return best[1]


def cluster(matrix, classes):
    """The classes as sets of words, and the sets that arise on the way to one tree."""
    found = []
    for word in range(len(matrix)):
        found.append([word])
        if len(found) > classes:
            found = best_merge(matrix, found)
    result = {frozenset(words) for words in found}
    tree = set(result)
    while len(found) > 1:
        found = best_merge(matrix, found)
        tree.add(frozenset(found[-1]))
    return result, tree
