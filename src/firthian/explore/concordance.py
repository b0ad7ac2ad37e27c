"""Examples of a word in the corpus, with what stands around it."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from firthian.errors import FirthianError
from firthian.text.readers import Files

#: Characters shown on each side, and seconds to search.
_SIDE, _SECONDS = 70, 0.8

#: Documents of one word are too many to search one by one: bytes are searched first.
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True)
class Concordance:
    """Lines (left, word, right), and whether the whole corpus was searched."""

    lines: list[tuple[str, str, str]]
    complete: bool


def concordance(
    paths: Sequence[str], word: str, beside: str = "", topn: int = 20, seconds: float = _SECONDS
) -> Concordance:
    """Return the first lines with a word, whatever its case; with ``beside``, only those that also have that word near.

    The search stops after some seconds, since a corpus may be large.
    """
    if not word.strip():
        raise FirthianError("no word to look for", hint="pass a word")
    bounded = [rf"(?<!\w){re.escape(part).replace('_', '[_ ]')}(?!\w)" for part in (word, beside) if part]
    pattern, other = re.compile(bounded[0], re.IGNORECASE), re.compile(bounded[-1], re.IGNORECASE)
    lines: list[tuple[str, str, str]] = []
    end = time.monotonic() + seconds
    for piece in Files(list(paths)).pieces():
        text = piece.text.decode("utf-8", "replace")
        for found in pattern.finditer(text):
            left = _whole(text[max(0, found.start() - _SIDE) : found.start()][::-1])[::-1]
            right = _whole(text[found.end() : found.end() + _SIDE])
            if beside and not (other.search(left) or other.search(right)):
                continue
            lines.append((_SPACES.sub(" ", left), found[0], _SPACES.sub(" ", right)))
            if len(lines) == topn:
                return Concordance(lines, False)
        if time.monotonic() > end:
            return Concordance(lines, False)
    return Concordance(lines, True)


def _whole(text: str) -> str:
    """Return what stands beside a word up to the end of its line; a word that is cut off is left out, if others remain."""
    line, ended, _ = text.partition("\n")
    words = line.rpartition(" ")[0] if len(text) == _SIDE and not ended else line
    return words if words.strip() else line
