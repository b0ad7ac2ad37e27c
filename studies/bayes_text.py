"""Full sweeps on text: the bound and the figures sweep by sweep, negative events, Tables 2, 4, 5 and 7 of the thesis."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

import firthian as ft
from firthian.models.bayes import BayesianLogistic
from firthian.run import Run
from firthian.solvers.base import Solution
from firthian.solvers.calibration import calibrate
from firthian.solvers.posterior import State
from firthian.solvers.variational import VariationalSweeps
from studies.bayes_data import Data, cells, figures
from studies.common import Study, table, timed

#: Sweeps after which vectors are looked at; the recipe stops at 8.
STOPS = (1, 2, 3, 5, 8, 10, 15, 20)
KINDS = ("rotated", "plain")
DEFAULT_SWEEPS = 8


@dataclass(frozen=True)
class GoOn(VariationalSweeps):
    """Sweeps that go on from a state."""

    state: State | None = None

    def _begin(self, model: BayesianLogistic, dimension: int, run: Run) -> State:
        return self.state or super()._begin(model, dimension, run)


def as_vectors(solution: Solution, data: Data) -> ft.Vectors:
    """Make vectors of a solution, with what the search for uncertainty needs."""
    return ft.Vectors(solution.words, data.counts.vocabulary, contexts=solution.contexts, extras=solution.extras)


def likelihood_of_seen(data: Data, state: State) -> float:
    """Give the thesis's measure of progress: the mean log sigma(u·c) of the pairs that were seen, at the means."""
    counts, total = data.counts, 0.0
    words, contexts = state.words.means, state.contexts.means
    for first in range(0, len(counts.vocabulary), 512):
        last = min(first + 512, len(counts.vocabulary))
        here = slice(int(counts.indptr[first]), int(counts.indptr[last]))
        rows = np.repeat(np.arange(first, last), np.diff(counts.indptr[first : last + 1]))
        score = np.einsum("nk,nk->n", words[rows], contexts[counts.indices[here]])
        total -= float(counts.values[here].astype(np.float64) @ np.logaddexp(0, -score.astype(np.float64)))
    return total / counts.total


def sweep_by_sweep(data: Data, kind: str) -> list[dict[str, Any]]:
    """Run sweeps, with rotation as the recipe does, or plain ones; look at the vectors now and then.

    ``stand`` are the figures of the posterior means as they are, ``balanced`` those after the strength of each dimension is
    shared between words and contexts by choice (eigenvalue_power 0.25).
    """
    run = Run.create()
    model = BayesianLogistic(data.counts, run)
    state: State | None = None
    done, rows = 0, []
    for stop in STOPS[: 5 if data.quick else None]:
        solver = GoOn(stop - done, rotate=kind == "rotated", state=state)
        state, done = solver.fit(model, data.dimension, run), stop
        found = solver.finish(copy.deepcopy(state), model, run)
        row = {"sweep": stop, "bound": state.history[-1], "seen": likelihood_of_seen(data, state)}
        row["balanced"] = figures(as_vectors(found, data))
        row["stand"] = figures(ft.Vectors(state.words.means.astype(np.float32), data.counts.vocabulary))
        rows.append(row)
        if kind == "rotated" and stop == DEFAULT_SWEEPS:
            final = copy.deepcopy(state)
            calibrate(model, final, run)
            as_vectors(solver.finish(final, model, run), data).save(data.folder / "default", force=True)
    return rows


def trained(data: Data, recipe: str = "bayes", **options: Any) -> dict[str, Any]:
    """Train from the counts; give figures, seconds and the number of dimensions in use."""
    vectors, seconds = timed(lambda: ft.train(data.counts, recipe, vector_size=data.dimension, **options))
    row = {**figures(vectors), "seconds": seconds}
    return row | {"live": vectors.record["stats"].get("live_dimensions")}


def default_vectors(data: Data) -> ft.Vectors:
    """Give the vectors of the recipe with its defaults, trained now if they were not kept."""
    return data.vectors("default", lambda: ft.train(data.counts, "bayes", vector_size=data.dimension))


def word2vec(data: Data) -> ft.Vectors:
    """Train gensim's skip-gram on the same text."""
    from gensim.models import Word2Vec

    settings = {"window": 5, "negative": 5, "sg": 1, "epochs": 5, "sample": 1e-3, "workers": 2, "seed": 1}
    model = Word2Vec(
        corpus_file=str(data.corpus), vector_size=data.dimension, min_count=data.counting["min_count"], **settings
    )
    return ft.Vectors(model.wv.vectors, ft.Vocabulary(model.wv.index_to_key))


def sections(vectors: ft.Vectors) -> dict[str, Any]:
    """Give WordSim-353 with its interval, and the share of solved analogies by section."""
    facts = ft.evaluate(vectors, sets=["ws353", "google"], resamples=1000).to_dict()
    similarity, analogy = facts["similarity"]["ws353"], facts["analogy"]["google"]
    parts = {name: part["3cosadd"] for name, part in analogy["sections"].items()}
    return {"ws353": similarity["spearman"], "ci95": similarity["ci95"], "sections": parts}


#: Rows beside the default: negative events and the thesis's own choice of them.
NEGATIVES: dict[str, dict[str, Any]] = {
    "uniform, k = 5": {"ns_exponent": 0.0},
    "uniform, k = 2 (the thesis's)": {"ns_exponent": 0.0, "negative": 2.0},
}


def compute(study: Study, data: Data) -> None:
    """Compute all rows of this part that are not there."""
    for kind in KINDS:
        study.row(f"sweeps/{kind}", lambda kind=kind: sweep_by_sweep(data, kind))
    for name, options in NEGATIVES.items():
        study.row(f"negatives/{name}", lambda options=options: trained(data, **options))
    study.row("tables/bayes", lambda: sections(default_vectors(data)))
    study.row("tables/word2vec", lambda: sections(data.vectors("word2vec", lambda: word2vec(data))))
    for recipe in ("hpca", "oscca", "tscca"):
        study.row(f"tables/{recipe}", lambda recipe=recipe: trained(data, recipe))
