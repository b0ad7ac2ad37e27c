"""The words of a table of documents as ids in one array, in memory, and the sentence around each: for single occurrences."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from firthian.arrays import Array
from firthian.ask.corpus import TextTable
from firthian.errors import FirthianError
from firthian.runtime.executor import Executor, Threads
from firthian.text.segments import cut_segments, tokenize_segment
from firthian.text.tokenizer import Tokenizer
from firthian.text.types import Segment, TypeTable
from firthian.text.vocabulary import Vocabulary

#: The most characters shown on each side.
_SIDE = 130

_ENDS = re.compile(r"[.!?…][\"'”’)\]]*\s+")

#: As the tokenizer unifies them, one letter for one.
_SAME = str.maketrans("\u2019\u02bc\u2010\u2011", "''--")


@dataclass(frozen=True)
class TokenTable:
    """Tokens of documents: ``ids[starts[n]:starts[n + 1]]`` are those of document ``n``; the vocabulary has every word.

    >>> tokens = tokenize_table(TextTable.of({"text": ["b a b", "", "c"]}), Tokenizer())
    >>> tokens.vocabulary.words, tokens.ids.tolist(), tokens.starts.tolist()
    (['b', 'a', 'c'], [0, 1, 0, 2], [0, 3, 3, 4])
    >>> tokens.documents_of(np.array([0, 3])).tolist()
    [0, 2]
    """

    ids: Array
    starts: Array
    vocabulary: Vocabulary

    def documents_of(self, positions: Array) -> Array:
        """Return the document of each token position."""
        return np.searchsorted(self.starts, positions, side="right") - 1

    def without(self, dropped: Array) -> TokenTable:
        """Return the tokens without those of some words (a boolean per word), closing the gaps; counts stay."""
        if not dropped.any():
            return self
        kept = ~dropped[self.ids]
        before = np.concatenate([[0], np.cumsum(kept)])
        return TokenTable(self.ids[kept], before[self.starts], self.vocabulary)


def tokenize_table(table: TextTable, tokenizer: Tokenizer, executor: Executor | None = None) -> TokenTable:
    """Tokenize all documents of a table, in parallel."""
    types = TypeTable()
    ids: list[Array] = []
    starts: list[Array] = []
    at, continues = 0, False

    def tokenize(text: object) -> Segment:
        return tokenize_segment(text, tokenizer, False, False)  # type: ignore[arg-type]

    for segment in (executor or Threads()).map(tokenize, cut_segments(table)):
        types.add(segment)
        ids.append(types.look_up(segment)[segment.ids])
        starts.append(segment.document_starts[1 if continues else 0 :] + at)
        at, continues = at + segment.ids.size, segment.ends_inside
    if not at:
        raise FirthianError(f"no words in {table.source}", hint="check `text_column` and the tokenizer")
    words = [types.spelled(number) for number in range(types.size)]
    vocabulary = Vocabulary.from_counts(dict(zip(words, types.counts[: types.size].tolist(), strict=True)))
    renumber = np.array([vocabulary.index[word] for word in words], dtype=np.int32)
    return TokenTable(renumber[np.concatenate(ids)], np.concatenate([*starts, [at]]).astype(np.int64), vocabulary)


def words_to_drop(vocabulary: Vocabulary, min_length: int, stop_words: Iterable[str]) -> Array:
    """Return which words are shorter than ``min_length`` characters, or stop words."""
    stops = frozenset(stop_words)
    return np.array([len(word) < min_length or word in stops for word in vocabulary.words], dtype=bool)


def sentence_of(
    table: TextTable, tokens: TokenTable, dropped: Array, tokenizer: Tokenizer, document: int, position: int
) -> str:
    """Return the sentence of a token position, shortened around it.

    ``dropped`` are the words that were removed from the tokens of the document.
    """
    text = table.text(document)
    words = tokenizer.tokens(text)
    index = tokens.vocabulary.index
    kept = [place for place, word in enumerate(words) if not dropped[index[word]]]
    place = kept[position - int(tokens.starts[document])]
    at = _offset_of(text, words, place, tokenizer.keep_case)
    if at is None:
        return " ".join(words[max(0, place - 12) : place + 13])
    first = max((match.end() for match in _ENDS.finditer(text, 0, at)), default=0)
    end = _ENDS.search(text, at)
    last = end.end() if end else len(text)
    before, after = text[first:at], text[at:last]
    if len(before) > _SIDE:
        before = "…" + before[-_SIDE:].partition(" ")[2]
    if len(after) > _SIDE:
        after = after[:_SIDE].rpartition(" ")[0] + "…"
    return " ".join((before + after).split())


def _offset_of(text: str, words: list[str], place: int, keep_case: bool) -> int | None:
    """Return where a word begins in a text; None if its spelling was changed too much to find it."""
    folded = (text if keep_case else text.lower()).translate(_SAME)
    if len(folded) != len(text):
        return None
    at = 0
    for word in words[:place]:
        found = folded.find(word, at)
        if found < 0:
            return None
        at = found + len(word)
    found = folded.find(words[place], at)
    return found if found >= 0 else None


def best_places(scores: Array, documents: Array, number: int) -> list[int]:
    """Return the places of the highest scores, one per document.

    >>> best_places(np.array([0.5, 0.9, 0.8, 0.7]), np.array([0, 1, 1, 2]), 2)
    [1, 3]
    """
    chosen: list[int] = []
    seen: set[int] = set()
    for place in np.argsort(-scores, kind="stable")[: 50 * (number + 1)].tolist():
        if len(chosen) == number:
            break
        if int(documents[place]) not in seen and np.isfinite(scores[place]):
            seen.add(int(documents[place]))
            chosen.append(place)
    return chosen
