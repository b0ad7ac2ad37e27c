"""Do vectors of two halves of a corpus differ where the model says it is unsure, and by as much as it says?"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np

import firthian as ft
from firthian.vectors.uncertainty import most_similar, residual, variances
from firthian.vectors.vectors import Vectors
from studies.bayes_data import Data, figures
from studies.common import Study, table

Array = np.ndarray[Any, np.dtype[Any]]

SWEEPS = 5
TEMPERS = (1.0, 0.3, 0.1, 0.03)
LEVEL = 0.9

#: Words whose similarities with others are compared, and how many others of each.
ASKED, OTHERS = 120, 40

#: Bootstrap samples of words.
RESAMPLES = 200


def train_halves(data: Data, small: bool, temper: float) -> list[Vectors]:
    """Split the documents in two, every other one; count both with the words of the whole; train each, and keep it."""
    name = f"half{'-small' if small else ''}-{temper:g}"
    paths = [data.folder / f"{name}-{number}" for number in (0, 1)]
    if not all(path.exists() for path in paths):
        lines = (data.small if small else data.corpus).read_text(encoding="utf-8").splitlines()
        counting = {**data.counting, **({"min_count": 20} if small else {})}
        words = ft.count(lines, **counting).vocabulary.words
        settings = {key: value for key, value in counting.items() if key != "min_count"} | {"vocabulary": words}
        size = 20 if small else data.dimension
        for number, path in enumerate(paths):
            ft.train(lines[number::2], "bayes", vector_size=size, counting=settings, epochs=SWEEPS, temper=temper).save(
                path, force=True
            )
    return [Vectors.load(path) for path in paths]


def compare(first: Vectors, second: Vectors) -> dict[str, Any]:
    """Return the correlations of distance and uncertainty, raw and at equal count, and how often intervals hold."""
    shared = [word for word in first.vocabulary.words if word in second.vocabulary]
    turned = first.align_to(second).vectors
    a, b = (v.matrix[[v.vocabulary[word] for word in shared]].astype(np.float64) for v in (turned, second))
    spread = sum(variances(v, [v.vocabulary[word] for word in shared]).sum(axis=1) for v in (first, second))
    count = sum(np.array([v.vocabulary.counts[v.vocabulary[word]] for word in shared]) for v in (first, second))
    distance = np.sum((a - b) ** 2, axis=1)
    lengths = np.sum(a**2, axis=1) + np.sum(b**2, axis=1)
    cosine = np.sum(a * b, axis=1) / np.sqrt(np.sum(a**2, axis=1) * np.sum(b**2, axis=1))
    measures = {
        "squared distance and trace": (spread, distance),
        "angle and relative trace": (spread / lengths, 1 - cosine),
    }
    return {
        "words": len(shared),
        "correlations": {name: correlations(*pair, count) for name, pair in measures.items()},
        "trace and count": float(_spearman(spread, count)),
        "ratio": float(np.median(distance / spread)),
        **cosine_coverage(first, second, shared),
    }  # fmt: skip


def correlations(unsure: Array, apart: Array, count: Array) -> dict[str, Any]:
    """Return Spearman's correlation, and that of what a cubic in log count leaves of both, with bootstrap intervals."""
    x, y, c = np.log(unsure), np.log(np.maximum(apart, 1e-12)), np.log(count)
    random = np.random.default_rng(1)

    def both(rows: Array) -> tuple[float, float]:
        left = residual(c[rows], x[rows]), residual(c[rows], y[rows])
        return _spearman(x[rows], y[rows]), _spearman(*left)

    drawn = [both(random.integers(x.size, size=x.size)) for _ in range(RESAMPLES)]
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    found = both(np.arange(x.size))
    return {
        name: {"value": float(found[k]), "ci95": [float(low[k]), float(high[k])]}
        for k, name in enumerate(("raw", "at equal count"))
    }


def cosine_coverage(first: Vectors, second: Vectors, shared: list[str]) -> dict[str, Any]:
    """Compare cosines of both halves: their difference should be within both posteriors' spread in 90 % of cases.

    ``inflation`` is the factor on all variances that would make it so.
    """
    random = np.random.default_rng(2)
    deviate = NormalDist().inv_cdf((1 + LEVEL) / 2)
    asked = random.choice(len(shared), min(ASKED, len(shared)), replace=False)
    scores: dict[str, list[Array]] = {"near": [], "any": []}
    for number in asked:
        word = shared[number]
        near = [item.word for item in most_similar(first, word, OTHERS) if item.word in second.vocabulary]
        chance = [shared[k] for k in random.choice(len(shared), OTHERS, replace=False) if k != number]
        for kind, others in (("near", near), ("any", chance)):
            (one, wide), (two, wider) = (_on_line(vectors, word, others) for vectors in (first, second))
            scores[kind].append(np.abs(one - two) / np.sqrt(wide**2 + wider**2))
    found = {}
    for kind, parts in scores.items():
        z = np.concatenate(parts)
        found[kind] = {
            "covered": float(np.mean(z < deviate)),
            "inflation": float((np.quantile(z, LEVEL) / deviate) ** 2),
        }
    return {"cosines": found}


def _on_line(vectors: Vectors, word: str, others: list[str]) -> tuple[Array, Array]:
    """Return atanh of the cosines of a word with others, and their standard deviations."""
    ends = np.array([vectors.similarity_interval(word, other, LEVEL) for other in others])
    # Where few dimensions are left, intervals of cosines reach as far as they can.
    low, high = np.arctanh(np.clip(ends, -1 + 1e-9, 1 - 1e-9)).T
    return (low + high) / 2, (high - low) / (2 * NormalDist().inv_cdf((1 + LEVEL) / 2))


def _spearman(x: Array, y: Array) -> float:
    from scipy.stats import spearmanr

    return float(spearmanr(x, y)[0])


def one_row(data: Data, small: bool = False, temper: float = 1.0) -> dict[str, Any]:
    """Train two halves and compare them."""
    first, second = train_halves(data, small, temper)
    live = [v.provenance.stats["live_dimensions"] for v in (first, second)]
    return {**compare(first, second), "live": live, **figures(first)}


def compute(study: Study, data: Data) -> None:
    """Compute the missing rows of this part."""
    for temper in TEMPERS[::2] if data.quick else TEMPERS:
        study.row(f"halves, 2 M tokens/temper {temper:g}", lambda temper=temper: one_row(data, True, temper))
    if not data.quick:
        study.row("halves, 17 M tokens/temper 1", lambda: one_row(data))


def page(study: Study) -> str:
    """Write this part of the page."""
    rows = []
    for key, row in study.rows.items():
        if not key.startswith("halves"):
            continue
        parts = row["correlations"]["squared distance and trace"], row["correlations"]["angle and relative trace"]
        found = [f"{part[kind]['value']:.3f} [{part[kind]['ci95'][0]:.3f}, {part[kind]['ci95'][1]:.3f}]"
                 for part in parts for kind in ("raw", "at equal count")]  # fmt: skip
        covered = [
            f"{row['cosines'][kind]['covered']:.3f} ({row['cosines'][kind]['inflation']:.1f})"
            for kind in ("near", "any")
        ]
        rows.append(
            [
                key.split("/")[0].removeprefix("halves, "),
                key.split(" ")[-1],
                f"{row['words']:,}",
                *found,
                *covered,
                f"{min(row['live'])}",
            ]
        )
    head = [
        "text",
        "temper",
        "words",
        "distance, raw",
        "at equal count",
        "angle, raw",
        "at equal count",
        "near cosines",
        "any cosines",
        "live",
    ]
    return table(head, rows)
