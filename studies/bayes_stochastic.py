"""Batches instead of full sweeps: Algorithm 3 as printed, the recipe ``bayes-svi``, and how wide their posteriors are."""

from __future__ import annotations

from typing import Any

import numpy as np

import firthian as ft
from firthian.vectors.uncertainty import variances
from studies.bayes_data import Data, cells, figures
from studies.bayes_text import default_vectors
from studies.common import Study, table, timed

DIMENSION = 20
BATCH_TOKENS = 150_000

#: The settings that the thesis prints: two uniform negative events per token. It prints neither kappa, tau nor niter.
PRINTED = {"algorithm": "printed", "negative": 2.0, "ns_exponent": 0.0}

#: Rows of the table: options of ``bayes-svi``, or of ``bayes`` for full sweeps.
CHOICES: dict[str, dict[str, Any]] = {
    "full sweeps": {"recipe": "bayes"},
    "full sweeps, uniform negative events, k = 2": {"recipe": "bayes", "negative": 2.0, "ns_exponent": 0.0},
    "Algorithm 3, niter = 1": {**PRINTED, "inner": 1},
    "Algorithm 3, niter = 5": {**PRINTED, "inner": 5},
    "Algorithm 3, niter = 5, tau = -0.7": {**PRINTED, "inner": 5, "tau": -0.7},
    "bayes-svi, one round": {"inner": 1},
    "bayes-svi, two rounds": {"inner": 2},
    "bayes-svi": {},
    "bayes-svi, two rounds, batches of 40,000": {"inner": 2, "batch_tokens": 40_000},
    "bayes-svi, batches of 40,000": {"batch_tokens": 40_000},
    "bayes-svi, uniform negative events, k = 2": {"negative": 2.0, "ns_exponent": 0.0},
}
QUICK = ("full sweeps", "Algorithm 3, niter = 5", "bayes-svi")


def on_small(data: Data, recipe: str = "bayes-svi", **options: Any) -> ft.Vectors:
    """Learn from the small text."""
    counting = {**data.counting, "min_count": 20}
    if recipe == "bayes-svi":
        options = {"batch_tokens": BATCH_TOKENS, **options}
    return ft.train(str(data.small), recipe, vector_size=DIMENSION, counting=counting, **options)


def relative(vectors: ft.Vectors, words: list[str]) -> Any:
    """Return the variance of each word relative to its squared length."""
    rows = [vectors.vocabulary[word] for word in words]
    return variances(vectors, rows).sum(axis=1) / np.sum(vectors.matrix[rows].astype(np.float64) ** 2, axis=1)


def widths(batches: ft.Vectors, sweeps: ft.Vectors) -> dict[str, float]:
    """Compare the relative variances of all words with those of full sweeps."""
    words = [word for word in sweeps.vocabulary.words if word in batches]
    ratio = relative(batches, words) / relative(sweeps, words)
    low, median, high = (float(value) for value in np.quantile(ratio, [0.025, 0.5, 0.975]))
    within = float(np.mean((ratio > 1 / 1.5) & (ratio < 1.5)))
    return {"width_low": low, "width_median": median, "width_high": high, "within": within}


def variant(data: Data, options: dict[str, Any]) -> dict[str, Any]:
    """Learn from the small text, and compare with full sweeps with the same negative events."""
    made, seconds = timed(lambda: on_small(data, **options))
    row = {**figures(made), "seconds": seconds, "batches": made.provenance.stats.get("batches")}
    if options.get("recipe") == "bayes":
        return row
    negatives = {name: options[name] for name in ("negative", "ns_exponent") if name in options}
    name = "sweeps-uniform" if negatives else "sweeps-small"
    return row | widths(made, data.vectors(name, lambda: on_small(data, "bayes", **negatives)))


def whole(data: Data) -> dict[str, Any]:
    """Learn from the whole text with the recipe's defaults."""
    made, seconds = timed(
        lambda: ft.train(str(data.corpus), "bayes-svi", vector_size=data.dimension, counting=data.counting)
    )
    made.save(data.folder / "svi", force=True)
    return {**figures(made), "seconds": seconds, "batches": made.provenance.stats["batches"]}


def full_sweeps(data: Data) -> dict[str, Any]:
    """Time full sweeps on the same text, counting included, and keep the vectors."""
    made, seconds = timed(
        lambda: ft.train(str(data.corpus), "bayes", vector_size=data.dimension, counting=data.counting)
    )
    made.save(data.folder / "default", force=True)
    return {**figures(made), "seconds": seconds}


def compute(study: Study, data: Data) -> None:
    """Compute the missing rows of this part."""
    for name in QUICK if data.quick else CHOICES:
        study.row(f"batches/small, {name}", lambda name=name: variant(data, CHOICES[name]))
    study.row("batches/whole text", lambda: whole(data))
    study.row("batches/full sweeps", lambda: full_sweeps(data))
    study.row("batches/widths", lambda: widths(ft.Vectors.load(data.folder / "svi"), default_vectors(data)))


def page(study: Study) -> str:
    """Write this part of the page."""
    known = study.rows
    rows = []
    for name in CHOICES:
        row = known.get(f"batches/small, {name}")
        if row is not None:
            shown = "–" if "within" not in row else width_cell(row)
            rows.append([name, *cells(row), shown, "–" if "within" not in row else f"{100 * row['within']:.1f} %"])
    head = ["on 2 M tokens", "WordSim-353", "MEN", "Google", "MSR", "relative variance", "within 1.5×"]
    return table(head, rows)


def width_cell(row: dict[str, float]) -> str:
    """Write the median ratio of relative variances, and the range of 95 % of the words."""
    return f"{row['width_median']:.2f} [{row['width_low']:.2f}, {row['width_high']:.2f}]"
