"""Scores of several models as a figure."""

from __future__ import annotations

from typing import Any

from firthian.errors import FirthianError, require
from firthian.evaluate.report import Evaluation
from firthian.runtime.figures import COLORS, for_notebook, plain_text


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
        color = COLORS[number % len(COLORS)]
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
