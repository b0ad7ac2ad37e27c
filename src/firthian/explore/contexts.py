"""The company a word keeps, as a word cloud."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from firthian.arrays import Array
from firthian.counts.contexts import context_words
from firthian.counts.counts import Counts
from firthian.errors import FirthianError, require
from firthian.explore.labels import Boxes
from firthian.runtime.figures import check_picture, extents_of, plain_text, renderer_of, save_figure

_DPI = 150
_LARGEST, _SMALLEST = 42.0, 9.0

#: The fraction of the page that words may cover, and the smallest side, as a fraction, that fits the title.
_FILLED, _SMALLEST_PAGE = 0.3, 0.6

#: The most steps of the spiral; a word that finds no place is left out.
_STEPS = 5000


class Cloud(NamedTuple):
    """The words drawn, and those left out for lack of space."""

    drawn: list[str]
    left_out: list[str]


def plot_cloud(
    counts: Counts,
    word: str,
    path: str | os.PathLike[str],
    *,
    topn: int = 80,
    min_count: float = 5.0,
    order: str = "pmi",
    skip_frequent: int = 0,
    force: bool = False,
) -> Cloud:
    """Draw a cloud of the context words of a word, as many as fit.

    ``order`` selects the words with the highest ``pmi`` or the highest ``count``. The ``skip_frequent`` most frequent words
    of the vocabulary are excluded.
    """
    target = check_picture(path, (".png", ".svg", ".pdf"), force)
    contexts = context_words(counts, word, topn, min_count, order, skip_frequent)
    if not contexts:
        beside = f" beside the {skip_frequent:,} most frequent words" if skip_frequent else ""
        lower = "lower `min_count` or `skip_frequent`" if skip_frequent else "lower `min_count`"
        message = f"{word!r} has no context counted {min_count:g} times{beside}"
        raise FirthianError(message, hint=f"{lower}, or choose another word")
    strength = np.array([getattr(context, order) for context in contexts])
    sizes = font_sizes(strength)
    # Texts are measured at their final size.
    figure = require("matplotlib.figure", "viz").Figure(figsize=(8, 5.2), dpi=_DPI)
    colors = require("matplotlib", "viz").colormaps["viridis"]
    pmi = np.array([context.pmi for context in contexts])
    shade = 0.85 * (1 - (pmi - pmi.min()) / max(float(np.ptp(pmi)), 1e-12))
    renderer = renderer_of(figure)
    texts = [
        figure.text(
            0, 0, plain_text(context.word), fontsize=size, color=colors(tint), va="bottom", ha="left", parse_math=False
        )
        for context, size, tint in zip(contexts, sizes, shade, strict=True)
    ]
    extents = extents_of(texts, renderer)
    # Few words get a smaller page instead of a large margin.
    width, height = figure.get_size_inches() * _DPI
    share = sum(extent.width * extent.height for extent in extents) / (width * height * _FILLED)
    widest = 1.1 * max(extent.width for extent in extents) / width
    figure.set_size_inches(figure.get_size_inches() * min(1.0, max(_SMALLEST_PAGE, share**0.5, widest)))
    width, height = figure.get_size_inches() * _DPI
    boxes = Boxes((8, 8, width - 8, height - 40), np.full((1, 2), 60.0))
    drawn, left_out = [], []
    for context, text, extent in zip(contexts, texts, extents, strict=True):
        place = _spiral(boxes, extent.width + 6, extent.height + 2, (width / 2, (height - 32) / 2), width / height)
        if place is None:
            text.remove()
            left_out.append(context.word)
            continue
        text.set_position(((place[0] + 3) / width, (place[1] + 1) / height))
        drawn.append(context.word)
    measure = {"pmi": "PMI", "llr": "log-likelihood ratio", "log_odds": "log-odds"}.get(order, order)
    title = f"the company of “{plain_text(word)}”: size by {measure}, dark is high PMI"
    figure.text(0.5, 1 - 12 / height, title, ha="center", va="top", fontsize=10, color="#444", parse_math=False)
    save_figure(figure, target, force)
    return Cloud(drawn, left_out)


def font_sizes(strength: Array) -> Array:
    """Return font sizes by the square root of the strength, since the eye compares areas.

    >>> font_sizes(np.array([9.0, 4.0, 0.0])).round(1).tolist()
    [42.0, 31.0, 9.0]
    """
    shifted = strength - strength.min()
    share = np.sqrt(shifted / shifted.max()) if shifted.max() > 0 else np.ones_like(shifted)
    return np.asarray(_SMALLEST + (_LARGEST - _SMALLEST) * share)


def _spiral(
    boxes: Any, width: float, height: float, center: tuple[float, float], aspect: float
) -> tuple[float, float] | None:
    """Walk outwards from the center until the box fits."""
    for step in range(_STEPS):
        angle = 1.6 * np.sqrt(step)
        radius = 4 * angle
        left = center[0] + aspect * radius * np.cos(angle) - width / 2
        bottom = center[1] + radius * np.sin(angle) - height / 2
        if boxes.put((left, bottom, left + width, bottom + height)):
            return left, bottom
    return None
