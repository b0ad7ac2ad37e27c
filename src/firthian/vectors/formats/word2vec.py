"""word2vec's text: a header with the numbers of words and dimensions, then a word and its numbers a line."""

from __future__ import annotations

from pathlib import Path

from firthian.vectors.formats.base import CONTROL, Format
from firthian.vectors.formats.text import read_text, write_text
from firthian.vectors.vectors import Vectors

NAME = "word2vec"


def read(path: Path, duplicates: str) -> Vectors:
    """Read word2vec text; a file without its header is read too."""
    return read_text(path, NAME, duplicates)


def write(vectors: Vectors, path: Path, force: bool) -> None:
    """Write word2vec text."""
    write_text(vectors, path, force, header=True)


FORMAT = Format(
    NAME, "word2vec text, with a header", (".txt", ".w2v"), read, write, spaces=False, counts=False, forbidden=CONTROL
)
