"""Shared by all figures: checking the target, measuring text, and writing reproducible files."""

from __future__ import annotations

import io
import os
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from firthian.disk.atomic import check_file, staged
from firthian.errors import FirthianError, os_errors, require, suggest

#: Colors of word groups: distinct for most eyes, readable on light and dark backgrounds.
COLORS = (
    "#4477cc", "#dd7711", "#229966", "#cc3355", "#8855cc", "#997711", "#22a5b5", "#c256a5",
    "#6b8e23", "#a0522d", "#5b6f8a", "#e0a030",
)  # fmt: skip


def check_picture(path: str | os.PathLike[str], suffixes: tuple[str, ...], force: bool) -> Path:
    """Raise, before any work, if a picture cannot be written here."""
    target = Path(path)
    if target.suffix.lower() not in suffixes:
        raise FirthianError(f"{target} is not a supported picture format", hint=f"use {' or '.join(suffixes)}")
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


def find_font(name: str) -> str:
    """Return the file of a font, named or as a path; raise if there is none."""
    manager = require("matplotlib.font_manager", "viz")
    if Path(name).suffix.lower() in (".ttf", ".otf", ".ttc"):
        if not Path(name).is_file():
            raise FirthianError(f"the font {name} does not exist", hint="check the path")
        return name
    try:
        return str(manager.findfont(manager.FontProperties(family=[name]), fallback_to_default=False))
    except ValueError:
        known = sorted({entry.name for entry in manager.fontManager.ttflist})
        close = suggest(name, known)
        hint = close if close.startswith("did") else "name an installed font, or pass a .ttf or .otf file"
        raise FirthianError(f"there is no font {name!r}", hint) from None


def missing_scripts(texts: Iterable[str], font: str | None = None) -> dict[str, str]:
    """Return the scripts of characters that a font lacks, each with one such character."""
    manager = require("matplotlib.font_manager", "viz")
    glyphs = manager.get_font(font or manager.findfont(manager.FontProperties())).get_charmap()
    missing: dict[str, str] = {}
    for character in sorted(set().union(*map(set, texts))):
        if ord(character) not in glyphs and character.isprintable():
            script = unicodedata.name(character, "UNKNOWN").partition(" ")[0].capitalize()
            missing.setdefault(
                "Chinese or Japanese" if script in ("Cjk", "Hiragana", "Katakana") else script, character
            )
    return missing


@contextmanager
def using_font(font: str | None) -> Iterator[None]:
    """Draw all text within with a font, given as a file."""
    if font is None:
        yield
        return
    manager = require("matplotlib.font_manager", "viz")
    manager.fontManager.addfont(font)
    name = manager.get_font(font).family_name
    with require("matplotlib", "viz").rc_context({"font.family": [name, "sans-serif"]}):
        yield


def for_notebook(figure: Any) -> Any:
    """Return a figure that shows itself in a notebook, also where pyplot is not used."""

    def as_png() -> bytes:
        out = io.BytesIO()
        with _missing_glyphs_ignored():
            figure.savefig(out, format="png", dpi=figure.dpi)
        return out.getvalue()

    figure._repr_png_ = as_png
    return figure


def save_figure(figure: Any, target: Path, force: bool) -> None:
    """Write a figure atomically, without dates or random ids in it."""
    # Text stays text, which can be searched, selected and edited.
    settings = {"svg.hashsalt": "firthian", "svg.fonttype": "none", "pdf.fonttype": 42}
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(target.suffix.lower())
    with (
        os_errors(),
        staged(target, force, suffix=target.suffix) as staging,
        require("matplotlib", "viz").rc_context(settings),
        _missing_glyphs_ignored(),
    ):
        figure.savefig(staging, dpi=figure.dpi, metadata=metadata)
