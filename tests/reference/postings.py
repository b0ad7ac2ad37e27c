"""BM25 the slow, obvious way."""

from __future__ import annotations

import math

import numpy as np


def postings(documents: list[list[int]], terms: int) -> list[list[tuple[int, int]]]:
    """Return the documents of each term, and how often it occurs in each."""
    return [[(n, d.count(term)) for n, d in enumerate(documents) if term in d] for term in range(terms)]


def bm25(documents: list[list[str]], query: list[str], k1: float, b: float) -> np.ndarray:
    mean = sum(map(len, documents)) / len(documents)
    scores = np.zeros(len(documents))
    for term in dict.fromkeys(query):
        n = sum(term in document for document in documents)
        weight = math.log(1 + (len(documents) - n + 0.5) / (n + 0.5))
        for number, document in enumerate(documents):
            t = document.count(term)
            scores[number] += weight * t * (k1 + 1) / (t + k1 * (1 - b + b * len(document) / mean))
    return scores
