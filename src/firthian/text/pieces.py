"""What every reader yields: pieces of documents, and what it skipped around them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class Skipped(NamedTuple):
    """Rows of a table that are not documents: without text, or not chosen."""

    missing: int = 0
    excluded: int = 0

    def plus(self, missing: int = 0, excluded: int = 0) -> Skipped:
        """Return the numbers with some more."""
        return Skipped(self.missing + missing, self.excluded + excluded)


NOTHING = Skipped()


@dataclass(frozen=True)
class Piece:
    """Some bytes of a corpus, and their source."""

    text: bytes
    source: str
    line: int
    #: The number of lines of the source it covers.
    lines: int = 1
    #: What was skipped around it.
    skipped: Skipped = NOTHING


class Corpus(Protocol):
    """A source of documents that can be read more than once."""

    #: Whether documents are lists of tokens, separated by TOKEN_SEPARATOR.
    tokenized: bool

    def pieces(self) -> Iterator[Piece]:
        """Yield the documents, in a fixed order."""
        ...

    def size(self) -> int | None:
        """Return the approximate bytes of text, or None if unknown."""
        ...

    def names(self) -> list[str]:
        """Return the names of the sources, for the record."""
        ...
