"""Labels that do not overlap: the most important first, each at the first free position around its point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.runtime.figures import extents_of, plain_text, renderer_of

Box = tuple[float, float, float, float]

#: Positions of a label's box, in units of its size: right, left, above, below, and the four corners.
_PLACES = (
    (0.0, -0.5), (-1.0, -0.5), (-0.5, 0.0), (-0.5, -1.0), (0.0, 0.0), (-1.0, 0.0), (0.0, -1.0), (-1.0, -1.0),
)  # fmt: skip


def place_labels(
    points: Array,
    sizes: Array,
    bounds: tuple[float, float, float, float],
    gap: float = 2.0,
    most: int | None = None,
    mark: float = 0.0,
) -> list[tuple[int, float, float]]:
    """Return (label, left, bottom) of every label that fits, in the given order of importance.

    ``points`` and ``sizes`` (width, height) are in one unit, such as pixels; ``bounds`` are (left, bottom, right, top).
    A label that would overlap another, or leave the bounds, is left out. If points are drawn as marks of radius ``mark``,
    a label covers one only if no other position around its own point is free.

    >>> points = np.array([[5.0, 5.0], [5.0, 5.0], [50.0, 5.0]])
    >>> [label for label, _, _ in place_labels(points, np.full((3, 2), 4.0), (-5, 0, 60, 10))]
    [0, 1, 2]
    """
    occupied, marks = Boxes(bounds, sizes), Boxes(bounds, sizes)
    if mark > 0:
        for x, y in points.tolist():
            marks.add((x - mark, y - mark, x + mark, y + mark))
    placed: list[tuple[int, float, float]] = []
    for number, ((x, y), (width, height)) in enumerate(zip(points.tolist(), sizes.tolist(), strict=True)):
        if most is not None and len(placed) >= most:
            break
        # The gap is on the side of the point; centered labels have none.
        corners = [
            (x + across * width + gap * (2 * across + 1), y + up * height + gap * (2 * up + 1))
            for across, up in _PLACES
        ]
        boxes = [(left, bottom, left + width, bottom + height) for left, bottom in corners]
        free = [box for box in boxes if occupied.free(box)]
        if free:
            chosen = next((box for box in free if marks.free(box)), free[0])
            occupied.add(chosen)
            placed.append((number, *chosen[:2]))
    return placed


def draw_labels(
    figure: Any,
    axes: Any,
    points: Array,
    names: Sequence[str],
    colors: Sequence[Any],
    *,
    fontsize: float = 7.0,
    gap: float = 2.0,
    mark: float = 0.0,
    bold: int = 0,
) -> int:
    """Write names next to points of a figure with fixed limits, most important first; return how many fit.

    The first ``bold`` names are larger, and bold.
    """
    renderer = renderer_of(figure)
    style = {"transform": axes.transAxes, "va": "bottom", "ha": "left", "parse_math": False}
    strong, usual = {"fontsize": fontsize * 1.4, "fontweight": "bold"}, {"fontsize": fontsize}
    texts = [
        axes.text(0, 0, plain_text(name), color=color, **style, **(strong if at < bold else usual))
        for at, (name, color) in enumerate(zip(names, colors, strict=True))
    ]
    extents = extents_of(texts, renderer)
    sizes = np.array([[extent.width, extent.height] for extent in extents]).reshape(-1, 2)
    box = axes.get_window_extent(renderer)
    placed = place_labels(axes.transData.transform(points), sizes, tuple(box.extents), gap, mark=mark)
    kept = {number: (left, bottom) for number, left, bottom in placed}
    for number, text in enumerate(texts):
        if number in kept:
            # In axes coordinates, since the resolution of an SVG differs from the measured one.
            left, bottom = kept[number]
            text.set_position(((left - box.x0) / box.width, (bottom - box.y0) / box.height))
        else:
            text.remove()
    return len(placed)


class Boxes:
    """Boxes on a plane, in a grid of cells so that only nearby ones are compared."""

    def __init__(self, bounds: tuple[float, float, float, float], sizes: Array) -> None:
        self.bounds = bounds
        self.cell = max(1e-9, float(sizes.mean(axis=0).max())) if len(sizes) else 1.0
        self.cells: dict[tuple[int, int], list[Box]] = {}

    def put(self, box: Box) -> bool:
        """Add a box if it is within the bounds and overlaps no other; return whether it was added."""
        if not self.free(box):
            return False
        self.add(box)
        return True

    def free(self, box: Box) -> bool:
        """Return whether a box is within the bounds and overlaps no other."""
        left, bottom, right, top = box
        if left < self.bounds[0] or bottom < self.bounds[1] or right > self.bounds[2] or top > self.bounds[3]:
            return False
        return not any(
            left < c and a < right and bottom < d and b < top
            for key in self._keys(box)
            for a, b, c, d in self.cells.get(key, ())
        )

    def add(self, box: Box) -> None:
        """Add a box, even if it overlaps others."""
        for key in self._keys(box):
            self.cells.setdefault(key, []).append(box)

    def _keys(self, box: Box) -> list[tuple[int, int]]:
        left, bottom, right, top = box
        return [
            (i, j)
            for i in range(int(left // self.cell), int(right // self.cell) + 1)
            for j in range(int(bottom // self.cell), int(top // self.cell) + 1)
        ]
