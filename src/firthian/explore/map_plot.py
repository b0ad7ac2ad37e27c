"""Write a word map as a picture (PNG, SVG, PDF), a self-contained page (HTML) or a table (CSV)."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from firthian.arrays import Array
from firthian.disk.atomic import new_file
from firthian.errors import FirthianError, require
from firthian.explore.labels import draw_labels
from firthian.explore.word_map import WordMap
from firthian.runtime.figures import (
    COLORS,
    check_picture,
    find_font,
    missing_scripts,
    plain_text,
    save_figure,
    using_font,
)  # fmt: skip

SUFFIXES = (".html", ".png", ".svg", ".pdf", ".csv")

#: Up to this many words have larger labels.
_FEW = 80

#: The modules of the page's map, in dependency order.
_MODULES = ("colors.js", "layers.js", "points.js", "placing.js", "map.js", "standalone.js")


@dataclass(frozen=True)
class MapStyle:
    """How a map is drawn; a page of HTML uses only the title."""

    title: str = ""
    #: The largest number of labels.
    labels: int | None = None
    #: The side of the picture in inches, and its resolution in dots per inch.
    size: float = 10.0
    dpi: int = 150
    #: A font's name or file.
    font: str | None = None
    #: Words in bold type, with a ring around their points; they are labeled first.
    highlight: Sequence[str] = ()
    #: One color for all words, instead of one per group.
    color: str | None = None


class Drawn(NamedTuple):
    """The number of labeled words, and the scripts that the font lacks, each with a character."""

    labeled: int
    missing: dict[str, str]


def write_map(
    word_map: WordMap, path: str | os.PathLike[str], style: MapStyle | None = None, *, force: bool = False
) -> Drawn:
    """Write a map in the format of the suffix; in HTML all words have labels."""
    target, style = check_picture(path, SUFFIXES, force), style or MapStyle()
    suffix = target.suffix.lower()
    if suffix in (".html", ".csv"):
        text = word_map.table.to_csv() if suffix == ".csv" else map_page(word_map, style.title)
        with new_file(target, force) as file:
            # Lone surrogates become question marks.
            file.write(text.encode("utf-8", "replace"))
        return Drawn(len(word_map), {})
    figure, drawn = draw_map(word_map, style)
    save_figure(figure, target, force)
    return drawn


def draw_map(word_map: WordMap, style: MapStyle | None = None) -> tuple[Any, Drawn]:
    """Return a map as a matplotlib figure."""
    style = style or MapStyle()
    font = None if style.font is None else find_font(style.font)
    absent = [word for word in style.highlight if word not in word_map.words]
    if absent:
        raise FirthianError(f"{absent[0]!r} is not on the map", hint="`highlight` words that are drawn")
    if style.color is not None and not require("matplotlib.colors", "viz").is_color_like(style.color):
        raise FirthianError(f"{style.color!r} is not a color", hint="pass a name such as steelblue, or #4477cc")
    with using_font(font):
        figure = require("matplotlib.figure", "viz").Figure(figsize=(style.size, style.size), dpi=style.dpi)
        axes = figure.add_axes((0.01, 0.01, 0.98, 0.94))
        axes.set_axis_off()
        shades = np.array(COLORS)[word_map.groups % len(COLORS)]
        if style.color is not None:
            shades = np.full(len(word_map), style.color)
        if len(word_map.arrows):
            _draw_arrows(axes, word_map, shades)
        axes.scatter(*word_map.points.T, s=max(2.0, 14 - np.log2(len(word_map))), c=shades, alpha=0.55, linewidths=0)
        if len(word_map.ellipses):
            _draw_ellipses(axes, word_map, shades)
        marked = np.array([word_map.words.index(word) for word in style.highlight], dtype=np.int64)
        axes.scatter(*word_map.points[marked].T, s=40, facecolors="none", edgecolors=shades[marked])
        axes.margins(0.04)
        axes.autoscale_view()
        order = np.concatenate([marked, np.setdiff1d(np.arange(len(word_map)), marked)])
        # More labels than this never fit.
        order = order[: style.labels if style.labels is not None else 3000]
        words = [word_map.words[at] for at in order]
        bold, size = min(len(marked), len(order)), 7.0 if len(word_map) > _FEW else 10.0
        labeled = draw_labels(figure, axes, word_map.points[order], words, shades[order], fontsize=size, bold=bold)
        _name_groups(figure, word_map, style)
        title = plain_text(style.title)
        figure.text(0.5, 0.985, title, ha="center", va="top", fontsize=11, parse_math=False)
        return figure, Drawn(labeled, missing_scripts([*words, title], font))


def _name_groups(figure: Any, word_map: WordMap, style: MapStyle) -> None:
    """Add a legend if the groups are the user's, whose names say something."""
    if not word_map.named or style.color is not None:
        return
    marks = require("matplotlib.lines", "viz")
    look = {"marker": "o", "linestyle": "none", "markersize": 6}
    handles = [marks.Line2D([], [], color=COLORS[at % len(COLORS)], **look) for at in range(len(word_map.names))]
    figure.legend(handles, [plain_text(name) for name in word_map.names], loc="lower right", fontsize=9, frameon=False)


def _draw_arrows(axes: Any, word_map: WordMap, shades: Array) -> None:
    look = {"arrowstyle": "-|>", "alpha": 0.6, "linewidth": 0.9, "shrinkA": 3, "shrinkB": 3}
    for first, last in word_map.arrows.tolist():
        ends = {"xy": word_map.points[last], "xytext": word_map.points[first]}
        axes.annotate("", **ends, arrowprops={**look, "color": shades[first]})


def _draw_ellipses(axes: Any, word_map: WordMap, shades: Array) -> None:
    patches = require("matplotlib.patches", "viz")
    for point, (width, height, angle), shade in zip(word_map.points, word_map.ellipses, shades, strict=False):
        look = {"facecolor": shade, "alpha": 0.10, "edgecolor": shade, "linewidth": 0.4}
        axes.add_patch(patches.Ellipse(point, 2 * width, 2 * height, angle=angle, **look))


def map_page(word_map: WordMap, title: str = "") -> str:
    """Return a page with the explorer's map, its data and its style, which loads nothing from elsewhere.

    Words reach the page as JSON with every ``<`` escaped, and are shown as text.
    """
    page = resources.files("firthian.explore") / "page"
    data = json.dumps({**word_map.to_dict(), "title": title}, ensure_ascii=False, separators=(",", ":"))
    data = data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    script = "\n".join(_without_imports((page / name).read_text("utf-8")) for name in _MODULES)
    policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
    style, name = (page / "map.css").read_text("utf-8"), html.escape(title or "Map of words")
    return _PAGE.format(policy=policy, title=name, style=style, data=data, script=script)


def _without_imports(source: str) -> str:
    """Remove the imports of a module that is inlined below the modules it imports."""
    return "\n".join(line for line in source.splitlines() if not line.startswith("import "))


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{style}
</style></head><body class="standalone">
<header><h1>{title}</h1><label>Find <input id="find" type="search" autocomplete="off" spellcheck="false"
list="none"></label><p id="status" role="status"></p></header>
<main id="map"></main>
<script type="application/json" id="data">{data}</script>
<script type="module">
{script}
</script></body></html>
"""
