"""Where words, phrases and patterns occur: ``tea``, ``"black tea"``, ``immigr*``, or a list of these."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from firthian.arrays import Array
from firthian.ask.tokens import TokenTable
from firthian.errors import FirthianError, suggest
from firthian.text.tokenizer import Tokenizer
from firthian.text.vocabulary import Vocabulary

#: Stand-ins for wildcards, letters that no tokenizer splits at: private use characters would be dropped.
_STAR, _MARK = "ʡstarʡ", "ʢmarkʢ"


@dataclass(frozen=True)
class Occurrences:
    """Occurrences of a target in the order of the text: their first positions, their lengths in tokens."""

    positions: Array
    lengths: Array
    documents: Array
    #: The words that make up the target.
    words: frozenset[str]

    def __len__(self) -> int:
        return int(self.positions.size)

    def select(self, kept: Array | slice) -> Occurrences:
        """Return some occurrences."""
        return Occurrences(self.positions[kept], self.lengths[kept], self.documents[kept], self.words)


def parse_target(target: str | Sequence[str], tokenizer: Tokenizer) -> list[tuple[str, ...]]:
    """Return the tokens of each alternative of a target; ``*`` and ``?`` are wildcards inside a word.

    >>> parse_target(["Black  Tea", "immigr*"], Tokenizer())
    [('black', 'tea'), ('immigr*',)]
    """
    alternatives = []
    for one in [target] if isinstance(target, str) else list(target):
        if not isinstance(one, str):
            raise FirthianError(f"expected a word or phrase as target, got {str(one)[:40]!r}", hint="pass strings")
        guarded = one.replace("*", _STAR).replace("?", _MARK)
        tokens = [token.replace(_STAR, "*").replace(_MARK, "?") for token in tokenizer.tokens(guarded)]
        if not tokens or not any(token.strip("*?") for token in tokens):
            raise FirthianError(f"the target {one[:40]!r} has no word", hint="name a word, a phrase or immigr*")
        alternatives.append(tuple(tokens))
    if not alternatives:
        raise FirthianError("no target", hint="name a word, a phrase or immigr*")
    return alternatives


def find_target(tokens: TokenTable, alternatives: Sequence[tuple[str, ...]], usable: Array) -> Occurrences:
    """Find a target; where alternatives overlap, the longest from the left counts.

    ``usable`` says which words may be part of it. Raise if it never occurs.
    """
    words = tokens.vocabulary.words
    ends = np.append(tokens.starts[1:], tokens.ids.size)
    found: list[tuple[Array, int]] = []
    used = np.zeros(len(words), dtype=bool)
    for pattern in alternatives:
        masks = [_matching(tokens.vocabulary, token) & usable for token in pattern]
        for mask in masks:
            used |= mask
        positions = np.flatnonzero(masks[0][tokens.ids])
        length = len(pattern)
        documents = tokens.documents_of(positions)
        positions = positions[positions + length <= ends[documents]]
        for offset, mask in enumerate(masks[1:], start=1):
            positions = positions[mask[tokens.ids[positions + offset]]]
        found.append((positions, length))
    positions = np.concatenate([positions for positions, _ in found])
    if not positions.size:
        raise _never(alternatives, tokens.vocabulary, usable)
    lengths = np.concatenate([np.full(some.size, length) for some, length in found])
    order = np.lexsort((-lengths, positions))
    positions, lengths = _without_overlaps(positions[order], lengths[order])
    present = frozenset(words[word] for word in np.flatnonzero(used))
    return Occurrences(positions, lengths, tokens.documents_of(positions), present)


def _matching(vocabulary: Vocabulary, pattern: str) -> Array:
    """Return which words match a pattern."""
    matches = np.zeros(len(vocabulary), dtype=bool)
    if "*" not in pattern and "?" not in pattern:
        matches[[number for number in [vocabulary.get(pattern)] if number >= 0]] = True
        return matches
    # Brackets have no special meaning in a target; runs of stars would make the search slow.
    expression = re.compile(fnmatch.translate(re.sub(r"\*+", "*", pattern).replace("[", "[[]")))
    for number, word in enumerate(vocabulary.words):
        matches[number] = expression.match(word) is not None
    return matches


def _without_overlaps(positions: Array, lengths: Array) -> tuple[Array, Array]:
    kept = np.ones(positions.size, dtype=bool)
    if (positions[1:] < positions[:-1] + lengths[:-1]).any():
        end = -1
        for at, (position, length) in enumerate(zip(positions.tolist(), lengths.tolist(), strict=True)):
            kept[at] = position >= end
            if kept[at]:
                end = position + length
    return positions[kept], lengths[kept]


def _never(alternatives: Sequence[tuple[str, ...]], vocabulary: Vocabulary, usable: Array) -> FirthianError:
    """Build the error for a target that does not occur."""
    spelled = ", ".join(repr(" ".join(pattern)) for pattern in alternatives[:3])
    index = vocabulary.index
    rare = [token for pattern in alternatives for token in pattern if token in index and not usable[index[token]]]
    if rare:
        return FirthianError(
            f"{spelled} is left out: {rare[0]!r} is too rare, too short or a stop word",
            hint="lower `min_count` or `min_length`",
        )
    close = suggest(alternatives[0][0], vocabulary.words[:50_000])
    hint = close if close.startswith("did") else "check its spelling, or use a pattern such as immigr*"
    return FirthianError(f"{spelled} does not occur in the corpus", hint=hint)
