"""GloVe's text: a word and its numbers a line, and no header."""

from __future__ import annotations

from pathlib import Path

from firthian.errors import FirthianError
from firthian.vectors.formats.base import CONTROL, Format
from firthian.vectors.formats.text import read_text, write_text
from firthian.vectors.vectors import Vectors

NAME = "glove"


def read(path: Path, duplicates: str) -> Vectors:
    """Read GloVe text; the lines themselves show how many numbers there are."""
    return read_text(path, NAME, duplicates)


def write(vectors: Vectors, path: Path, force: bool) -> None:
    """Write GloVe text."""
    if not len(vectors):
        raise FirthianError(f"the format {NAME} cannot say that there are no words", hint="use word2vec")
    if vectors.vector_size == 1 and vectors.vocabulary.words[0].isdigit():
        raise FirthianError(f"the first line of {NAME} text would look like a header", hint="use word2vec")
    if vectors.vocabulary.words[0].startswith("\ufeff"):
        raise FirthianError(f"the first line of {NAME} text would begin with a byte order mark", hint="use word2vec")
    write_text(vectors, path, force, header=False)


FORMAT = Format(
    NAME, "GloVe text, without a header", (".glove",), read, write, spaces=False, counts=False, forbidden=CONTROL
)
