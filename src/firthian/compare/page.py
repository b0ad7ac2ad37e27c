"""A comparison as one self-contained HTML page (tables, bars with intervals, quality against time), and as a figure."""

from __future__ import annotations

import html
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from firthian.errors import FirthianError, require
from firthian.runtime.figures import COLORS as GROUP_COLORS
from firthian.runtime.figures import for_notebook, plain_text
from firthian.runtime.memory import show_size
from firthian.runtime.page import html_page, html_table, show_p

if TYPE_CHECKING:
    from firthian.compare.comparison import Comparison
    from firthian.evaluate.report import Evaluation
    from firthian.vectors.cards import Row

#: The measures that the charts show.
_MEASURES = ("spearman", "3cosadd")

_STYLE = """
svg { max-width: 720px; width: 100%; font: 11px system-ui, sans-serif; fill: currentColor; display: block; margin: 1em 0; }
.grid { stroke: #8884; fill: none; } .whisker { stroke: currentColor; stroke-width: 1.5; fill: none; }
.small { font-size: 9px; } .key { display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 1em; }
"""


def page(comparison: Comparison) -> str:
    """Return the page."""
    models = [entry.name for entry in comparison.entries]
    rows = [row for row in comparison.evaluation.rows(sections=False) if row.measure in _MEASURES]
    key = "".join(
        f'<span class="key" style="background:{color(number)}"></span>{html.escape(name)}'
        for number, name in enumerate(models)
    )
    parts = [
        _costs(comparison),
        "<h2>Quality against time</h2>",
        _speed(comparison, rows),
        "<h2>Every set</h2>",
        f"<p>{key}<br>Bars are Spearman's correlation (with 95 % intervals) or the share of analogies solved.</p>",
        _bars(rows, models),
        comparison.evaluation._repr_html_(sections=True),
        _comparisons(comparison),
        f"<p>Machine: {html.escape(', '.join(f'{name} {value}' for name, value in comparison.machine.items()))}</p>",
    ]
    return html_page("Word vectors compared", "\n".join(parts), _STYLE)


def _costs(comparison: Comparison) -> str:
    head = ("recipe", "words", "dimensions", "counts", "counting s", "training s", "peak memory")
    lines = [
        (
            entry.name, f"{entry.words:,}", f"{entry.vector_size:,}", entry.counting, f"{entry.counting_seconds:.1f}",
            f"{entry.training_seconds:.1f}", show_size(entry.peak_bytes),
        )
        for entry in comparison.entries
    ]  # fmt: skip
    return html_table("Cost of each recipe", head, lines)


def _bars(rows: list[Row], models: list[str]) -> str:
    items = [Bar(row.vectors, row.name, row.value, row.low, row.high) for row in rows if row.value is not None]
    return bars(items, models, "Scores of every model on every set") if items else ""


def _speed(comparison: Comparison, rows: list[Row]) -> str:
    """Draw each model's mean score against its seconds of counting and training; parts of a set do not count again."""
    whole = [row for row in rows if "/" not in row.name]
    points = []
    for entry in comparison.entries:
        values = [row.value for row in whole if row.vectors == entry.name and row.value is not None]
        if values:
            seconds = entry.counting_seconds + entry.training_seconds
            points.append((entry.name, seconds, statistics.fmean(values)))
    label = "mean of all sets"
    return scatter(points, "seconds, counting and training", label, "Mean score against seconds") if points else ""


def _comparisons(comparison: Comparison) -> str:
    head = ("recipe", "against", "set", "measure", "difference", "95 % interval", "p", "test")
    lines = [
        (item["vectors"], item["against"], name, measure, *_shown(test))
        for item in comparison.evaluation.comparisons
        for suite, sets in item.items()
        if isinstance(sets, Mapping)
        for name, facts in sets.items()
        for measure, test in _tests(suite, facts)
    ]
    return html_table("Is the difference to the first recipe more than chance?", head, lines) if lines else ""


def _tests(suite: str, facts: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the tests of a set by what they measure: one for the whole suite, one per measure, or one per part."""
    if "p_value" in facts:
        yield suite, facts
        return
    for name, part in facts.items():
        if isinstance(part, Mapping):
            yield from ((name if test is part else f"{name}, {measure}", test) for measure, test in _tests(name, part))


def _shown(test: Mapping[str, Any]) -> tuple[str, ...]:
    difference, ends, p = test.get("difference"), test.get("ci95"), test.get("p_value")
    return (
        "–" if difference is None else f"{difference:+.3f}",
        f"[{ends[0]:+.3f}, {ends[1]:+.3f}]" if ends else "–",
        show_p(p),
        str(test.get("test", "")),
    )


#: Colors that also differ in lightness, for color-blind readers.
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
    """Return an SVG of bars grouped by set, one for each model, with intervals as whiskers."""
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
    """Return an SVG of named points (name, x, y), x on a logarithmic axis."""
    width, height, left, bottom, top = 720, 380, 70, 50, 24
    xs = [max(point[1], 1e-3) for point in points]
    ys = [point[2] for point in points]
    x_low, x_high = math.floor(math.log10(min(xs))), math.ceil(math.log10(max(xs)) + 1e-9)
    x_high = max(x_high, x_low + 1)
    # At least 0.05 from bottom to top: a difference in the third decimal must not look like a landslide.
    margin = max(0.1 * (max(ys) - min(ys)), 0.025)
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
    labels = _spread([up(point[2]) for point in points])
    for number, ((name, x, y), label) in enumerate(zip(points, labels, strict=True)):
        parts.append(f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="5" fill="{color(number)}"/>')
        parts.append(
            f'<text x="{across(x) + 9:.1f}" y="{label + 4:.1f}" fill="{color(number)}">{html.escape(name)}</text>'
        )
    parts.append(f'<text x="{left}" y="{height - 8}">{html.escape(x_label)}</text>')
    parts.append(f'<text x="4" y="14">{html.escape(y_label)}</text>')
    return "".join([*parts, "</svg>"])


def _spread(places: list[float], distance: float = 13.0) -> list[float]:
    """Move labels down until none overlaps another."""
    result = list(places)
    order = sorted(range(len(places)), key=lambda number: places[number])
    for before, after in pairwise(order):
        result[after] = max(result[after], result[before] + distance)
    return result


def _open(width: int, height: int, title: str) -> str:
    return f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{html.escape(title, quote=True)}">'


def plot_scores(evaluation: Evaluation) -> Any:
    """Return a matplotlib figure: a row per set and measure, a dot per model, and the interval of each."""
    rows = [row for row in evaluation.rows(sections=False) if isinstance(row.value, float)]
    if not rows:
        raise FirthianError("there are no scores to plot", hint="evaluate on test sets that are covered")
    lines = list(dict.fromkeys((row.name, row.measure) for row in rows))
    models = list(evaluation.results)
    figure = require("matplotlib.figure", "viz").Figure(
        figsize=(7, 1.2 + 0.3 * len(lines)), dpi=150, layout="constrained"
    )
    axes = figure.add_subplot()
    for number, model in enumerate(models):
        own = [row for row in rows if row.vectors == model]
        # Models that share a row stand a little apart.
        shift = 0.5 * ((number + 0.5) / len(models) - 0.5)
        heights = [lines.index((row.name, row.measure)) + shift for row in own]
        color = GROUP_COLORS[number % len(GROUP_COLORS)]
        axes.plot([row.value for row in own], heights, "o", color=color, markersize=4, label=plain_text(model))
        for row, height in zip(own, heights, strict=True):
            if row.low is not None and row.high is not None:
                axes.plot([row.low, row.high], [height, height], color=color, linewidth=1.2)
    axes.set_yticks(range(len(lines)), [plain_text(f"{name}, {measure}".replace("_", " ")) for name, measure in lines])
    axes.invert_yaxis()
    axes.grid(axis="x", color="#8884", linewidth=0.6)
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=min(4, len(models)), frameon=False, fontsize=9)
    return for_notebook(figure)
