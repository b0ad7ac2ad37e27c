"""Pictures of the thesis: word clouds (Figures 1 and 3), bounds (7 and 8), maps of some themes (14 to 16), ellipses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from firthian.explore.contexts import plot_cloud
from firthian.explore.map_plot import write_map
from firthian.explore.projection import ProjectionOptions, unit_rows
from firthian.explore.word_map import Clusters, find_clusters, make_map
from firthian.learn.bayes.updates import curvature, height, sigmoid
from firthian.vectors.vectors import Vectors
from studies.bayes_data import Data
from studies.bayes_plots import plot_ellipses
from studies.bayes_text import default_vectors
from studies.common import Study

Array = np.ndarray[Any, np.dtype[Any]]

CLOUDS = {"figure1": ("finland", "sweden", "stocks"), "figure3": ("harvard", "stanford", "princeton")}

#: Words around which the maps are drawn: the themes of the thesis's clusters.
THEMES = {
    "figure14": ("Universities, arts and culture", ("university", "professor", "harvard", "museum", "paris", "texas")),
    "figure15": ("Jews, Israel and Nazis", ("israel", "jewish", "nazi", "hezbollah", "talmud", "refugees")),
    "figure16": ("Northern Europe", ("finland", "sweden", "estonia", "iceland", "helsinki", "copenhagen")),
}
#: Centers of the k-means, and the words of each theme's nearest clusters that are drawn.
CENTERS, SHOWN = 7000, 22

#: The most frequent words are left out of clouds, as the thesis left out stop words.
FREQUENT = 200

ELLIPSES = (
    "one",
    "two",
    "river",
    "sea",
    "king",
    "queen",
    "physics",
    "chemistry",
    "cricket",
    "football",
    "opera",
    "poem",
)


def draw_bounds(path: Path) -> None:
    """Figures 7 and 8: what is bounded as a function of x², and both bounds of the logistic function."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.4), layout="constrained")
    tangents, jaakkola, boehning = figure.subplots(1, 3)
    square, x = np.linspace(0, 40, 400), np.linspace(-6, 6, 400)
    tangents.plot(square, -height(square), color="black", label=r"$-\log 2\cosh(x/2)$")
    for xi in (1.0, 3.0, 5.0):
        at = np.array(xi**2)
        line = -height(at) - curvature(at) * (square - at)
        tangents.plot(square, line, linewidth=1, label=rf"tangent at $\xi$ = {xi:g}")
        low = sigmoid(np.array(xi)) * np.exp((x - xi) / 2 - curvature(at) * (x**2 - at))
        jaakkola.plot(x, low, linewidth=1, label=rf"$\xi$ = ±{xi:g}")
        # log sigma(x) >= log sigma(xi) + (1 - sigma(xi))(x - xi) - (x - xi)²/8
        slope = 1 - sigmoid(np.array(xi))
        boehning.plot(
            x,
            sigmoid(np.array(xi)) * np.exp(slope * (x - xi) - (x - xi) ** 2 / 8),
            linewidth=1,
            label=rf"$\xi$ = {xi:g}",
        )
    for axes, name in ((jaakkola, "Jaakkola and Jordan"), (boehning, "Böhning")):
        axes.plot(x, sigmoid(x), color="black", label=r"$\sigma(x)$")
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("x")
        axes.set_ylim(0, 1.05)
    tangents.set_xlabel("x²")
    tangents.set_ylim(-4, 0)
    for axes in (tangents, jaakkola, boehning):
        axes.legend(frameon=False, fontsize=7)
    figure.savefig(path, dpi=130)


def draw_sweeps(curves: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """Figure 13 and what the thesis could not draw: likelihood, bound and analogies over the sweeps, a column a text."""
    from matplotlib.figure import Figure

    texts = list(dict.fromkeys(name.split(", ")[1] for name in curves))
    figure = Figure(figsize=(9, 3 * len(texts)), layout="constrained")
    for places, text in zip(figure.subplots(len(texts), 3, squeeze=False), texts, strict=True):
        for kind, some in ((name.split(", ")[0], rows) for name, rows in curves.items() if name.endswith(text)):
            sweeps = [row["sweep"] for row in some]
            places[0].plot(sweeps, [row["seen"] for row in some], marker="o", markersize=3, label=kind)
            places[1].plot(sweeps, [row["bound"] for row in some], marker="o", markersize=3, label=kind)
            for way, style in (("balanced", "-"), ("stand", ":")):
                found = [row[way]["google"] for row in some]
                places[2].plot(sweeps, found, style, marker="o", markersize=3, label=f"{kind}, {way}")
        for axes, name in zip(places, ("mean log σ(u·c), seen pairs", "bound", "Google analogies"), strict=True):
            axes.set_title(f"{name}, {text}", fontsize=9)
            axes.set_xlabel("sweep")
            axes.legend(frameon=False, fontsize=7)
    figure.savefig(path, dpi=130)


def theme(vectors: Vectors, clusters: Clusters, seeds: tuple[str, ...]) -> dict[str, int]:
    """Return the words of the clusters nearest to each seed, with the number of their seed."""
    found: dict[str, int] = {}
    for number, seed in enumerate(word for word in seeds if word in vectors):
        row = unit_rows(vectors, np.array([vectors.vocabulary[seed]]))[0]
        words: list[str] = []
        for center in np.argsort(-(clusters.centers @ row), kind="stable"):
            words += [vectors.vocabulary.words[k] for k in np.flatnonzero(clusters.labels == center)]
            if len(words) >= SHOWN:
                break
        found |= {word: number for word in (seed, *words) if word not in found}
    return found


def draw(study: Study, data: Data) -> None:
    """Draw the missing figures."""
    if not study.picture("figures7_8").exists():
        draw_bounds(study.picture("figures7_8"))
    for words in CLOUDS.values():
        for word in words:
            path = study.picture(f"cloud_{word}")
            if not path.exists() and word in data.counts.vocabulary:
                plot_cloud(data.counts, word, path, topn=60, min_count=3, order="count", skip_frequent=FREQUENT)
    vectors = default_vectors(data)
    missing = [name for name in THEMES if not study.picture(name).exists()]
    clusters = find_clusters(unit_rows(vectors, np.arange(len(vectors))), CENTERS) if missing else None
    for name in missing:
        title, seeds = THEMES[name]
        words = theme(vectors, clusters, seeds)
        if len(words) > 30:
            made = make_map(
                vectors, words=list(words), options=ProjectionOptions(perplexity=12), clusters=1, keep=False
            )
            groups = np.array([words[word] for word in made.words])
            write_map(replace(made, groups=groups, names=list(seeds)), study.picture(name), title=title, size=8)
    path = study.picture("ellipses")
    words = [word for word in ELLIPSES if word in vectors]
    if not path.exists() and len(words) > 2:
        plot_ellipses(vectors, words, path)
