"""The words of a table of documents as ids in one array, in memory, for questions about single occurrences."""

from __future__ import annotations

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
