"""Texts or lists of tokens -> a sparse document-term matrix, at the speed of the corpus reader."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firthian.adapt.ngrams import add_ngrams, is_ngram
from firthian.errors import FirthianError
from firthian.text.readers import Documents
from firthian.text.segments import Segment, cut_segments, tokenize_text
from firthian.text.tokenizer import Tokenizer
from firthian.text.types import TypeTable, VocabularyLimits
from firthian.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class TokenizedDocuments:
    """Documents cut into words, before anyone decided which words count."""

    segments: list[Segment]
    number: int

    @property
    def tokens(self) -> int:
        """How many tokens there are."""
        return sum(segment.ids.size for segment in self.segments)


@dataclass(frozen=True)
class Bag:
    """How often each word of a vocabulary occurs in each document (CSR, float32), and what was left out."""

    matrix: Any
    unknown_tokens: int

    @property
    def empty(self) -> int:
        """Documents in which no known word occurs."""
        return int(np.count_nonzero(np.diff(self.matrix.indptr) == 0))


def tokenize(documents: Iterable[str | Sequence[str]], tokenizer: Tokenizer, ngrams: int = 1) -> TokenizedDocuments:
    """Cut documents into words, and into runs of up to ``ngrams`` words; lists of tokens are taken as they are.

    >>> tokenize(["A cat.", ["already", "cut"]][:1], Tokenizer()).tokens
    2
    """
    corpus = Documents(documents)
    segments = []
    goes_on = False
    for piece in cut_segments(corpus):
        segment = tokenize_text(piece.text, tokenizer, corpus.tokenized)
        segments.append(add_ngrams(segment, ngrams, goes_on) if ngrams > 1 else segment)
        goes_on = segment.ends_inside
    return TokenizedDocuments(segments, sum(segment.whole_documents for segment in segments))


def learn_vocabulary(
    documents: TokenizedDocuments, limits: VocabularyLimits, ngram_min_count: int | None = None
) -> Vocabulary:
    """Choose the words of a task from its training texts; n-grams may be asked to be more frequent."""
    table = TypeTable()
    for segment in documents.segments:
        table.add(segment)
    counts = table.counts[: table.size]
    kept = np.flatnonzero(counts >= limits.min_count)
    words = dict(zip(table.spelled(kept), counts[kept].tolist(), strict=True))
    if ngram_min_count is not None and ngram_min_count > limits.min_count:
        words = {word: count for word, count in words.items() if count >= ngram_min_count or not is_ngram(word)}
    if not words:
        raise FirthianError(
            f"none of the {table.size:,} different words of the training texts is left",
            hint="give texts with words, or lower min_count",
        )
    vocabulary = Vocabulary.from_counts(words)
    if limits.max_vocab is not None and len(vocabulary) > limits.max_vocab:
        vocabulary = Vocabulary(vocabulary.words[: limits.max_vocab], vocabulary.counts[: limits.max_vocab])
    return vocabulary


def count_words(documents: TokenizedDocuments, table: TypeTable) -> Bag:
    """Count the words of a table (the vocabulary, in order) in each document.

    >>> table = TypeTable.of_words(["cat", "dog"])
    >>> count_words(tokenize(["dog dog cow", "", "cat"], Tokenizer()), table).matrix.toarray()
    array([[0., 2.], [0., 0.], [1., 0.]], dtype=float32)
    """
    from scipy.sparse import csr_array

    words, rows = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
    document, goes_on, total = 0, False, 0
    for segment in documents.segments:
        ids = table.look_up(segment)[segment.ids]
        lengths = np.diff(np.append(segment.document_starts, ids.size))
        first = document - 1 if goes_on else document
        numbers = np.repeat(np.arange(first, first + lengths.size), lengths)
        document, goes_on = first + lengths.size, segment.ends_inside
        known = ids >= 0
        words.append(ids[known])
        rows.append(numbers[known])
        total += ids.size
    columns = np.concatenate(words)
    shape = (documents.number, table.size)
    matrix = csr_array((np.ones(columns.size, np.float32), (np.concatenate(rows), columns)), shape=shape)
    matrix.sum_duplicates()
    return Bag(matrix, total - columns.size)
