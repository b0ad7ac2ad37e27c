"""What an encoder learns from texts: statistics of texts, of neighboring spans, and of the texts that words occur in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.runtime.executor import Executor
from firthian.runtime.run import one_blas_thread
from firthian.text.types import TypeTable
from firthian.text.vocabulary import Vocabulary
from firthian.texts.methods import Method, Moments, agreement_map, remove_components, word_weights
from firthian.texts.pooling import Block, Pool, Pooling, Text, divide
from firthian.vectors.rows import dense_rows, row_slices, scale_to_unit
from firthian.vectors.vectors import Vectors

Result = TypeVar("Result")

#: Words of a span, and the shortest half of a text that is too short for two spans.
SPAN, SHORTEST = 20, 4

#: A new word must occur in this many texts: one that occurs in a single text relates it to no other.
_LEAST_TEXTS = 2

#: Words by which the length of composed vectors is measured.
_SAMPLE = 1000


def divide_spans(starts: Array, span: int = SPAN) -> tuple[Array, Array]:
    """Divide texts into spans of about equal length; return where they begin, and the first of each pair of neighbors.

    >>> [part.tolist() for part in divide_spans(np.array([0, 7, 52]))]
    [[0, 7, 29, 52], [1]]
    """
    lengths = np.diff(starts)
    pieces = np.where(lengths < 2 * SHORTEST, 1, np.maximum(lengths // span, 2))
    text = np.repeat(np.arange(lengths.size), pieces)
    place = np.arange(text.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    begins = starts[:-1][text] + lengths[text] * place // pieces[text]
    return np.append(begins, starts[-1]), np.flatnonzero(text[1:] == text[:-1])


def _of_texts(pooling: Pooling, block: Block) -> Moments:
    means, totals = pooling.means(block, block.starts)
    return Moments.of(means[totals > 0], int(block.ids.size))


def _of_spans(pooling: Pooling, block: Block) -> Moments:
    starts, first = divide_spans(block.starts)
    means, totals = pooling.means(block, starts)
    first = first[(totals[first] > 0) & (totals[first + 1] > 0)]
    return Moments.of_pairs(means[first], means[first + 1])


class TooShortError(FirthianError):
    """The texts are too short to learn from their spans."""


class Fit:
    """Fits a method to texts, in one pass or several."""

    def __init__(self, method: Method, smoothing: float, components: int, power: float, executor: Executor) -> None:
        self.method, self.smoothing, self.components = method, smoothing, components
        self.power, self.executor = power, executor
        #: How many texts or spans the statistics are of.
        self.samples = 0

    def __call__(self, pool: Pool, texts: Iterable[Text]) -> tuple[Pool, Pooling]:
        """Return the pool, with other vectors if the method changes them, and what was learned."""
        if self.method.topics and iter(texts) is texts:
            raise FirthianError("the texts are a one-shot iterator, and are read several times", hint="pass a list")
        width, vocabulary = pool.vectors.vector_size, pool.vectors.vocabulary
        pooling = Pooling.plain(word_weights(vocabulary, self.method.weights, self.smoothing), width)
        table = TypeTable()
        moments = Moments.zero(width)
        measure = _of_spans if self.method.spans else _of_texts
        for part, segment in self._over(pool, texts, lambda block: (measure(pooling, block), block.segment)):
            moments += part
            if self.method.topics:
                table.add(segment)
        self.samples = moments.number
        if not self.method.spans:
            if moments.number:
                length = moments.tokens / moments.number
                weights = word_weights(vocabulary, self.method.weights, self.smoothing, length)
                pooling = replace(pooling, weights=weights)
            removed = remove_components(moments, self.components, self.method.piecewise)
            return pool, replace(pooling, map=removed.astype(np.float32))
        if moments.number < 2:
            message = f"no text has two spans of {SHORTEST} words, from whose agreement the method learns"
            raise TooShortError(message, hint="pass longer texts, or use `method=sif`")
        center, directions, _ = agreement_map(moments, self.power)
        learned = replace(pooling, center=center.astype(np.float32), map=directions.astype(np.float32))
        return self._with_topics(pool, learned, texts, table) if self.method.topics else (pool, learned)

    def _over(self, pool: Pool, texts: Iterable[Text], task: Callable[[Block], Result]) -> Iterator[Result]:
        with one_blas_thread():
            yield from self.executor.map(lambda block: task(pool.read(block)), divide(texts))

    def _with_topics(
        self, pool: Pool, learned: Pooling, texts: Iterable[Text], table: TypeTable
    ) -> tuple[Pool, Pooling]:
        """Set each word's vector to the mean of the texts it occurs in, also words that had no vector."""
        larger = _with_new_words(pool, table)
        old, added = pool.vectors, len(larger.vectors) - len(pool.vectors)
        weigh = learned.weights.words
        has_vector = larger.vectors.matrix[len(old) :].any(axis=1)
        first = replace(learned, weights=replace(learned.weights, words=np.append(weigh, has_vector)))
        total = np.zeros((len(larger.vectors), learned.map.shape[1]), np.float32)
        count = np.zeros(len(total), np.int64)
        for numbers, sums, counts in self._over(larger, texts, lambda block: _of_words(first, block)):
            listed = numbers >= 0
            total[numbers[listed]] += sums[listed]
            count[numbers[listed]] += counts[listed]
        vectors = _averaged(larger.vectors, learned, total, count)
        topics = Pool(vectors, pool.tokenizer, pool.compose)
        pooling = Pooling.plain(replace(learned.weights, words=np.append(weigh, np.ones(added))), vectors.vector_size)
        moments = Moments.zero(vectors.vector_size)
        for part in self._over(topics, texts, lambda block: _of_texts(pooling, block)):
            moments += part
        return topics, replace(pooling, center=(moments.total / max(moments.number, 1)).astype(np.float32))


def _with_new_words(pool: Pool, table: TypeTable) -> Pool:
    """Return a pool that also knows the words of the texts outside the vocabulary; zeros where they are not composed."""
    old = pool.vectors
    frequent = np.flatnonzero(table.counts[: table.size] >= _LEAST_TEXTS).tolist()
    new = sorted(word for word in map(table.spelled, frequent) if word not in old.vocabulary)
    vocabulary = Vocabulary(
        [*old.vocabulary.words, *new], np.append(old.vocabulary.counts, np.zeros(len(new), np.int64))
    )
    rows = np.zeros((len(new), old.vector_size), np.float32)
    if pool.compose and old.subwords is not None:
        rows = old.subwords.compose(new)
    matrix = np.concatenate([dense_rows(old.matrix, np.arange(len(old))), rows])
    vectors = Vectors(matrix, vocabulary, provenance=old.provenance, state=_state(old), subwords=old.subwords)
    return Pool(vectors, pool.tokenizer, pool.compose)


def _averaged(vectors: Vectors, learned: Pooling, total: Array, count: Array) -> Vectors:
    """Return the vectors of words as means over texts; the direction that a word had counts as one more text.

    Words that do not occur keep that direction, with the usual length of the others.
    """
    seen = count > 0
    usual = np.float32(_mean_length(total[seen] / count[seen, None])) if seen.any() else np.float32(1)
    rows = np.empty_like(total)
    with one_blas_thread():
        for block in row_slices(len(rows)):
            words = vectors.matrix[block]
            mapped = scale_to_unit((words - learned.center) @ learned.map) * words.any(axis=1)[:, None]
            rows[block] = (total[block] + usual * mapped) / (count[block, None] + np.float32(1))
    subwords = vectors.subwords
    if subwords is not None:
        subwords = subwords.rotated(learned.map)
        length = _mean_length(subwords.compose(vectors.vocabulary.words[:_SAMPLE]))
        subwords = replace(subwords, scale=float(usual / max(length, 1e-12)), blend=0.0)
    return Vectors(rows, vectors.vocabulary, provenance=vectors.provenance, state=vectors.state, subwords=subwords)


def _mean_length(rows: Array) -> float:
    return float(np.sqrt(np.einsum("ij,ij->i", rows, rows)).mean())


def _state(vectors: Vectors) -> dict[str, object]:
    """Return what a tokenizer needs again."""
    names = ("tokenizer", "keep_case", "fold_numbers", "phrase_passes")
    return {name: vectors.state[name] for name in names if name in vectors.state}


def _of_words(learned: Pooling, block: Block) -> tuple[Array, Array, Array]:
    """Return the numbers of a block's words, the sums of the unit vectors of the texts they occur in, and in how many."""
    from firthian.kernels.pooling import add_to_words

    texts = scale_to_unit(learned.encode(block)[0])
    sums, counts = np.zeros((block.numbers.size, texts.shape[1]), np.float32), np.zeros(block.numbers.size, np.int64)
    add_to_words(block.ids, block.starts, texts, sums, counts)
    return block.numbers, sums, counts
