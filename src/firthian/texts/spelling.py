"""The nearest spelling of a word that is not known, among the words that documents have."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches

from firthian.text.vocabulary import Vocabulary

#: Most frequent words that are compared, the longest word that is corrected, and the least similarity.
_COMPARED, _LONGEST, _LEAST = 50_000, 30, 0.75

#: Corrections that are remembered.
_MOST = 10_000


class Spelling:
    """Finds the nearest word of a vocabulary that occurs in some document."""

    def __init__(self, vocabulary: Vocabulary, frequency: Callable[[str], int]) -> None:
        self.vocabulary, self.frequency = vocabulary, frequency
        self._found: dict[str, str] = {}

    def nearest(self, word: str) -> str:
        """Return the nearest spelling, or nothing."""
        if len(word) > _LONGEST:
            return ""
        if word not in self._found:
            if len(self._found) >= _MOST:
                self._found.clear()
            letters = set(word)
            # Close spellings share most letters and are of similar length.
            near = [
                known
                for known in self.vocabulary.words[:_COMPARED]
                if abs(len(known) - len(word)) <= 2 and len(letters.intersection(known)) * 3 >= len(letters) * 2
            ]
            close = get_close_matches(word, near, n=5, cutoff=_LEAST)
            self._found[word] = next((known for known in close if self.frequency(known)), "")
        return self._found[word]
