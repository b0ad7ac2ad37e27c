"""A map of words as a picture (PNG, SVG) or as a page that needs nothing else (HTML)."""

from __future__ import annotations

import html
import json
import os
from importlib import resources
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.disk.atomic import new_file
from firthian.errors import require
from firthian.explore.labels import draw_labels
from firthian.explore.word_map import WordMap
from firthian.runtime.figures import COLORS, check_picture, plain_text, save_figure

SUFFIXES = (".html", ".png", ".svg")

_DPI = 150

#: The modules of the page's map, in the order in which one needs the other.
_MODULES = ("colors.js", "points.js", "placing.js", "map.js", "standalone.js")


def write_map(
    made: WordMap,
    path: str | os.PathLike[str],
    *,
    title: str = "",
    labels: int | None = None,
    size: float = 10.0,
    force: bool = False,
) -> int:
    """Write a map; the suffix says how. Give the number of words that carry a label (all of them in HTML)."""
    target = check_picture(path, SUFFIXES, force)
    if target.suffix.lower() == ".html":
        with new_file(target, force) as file:
            # Half a character is no text, and is shown as a question mark.
            file.write(map_page(made, title).encode("utf-8", "replace"))
        return len(made)
    return _draw(made, target, title, labels, size, force)


def _draw(made: WordMap, target: Any, title: str, labels: int | None, size: float, force: bool) -> int:
    figure = require("matplotlib.figure", "viz").Figure(figsize=(size, size), dpi=_DPI)
    axes = figure.add_axes((0.01, 0.01, 0.98, 0.94))
    axes.set_axis_off()
    shades = np.array(COLORS)[made.groups % len(COLORS)]
    axes.scatter(*made.points.T, s=max(2.0, 14 - np.log2(len(made))), c=shades, alpha=0.55, linewidths=0)
    if len(made.ellipses):
        _draw_ellipses(axes, made, shades)
    axes.margins(0.04)
    axes.autoscale_view()
    # Only as many words as could ever find room.
    shown = min(len(made), labels if labels is not None else 3000)
    placed = draw_labels(figure, axes, made.points[:shown], made.words[:shown], shades[:shown])
    figure.text(0.5, 0.985, plain_text(title), ha="center", va="top", fontsize=11, parse_math=False)
    save_figure(figure, target, force)
    return placed


def _draw_ellipses(axes: Any, made: WordMap, shades: Array) -> None:
    patches = require("matplotlib.patches", "viz")
    for point, (width, height, angle), shade in zip(made.points, made.ellipses, shades, strict=False):
        ellipse = patches.Ellipse(
            point, 2 * width, 2 * height, angle=angle, facecolor=shade, alpha=0.10, edgecolor=shade, linewidth=0.4
        )
        axes.add_patch(ellipse)


def map_page(made: WordMap, title: str = "") -> str:
    """Return the page: the explorer's own map, its data and its style in one file that asks nobody for anything.

    Words are data: they reach the page as JSON in which no ``<`` is left, and are shown as text.
    """
    page = resources.files("firthian.explore") / "page"
    data = json.dumps({**made.to_dict(), "title": title}, ensure_ascii=False, separators=(",", ":"))
    data = data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    script = "\n".join(_without_imports((page / name).read_text("utf-8")) for name in _MODULES)
    policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
    return _PAGE.format(
        policy=policy,
        title=html.escape(title or "Map of words"),
        style=(page / "map.css").read_text("utf-8"),
        data=data,
        script=script,
    )


def _without_imports(source: str) -> str:
    """Take out the imports of a module that stands below the modules it imports."""
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
list="none"></label><p id="said" role="status"></p></header>
<main id="map"></main>
<script type="application/json" id="data">{data}</script>
<script type="module">
{script}
</script></body></html>
"""
