"""Sakaya 2015, "Scalable Bayesian Induction of Word Embeddings": its figures and tables, ours beside them.

    python studies/bayes.py synthetic OUT/        Figures 10, 11, 12
    python studies/bayes.py coverage OUT/         intervals against data drawn from the model
    python studies/bayes.py text COUNTS OUT/      Figure 13, Tables 2, 4, 5 (another corpus than the thesis's RCV1)
    python studies/bayes.py halves CORPUS OUT/    do two halves of a corpus differ where the model says it is unsure?

Each part writes a JSON file of its figures and its pictures.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

import firthian as ft
from firthian.explore.bayes_plots import plot_bounds, plot_relevance
from firthian.models.bayes import BayesianLogistic
from firthian.run import Run
from firthian.solvers.calibration import calibrate, score_moments
from firthian.solvers.rotation import LIVE_SHARE, signal_shares
from firthian.solvers.variational import VariationalSweeps

#: Table 2 (Spearman on WordSim-353), Tables 4 and 5 (accuracy), of the thesis: RCV1, 50 dimensions.
THESIS_WORDSIM = {
    "Algorithm 3": 0.1947,
    "word2vec (skip-gram)": 0.4273,
    "Eigenwords (TSCCA)": 0.4485,
    "Algorithm 4": 0.4686,
}
THESIS_ANALOGY = {
    "capital-common-countries": 0.5375, "capital-world": 0.4120, "currency": 0.3688, "city-in-state": 0.2792, "family": 0.2696,
    "gram1-adjective-to-adverb": 0.0454, "gram2-opposite": 0.0343, "gram3-comparative": 0.0649, "gram4-superlative": 0.0518,
    "gram5-present-participle": 0.0646, "gram6-nationality-adjective": 0.1936, "gram7-past-tense": 0.1779,
    "gram8-plural": 0.1722, "gram9-plural-verbs": 0.1629,
}  # fmt: skip


def planted(seed: int, true: int = 10, size: int = 50, samples: int = 10_000) -> tuple[np.ndarray, np.ndarray]:
    """Section 6.1: pairs drawn uniformly, positive where sigma(u·v) > 0.5."""
    random = np.random.default_rng(seed)
    u, v = random.standard_normal((size, true)), random.standard_normal((size, true))
    rows, columns = random.integers(size, size=(2, samples))
    positive, negative = np.zeros((size, size)), np.zeros((size, size))
    real = np.einsum("nk,nk->n", u[rows], v[columns]) > 0
    np.add.at(positive, (rows[real], columns[real]), 1)
    np.add.at(negative, (rows[~real], columns[~real]), 1)
    return positive, negative


def synthetic(out: Path) -> dict:
    """Fit the planted data with 2 to 50 dimensions."""
    run = Run.create()
    model = BayesianLogistic.of_events(*planted(3), run)
    curves, precisions, rows = {}, {}, []
    for d in (2, 5, 8, 9, 10, 11, 12, 15, 20, 30, 50):
        begin = time.perf_counter()
        state = VariationalSweeps(100, start="noise", dtype="float64").fit(model, d, run)
        live = int((signal_shares(state) > LIVE_SHARE).sum())
        rows.append({"d": d, "bound": state.history[-1], "live": live, "seconds": time.perf_counter() - begin})
        curves[f"d = {d}"], precisions[str(d)] = state.history, np.log(state.relevance.mean)
    plot_bounds(curves, out / "figure10.png")
    plot_relevance(precisions, out / "figure12.png")
    return {"thesis": {"best": 10, "live": "about 10", "minutes": "1 to 5"}, "ours": rows}


def coverage(out: Path) -> dict:
    """How often nominal 90 % intervals of u·c hold the truth, before and after calibration."""
    run, rows = Run.create(), []
    for settings in (
        {},
        {"events": 10.0},
        {"true": 3, "d": 3},
        {"true": 10, "d": 12, "events": 8.0},
        {"bound": "boehning"},
    ):
        chosen = {"size": 60, "true": 5, "d": 8, "events": 4.0, "bound": "jaakkola", **settings}
        shares = []
        for seed in range(3):
            random = np.random.default_rng(seed)
            shape = (chosen["size"], chosen["true"])
            eta = random.standard_normal(shape) @ random.standard_normal(shape).T
            total = random.poisson(chosen["events"], eta.shape)
            positive = random.binomial(total, 1 / (1 + np.exp(-eta)))
            model = BayesianLogistic.of_events(positive, total - positive, run, bound=chosen["bound"])
            state = VariationalSweeps(150, start="noise", dtype="float64").fit(model, chosen["d"], run)
            covered = []
            for _ in ("bound", "calibrated"):
                mean, variance = score_moments(state)
                covered.append(np.mean(np.abs(eta - mean) < 1.645 * np.sqrt(variance)))
                calibrate(model, state, run)
            shares.append(covered)
        rows.append(
            {**chosen, **dict(zip(("bound", "calibrated"), np.mean(shares, axis=0).round(3).tolist(), strict=True))}
        )
    return {"nominal": 0.9, "rows": rows}


def text(source: str, out: Path, **options) -> dict:
    """Train on counts; compare with the thesis's tables."""
    vectors = ft.train(source, "bayes", **options)
    vectors.save(out / "vectors", force=True)
    plot_bounds({"bound": vectors.record["objective"]}, out / "figure13.png")
    figures = ft.evaluate(vectors, suite="similarity,analogy").to_dict()
    return {
        "measured": vectors.measured,
        "objective": vectors.record["objective"],
        "thesis": {"wordsim": THESIS_WORDSIM, "analogy": THESIS_ANALOGY},
        "ours": figures,
    }


def halves(corpus: str, out: Path) -> dict:
    """Train on two halves of a corpus; does the distance after alignment follow the trace, also at equal count?"""
    from scipy.stats import spearmanr

    lines = Path(corpus).read_text(encoding="utf-8").splitlines()
    counting = {"window": 5, "sample": 1e-3, "min_count": 50}
    first, second = (ft.train(part, "bayes", counting=counting, epochs=5) for part in (lines[::2], lines[1::2]))
    shared = [word for word in first.vocabulary.words if word in second.vocabulary]
    a = first.matrix[[first.vocabulary[word] for word in shared]].astype(np.float64)
    b = second.matrix[[second.vocabulary[word] for word in shared]].astype(np.float64)
    left, _, right = np.linalg.svd(a.T @ b)
    distance = np.linalg.norm(a @ (left @ right) - b, axis=1) / np.linalg.norm(b, axis=1)
    from firthian.vectors.uncertainty import _residual, variances

    trace = sum(
        variances(v, [v.vocabulary[word] for word in shared]).sum(axis=1) / np.sum(m**2, axis=1)
        for v, m in ((first, a), (second, b))
    )
    count = np.log([first.vocabulary.counts[first.vocabulary[word]] + second.vocabulary.counts[second.vocabulary[word]]
                    for word in shared])  # fmt: skip
    random, measured = np.random.default_rng(1), {}

    def both(rows: np.ndarray) -> tuple[float, float]:
        x, y, c = np.log(trace[rows]), distance[rows], count[rows]
        return spearmanr(x, y)[0], spearmanr(_residual(c, x), _residual(c, y))[0]

    resamples = [both(random.integers(len(shared), size=len(shared))) for _ in range(200)]
    low, high = np.percentile(resamples, [2.5, 97.5], axis=0)
    for k, name in enumerate(("rank_correlation", "at_equal_count")):
        measured[name] = {"value": float(both(np.arange(len(shared)))[k]), "ci95": [float(low[k]), float(high[k])]}
    return {"words": len(shared), **measured}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("synthetic", "coverage", "text", "halves"))
    parser.add_argument("paths", nargs="+")
    chosen = parser.parse_args()
    out = Path(chosen.paths[-1])
    out.mkdir(parents=True, exist_ok=True)
    part = {"synthetic": synthetic, "coverage": coverage, "text": text, "halves": halves}[chosen.part]
    result = part(*chosen.paths[:-1], out)
    (out / f"{chosen.part}.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
