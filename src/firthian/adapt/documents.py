"""Texts or token lists -> a sparse document-term matrix -> the weighted, scaled examples that the learner sees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.text.readers import Documents
from firthian.text.segments import cut_segments, tokenize_text
from firthian.text.tokenizer import Tokenizer
from firthian.text.types import Segment, TypeTable, VocabularyLimits
from firthian.text.vocabulary import Vocabulary

#: Start-of-document marker in n-grams such as ``<s> how``; not a feature by itself.
START = "<s>"

#: binary: word presence, as in the paper; tfidf: (1 + log count) × idf; given: matrix values unchanged.
WEIGHTINGS = ("binary", "idf", "tfidf", "count", "given")

#: embedding: unit-length document vectors under the initial Phi, as in the paper; length: unit-length x; none.
SCALINGS = ("embedding", "length", "none")


@dataclass(frozen=True)
class TokenizedDocuments:
    """Tokenized documents, before a vocabulary is chosen."""

    segments: list[Segment]
    number: int

    @property
    def tokens(self) -> int:
        """The number of tokens."""
        return sum(segment.ids.size for segment in self.segments)


@dataclass(frozen=True)
class Examples:
    """Documents ready for learning: ``matrix`` (CSR) holds x; the one-hot features are ``hot × x``."""

    matrix: Any
    hot: Array

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __getitem__(self, rows: Array) -> Examples:
        return Examples(self.matrix[rows], self.hot[rows])


def empty_documents(matrix: Any) -> int:
    """Return the number of rows of a CSR matrix without an entry."""
    return int(np.count_nonzero(np.diff(matrix.indptr) == 0))


def tokenize(documents: Iterable[str | Sequence[str]], tokenizer: Tokenizer, ngrams: int = 1) -> TokenizedDocuments:
    """Tokenize documents and add all n-grams up to ``ngrams``; token lists are used as they are.

    >>> tokenize(["A cat.", ["already", "split"]][:1], Tokenizer()).tokens
    2
    """
    corpus = Documents(documents)
    segments = []
    continues = False
    for piece in cut_segments(corpus):
        segment = tokenize_text(piece.text, tokenizer, corpus.tokenized)
        segments.append(add_ngrams(segment, ngrams, continues) if ngrams > 1 else segment)
        continues = segment.ends_inside
    return TokenizedDocuments(segments, sum(segment.whole_documents for segment in segments))


def is_ngram(word: str) -> bool:
    """Return whether a feature is an n-gram: it contains a space, as only words of token lists otherwise may."""
    return " " in word


def add_ngrams(segment: Segment, longest: int, continues: bool) -> Segment:
    """Return a segment whose documents also hold all n-grams of 2 to ``longest`` words.

    ``continues`` means the first document began in the previous segment; n-grams do not span that boundary.
    """
    from firthian.kernels import tokens as kernel

    lengths = np.diff(np.append(segment.document_starts, segment.ids.size))
    documents = np.repeat(np.arange(lengths.size), lengths)
    marker = segment.hashes.size
    marked = segment.document_starts[1:] if continues else segment.document_starts
    words = np.insert(segment.ids.astype(np.int64), marked, marker)
    homes = np.insert(documents, marked, np.arange(int(continues), lengths.size))
    start = np.frombuffer(START.encode(), dtype=np.uint8)
    starts, pool = np.append(segment.starts, segment.starts[-1] + start.size), np.concatenate([segment.pool, start])

    # Each round appends the following word to the n-grams of the round before.
    ids, homes_of_ids = [segment.ids.astype(np.int64)], [documents]
    spelled_starts, spelled_pools, counts = [segment.starts], [segment.pool], [segment.counts]
    runs, runs_starts, runs_pool = words, starts, pool
    types, end = marker, int(segment.starts[-1])
    for length in range(2, longest + 1):
        left, right = runs[: max(0, words.size - length + 1)], words[length - 1 :]
        inside = homes[: left.size] == homes[length - 1 :]
        keys, codes = np.unique(left[inside] * (marker + 1) + right[inside], return_inverse=True)
        first, second = np.divmod(keys, marker + 1)
        sizes = np.diff(runs_starts)[first] + 1 + np.diff(starts)[second]
        new_starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        new_pool = np.empty(new_starts[-1], dtype=np.uint8)
        kernel.join_words((first, runs_starts, runs_pool), (second, starts, pool), new_starts, new_pool)
        ids.append(types + codes)
        homes_of_ids.append(homes[: left.size][inside])
        counts.append(np.bincount(codes, minlength=keys.size))
        spelled_starts.append(new_starts[1:] + end)
        end += int(new_starts[-1])
        spelled_pools.append(new_pool)
        runs = np.zeros(left.size, dtype=np.int64)
        runs[inside] = codes
        runs_starts, runs_pool = new_starts, new_pool
        types += keys.size
    all_homes = np.concatenate(homes_of_ids)
    order = np.argsort(all_homes, kind="stable")
    all_starts, all_pool = np.concatenate(spelled_starts), np.concatenate(spelled_pools)
    hashes = np.empty(types, dtype=np.uint64)
    kernel.hash_words(all_starts, all_pool, hashes)
    return replace(
        segment, ids=np.concatenate(ids)[order].astype(np.int32), hashes=hashes, starts=all_starts, pool=all_pool,
        document_starts=np.searchsorted(all_homes[order], np.arange(lengths.size)), counts=np.concatenate(counts),
    )  # fmt: skip


def learn_vocabulary(
    documents: TokenizedDocuments, limits: VocabularyLimits, ngram_min_count: int | None = None
) -> Vocabulary:
    """Build the vocabulary of training texts; n-grams may have a higher ``min_count`` than words."""
    table = TypeTable()
    for segment in documents.segments:
        table.add(segment)
    counts = table.counts[: table.size]
    frequent = np.flatnonzero(counts >= limits.min_count)
    words = dict(zip(map(table.spelled, frequent.tolist()), counts[frequent].tolist(), strict=True))
    if ngram_min_count is not None and ngram_min_count > limits.min_count:
        words = {word: count for word, count in words.items() if count >= ngram_min_count or not is_ngram(word)}
    if not words:
        found = f"{table.size:,} distinct words before `min_count`"
        raise FirthianError(
            f"the training texts have no usable words ({found})", hint="add texts, or lower `min_count`"
        )
    vocabulary = Vocabulary.from_counts(words)
    if limits.max_vocab is not None and len(vocabulary) > limits.max_vocab:
        vocabulary = Vocabulary(vocabulary.words[: limits.max_vocab], vocabulary.counts[: limits.max_vocab])
    return vocabulary


def count_words(documents: TokenizedDocuments, table: TypeTable) -> Any:
    """Count the words of a table (the vocabulary, in order) in each document; return a CSR array.

    >>> table = TypeTable.of_words(["cat", "dog"])
    >>> count_words(tokenize(["dog dog cow", "", "cat"], Tokenizer()), table).toarray()
    array([[0., 2.], [0., 0.], [1., 0.]], dtype=float32)
    """
    from scipy.sparse import csr_array

    words, rows = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
    document, continues = 0, False
    for segment in documents.segments:
        ids = table.look_up(segment)[segment.ids]
        lengths = np.diff(np.append(segment.document_starts, ids.size))
        first = document - 1 if continues else document
        numbers = np.repeat(np.arange(first, first + lengths.size), lengths)
        document, continues = first + lengths.size, segment.ends_inside
        known = ids >= 0
        words.append(ids[known])
        rows.append(numbers[known])
    columns = np.concatenate(words)
    shape = (documents.number, table.size)
    matrix = csr_array((np.ones(columns.size, np.float32), (np.concatenate(rows), columns)), shape=shape)
    matrix.sum_duplicates()
    return matrix


def inverse_document_frequency(counts: Any) -> Array:
    """Return ``log((1 + n) / (1 + df)) + 1`` for each word, smoothed as in scikit-learn."""
    frequencies = np.bincount(counts.indices, minlength=counts.shape[1])
    idf: Array = np.log((1 + counts.shape[0]) / (1 + frequencies)) + 1
    return idf.astype(np.float32)


def weigh(counts: Any, weighting: str, idf: Array) -> Any:
    """Apply a term weighting to a document-term matrix."""
    matrix = counts.astype(np.float32)
    if weighting in ("binary", "idf"):
        matrix.data = np.ones_like(matrix.data)
    elif weighting == "tfidf":
        matrix.data = 1 + np.log(np.maximum(matrix.data, 1))
    if weighting in ("idf", "tfidf"):
        matrix.data = matrix.data * idf[matrix.indices]
    return matrix


def scale(weighted: Any, base: Array, scaling: str, one_hot: float) -> Examples:
    """Multiply each document by a constant; it never changes, so the model stays linear in Phi.

    A document whose vector is zero under the initial Phi is scaled by its own length instead. One-hot features, if any,
    always have length ``one_hot``.
    """
    lengths = np.sqrt(weighted.multiply(weighted).sum(axis=1), dtype=np.float64)
    size = np.ones(weighted.shape[0])
    if scaling == "embedding":
        vectors = np.linalg.norm((weighted @ base).astype(np.float64), axis=1)
        # Rounding leaves tiny residues where the true sum is zero, and huge values overflow.
        size = np.where((vectors > 1e-6 * lengths) & np.isfinite(vectors), vectors, lengths)
    elif scaling == "length":
        size = lengths
    size[size == 0] = 1.0
    matrix = weighted.copy()
    matrix.data = (matrix.data / np.repeat(size, np.diff(matrix.indptr))).astype(np.float32)
    hot = one_hot * size / np.where(lengths > 0, lengths, 1.0)
    return Examples(matrix, hot)
