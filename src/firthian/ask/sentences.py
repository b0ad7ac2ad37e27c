"""The sentence around an occurrence, from the text as it was before tokenization."""

from __future__ import annotations

import re

import numpy as np

from firthian.arrays import Array
from firthian.ask.corpus import TextTable
from firthian.ask.tokens import TokenTable
from firthian.text.tokenizer import Tokenizer

#: The most characters shown on each side.
_SIDE = 130

_ENDS = re.compile(r"[.!?…][\"'”’)\]]*\s+")

#: As the tokenizer unifies them, one letter for one.
_SAME = str.maketrans("\u2019\u02bc\u2010\u2011", "''--")


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
