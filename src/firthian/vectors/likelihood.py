"""Likelihood of text under a PSDVec model: how likely a document is, which of its words are unexpected, text drawn from it.

A word depends on the c words before it. Eq. 8 of the paper adds up what each of them says,
log P(w | context) = log P(w) + v_w · (sum of the context's v) + residuals, as if they were independent and the products
of vectors were PMI. Neither holds, so by default the sum is calibrated: dimension k has a factor s_k, fitted to the
co-occurrence counts at the end of training, and the word at distance n counts 1/n. P is normalized over the vocabulary.
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
from firthian.runtime.run import Run, one_blas_thread
from firthian.text.readers import Corpus
from firthian.text.tokenizer import Tokenizer, decode
from firthian.vectors.documents import tokenize
from firthian.vectors.psd import PSDFactor
from firthian.vectors.vectors import Vectors

#: The extra with the factor of each dimension.
CALIBRATION = "calibration"

#: Context words that the calibration is fitted to, those of a block, and iterations of L-BFGS.
_CONTEXTS, _BLOCK, _ITERATIONS = 256, 32, 12

#: Tokens whose distributions are computed together.
_TOKENS = 64

#: Words whose residuals are cached: few words make up most of a text.
_CACHED = 4096

#: ``calibrated``, or ``paper``: eq. 8 with all weights 1.
LINKS = ("calibrated", "paper")


def calibrate(counts: Counts, factor: Array, run: Run) -> Array:
    """Return the s that maximize the likelihood of the counts under P(w | c) ∝ P(w)·exp(Σ_k s_k·v_wk·v_ck).

    The context words are spread over the text: equally many occurrences lie between them.
    """
    import scipy.optimize
    import scipy.sparse

    shares = counts.row_sums / counts.total
    places = (np.arange(_CONTEXTS) + 0.5) / _CONTEXTS * shares.sum()
    chosen = np.minimum(np.searchsorted(np.cumsum(shares), places), shares.size - 1)
    rows = scipy.sparse.csr_array(counts.to_scipy()[chosen].astype(np.float64))
    totals = np.asarray(rows.sum(axis=1)).ravel()
    chosen, rows, totals = chosen[totals > 0], rows[totals > 0], totals[totals > 0]
    factor = np.ascontiguousarray(factor, dtype=np.float32)
    contexts, log_share = factor[chosen], np.log(np.maximum(shares, 1e-300)).astype(np.float32)
    # E[v_w | c] in the counts.
    observed = rows @ factor.astype(np.float64) / totals[:, np.newaxis]

    def part(scale: Array, first: int, last: int) -> tuple[float, Array]:
        queries = contexts[first:last] * scale.astype(np.float32)
        scores = queries @ factor.T + log_share
        log_sums = _log_sums(scores)
        expected = np.exp(scores - log_sums[:, np.newaxis]) @ factor
        likelihood = np.sum(queries * observed[first:last]) - log_sums.sum()
        return float(likelihood), np.sum(contexts[first:last] * (observed[first:last] - expected), axis=0)

    def objective(scale: Array) -> tuple[float, Array]:
        blocks = run.over_rows(functools.partial(part, scale), len(chosen), _BLOCK, here=True)
        # A weak pull to 1, the paper's: a dimension that the counts say nothing of stays there.
        pull = scale - 1
        value = sum(block[0] for block in blocks) - 0.5 * float(pull @ pull)
        return -value, -(np.sum([block[1] for block in blocks], axis=0, dtype=np.float64) - pull)

    with one_blas_thread():
        found = scipy.optimize.minimize(
            objective, np.full(factor.shape[1], 0.5), jac=True, method="L-BFGS-B", options={"maxiter": _ITERATIONS}
        )
    return np.asarray(found.x, dtype=np.float64)


def _log_sums(scores: Array) -> Array:
    """Return log Σ exp of each row."""
    top = scores.max(axis=1, keepdims=True)
    sums = np.exp(scores - top).sum(axis=1, dtype=np.float64)
    return np.asarray(top[:, 0] + np.log(sums))


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

    @property
    def perplexity(self) -> float:
        """exp of the mean of -log P(w | context); NaN without a known word."""
        return float(np.exp(-self.terms.mean())) if self.terms.size else float("nan")

    @property
    def unigram_perplexity(self) -> float:
        """The perplexity of the same words without their contexts."""
        return float(np.exp(-self.unigram.mean())) if self.unigram.size else float("nan")

    def surprises(self, topn: int = 5) -> list[tuple[str, float]]:
        """Return the words that their context predicts least: (word, log P(w | context) - log P(w))."""
        gain = self.terms - self.unigram
        order = np.argsort(gain, kind="stable")[:topn]
        return [(self.words[n], float(gain[n])) for n in order]


class TextModel:
    """Scores text by vectors of the recipes ``psd`` and ``psd-blockwise``, and draws text; probabilities sum to 1.

    ``link`` is ``calibrated``, or ``paper`` for eq. 8 with all weights 1. ``residuals`` is ``none`` or ``seen``: the latter
    adds what the vectors leave unexplained of pairs observed in training, which needs the training counts; the weight of
    the pair in training scales it unless the link is the paper's.
    """

    def __init__(
        self, vectors: Vectors, counts: Counts | None = None, residuals: str = "none", link: str = "calibrated"
    ) -> None:
        base = PSDFactor(vectors, "the likelihood of text")
        for name, value, known in (("residuals", residuals, ("none", "seen")), ("link", link, LINKS)):
            if value not in known:
                raise FirthianError(
                    f"`{name}` must be {' or '.join(known)}, got {value!r}", hint=f"the default is {known[0]}"
                )
        if residuals == "seen" and counts is None:
            raise FirthianError(
                "residuals of observed pairs need the counts", hint="pass the counts of the training text"
            )
        if counts is not None and counts.vocabulary.words != vectors.vocabulary.words[: len(counts.vocabulary)]:
            raise FirthianError(
                "the counts and the vectors have different vocabularies", hint="pass the counts of the training text"
            )
        self.vectors, self.link = vectors, link
        self.counts = counts if residuals == "seen" else None
        self.window = int(vectors.state["window"])
        #: Vectors whose products approximate PMI, for any eigenvalue power and center.
        self.factor = base.rows()
        counted = np.maximum(vectors.vocabulary.counts.astype(np.float64), 0.5)
        self.log_unigram = np.log(counted / counted.sum())
        self.scale = base.scale
        #: The factor of each dimension, and the weight of each distance, nearest first.
        self.dimensions, self.distances = np.ones(self.factor.shape[1]), np.ones(self.window)
        if link == "calibrated":
            self.dimensions, self.distances = self._calibration(counts), 1 / np.arange(1.0, self.window + 1)
        self._scaled = np.ascontiguousarray((self.factor * self.dimensions).T, dtype=np.float32)
        #: Results of ``_residuals_after``, oldest first; per instance, so that they are freed with the model.
        self._cache: dict[int, tuple[Array, Array]] = {}

    def _calibration(self, counts: Counts | None) -> Array:
        """Return the factors that training stored, or fit them to the counts if there are none."""
        stored = self.vectors.extras.get(CALIBRATION)
        if stored is not None and np.shape(stored) == (self.factor.shape[1],):
            return np.asarray(stored, dtype=np.float64)
        if counts is None:
            raise FirthianError(
                "the vectors have no calibration for text", hint="train them again, or pass the training counts"
            )
        return calibrate(counts, self.factor[: len(counts.vocabulary)], Run())

    def log_prob(self, tokens: Sequence[str]) -> DocumentScore:
        """Score a document, a list of tokens."""
        ids = self._ids(tokens)
        terms = np.empty(ids.size)
        with one_blas_thread():
            for first in range(0, ids.size, _TOKENS):
                places = np.arange(first, min(first + _TOKENS, ids.size))
                scores = self._log_probs([ids[max(0, place - self.window) : place] for place in places])
                terms[places] = scores[np.arange(places.size), ids[places]]
        words = [self.vectors.vocabulary.words[n] for n in ids]
        return DocumentScore(words, terms, self.log_unigram[ids], len(tokens) - ids.size)

    def next_word(self, context: Sequence[str], topn: int = 10) -> list[tuple[str, float]]:
        """Return the most likely next words with their probabilities, which sum to one over the vocabulary."""
        with one_blas_thread():
            scores = self._log_probs([self._ids(context)[-self.window :]])[0]
        best = np.argsort(-scores, kind="stable")[:topn]
        return [(self.vectors.vocabulary.words[n], float(np.exp(scores[n]))) for n in best]

    def sample(self, words: int, generator: np.random.Generator, start: Sequence[str] = ()) -> list[str]:
        """Draw words one after another, each given those before it: step 3 of the paper's generative process."""
        ids = list(self._ids(start))
        begin = len(ids)
        with one_blas_thread():
            for _ in range(words):
                context = np.array(ids[max(0, len(ids) - self.window) :], dtype=np.int64)
                cumulative = np.cumsum(np.exp(self._log_probs([context])[0]))
                place = np.searchsorted(cumulative, generator.random() * cumulative[-1], side="right")
                ids.append(min(int(place), cumulative.size - 1))
        return [self.vectors.vocabulary.words[n] for n in ids[begin:]]

    def _ids(self, tokens: Sequence[str]) -> Array:
        index = self.vectors.vocabulary.index
        return np.array([index[token] for token in tokens if token in index], dtype=np.int64)

    def _log_probs(self, contexts: list[Array]) -> Array:
        """Return log P(w | context) of every word, one row per context of at most c words."""
        sums = np.zeros((len(contexts), self.factor.shape[1]))
        for row, context in enumerate(contexts):
            sums[row] = self.distances[: context.size][::-1] @ self.factor[context]
        scores = (sums.astype(np.float32) @ self._scaled).astype(np.float64)
        scores += self.log_unigram
        if self.counts is not None:
            for row, context in enumerate(contexts):
                for weight, other in zip(self.distances[: context.size][::-1], context, strict=True):
                    rows, values = self._residuals_after(int(other))
                    scores[row, rows] += weight * values
        return np.asarray(scores - _log_sums(scores)[:, np.newaxis])

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
        residuals = (
            self.scale.targets(observed, expected) - (self.factor[rows] * self.dimensions) @ self.factor[earlier]
        )
        return rows, residuals * (1.0 if self.link == "paper" else self.scale.weights(observed))


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
