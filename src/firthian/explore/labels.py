"""Labels that do not cover each other: the most important first, each at the first free place round its point."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

#: Where a label's box may stand, as shares of its size: right, left, above, below, and the four corners.
_PLACES = (
    (0.0, -0.5), (-1.0, -0.5), (-0.5, 0.0), (-0.5, -1.0), (0.0, 0.0), (-1.0, 0.0), (0.0, -1.0), (-1.0, -1.0),
)  # fmt: skip


def place_labels(
    points: Array, sizes: Array, bounds: tuple[float, float, float, float], gap: float = 2.0, most: int | None = None
) -> list[tuple[int, float, float]]:
    """Give (label, left, bottom) of every label that finds a free place, in the order of importance given.

    ``points`` and ``sizes`` (width, height) are in one unit, such as pixels; ``bounds`` are (left, bottom, right, top).
    A label that would cover another, or leave the bounds, is left out.

    >>> points = np.array([[5.0, 5.0], [5.0, 5.0], [50.0, 5.0]])
    >>> [label for label, _, _ in place_labels(points, np.full((3, 2), 4.0), (-5, 0, 60, 10))]
    [0, 1, 2]
    """
    taken = Boxes(bounds, sizes)
    placed: list[tuple[int, float, float]] = []
    for number, ((x, y), (width, height)) in enumerate(zip(points.tolist(), sizes.tolist(), strict=True)):
        if most is not None and len(placed) >= most:
            break
        for across, up in _PLACES:
            left = x + across * width + gap * (1 if across == 0 else -1 if across == -1 else 0)
            bottom = y + up * height + gap * (1 if up == 0 else -1 if up == -1 else 0)
            if taken.put((left, bottom, left + width, bottom + height)):
                placed.append((number, left, bottom))
                break
    return placed


class Boxes:
    """Boxes on a plane, sorted into cells so that only near ones are compared."""

    def __init__(self, bounds: tuple[float, float, float, float], sizes: Array) -> None:
        self.bounds = bounds
        self.cell = max(1e-9, float(sizes.mean(axis=0).max())) if len(sizes) else 1.0
        self.cells: dict[tuple[int, int], list[tuple[float, float, float, float]]] = {}

    def put(self, box: tuple[float, float, float, float]) -> bool:
        """Add a box if it is inside the bounds and covers no other."""
        left, bottom, right, top = box
        if left < self.bounds[0] or bottom < self.bounds[1] or right > self.bounds[2] or top > self.bounds[3]:
            return False
        keys = [
            (i, j)
            for i in range(int(left // self.cell), int(right // self.cell) + 1)
            for j in range(int(bottom // self.cell), int(top // self.cell) + 1)
        ]
        for key in keys:
            for a, b, c, d in self.cells.get(key, ()):
                if left < c and a < right and bottom < d and b < top:
                    return False
        for key in keys:
            self.cells.setdefault(key, []).append(box)
        return True
