"""Data drawn from the model: the number of dimensions found (Figures 10 to 12), and how often intervals hold the truth."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from firthian.kernels.packing import unpack
from firthian.learn.bayes.model import BayesianLogistic, Events
from firthian.learn.bayes.posterior import Gaussians, VariationalState
from firthian.learn.bayes.rotation import LIVE_SHARE, signal_shares
from firthian.learn.bayes.updates import calibrate
from firthian.learn.bayes.variational import VariationalSweeps
from firthian.runtime.run import Run
from studies.bayes_data import Data
from studies.bayes_plots import plot_bound_by_dimension, plot_bounds, plot_relevance
from studies.common import Study, table

Array = np.ndarray[Any, np.dtype[Any]]

TRUE = 10
SEEDS = (3, 0, 1)
DIMENSIONS = (2, 5, 8, 9, 10, 11, 12, 15, 20, 30, 50)
THESIS_DIMENSIONS = (2, 5, 10, 15, 20, 30, 50)

#: Simulated data: words and contexts, true and fitted dimensions, events a pair, how often each event is repeated.
SETTINGS: dict[str, dict[str, Any]] = {
    "as many events as usual": {},
    "more events": {"events": 10.0},
    "few dimensions, no superfluous one": {"true": 3, "d": 3},
    "more dimensions": {"true": 10, "d": 12, "events": 8.0},
    "Böhning's bound": {"bound": "boehning"},
    "every event three times": {"copies": 3},
    "every event three times, temper 1/3": {"copies": 3, "temper": 1 / 3},
}


def planted(seed: int, true: int = TRUE, size: int = 50, samples: int = 10_000) -> tuple[Array, Array]:
    """Section 6.1: pairs drawn uniformly, positive where sigma(u·v) > 0.5."""
    random = np.random.default_rng(seed)
    u, v = random.standard_normal((size, true)), random.standard_normal((size, true))
    rows, columns = random.integers(size, size=(2, samples))
    positive, negative = np.zeros((size, size)), np.zeros((size, size))
    real = np.einsum("nk,nk->n", u[rows], v[columns]) > 0
    np.add.at(positive, (rows[real], columns[real]), 1)
    np.add.at(negative, (rows[~real], columns[~real]), 1)
    return positive, negative


def by_dimension(seed: int) -> list[dict[str, Any]]:
    """Fit the planted data with 2 to 50 dimensions, 100 sweeps from noise."""
    run = Run.create()
    model = BayesianLogistic(Events.from_dense(*planted(seed)), run)
    rows = []
    for d in DIMENSIONS:
        begin = time.process_time()
        state = VariationalSweeps(100, start="noise", dtype="float64").fit(model, d, run)
        rows.append(
            {
                "d": d,
                "bound": state.history[-1],
                "live": int((signal_shares(state) > LIVE_SHARE).sum()),
                "cpu_seconds": time.process_time() - begin,
                "history": [round(value, 2) for value in state.history],
                "log_precisions": np.log(state.relevance.mean).round(3).tolist(),
            }
        )
    return rows


def score_moments(state: VariationalState) -> tuple[Array, Array]:
    """Return the posterior mean and variance of every score eta = w_i·z_j, as dense matrices."""
    w, z = state.words.means.astype(np.float64), state.contexts.means.astype(np.float64)
    own, other = dense_covariances(state.words), dense_covariances(state.contexts)
    # Var(w·z) = zᵀ S z + wᵀ T w + tr(S T), for independent w and z
    by_word = np.einsum("ja,iab,jb->ij", z, own, z, optimize=True)
    by_context = np.einsum("ia,jab,ib->ij", w, other, w, optimize=True)
    return w @ z.T, by_word + by_context + np.einsum("iab,jab->ij", own, other)


def dense_covariances(side: Gaussians) -> Array:
    """Return the covariances of all coordinates as full matrices; 0 for fixed coordinates."""
    out = np.zeros((side.rows, side.size, side.size))
    if side.diagonal:
        out[:, side.free, side.free] = side.covariances
    else:
        out[np.ix_(np.arange(side.rows), side.free, side.free)] = unpack(side.covariances, side.free.size)
    return out


def coverage(
    size: int = 60,
    true: int = 5,
    d: int = 8,
    events: float = 4.0,
    bound: str = "jaakkola",
    copies: int = 1,
    temper: float = 1.0,
    seeds: int = 2,
) -> dict[str, Any]:
    """Return the coverage of nominal 90 % intervals of u·c, with the bound's covariances and calibrated."""
    run, shares = Run.create(), []
    for seed in range(seeds):
        random = np.random.default_rng(seed)
        eta = random.standard_normal((size, true)) @ random.standard_normal((size, true)).T
        total = random.poisson(events, eta.shape)
        positive = random.binomial(total, 1 / (1 + np.exp(-eta)))
        events = Events.from_dense(copies * positive, copies * (total - positive))
        model = BayesianLogistic(events, run, bound=bound, temper=temper)
        state = VariationalSweeps(100, start="noise", dtype="float64").fit(model, d, run)
        covered = []
        for _ in ("raw", "calibrated"):
            mean, variance = score_moments(state)
            covered.append(float(np.mean(np.abs(eta - mean) < 1.645 * np.sqrt(variance))))
            calibrate(model, state, run)
        shares.append(covered)
    raw, calibrated = np.mean(shares, axis=0)
    return {"true": true, "d": d, "events": events, "raw": float(raw), "calibrated": float(calibrated)}


def compute(study: Study, data: Data) -> None:
    """Compute the missing rows of this part."""
    for seed in SEEDS[: 1 if data.quick else None]:
        study.row(f"synthetic/seed {seed}", lambda seed=seed: by_dimension(seed))
    for name, settings in SETTINGS.items():
        study.row(f"coverage/{name}", lambda settings=settings: coverage(**settings))


def draw(study: Study) -> None:
    """Draw Figures 10, 11 and 12 from the rows."""
    rows = study.rows.get(f"synthetic/seed {SEEDS[0]}")
    if rows is None:
        return
    plot_bounds({f"d = {row['d']}": row["history"] for row in rows}, study.picture("figure10"), worst=-8000)
    series = {key.split("/")[1]: {row["d"]: row["bound"] for row in found}
              for key, found in study.rows.items() if key.startswith("synthetic/")}  # fmt: skip
    plot_bound_by_dimension(series, study.picture("figure11"), marked=TRUE)
    plot_relevance({f"d = {row['d']}": row["log_precisions"] for row in rows}, study.picture("figure12"))


def page(study: Study) -> tuple[str, str]:
    """Write the table of dimensions, and the one of coverage."""
    found = {key.split(" ")[-1]: rows for key, rows in study.rows.items() if key.startswith("synthetic/")}
    head = ["d", *(f"bound, live (seed {seed})" for seed in found), "CPU seconds"]
    lines = []
    for k, d in enumerate(DIMENSIONS if found else ()):
        cells = []
        for rows in found.values():
            best = max(row["bound"] for row in rows)
            mark = "**" if rows[k]["bound"] == best else ""
            cells.append(f"{mark}{rows[k]['bound']:.0f}{mark}, {rows[k]['live']}")
        slowest = max(rows[k]["cpu_seconds"] for rows in found.values())
        lines.append([str(d), *cells, f"{slowest:.1f}"])
    covered = []
    for key, row in study.rows.items():
        if key.startswith("coverage/"):
            shares = [f"{row[kind]:.3f}" for kind in ("raw", "calibrated")]
            covered.append([key.split("/", 1)[1], str(row["true"]), str(row["d"]), f"{row['events']:g}", *shares])
    return table(head, lines), table(["data", "true k", "d", "events a pair", "raw", "calibrated"], covered)
