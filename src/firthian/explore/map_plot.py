"""Write a word map as a picture (PNG, SVG) or a self-contained page (HTML)."""

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

#: The modules of the page's map, in dependency order.
_MODULES = ("colors.js", "points.js", "placing.js", "map.js", "standalone.js")


def write_map(
    word_map: WordMap,
    path: str | os.PathLike[str],
    *,
    title: str = "",
    labels: int | None = None,
    size: float = 10.0,
    force: bool = False,
) -> int:
    """Write a map in the format of the suffix; return the number of labeled words (all of them in HTML)."""
    target = check_picture(path, SUFFIXES, force)
    if target.suffix.lower() == ".html":
        with new_file(target, force) as file:
            # Lone surrogates become question marks.
            file.write(map_page(word_map, title).encode("utf-8", "replace"))
        return len(word_map)
    return _draw(word_map, target, title, labels, size, force)


def _draw(word_map: WordMap, target: Any, title: str, labels: int | None, size: float, force: bool) -> int:
    figure = require("matplotlib.figure", "viz").Figure(figsize=(size, size), dpi=_DPI)
    axes = figure.add_axes((0.01, 0.01, 0.98, 0.94))
    axes.set_axis_off()
    shades = np.array(COLORS)[word_map.groups % len(COLORS)]
    axes.scatter(*word_map.points.T, s=max(2.0, 14 - np.log2(len(word_map))), c=shades, alpha=0.55, linewidths=0)
    if len(word_map.ellipses):
        _draw_ellipses(axes, word_map, shades)
    axes.margins(0.04)
    axes.autoscale_view()
    # More labels than this never fit.
    shown = min(len(word_map), labels if labels is not None else 3000)
    placed = draw_labels(figure, axes, word_map.points[:shown], word_map.words[:shown], shades[:shown])
    figure.text(0.5, 0.985, plain_text(title), ha="center", va="top", fontsize=11, parse_math=False)
    save_figure(figure, target, force)
    return placed


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
