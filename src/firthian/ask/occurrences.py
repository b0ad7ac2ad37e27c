"""All occurrences of all words of a corpus in memory, with the unit of each, and sums over their windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.ask.slices import Slices
from firthian.counts.counting import CountingContext, CountJob
from firthian.counts.counts import Counts, write_counts
from firthian.counts.rows import count_blocks
from firthian.counts.settings import WindowSettings
from firthian.counts.streams import LONGEST_STREAM
from firthian.counts.tokens import Tokens
from firthian.errors import FirthianError
from firthian.runtime.memory import check_fits
from firthian.runtime.run import Run
from firthian.text.vocabulary import Vocabulary

#: Occurrences added to those of a context in a unit and to those expected, and the largest weight of a context.
SMOOTHING, MOST_BALANCE = 5.0, 4.0

#: The memory of a token: its word, its place in the index of words, its document and its unit.
BYTES = 17.0


@dataclass(frozen=True)
class Occurrences:
    """A stream of ids, where each word occurs in it, and the unit of every position (-1: left out)."""

    ids: Array
    index: tuple[Array, Array]
    units: Array
    unit_slices: Array
    vocabulary: Vocabulary
    options: WindowSettings
    record: dict[str, Any]

    @classmethod
    def read(cls, slices: Slices, counting: Mapping[str, Any], words: Vocabulary | None, run: Run) -> Occurrences:
        """Tokenize a corpus; with ``words``, its ids are those of that vocabulary."""
        settings = dict(counting)
        if words is not None:
            settings |= {"vocabulary": words.words, "min_count": 1}
        job = CountJob.create(slices.corpus, **settings)
        with Tokens.read(job, CountingContext(run.executor, run.budget, run.progress)) as tokens:
            if words is not None:
                found = tokens.vocabulary
                counts = [int(found.counts[found.index[word]]) if word in found else 0 for word in words.words]
                tokens.vocabulary = Vocabulary(words.words, counts)
            group, *more = tokens.groups(group_tokens=LONGEST_STREAM)
            ids, record = group.stream, tokens.record
        needed = BYTES * ids.size + 4.0 * slices.unit_slices.size * len(tokens.vocabulary)
        check_fits("comparing these documents", needed, run.budget, "compare fewer documents", "raise `min_count`")
        if more:
            raise FirthianError("a corpus of more than two billion tokens", hint="compare fewer documents")
        ends = ids == -1
        if int(ends.sum()) != slices.unit_of.size:
            raise FirthianError("the corpus changed while it was read", hint="try again")
        documents = np.cumsum(ends, dtype=np.int32) - ends
        units = slices.unit_of[documents]
        vocabulary = tokens.vocabulary
        index = _index(ids, len(vocabulary))
        return cls(ids, index, units, slices.unit_slices, vocabulary, job.options, record)

    def count(self, run: Run) -> Counts:
        """Count all windows, documents that are left out included."""
        context = CountingContext(run.executor, run.budget, run.progress)
        self.options.check_sums(int(self.vocabulary.counts[0]))
        run.progress.start("counting windows")
        blocks = count_blocks(
            self.ids, (0, self.ids.size), len(self.vocabulary), self.options.sides(), run.executor, context.block_pairs
        )

        def write(target: Path) -> None:
            target.mkdir()
            write_counts(target, blocks, self.vocabulary, self.options, self.record)

        return Counts.temporary(write)

    @property
    def sides(self) -> tuple[tuple[Array, Array], float]:
        """The weights of a window as integers, and their unit."""
        return self.options.sides(), float(self.options.integer_weights()[1])

    def has_words(self) -> Array:
        """Return which units have at least one word."""
        found = np.zeros(self.unit_slices.size + 1, dtype=bool)
        # Positions that are left out have the unit -1, the last.
        found[self.units[self.ids >= 0]] = True
        return found[:-1]

    def frequencies(self) -> Array:
        """Return how often each word occurs in the stream, as a share."""
        counts = np.diff(self.index[0]).astype(np.float64)
        return np.asarray(counts / max(counts.sum(), 1))

    @cached_property
    def balance(self) -> Array:
        """Expected over observed occurrences of each word in each unit, both smoothed: the weight of a word as a context.

        So a name that fills one book, or a title that went out of fashion, does not change all words near it.
        """
        from firthian.kernels.change import unit_histogram

        observed = np.zeros((self.unit_slices.size, len(self.vocabulary)), dtype=np.float32)
        unit_histogram(self.ids, self.units, observed)
        sizes = observed.sum(axis=1, dtype=np.float64)
        expected = np.outer(sizes, self.frequencies()).astype(np.float32)
        expected += np.float32(SMOOTHING)
        observed += np.float32(SMOOTHING)
        np.divide(expected, observed, out=observed)
        return np.minimum(observed, np.float32(MOST_BALANCE), out=observed)

    def units_of(self, word: int) -> Array:
        """Return how often a word occurs in each unit."""
        pointers, positions = self.index
        units = self.units[positions[pointers[word] : pointers[word + 1]]]
        return np.bincount(units[units >= 0], minlength=self.unit_slices.size)

    def scores(self, words: Array, left: Array, right: Array, images: Array) -> tuple[Array, Array]:
        """Return the sums of the images of the contexts, and their mass, by word and unit (see the kernel)."""
        from firthian.kernels.change import unit_scores

        sides, unit = self.sides
        scores = np.zeros((words.size, self.unit_slices.size, images.shape[1]), dtype=np.float32)
        mass = np.zeros(scores.shape[:2], dtype=np.float32)
        unit_scores(
            self.ids, self.index, self.units, words, sides, unit, self.balance, left, right, images, scores, mass
        )
        return scores, mass

    def contexts(self, word: int, slices: int, factors: Array) -> Array:
        """Return the weighted counts of a word's contexts by slice; ``factors`` are the weights of the units."""
        from firthian.kernels.change import context_sums

        sides, unit = self.sides
        sums = np.zeros((slices, len(self.vocabulary)))
        context_sums(self.ids, self.index, self.units, word, sides, unit, self.balance, self.unit_slices, factors, sums)
        return sums


def _index(ids: Array, words: int) -> tuple[Array, Array]:
    """Return where each word occurs: positions ``[pointers[w]:pointers[w + 1]]``, ascending."""
    from firthian.kernels.windows import histogram, place

    counts = np.zeros(words, dtype=np.int64)
    histogram(ids, counts)
    pointers = np.concatenate([[0], np.cumsum(counts)])
    positions = np.empty(int(pointers[-1]), dtype=np.int32)
    place(ids, 0, ids.size, 0, words, pointers[:-1].copy(), positions)
    return pointers, positions
