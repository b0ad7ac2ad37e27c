"""Local ids of a segment -> the stream of vocabulary ids that windows are formed on.

Sub-sampling asks a random number that depends on (seed, document, position) alone, so shards, workers and resumes agree.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from firthian.arrays import Array
from firthian.kernels.windows import DOCUMENT_END, HOLE

#: A word is kept when its random number is at most its threshold: ``(thresholds, seed)``; no thresholds, no sub-sampling.
Sampling = tuple[Array, np.uint64]

#: The number of the first document, and of its tokens in earlier segments.
Start = tuple[int, int]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def mix(value: np.uint64) -> np.uint64:
    """Scramble 64 bits (the finalizer of splitmix64)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(cache=True, nogil=True)
def counter_random(seed: np.uint64, document: np.uint64, position: np.uint64) -> np.uint64:
    """Return the 64 random bits that belong to a place in the corpus."""
    return mix(mix(mix(seed + _GOLDEN) ^ (document + _GOLDEN)) ^ (position * _GOLDEN))


@njit(cache=True, nogil=True)
def select(
    ids: Array,
    document_starts: Array,
    lookup: Array,
    sampling: Sampling,
    start: Start,
    keep_positions: bool,
    stream: Array,
) -> int:
    """Write vocabulary ids, with an end mark before each document but the first; return their number.

    ``lookup`` maps a local id to a vocabulary id or -1.
    """
    (thresholds, seed), (first_document, first_position) = sampling, start
    at = 0
    for document in range(document_starts.size):
        begin = document_starts[document]
        end = document_starts[document + 1] if document + 1 < document_starts.size else ids.size
        if document > 0:
            stream[at] = DOCUMENT_END
            at += 1
        number = np.uint64(first_document + document)
        offset = first_position - begin if document == 0 else -begin
        for t in range(begin, end):
            word = lookup[ids[t]]
            if word < 0:
                if keep_positions:
                    stream[at] = HOLE
                    at += 1
                continue
            if thresholds.size and counter_random(seed, number, np.uint64(t + offset)) > thresholds[word]:
                continue
            stream[at] = word
            at += 1
    return at


@njit(cache=True, nogil=True)
def join_phrases(
    ids: Array, document_starts: Array, lookup: Array, pointers: Array, right: Array, first_phrase: int
) -> tuple[Array, Array, Array]:
    """Replace adjacent words that form a phrase by the phrase's id, greedily from the left.

    The phrases of word ``w`` are ``right[pointers[w]:pointers[w + 1]]``, in order; phrase ``p`` gets the local id
    ``first_phrase + p``. Return (ids, document starts, uses of each phrase).
    """
    out = np.empty(ids.size, np.int32)
    starts = np.empty(document_starts.size, np.int64)
    used = np.zeros(right.size, np.int64)
    at = 0
    for document in range(document_starts.size):
        starts[document] = at
        t = document_starts[document]
        end = document_starts[document + 1] if document + 1 < document_starts.size else ids.size
        while t < end:
            joined = False
            word = lookup[ids[t]]
            if word >= 0 and t + 1 < end:
                follower = lookup[ids[t + 1]]
                if follower >= 0:
                    low, high = pointers[word], pointers[word + 1]
                    while low < high:
                        middle = (low + high) // 2
                        if right[middle] < follower:
                            low = middle + 1
                        else:
                            high = middle
                    if low < pointers[word + 1] and right[low] == follower:
                        out[at] = first_phrase + low
                        used[low] += 1
                        joined = True
            if not joined:
                out[at] = ids[t]
            t += 2 if joined else 1
            at += 1
    return out[:at].copy(), starts, used
