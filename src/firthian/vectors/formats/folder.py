"""Our own folder, which keeps everything: contexts, extras, provenance, state, sparse rows."""

from __future__ import annotations

from pathlib import Path

from firthian.vectors.formats.base import Format
from firthian.vectors.vectors import Vectors

NAME = "folder"


def read(path: Path, duplicates: str) -> Vectors:
    """Open a folder."""
    return Vectors.load(path)


def write(vectors: Vectors, path: Path, force: bool) -> None:
    """Write a folder."""
    vectors.save(path, force)


FORMAT = Format(NAME, "a Firthian folder", ("",), read, write, sparse=True)
