"""Collocations: adjacent words that occur together more often than by chance become one token, joined by ``_``."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.text.types import Segment, TypeTable
from firthian.text.vocabulary import Vocabulary

_DEFAULT_THRESHOLDS = {"npmi": 0.5, "word2vec": 100.0}


@dataclass(frozen=True)
class PhraseOptions:
    """How collocations are found; a threshold of None is the usual one of the score.

    ``npmi``: log(p(ab) / p(a)p(b)) / -log p(ab), from -1 to 1. ``word2vec``: (n(ab) - min_count)·N / (n(a)·n(b)).
    ``passes`` > 1 finds longer ones: the second pass joins what the first has joined.
    """

    score: str
    threshold: float | None
    min_count: int
    passes: int

    def __post_init__(self) -> None:
        if self.threshold is None:
            object.__setattr__(self, "threshold", _DEFAULT_THRESHOLDS[self.score])
        elif not math.isfinite(self.threshold):
            raise FirthianError(
                f"`phrase_threshold` must be a finite number, got {self.threshold}",
                hint=f"{_DEFAULT_THRESHOLDS[self.score]:g} is typical",
            )

    def as_dict(self) -> dict[str, Any]:
        """Return the options by name, for the record."""
        return asdict(self)


@dataclass(frozen=True)
class Phrases:
    """Pairs of words of a vocabulary that are phrases, sorted by the first word, then the second."""

    vocabulary: Vocabulary
    left: Array
    right: Array

    @property
    def spelled(self) -> list[str]:
        """The phrases as joined words."""
        words = self.vocabulary.words
        return [f"{words[a]}_{words[b]}" for a, b in zip(self.left, self.right, strict=True)]

    @functools.cached_property
    def _table(self) -> TypeTable:
        return TypeTable.of_words(self.vocabulary.words)

    @functools.cached_property
    def _spelled_table(self) -> TypeTable:
        """The phrases as types; one spelled like another, or like a word, is still separate."""
        return TypeTable.of_words(self.spelled)

    def join(self, segment: Segment) -> Segment:
        """Replace the phrases in a segment, greedily from the left."""
        from firthian.kernels.selection import join_phrases

        pointers = np.searchsorted(self.left, np.arange(len(self.vocabulary) + 1)).astype(np.int64)
        old_types = segment.hashes.size
        lookup = self._table.look_up(segment)
        ids, document_starts, used = join_phrases(
            segment.ids, segment.document_starts, lookup, pointers, self.right, old_types
        )
        present = np.flatnonzero(used)
        # Only phrases that occur here become types of the segment.
        renumber = np.empty(old_types + used.size, dtype=np.int32)
        renumber[:old_types] = np.arange(old_types)
        renumber[old_types + present] = old_types + np.arange(present.size)
        ids = renumber[ids]
        counts = np.bincount(ids, minlength=old_types + present.size).astype(np.int64)
        table = self._spelled_table
        lengths = np.diff(table.starts)[present]
        pool = b"".join(table.pool[table.starts[n] : table.starts[n + 1]].tobytes() for n in present)
        return Segment(
            ids=ids,
            document_starts=document_starts,
            hashes=np.concatenate([segment.hashes, table.hashes[present]]),
            starts=np.concatenate([segment.starts, segment.starts[-1] + np.cumsum(lengths)]).astype(np.int64),
            pool=np.concatenate([segment.pool, np.frombuffer(pool, dtype=np.uint8)]),
            counts=counts,
            ends_inside=segment.ends_inside,
            undecodable=segment.undecodable,
        )


def find_phrases(
    vocabulary: Vocabulary, first: Array, second: Array, together: Array, tokens: int, options: PhraseOptions
) -> Phrases:
    """Choose the pairs that are phrases: ``together[k]`` counts word ``first[k]`` directly before ``second[k]``."""
    n = vocabulary.counts.astype(np.float64)
    expected = n[first] * n[second]
    if options.score == "npmi":
        joint = together / tokens
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.log(together * tokens / expected) / -np.log(joint)
        score = np.where(joint >= 1, 1.0, score)
    else:
        score = (together - options.min_count) * tokens / expected
    assert options.threshold is not None
    chosen = np.flatnonzero((together >= options.min_count) & (score >= options.threshold))
    chosen = chosen[np.lexsort((second[chosen], first[chosen]))]
    return Phrases(vocabulary, first[chosen].astype(np.int64), second[chosen].astype(np.int64))


def join_known(tokens: Sequence[str], vocabulary: Vocabulary, passes: int) -> list[str]:
    """Join neighbors whose phrase is in a vocabulary, greedily from the left, in as many passes as in counting.

    Parts of phrases joined by a later pass may not be in the vocabulary: they are joined too, and separated again if no
    phrase results.

    >>> join_known("rio de janeiro in january de facto".split(), Vocabulary(["rio_de_janeiro", "de", "in"]), 2)
    ['rio_de_janeiro', 'in', 'january', 'de', 'facto']
    """
    known = vocabulary.index
    parts: frozenset[str] = vocabulary.phrase_parts if passes > 1 else frozenset()
    runs: list[tuple[str, ...]] = [(token,) for token in tokens]
    for _ in range(passes):
        joined: list[tuple[str, ...]] = []
        place = 0
        while place < len(runs):
            run = runs[place]
            if place + 1 < len(runs):
                pair = run + runs[place + 1]
                phrase = "_".join(pair)
                if phrase in known or phrase in parts:
                    run = pair
                    place += 1
            joined.append(run)
            place += 1
        runs = joined
    return [token for run in runs for token in (["_".join(run)] if "_".join(run) in known else run)]
