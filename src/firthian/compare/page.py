"""A comparison as one page that needs nothing else: tables, bars with intervals, speed against quality."""

from __future__ import annotations

import html
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from firthian.compare.charts import Bar, bars, color, scatter
from firthian.evaluate.report import show_p
from firthian.runtime.memory import show_size

if TYPE_CHECKING:
    from firthian.compare.comparison import Comparison
    from firthian.vectors.scores import Row

#: The figure that stands for a set in the charts.
_MEASURES = ("spearman", "3cosadd")

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Word vectors compared</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; }}
table {{ border-collapse: collapse; margin: 1em 0; display: block; overflow-x: auto; }}
caption {{ font-weight: bold; text-align: left; }}
th, td {{ border-bottom: 1px solid #8886; padding: .2em .8em; text-align: right; }}
th:first-child, td:first-child {{ text-align: left; }}
svg {{ max-width: 720px; width: 100%; font: 11px system-ui, sans-serif; fill: currentColor; display: block; margin: 1em 0; }}
.grid {{ stroke: #8884; fill: none; }} .whisker {{ stroke: currentColor; stroke-width: 1.5; fill: none; }}
.small {{ font-size: 9px; }} .key {{ display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 1em; }}
</style></head><body>
<h1>Word vectors compared</h1>
{body}
</body></html>
"""


def page(comparison: Comparison) -> str:
    """Write the page."""
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
    return _PAGE.format(body="\n".join(parts))


def _costs(comparison: Comparison) -> str:
    head = ("recipe", "words", "dimensions", "counts", "counting s", "training s", "peak memory")
    lines = [
        (
            entry.name,
            f"{entry.words:,}",
            f"{entry.vector_size:,}",
            entry.counting,
            f"{entry.counting_seconds:.1f}",
            f"{entry.training_seconds:.1f}",
            show_size(entry.peak_bytes),
        )
        for entry in comparison.entries
    ]
    return _table("What each took", head, lines)


def _table(caption: str, head: tuple[str, ...], lines: Sequence[tuple[str, ...]]) -> str:
    cells = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>\n" for line in lines)
    return (
        f"<table><caption>{html.escape(caption)}</caption><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"
    )


def _bars(rows: list[Row], models: list[str]) -> str:
    items = [Bar(row.vectors, row.name, row.value, row.low, row.high) for row in rows if row.value is not None]
    return bars(items, models, "Scores of every model on every set") if items else ""


def _speed(comparison: Comparison, rows: list[Row]) -> str:
    """Draw each model's mean score against the seconds it took from the text on; parts of a set do not count again."""
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
    return _table("Is the difference to the first recipe more than chance?", head, lines) if lines else ""


def _tests(suite: str, facts: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the tests of a set by what they measure: one for the whole suite, one per measure, or one per part."""
    if "p_value" in facts:
        yield suite, facts
        return
    for name, part in facts.items():
        if isinstance(part, Mapping):
            yield from ((name if found is part else f"{name}, {of}", found) for of, found in _tests(name, part))


def _shown(test: Mapping[str, Any]) -> tuple[str, ...]:
    difference, ends, p = test.get("difference"), test.get("ci95"), test.get("p_value")
    return (
        "–" if difference is None else f"{difference:+.3f}",
        f"[{ends[0]:+.3f}, {ends[1]:+.3f}]" if ends else "–",
        show_p(p),
        str(test.get("test", "")),
    )
