"""Postings: in which documents each term occurs, and the BM25 scores of a term's documents."""

from __future__ import annotations

import numpy as np
from numba import njit

from firthian.arrays import Array

#: A term counts at most so often in one document; BM25 hardly distinguishes more.
MOST_TIMES = 255


@njit(cache=True, nogil=True)
def posting_sizes(ids: Array, starts: Array, sizes: Array) -> None:
    """Add to ``sizes`` the number of documents of each term; ``starts`` has one more entry than there are documents."""
    last = np.full(sizes.size, -1, np.int64)
    for document in range(starts.size - 1):
        for t in range(starts[document], starts[document + 1]):
            if last[ids[t]] != document:
                last[ids[t]] = document
                sizes[ids[t]] += 1


@njit(cache=True, nogil=True)
def fill_postings(ids: Array, starts: Array, indptr: Array, documents: Array, times: Array) -> None:
    """Write the documents of each term, in order, and how often it occurs in each."""
    ends = indptr[:-1].copy()
    for document in range(starts.size - 1):
        for t in range(starts[document], starts[document + 1]):
            term = ids[t]
            place = ends[term] - 1
            if place >= indptr[term] and documents[place] == document:
                times[place] = min(times[place] + 1, MOST_TIMES)
            else:
                documents[place + 1] = document
                times[place + 1] = 1
                ends[term] += 1


@njit(cache=True, nogil=True)
def add_bm25(documents: Array, times: Array, lengths: Array, weight: float, k1: float, b: float, out: Array) -> None:
    """Add ``weight · t (k1 + 1) / (t + k1 (1 - b + b·length))``; ``lengths`` are relative to the mean."""
    for place in range(documents.size):
        document = documents[place]
        t = np.float64(times[place])
        out[document] += weight * t * (k1 + 1) / (t + k1 * (1 - b + b * lengths[document]))
