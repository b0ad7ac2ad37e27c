"""Shared by all figures: checking the target, measuring text, and writing reproducible files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from firthian.disk.atomic import check_file, staged
from firthian.errors import FirthianError, os_errors, require

#: Colors of word groups: distinct for most eyes, readable on light and dark backgrounds.
COLORS = (
    "#4477cc", "#dd7711", "#229966", "#cc3355", "#8855cc", "#997711", "#22a5b5", "#c256a5",
    "#6b8e23", "#a0522d", "#5b6f8a", "#e0a030",
)  # fmt: skip


def check_picture(path: str | os.PathLike[str], suffixes: tuple[str, ...], force: bool) -> Path:
    """Raise, before any work, if a picture cannot be written here."""
    target = Path(path)
    if target.suffix.lower() not in suffixes:
        raise FirthianError(f"{target} has no known picture suffix", hint=f"use {' or '.join(suffixes)}")
    return check_file(target, force)


def plain_text(word: str) -> str:
    """Return a word with control characters replaced, for a picture.

    >>> plain_text("a\\tb")
    'a·b'
    """
    return "".join(character if character.isprintable() else "·" for character in word)


@contextmanager
def _missing_glyphs_ignored() -> Iterator[None]:
    """Ignore warnings about missing glyphs, which are drawn as boxes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def extents_of(texts: Iterable[Any], renderer: Any) -> list[Any]:
    """Return the extents of texts on a figure."""
    with _missing_glyphs_ignored():
        return [text.get_window_extent(renderer) for text in texts]


def renderer_of(figure: Any) -> Any:
    """Return a renderer that measures text; create it once, since that costs more than measuring a thousand words."""
    return require("matplotlib.backends.backend_agg", "viz").FigureCanvasAgg(figure).get_renderer()


def save_figure(figure: Any, target: Path, force: bool) -> None:
    """Write a figure atomically, without dates or random ids in it."""
    settings = {"svg.hashsalt": "firthian"}
    metadata = {"Date": None} if target.suffix.lower() == ".svg" else None
    with (
        os_errors(),
        staged(target, force, suffix=target.suffix) as staging,
        require("matplotlib", "viz").rc_context(settings),
        _missing_glyphs_ignored(),
    ):
        figure.savefig(staging, dpi=figure.dpi, metadata=metadata)
