"""Open anything by its path: counts, vectors, or a file of vectors in any format."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from firthian.errors import FirthianError
from firthian.vectors.formats import read_vectors
from firthian.vectors.vectors import Vectors

if TYPE_CHECKING:
    from firthian.counts.counts import Counts


def load(path: str | os.PathLike[str]) -> Counts | Vectors:
    """Open a folder of counts or of vectors, or a file of vectors in any format.

    >>> import firthian as ft
    >>> ft.load("nowhere")
    Traceback (most recent call last):
    ...
    firthian.errors.FirthianError: nowhere does not exist: check the path
    """
    if (Path(path) / "counts.json").is_file():
        from firthian.counts.counts import Counts

        return Counts.load(path)
    return read_vectors(path)


def open_vectors(path: str | os.PathLike[str]) -> Vectors:
    """Open vectors in any form; counts are not vectors."""
    refuse_counts(path)
    return read_vectors(path)


def refuse_counts(path: str | os.PathLike[str]) -> None:
    """Say what to do with counts where vectors are wanted."""
    if (Path(path) / "counts.json").is_file():
        raise FirthianError(f"{path} holds counts, not vectors", hint=f"train on them: firth train {path} -o VECTORS")
