"""fastText's ``.vec``: as word2vec's text, each line ending with a space. Its ``.bin`` is a model, not read here."""

from __future__ import annotations

from pathlib import Path

from firthian.vectors.formats.base import CONTROL, Format
from firthian.vectors.formats.text import read_text, write_text
from firthian.vectors.vectors import Vectors

NAME = "fasttext-vec"


def read(path: Path, duplicates: str) -> Vectors:
    """Read a ``.vec`` file."""
    return read_text(path, NAME, duplicates)


def write(vectors: Vectors, path: Path, force: bool) -> None:
    """Write a ``.vec`` file."""
    write_text(vectors, path, force, header=True, end=" \n")


FORMAT = Format(NAME, "fastText .vec text", (".vec",), read, write, spaces=False, counts=False, forbidden=CONTROL)
