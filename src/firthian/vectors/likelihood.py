"""Likelihood of text under a PSDVec model: how likely a document is, and which of its words are unexpected.

A word depends on the c words before it: log P(w | context) = log P(w) + v_w · (sum of the context's v) + residuals (eq. 8).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.counts.counts import Counts
from firthian.errors import FirthianError
from firthian.text.readers import Corpus
from firthian.text.tokenizer import Tokenizer, decode
from firthian.vectors.documents import tokenize
from firthian.vectors.psd import PSDFactor
from firthian.vectors.vectors import Vectors

#: Words whose residuals are cached: few words make up most of a text.
_CACHED = 4096


@dataclass(frozen=True)
class DocumentScore:
    """The log-likelihood of a document, word by word."""

    words: list[str]
    #: log P(w | context) of each known word.
    terms: Array
    #: log P(w) of each known word: its term without context.
    unigram: Array
    #: Tokens that are not in the vocabulary and not scored.
    unknown: int

    @property
    def total(self) -> float:
        """The document's log-likelihood."""
        return float(self.terms.sum())

    def surprises(self, topn: int = 5) -> list[tuple[str, float]]:
        """Return the words that their context predicts least: (word, log P(w | context) - log P(w))."""
        gain = self.terms - self.unigram
        order = np.argsort(gain, kind="stable")[:topn]
        return [(self.words[n], float(gain[n])) for n in order]


class TextModel:
    """Scores text by vectors of the recipes ``psd`` and ``psd-blockwise``.

    ``residuals`` is ``none`` or ``seen``: the latter adds what the vectors leave unexplained of pairs observed
    in training, which needs the training counts. ``normalize`` makes the probabilities of all words
    sum to one; eq. 8 does so only approximately.
    """

    def __init__(
        self, vectors: Vectors, counts: Counts | None = None, residuals: str = "none", normalize: bool = False
    ) -> None:
        base = PSDFactor(vectors, "the likelihood of text")
        if residuals not in ("none", "seen"):
            raise FirthianError(f"`residuals` must be none or seen, got {residuals!r}", hint="the default is none")
        if residuals == "seen" and counts is None:
            raise FirthianError(
                "residuals of observed pairs need the counts", hint="pass the counts of the training text"
            )
        self.vectors = vectors
        self.counts = counts if residuals == "seen" else None
        self.normalize = normalize
        self.window = int(vectors.state["window"])
        #: Vectors whose products approximate PMI, for any eigenvalue power and center.
        self.factor = base.rows()
        counted = np.maximum(vectors.vocabulary.counts.astype(np.float64), 0.5)
        self.log_unigram = np.log(counted / counted.sum())
        self.scale = base.scale
        #: Results of ``_residuals_after``, oldest first; per instance, so that they are freed with the model.
        self._cache: dict[int, tuple[Array, Array]] = {}
        if (
            self.counts is not None
            and self.counts.vocabulary.words != vectors.vocabulary.words[: len(self.counts.vocabulary)]
        ):
            raise FirthianError(
                "the counts and the vectors have different vocabularies",
                hint="pass the counts of the training text",
            )

    def log_prob(self, tokens: Sequence[str]) -> DocumentScore:
        """Score a document, a list of tokens."""
        index = self.vectors.vocabulary.index
        ids = np.array([index[token] for token in tokens if token in index], dtype=np.int64)
        terms = np.empty(ids.size)
        for place, word in enumerate(ids):
            context = ids[max(0, place - self.window) : place]
            terms[place] = self._normalized(self._raw(context))[word] if self.normalize else self._term(word, context)
        words = [self.vectors.vocabulary.words[n] for n in ids]
        return DocumentScore(words, terms, self.log_unigram[ids], len(tokens) - ids.size)

    def next_word(self, context: Sequence[str], topn: int = 10) -> list[tuple[str, float]]:
        """Return the most likely next words with their probabilities, which sum to one over the vocabulary."""
        index = self.vectors.vocabulary.index
        ids = np.array([index[token] for token in context if token in index], dtype=np.int64)[-self.window :]
        scores = self._normalized(self._raw(ids))
        best = np.argsort(-scores, kind="stable")[:topn]
        return [(self.vectors.vocabulary.words[n], float(np.exp(scores[n]))) for n in best]

    def _term(self, word: int, context: Array) -> float:
        """Return eq. 8 for one word."""
        term = float(self.log_unigram[word]) + float(self.factor[word] @ self.factor[context].sum(axis=0))
        return term + sum(self.residual(int(other), int(word)) for other in context)

    def _raw(self, context: Array) -> Array:
        """Return eq. 8 for every word."""
        scores: Array = self.log_unigram + self.factor @ self.factor[context].sum(axis=0)
        if self.counts is not None:
            for other in context:
                rows, values = self._residuals_after(int(other))
                scores[rows] += values
        return scores

    @staticmethod
    def _normalized(scores: Array) -> Array:
        top = scores.max()
        return np.asarray(scores - (top + np.log(np.exp(scores - top).sum())))

    def residual(self, earlier: int, later: int) -> float:
        """Return A = G - U·Uᵀ of an observed pair, 0 of an unobserved one."""
        if self.counts is None:
            return 0.0
        rows, values = self._residuals_after(earlier)
        place = int(np.searchsorted(rows, later))
        return float(values[place]) if place < rows.size and rows[place] == later else 0.0

    @functools.cached_property
    def _before(self) -> tuple[Any, Array, Array]:
        """Counts by the earlier word, in compressed columns, with the totals of the later and the earlier words.

        X[i, j] counts j before i, except with context ``right``, where it counts j after i.
        """
        assert self.counts is not None
        matrix, later, earlier = self.counts.to_scipy(), self.counts.row_sums, self.counts.column_sums
        if self.counts.options.context == "right":
            matrix, later, earlier = matrix.T, earlier, later
        return matrix.tocsc(), later, earlier

    def _residuals_after(self, earlier: int) -> tuple[Array, Array]:
        """Return the words observed after a word, and the residuals of these pairs; an added word has none."""
        result = self._cache.pop(earlier, None) or self._compute_residuals_after(earlier)
        self._cache[earlier] = result
        if len(self._cache) > _CACHED:
            self._cache.pop(next(iter(self._cache)))
        return result

    def _compute_residuals_after(self, earlier: int) -> tuple[Array, Array]:
        assert self.counts is not None
        if earlier >= len(self.counts.vocabulary):
            return np.empty(0, dtype=np.int64), np.empty(0)
        matrix, later_totals, earlier_totals = self._before
        low, high = matrix.indptr[earlier], matrix.indptr[earlier + 1]
        rows, observed = matrix.indices[low:high], matrix.data[low:high].astype(np.float64)
        expected = later_totals[rows] * (earlier_totals[earlier] / self.counts.total)
        return rows, self.scale.targets(observed, expected) - self.factor[rows] @ self.factor[earlier]


def read_documents(
    corpus: Corpus, vectors: Vectors, tokenizer: Tokenizer, replaced: Callable[[int], None] | None = None
) -> Iterator[list[str]]:
    """Yield the words of each document of a corpus, tokenized like the corpus of the vectors.

    ``replaced`` is called with the number of bytes of a document that are not UTF-8.
    """
    waiting = b""
    for piece in corpus.pieces():
        *whole, waiting = (waiting + piece.text).split(b"\n")
        for line in whole:
            if line.strip():
                text, undecodable = decode(line)
                if replaced is not None:
                    replaced(undecodable)
                yield tokenize(vectors, text, tokenizer)
