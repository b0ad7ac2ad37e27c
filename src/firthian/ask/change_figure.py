"""Figures of change: a volcano of all words, and the path of one word among its neighbors."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from firthian.arrays import Array, unit_rows
from firthian.errors import require
from firthian.runtime.figures import COLORS, extents_of, plain_text, renderer_of

if TYPE_CHECKING:
    from firthian.ask.change_result import ChangedWord, ChangeResult, SliceOfWord
    from firthian.vectors.vectors import Vectors

_DPI, _GRAY = 150, "#8a93a0"


def volcano(result: ChangeResult, labels: int) -> Any:
    """Draw distance against p; words that changed are colored, the first of them named. Negative distances are left out."""
    figure = require("matplotlib.figure", "viz").Figure(figsize=(9, 6.5), dpi=_DPI, layout="constrained")
    axes = figure.add_subplot()
    # A debiased distance below 0 is that of a word without any sign of change: a logarithmic axis has no place for it.
    words = [word for word in result.words if word.debiased > 0]
    x = np.array([word.debiased for word in words])
    y = -np.log10(np.array([word.test.p for word in words]))
    changed = np.array([word.q <= result.fdr for word in words], dtype=bool)
    sizes = 4 + 5 * np.log10(np.array([max(word.occurrences, 1) for word in words]))
    axes.scatter(x[~changed], y[~changed], s=sizes[~changed], c=_GRAY, alpha=0.4, linewidths=0, label="no evidence")
    axes.scatter(
        x[changed], y[changed], s=sizes[changed], c=COLORS[3], alpha=0.7, linewidths=0,
        label=f"changed (q ≤ {result.fdr:g})",
    )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlabel("squared distance between slices, debiased (1: a typical unit from the mean of its word)")
    axes.set_ylabel("−log10 p")
    axes.set_title(plain_text(result.title), parse_math=False)
    axes.legend(loc="upper left", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(0.06)
    # Words come in the order of their least likely distance.
    order = np.flatnonzero(changed)[: 3 * labels]
    _label(figure, axes, [(x[n], y[n], words[n].word) for n in order], most=labels)
    return figure


def in_plane(word: ChangedWord, vectors: Vectors) -> tuple[list[SliceOfWord], Array, list[str], Array]:
    """Return the slices of a word, their places in a plane, and its neighbors there with theirs.

    The first axis is where the word went, the second what else divides its neighbors most.
    """
    parts = [part for part in word.slices if part.occurrences]
    near = list(dict.fromkeys(other for part in parts for other in part.neighbors))
    path = unit_rows(np.array([part.vector for part in parts], dtype=np.float32)).astype(np.float64)
    others = unit_rows(np.asarray(vectors[near], dtype=np.float32)).astype(np.float64) if near else path[:0]
    points = np.concatenate([path, others])
    first = path[-1] - path[0]
    first /= max(float(np.sqrt(first @ first)), 1e-12)
    rest = points - np.outer(points @ first, first)
    around = rest[len(parts) :] if len(near) > 1 else rest
    _, _, directions = np.linalg.svd(around - around.mean(axis=0), full_matrices=False)
    second = directions[0] * (1 if directions[0][np.argmax(np.abs(directions[0]))] > 0 else -1)
    places = np.stack([points @ first, points @ second], axis=1)
    return parts, places[: len(parts)], near, places[len(parts) :]


def trajectory(word: ChangedWord, vectors: Vectors) -> Any:
    """Draw the vectors of a word in its slices, in the plane of the first two components of them and its neighbors."""
    figure = require("matplotlib.figure", "viz").Figure(figsize=(8, 6.5), dpi=_DPI, layout="constrained")
    axes = figure.add_subplot()
    parts, own, near, others = in_plane(word, vectors)
    axes.scatter(*others.T, s=14, c=_GRAY, alpha=0.8, linewidths=0)
    axes.plot(*own.T, color=COLORS[0], linewidth=1, alpha=0.5)
    for start, end in itertools.pairwise(own):
        axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": COLORS[0], "shrinkA": 4, "shrinkB": 4})
    axes.scatter(*own.T, s=45, c=COLORS[0], zorder=3)
    axes.set_title(plain_text(f"{word.word}: q = {word.q:.2g}"), parse_math=False)
    axes.set_xlabel(plain_text(f"from {parts[0].name} to {parts[-1].name}"), parse_math=False)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(0.12)
    named = [(*place, f"{word.word} {part.name}") for place, part in zip(own, parts, strict=True)]
    _label(figure, axes, named, COLORS[0], 10)
    _label(figure, axes, [(*place, other) for place, other in zip(others, near, strict=True)], "#333333", 8)
    return figure


def _label(
    figure: Any,
    axes: Any,
    points: list[tuple[float, float, str]],
    color: str = "#333333",
    size: int = 8,
    most: int = 1000,
) -> None:
    """Name at most ``most`` points, those first that come first; a name that would cover another is left out."""
    figure.draw_without_rendering()
    renderer = renderer_of(figure)
    taken = extents_of(axes.texts, renderer)
    named = 0
    for x, y, name in points:
        if named == most:
            return
        for shift, side in (((5, 2), "left"), ((-5, 2), "right"), ((5, -9), "left"), ((-5, -9), "right")):
            text = axes.annotate(
                plain_text(name), (x, y), shift, textcoords="offset points", fontsize=size, color=color, ha=side,
                parse_math=False, annotation_clip=False,
            )  # fmt: skip
            extent = text.get_window_extent(renderer)
            if not any(extent.overlaps(other) for other in taken):
                taken.append(extent)
                named += 1
                break
            text.remove()
