"""Figures 1 and 2 of Denis and Ralaivola (2017): documents of one word each, under an embedding that gets noisier."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from firthian.adapt.documents import Examples
from firthian.adapt.learner import INNER, Ensemble, Rule, predict_codes

Array = np.ndarray[Any, np.dtype[Any]]


def synthetic(n: int, p: int, sigma: float, seed: int) -> tuple[Any, Array, Array]:
    """Return documents of one word each, their classes, and the noisy embedding (section 4)."""
    from scipy.sparse import csr_array

    random = np.random.default_rng([seed, n, p])
    words = np.concatenate([random.integers(0, p // 2, n // 2), random.integers(p // 2, p, n // 2)])
    X = csr_array((np.ones(n, np.float32), (np.arange(n), words)), shape=(n, p))
    phi = np.zeros((p, 2))
    phi[: p // 2, 0] = 1
    phi[p // 2 :, 1] = 1
    noisy = phi + random.normal(0, 1, (p, 2)) * sigma
    return X, np.repeat([1, 0], n // 2), noisy.astype(np.float32)


def accuracy_at(sigma: float, seed: int, inner: str, lams: Sequence[float], checks: tuple[int, ...]) -> float:
    """Return the test accuracy at one noise level; C, lam and passes are chosen on the development part."""
    X, y, base = synthetic(500, 1000, sigma, seed)
    order = np.random.default_rng([seed, 7]).permutation(500)
    train, dev, test = order[:400], order[400:450], order[450:]
    seen, everything = Examples(X[train], np.zeros(400)), Examples(X, np.zeros(500))
    best = (-1.0, 0.0)
    for C, lam in itertools.product((0.1, 0.5, 1.0, 2.0, 10.0), lams):
        random = np.random.default_rng([seed, 9])
        ensemble = Ensemble(base, 2, one_hot=False)
        for before, number in itertools.pairwise((0, *checks)):
            orders = [random.permutation(400) for _ in range(before, number)]
            ensemble.learn(seen, y[train], C, None, Rule(lam, inner, averaged=False), orders)
            right = predict_codes(ensemble.decide(everything, False)) == y
            best = max(best, (float(right[dev].mean()), float(right[test].mean())), key=lambda pair: pair[0])
    return best[1]


def noise_level(sigma: float, quick: bool) -> dict[str, float]:
    """Return the mean accuracies of PA and of RPA by each way to solve one example, over several draws."""
    seeds, checks = (2, (1, 5)) if quick else (10, (1, 5, 10, 50))
    lams = [10.0**k for k in range(-2, 3)]
    ways = {"pa": ("anchored", [np.inf]), **{inner: (inner, lams) for inner in INNER}}
    return {
        name: float(np.mean([accuracy_at(sigma, seed, *way, checks) for seed in range(seeds)]))
        for name, way in ways.items()
    }


def draw_noise(curves: dict[str, dict[float, float]], path: Path) -> None:
    """Draw figure 1: accuracies by name and noise level."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for name, points in curves.items():
        axes.plot(list(points), list(points.values()), marker="o", markersize=3, label=name)
    axes.set(xlabel="noise σ", ylabel="accuracy", ylim=(0.4, 1.02))
    axes.legend()
    figure.savefig(path, dpi=120)


def draw_planes(path: Path) -> None:
    """Draw figure 2: the planes that PA and RPA learn, and where RPA moves the documents."""
    from matplotlib.figure import Figure

    X, y, base = synthetic(200, 500, 2.0, 3)
    order = np.random.default_rng(5).permutation(200)
    train = order[:160]
    figure = Figure(figsize=(10, 4.4), layout="constrained")
    # The paper's C = 100 and lam = 0.5. PA has no step of Phi.
    for axes, lam, title in zip(figure.subplots(1, 2), (np.inf, 0.5), ("PA", "RPA"), strict=True):
        ensemble = Ensemble(base, 2, one_hot=False)
        inner = "phi-first" if lam == 0.5 else "anchored"
        random = np.random.default_rng(1)
        examples = Examples(X[train], np.zeros(160))
        ensemble.learn(
            examples,
            y[train],
            100.0,
            None,
            Rule(lam, inner, averaged=False),
            [random.permutation(160) for _ in range(10)],
        )
        places = X @ ensemble.learners[0].embedding(False)
        w = ensemble.learners[0].w
        for code, color in ((0, "tab:green"), (1, "goldenrod")):
            for rows, marker in ((np.isin(np.arange(200), train), "o"), (~np.isin(np.arange(200), train), "+")):
                chosen = rows & (y == code)
                axes.scatter(*places[chosen].T, c=color, marker=marker, s=22)
        span = np.array([-6.0, 6.0])
        for offset, style in ((0, "-"), (1, ":"), (-1, ":")):
            axes.plot(span, (offset - w[0] * span) / w[1], "k", linestyle=style, linewidth=1)
        right = (places @ w > 0) == y
        shares = (
            f"{right[train].mean():.0%} of training documents right, {right[order[160:]].mean():.0%} of test documents"
        )
        axes.set_title(f"{title}: {shares}", fontsize=9)
        axes.set(xlim=(-6, 6), ylim=(-6, 6))
    figure.savefig(path, dpi=120)
