"""Plots of Bayesian vectors: the bound over sweeps, the relevance of dimensions, words as ellipses."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.disk.atomic import check_target
from firthian.errors import FirthianError, require
from firthian.explore.labels import draw_labels
from firthian.runtime.figures import plain_text, save_figure
from firthian.vectors.uncertainty import covariances
from firthian.vectors.vectors import Vectors

_LIVE, _OFF = "#b2182b", "#4d9221"


def plot_bounds(
    curves: Mapping[str, Sequence[float]], path: str | os.PathLike[str], worst: float | None = None
) -> Path:
    """Plot the lower bound of several runs over their sweeps, down to ``worst``."""
    figure, axes = _figure(6.4, 4.0)
    colors = require("matplotlib", "viz").colormaps["viridis"](np.linspace(0, 0.9, max(1, len(curves))))
    for (name, values), color in zip(curves.items(), colors, strict=True):
        axes.plot(np.arange(1, len(values) + 1), values, label=name, color=color)
    axes.set_xlabel("sweep")
    axes.set_ylabel("evidence lower bound")
    axes.set_ylim(bottom=worst)
    axes.legend(frameon=False, ncols=1 + len(curves) // 7)
    return _save(figure, path)


def plot_bound_by_dimension(
    series: Mapping[str, Mapping[int, float]], path: str | os.PathLike[str], marked: int | None = None
) -> Path:
    """Plot the bound against the number of dimensions, one line per series; ``marked`` is the true number, if known."""
    figure, axes = _figure(6.4, 4.0)
    for name, values in series.items():
        axes.plot(list(values), list(values.values()), marker="o", markersize=4, label=name)
    if marked is not None:
        axes.axvline(marked, color="0.6", linestyle="--", linewidth=1)
    axes.set_xlabel("dimensions")
    axes.set_ylabel("evidence lower bound")
    axes.legend(frameon=False)
    return _save(figure, path)


def plot_relevance(log_precisions: Mapping[str, Sequence[float]], path: str | os.PathLike[str]) -> Path:
    """Draw a Hinton diagram of log E[alpha]: one row per run, one square per dimension, its area the prior variance.

    Red squares are live dimensions; green ones are switched off (log alpha above the widest gap in their row).
    """
    if not log_precisions:
        raise FirthianError("no runs to draw", hint="pass log precisions by name")
    longest = max(len(values) for values in log_precisions.values())
    figure, axes = _figure(0.22 * longest + 1.5, 0.22 * len(log_precisions) + 0.9)
    for row, values in enumerate(log_precisions.values()):
        ordered = np.sort(np.asarray(values, dtype=np.float64))
        limit = _widest_gap(ordered)
        spread = max(float(np.ptp(ordered)), 1e-9)
        for column, value in enumerate(ordered):
            side = 0.9 * np.sqrt(0.15 + 0.85 * (ordered[-1] - value) / spread)
            color = _LIVE if value <= limit else _OFF
            corner = (column + 0.5 - side / 2, row + 0.5 - side / 2)
            axes.add_patch(_patches().Rectangle(corner, side, side, color=color, linewidth=0))
    axes.set_xlim(0, longest)
    axes.set_ylim(len(log_precisions), 0)
    axes.set_yticks(np.arange(len(log_precisions)) + 0.5, list(map(plain_text, log_precisions)), parse_math=False)
    axes.set_xlabel("dimension, by relevance")
    axes.set_aspect("equal")
    return _save(figure, path)


def plot_ellipses(
    vectors: Vectors, words: Sequence[str], path: str | os.PathLike[str], deviations: float = 2.0
) -> Path:
    """Draw words on their two main axes, each with an ellipse of ``deviations`` standard deviations."""
    if len(words) < 2:
        raise FirthianError(f"a map needs at least two words, got {len(words)}", hint="pass more words")
    numbers = [vectors.vocabulary[word] for word in words]
    means = vectors.matrix[numbers].astype(np.float64)
    centered = means - means.mean(axis=0)
    _, _, axes_of = np.linalg.svd(centered, full_matrices=False)
    plane = np.zeros((2, vectors.vector_size))
    plane[: min(2, len(axes_of))] = axes_of[:2]
    points = centered @ plane.T
    shapes = plane @ covariances(vectors, numbers) @ plane.T
    figure, axes = _figure(6.4, 6.4)
    for point, shape in zip(points, shapes, strict=True):
        values, basis = np.linalg.eigh(shape)
        width, height = 2 * deviations * np.sqrt(np.maximum(values, 0))
        angle = np.degrees(np.arctan2(basis[1, 0], basis[0, 0]))
        axes.add_patch(_patches().Ellipse(point, width, height, angle=angle, alpha=0.25))
    axes.scatter(points[:, 0], points[:, 1], s=4)
    axes.autoscale_view()
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("first main axis of these words")
    axes.set_ylabel("second main axis")
    # Labels are placed once the layout has settled the axes.
    figure.draw_without_rendering()
    draw_labels(figure, axes, points, words, ["black"] * len(words), fontsize=8, gap=4, mark=2)
    return _save(figure, path)


def _widest_gap(ordered: Array) -> float:
    """Return the largest value below the widest gap, or the largest of all if no gap stands out."""
    gaps = np.diff(ordered)
    if gaps.size == 0 or gaps.max() < 2:
        return float(ordered[-1])
    return float(ordered[gaps.argmax()])


def _figure(width: float, height: float) -> tuple[Any, Any]:
    figure = require("matplotlib.figure", "viz").Figure(figsize=(width, height), dpi=150, layout="constrained")
    return figure, figure.subplots()


def _patches() -> Any:
    return require("matplotlib.patches", "viz")


def _save(figure: Any, path: str | os.PathLike[str]) -> Path:
    target = check_target(path, force=True)
    save_figure(figure, target, force=True)
    return target
