"""Small charts as SVG text: no library, no script, readable in light and dark."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

#: Colors that differ in lightness too, for readers who do not see all of them.
COLORS = ("#3366aa", "#cc6633", "#338855", "#9955aa", "#aa3344", "#668899", "#997722", "#555555")


@dataclass(frozen=True)
class Bar:
    """A value with its interval."""

    label: str
    group: str
    value: float
    low: float | None = None
    high: float | None = None


def color(number: int) -> str:
    """Return the color of the n-th model."""
    return COLORS[number % len(COLORS)]


def bars(items: Sequence[Bar], models: Sequence[str], title: str) -> str:
    """Draw bars in groups (the sets), one for each model, with intervals as whiskers."""
    groups = list(dict.fromkeys(item.group for item in items))
    thick, gap, left, top = 12, 14, 130, 24
    height = top + sum(len(models) * thick + gap for _ in groups) + 24
    width, plot = 720, 720 - left - 70
    parts = [_open(width, height, title)]
    y = top
    by_key = {(item.group, item.label): item for item in items}
    for group in groups:
        middle = y + len(models) * thick / 2 + 4
        parts.append(f'<text x="{left - 8}" y="{middle:.1f}" text-anchor="end">{html.escape(group)}</text>')
        for number, model in enumerate(models):
            item = by_key.get((group, model))
            if item is not None and math.isfinite(item.value):
                length = max(0.0, min(1.0, item.value)) * plot
                parts.append(
                    f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{thick - 2}" fill="{color(number)}">'
                    f"<title>{html.escape(model)}, {html.escape(group)}: {item.value:.3f}</title></rect>"
                )
                end = length
                if item.low is not None and item.high is not None:
                    a, b = (max(0.0, min(1.0, bound)) * plot for bound in (item.low, item.high))
                    line = y + thick / 2 - 1
                    parts.append(f'<path d="M{left + a:.1f} {line:.1f}H{left + b:.1f}" class="whisker"/>')
                    end = max(length, b)
                parts.append(f'<text x="{left + end + 4:.1f}" y="{y + 9}" class="small">{item.value:.3f}</text>')
            y += thick
        y += gap
    return "".join([*parts, "</svg>"])


def scatter(points: Sequence[tuple[str, float, float]], x_label: str, y_label: str, title: str) -> str:
    """Draw named points, x on a logarithmic axis: (name, x, y)."""
    width, height, left, bottom, top = 720, 380, 70, 50, 24
    xs = [max(point[1], 1e-3) for point in points]
    ys = [point[2] for point in points]
    x_low, x_high = math.floor(math.log10(min(xs))), math.ceil(math.log10(max(xs)) + 1e-9)
    x_high = max(x_high, x_low + 1)
    margin = 0.1 * (max(ys) - min(ys)) or 0.05
    y_low, y_high = min(ys) - margin, max(ys) + margin

    def across(value: float) -> float:
        return left + (math.log10(max(value, 1e-3)) - x_low) / (x_high - x_low) * (width - left - 120)

    def up(value: float) -> float:
        return height - bottom - (value - y_low) / (y_high - y_low) * (height - bottom - top)

    parts = [_open(width, height, title)]
    for power in range(x_low, x_high + 1):
        x = across(10.0**power)
        parts.append(f'<path d="M{x:.1f} {top}V{height - bottom}" class="grid"/>')
        parts.append(f'<text x="{x:.1f}" y="{height - bottom + 16}" text-anchor="middle">{10.0**power:g}</text>')
    for step in range(5):
        value = y_low + (y_high - y_low) * step / 4
        parts.append(f'<path d="M{left} {up(value):.1f}H{width - 120}" class="grid"/>')
        parts.append(f'<text x="{left - 6}" y="{up(value) + 4:.1f}" text-anchor="end">{value:.3f}</text>')
    labels = _apart([up(point[2]) for point in points])
    for number, ((name, x, y), label) in enumerate(zip(points, labels, strict=True)):
        parts.append(f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="5" fill="{color(number)}"/>')
        parts.append(
            f'<text x="{across(x) + 9:.1f}" y="{label + 4:.1f}" fill="{color(number)}">{html.escape(name)}</text>'
        )
    parts.append(f'<text x="{left}" y="{height - 8}">{html.escape(x_label)}</text>')
    parts.append(f'<text x="4" y="14">{html.escape(y_label)}</text>')
    return "".join([*parts, "</svg>"])


def _apart(places: list[float], distance: float = 13.0) -> list[float]:
    """Move labels down until none covers another."""
    result = list(places)
    order = sorted(range(len(places)), key=lambda number: places[number])
    for before, after in pairwise(order):
        result[after] = max(result[after], result[before] + distance)
    return result


def _open(width: int, height: int, title: str) -> str:
    return f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{html.escape(title, quote=True)}">'
