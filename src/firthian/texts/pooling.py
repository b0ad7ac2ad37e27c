"""Texts in blocks -> the distinct words of each block with their vectors -> weighted means, one row per text."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.text.phrases import join_known
from firthian.text.readers import Documents
from firthian.text.segments import tokenize_text
from firthian.text.tokenizer import Tokenizer
from firthian.text.types import Segment, TypeTable
from firthian.vectors.documents import phrase_passes
from firthian.vectors.rows import dense_rows
from firthian.vectors.vectors import Vectors

#: Characters and texts of a block, which is the work of one thread; one longer text is a block of its own.
BLOCK_CHARACTERS, BLOCK_TEXTS = 1 << 20, 1 << 14

#: A text, or a list of its tokens.
Text = str | Sequence[str]


@dataclass(frozen=True)
class Coverage:
    """How much of some texts is in their vectors."""

    texts: int = 0
    #: Texts without a word that has a vector.
    empty: int = 0
    tokens: int = 0
    #: Tokens without a vector, and those whose vector was composed of n-grams.
    unknown: int = 0
    composed: int = 0

    def __add__(self, other: Coverage) -> Coverage:
        return Coverage(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))


@dataclass(frozen=True)
class Block:
    """The tokens of some texts as ids of the block's own words, and where each text begins (one more than there are)."""

    ids: Array
    starts: Array
    #: The row of each word in the vocabulary, or -1; its vector, and whether it has one.
    numbers: Array
    rows: Array
    known: Array
    segment: Segment

    def coverage(self, totals: Array) -> Coverage:
        """Count the texts and tokens; ``totals`` are the sums of weights."""
        known, listed = self.known[self.ids], self.numbers[self.ids] >= 0
        unknown, composed = np.count_nonzero(~known), np.count_nonzero(known & ~listed)
        return Coverage(len(totals), int(np.count_nonzero(totals == 0)), self.ids.size, int(unknown), int(composed))


@dataclass(frozen=True)
class Weights:
    """The weight of each word of the vocabulary, and of all words outside it."""

    words: Array
    unknown: float

    def of(self, block: Block) -> Array:
        """Return the weights of the words of a block; 0 for those without a vector."""
        if not self.words.size:
            return np.zeros(block.numbers.size)
        weights = np.where(block.numbers >= 0, self.words[np.maximum(block.numbers, 0)], self.unknown)
        return np.where(block.known, weights, 0.0)


@dataclass(frozen=True)
class Pooling:
    """A fitted method: ``vector = (Σ w·row / Σ w - center) @ map``."""

    weights: Weights
    center: Array
    map: Array

    @classmethod
    def plain(cls, weights: Weights, width: int) -> Pooling:
        """Return the weighted mean itself."""
        return cls(weights, np.zeros(width, np.float32), np.eye(width, dtype=np.float32))

    def means(self, block: Block, starts: Array) -> tuple[Array, Array]:
        """Return the weighted means of the texts or spans that begin at ``starts``, and the sums of weights."""
        from firthian.kernels.pooling import weighted_means

        means, totals = np.empty((starts.size - 1, block.rows.shape[1]), np.float32), np.empty(starts.size - 1)
        weighted_means(block.ids, starts, self.weights.of(block), block.rows, means, totals)
        return means, totals

    def encode(self, block: Block) -> tuple[Array, Array]:
        """Return the vectors of the texts of a block, and the sums of weights."""
        from firthian.kernels.pooling import map_rows

        means, totals = self.means(block, block.starts)
        rows = np.empty((len(means), self.map.shape[1]), np.float32)
        map_rows(means, totals, self.center, self.map, rows)
        return rows, totals


class Pool:
    """Looks up the words of texts; the table of the vocabulary is built once."""

    def __init__(self, vectors: Vectors, tokenizer: Tokenizer, compose: bool) -> None:
        self.vectors, self.tokenizer = vectors, tokenizer
        self.compose = compose and vectors.subwords is not None

    @functools.cached_property
    def table(self) -> TypeTable:
        """The words of the vocabulary as types."""
        return TypeTable.of_words(self.vectors.vocabulary.words)

    def read(self, texts: Sequence[Text]) -> Block:
        """Tokenize texts and look up their words."""
        segment = self._tokenize(texts)
        numbers = self.table.look_up(segment)
        listed = numbers >= 0
        rows = np.zeros((numbers.size, self.vectors.vector_size), np.float32)
        rows[listed] = dense_rows(self.vectors.matrix, numbers[listed])
        known = listed
        if self.compose and not listed.all():
            assert self.vectors.subwords is not None
            words = segment.types()
            unknown = np.flatnonzero(~listed)
            rows[unknown] = self.vectors.subwords.compose([words[n] for n in unknown])
            known = listed | rows.any(axis=1)
        starts = np.append(segment.document_starts, segment.ids.size)
        return Block(segment.ids, starts, numbers, rows, known, segment)

    def _tokenize(self, texts: Sequence[Text]) -> Segment:
        """Tokenize texts, each one document, and join the phrases that were joined in the corpus."""
        if not isinstance(texts[0], str):
            return tokenize_text(b"".join(piece.text for piece in Documents(texts).pieces()), self.tokenizer, True)
        joined = "\n".join(texts)  # type: ignore[arg-type]
        if joined.count("\n") >= len(texts):
            joined = "\n".join(text.replace("\n", " ") for text in texts)  # type: ignore[union-attr]
        segment = tokenize_text(joined.encode("utf-8", "surrogatepass") + b"\n", self.tokenizer)
        passes = phrase_passes(self.vectors)
        if not passes:
            return segment
        words = segment.types()
        tokens = [[words[n] for n in ids] for ids in np.split(segment.ids, segment.document_starts[1:])]
        known = self.vectors.vocabulary
        phrases = Documents([join_known(some, known, passes) for some in tokens])
        return tokenize_text(b"".join(piece.text for piece in phrases.pieces()), self.tokenizer, True)


def divide(texts: Iterable[Text]) -> Iterator[list[Text]]:
    """Yield texts in blocks that depend on the texts alone; raise if one is neither text nor a list of tokens."""
    if isinstance(texts, str | bytes) or not hasattr(texts, "__iter__"):
        raise FirthianError(f"expected texts, got a {type(texts).__name__}", hint="pass a list of strings")
    block: list[Text] = []
    size = number = 0
    tokenized: bool | None = None
    for number, text in enumerate(texts, start=1):
        if type(text) is not str:
            text = _checked(text, number)
        if tokenized is not isinstance(text, list):
            if tokenized is not None:
                raise FirthianError(f"text {number} is a {type(text).__name__}, unlike the first one", hint=_EITHER)
            tokenized = isinstance(text, list)
        length = len(text)
        if block and (size + length > BLOCK_CHARACTERS or len(block) == BLOCK_TEXTS):
            yield block
            block, size = [], 0
        block.append(text)
        size += length
    if block:
        yield block


_EITHER = "pass either texts or token lists"


def _checked(text: Any, number: int) -> Text:
    if isinstance(text, str):
        return str(text)
    if (
        isinstance(text, Sequence | np.ndarray)
        and not isinstance(text, bytes)
        and all(isinstance(x, str) for x in text)
    ):
        return list(text)
    shown = "missing" if text is None or text != text else f"a {type(text).__name__}, not a string"
    raise FirthianError(f"text {number} is {shown}", hint="pass strings, or lists of tokens; drop missing values")
