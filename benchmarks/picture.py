"""Speed against quality: a point for every row of a benchmark of training. ``python -m benchmarks.picture IN.json OUT.png``"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import PEERS
from benchmarks.training import PLAIN, WITHOUT
from firthian.explore.labels import draw_labels
from firthian.runtime.figures import save_figure
from studies.common import SETS

#: Rows whose names are too long, or say too little, for a picture.
SHOWN = {
    PLAIN: "firth train",
    WITHOUT: "firth train --subwords off",
    "vectorizers PPMI + scikit-learn SVD": "vectorizers + SVD",
}

OURS, THEIRS = "#1f6f8b", "#c2571a"


def quality(row: dict[str, Any]) -> float:
    """The mean of the seven scores."""
    return float(np.mean([row["scores"][name] for name in SETS]))


def draw(rows: dict[str, Any], title: str, target: Path) -> None:
    """Draw wall seconds (logarithmic) against the mean score; ours and the other tools differ in color and shape."""
    from matplotlib.figure import Figure

    names = sorted(rows, key=lambda name: -quality(rows[name]))
    figure = Figure(figsize=(11, 6.6), dpi=110, layout="constrained")
    axes = figure.add_subplot()
    axes.set_xscale("log")
    axes.set_xlabel("seconds from raw text to saved vectors, 2 cores (logarithmic)")
    axes.set_ylabel("mean of the seven scores")
    axes.set_title(title)
    axes.grid(alpha=0.25, which="both")
    for kind, color, mark in ((False, OURS, "o"), (True, THEIRS, "s")):
        chosen = [rows[name] for name in names if (name in PEERS) is kind]
        label = "other tools" if kind else "Firthian"
        axes.scatter(
            [row["wall"] for row in chosen], [quality(row) for row in chosen], c=color, marker=mark, label=label
        )
    axes.legend(loc="lower right")
    axes.margins(0.12)
    # Places are measured where the layout has put the axes.
    figure.draw_without_rendering()
    points = np.array([(rows[name]["wall"], quality(rows[name])) for name in names])
    shades = [THEIRS if name in PEERS else OURS for name in names]
    draw_labels(figure, axes, points, [SHOWN.get(name, name) for name in names], shades, fontsize=7.5, gap=6, mark=5)
    save_figure(figure, target, force=True)


if __name__ == "__main__":
    results, picture = Path(sys.argv[1]), Path(sys.argv[2])
    draw(json.loads(results.read_text())["rows"], results.stem.replace("training-", ""), picture)
