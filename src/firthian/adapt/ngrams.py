"""Neighboring words as features of their own: ``how many`` beside ``how`` and ``many``, and ``<s> how`` at the start."""

from __future__ import annotations

import numpy as np

from firthian.text.segments import Segment

#: Stands before the first word of a document; alone it is no feature.
START = "<s>"


def is_ngram(word: str) -> bool:
    """Tell an n-gram from a word; only lists of tokens can hold words with a space, and those pass for n-grams."""
    return " " in word


def add_ngrams(segment: Segment, longest: int, goes_on: bool) -> Segment:
    """Return a segment whose documents hold their words and all runs of up to ``longest`` words.

    ``goes_on`` says that the first document began in the segment before; runs are not followed across that border.
    """
    from firthian.kernels import tokens as kernel

    lengths = np.diff(np.append(segment.document_starts, segment.ids.size))
    documents = np.repeat(np.arange(lengths.size), lengths)
    marker = segment.hashes.size
    marked = segment.document_starts[1:] if goes_on else segment.document_starts
    words = np.insert(segment.ids.astype(np.int64), marked, marker)
    homes = np.insert(documents, marked, np.arange(int(goes_on), lengths.size))
    start = np.frombuffer(START.encode(), dtype=np.uint8)
    starts, pool = np.append(segment.starts, segment.starts[-1] + start.size), np.concatenate([segment.pool, start])

    # Runs of one word, each followed by what comes after it; then of two, and so on.
    ids, homes_of_ids = [segment.ids.astype(np.int64)], [documents]
    spelled_starts, spelled_pools, counts = [segment.starts], [segment.pool], [segment.counts]
    runs, runs_starts, runs_pool = words, starts, pool
    types, end = marker, int(segment.starts[-1])
    for length in range(2, longest + 1):
        left, right = runs[: max(0, words.size - length + 1)], words[length - 1 :]
        inside = homes[: left.size] == homes[length - 1 :]
        keys, found = np.unique(left[inside] * (marker + 1) + right[inside], return_inverse=True)
        first, second = np.divmod(keys, marker + 1)
        sizes = np.diff(runs_starts)[first] + 1 + np.diff(starts)[second]
        new_starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        new_pool = np.empty(new_starts[-1], dtype=np.uint8)
        kernel.join_words(first, runs_starts, runs_pool, second, starts, pool, new_starts, new_pool)
        ids.append(types + found)
        homes_of_ids.append(homes[: left.size][inside])
        counts.append(np.bincount(found, minlength=keys.size))
        spelled_starts.append(new_starts[1:] + end)
        end += int(new_starts[-1])
        spelled_pools.append(new_pool)
        runs = np.zeros(left.size, dtype=np.int64)
        runs[inside] = found
        runs_starts, runs_pool = new_starts, new_pool
        types += keys.size
    everywhere = np.concatenate(homes_of_ids)
    order = np.argsort(everywhere, kind="stable")
    all_starts, all_pool = np.concatenate(spelled_starts), np.concatenate(spelled_pools)
    hashes = np.empty(types, dtype=np.uint64)
    kernel.hash_words(all_starts, all_pool, hashes)
    return Segment(
        ids=np.concatenate(ids)[order].astype(np.int32),
        document_starts=np.searchsorted(everywhere[order], np.arange(lengths.size)),
        hashes=hashes,
        starts=all_starts,
        pool=all_pool,
        counts=np.concatenate(counts),
        ends_inside=segment.ends_inside,
        undecodable=segment.undecodable,
    )
