"""What all pictures share: where they may be written, and how a figure becomes the same file every time."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from firthian.disk.atomic import check_file, staged
from firthian.errors import FirthianError, from_os_error, require

#: Colors of groups of words: apart for most eyes, readable on light and dark ground.
COLORS = (
    "#4477cc", "#dd7711", "#229966", "#cc3355", "#8855cc", "#997711", "#22a5b5", "#c256a5",
    "#6b8e23", "#a0522d", "#5b6f8a", "#e0a030",
)  # fmt: skip


def check_picture(path: str | os.PathLike[str], suffixes: tuple[str, ...], force: bool) -> Path:
    """Say early whether a picture of this kind may be written here."""
    target = Path(path)
    if target.suffix.lower() not in suffixes:
        raise FirthianError(
            f"{target} does not say which kind of picture it is", hint=f"end its name in {' or '.join(suffixes)}"
        )
    return check_file(target, force)


def plain_text(word: str) -> str:
    """Return a word as a picture can show it: control characters become a mark.

    >>> plain_text("a\\tb")
    'a·b'
    """
    return "".join(character if character.isprintable() else "·" for character in word)


@contextmanager
def _boxes_for_letters() -> Iterator[None]:
    """A script that the font has no letters for is shown as boxes; that is not an error."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def extents_of(texts: Iterable[Any], renderer: Any) -> list[Any]:
    """Measure texts on a figure."""
    with _boxes_for_letters():
        return [text.get_window_extent(renderer) for text in texts]


def renderer_of(figure: Any) -> Any:
    """Return what measures text on a figure; asked for once, because making one costs more than a thousand words."""
    return require("matplotlib.backends.backend_agg", "viz").FigureCanvasAgg(figure).get_renderer()


def save_figure(figure: Any, target: Path, force: bool) -> None:
    """Write a figure that appears whole or not at all, without dates or random names in it."""
    settings = {"svg.hashsalt": "firthian"}
    metadata = {"Date": None} if target.suffix.lower() == ".svg" else None
    try:
        with (
            staged(target, force, suffix=target.suffix) as staging,
            require("matplotlib", "viz").rc_context(settings),
            _boxes_for_letters(),
        ):
            figure.savefig(staging, dpi=figure.dpi, metadata=metadata)
    except OSError as error:
        raise from_os_error(error) from error
