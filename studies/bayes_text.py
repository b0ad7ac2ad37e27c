"""Full sweeps on text: the bound and the figures sweep by sweep, negative events, Tables 2, 4, 5 and 7 of the thesis."""

from __future__ import annotations

import copy
import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

import firthian as ft
from firthian.learn.bayes.model import BayesianLogistic
from firthian.learn.bayes.posterior import VariationalState
from firthian.learn.bayes.updates import calibrate
from firthian.learn.bayes.variational import VariationalSweeps
from firthian.learn.solver import Solution
from firthian.runtime.run import Run
from studies.bayes_data import Data, cells, figures
from studies.chunking import PAPER as THESIS_CHUNKING
from studies.common import Study, skip_gram, table, timed

#: Sweeps after which vectors are looked at; the recipe stops at 8.
STOPS = (1, 2, 3, 5, 8, 10, 15, 20)
KINDS = ("rotated", "plain")

#: The thesis starts from random matrices; on the small text only, where 20 sweeps are cheap.
RANDOM = "random start"

#: Words and dimensions of a fit in which ARD has superfluous dimensions to switch off.
FEW_WORDS, MANY_DIMENSIONS = 400, 96
DEFAULT_SWEEPS = 8


@dataclass(frozen=True)
class Resumed(VariationalSweeps):
    """Sweeps that resume from a state."""

    state: VariationalState | None = None

    def _begin(self, model: BayesianLogistic, dimension: int, run: Run) -> VariationalState:
        return self.state or super()._begin(model, dimension, run)


def as_vectors(solution: Solution, data: Data) -> ft.Vectors:
    """Make vectors of a solution, with what the search for uncertainty needs."""
    return ft.Vectors(solution.words, data.counts.vocabulary, contexts=solution.contexts, extras=solution.extras)


def likelihood_of_seen(data: Data, state: VariationalState) -> float:
    """Return the thesis's measure of progress: the mean log sigma(u·c) of the pairs that were seen, at the means."""
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
    state: VariationalState | None = None
    done, rows = 0, []
    start = "noise" if kind == RANDOM else "spectral"
    for stop in STOPS[: 5 if data.quick and kind != RANDOM else None]:
        solver = Resumed(stop - done, rotate=kind == "rotated", start=start, state=state)
        state, done = solver.fit(model, data.dimension, run), stop
        found = solver.finish(copy.deepcopy(state), run)
        row = {"sweep": stop, "bound": state.history[-1], "seen": likelihood_of_seen(data, state)}
        row["balanced"] = figures(as_vectors(found, data))
        row["stand"] = figures(ft.Vectors(state.words.means.astype(np.float32), data.counts.vocabulary))
        rows.append(row)
        if kind == "rotated" and stop == DEFAULT_SWEEPS:
            final = copy.deepcopy(state)
            calibrate(model, final, run)
            as_vectors(solver.finish(final, run), data).save(data.folder / "default", force=True)
    return rows


def trained(data: Data, recipe: str = "bayes", **options: Any) -> dict[str, Any]:
    """Train; give figures, seconds and the number of dimensions in use. Other recipes count the text in their own way."""
    if recipe == "bayes":
        source, counting = data.counts, None
    else:
        source, counting = str(data.corpus), {"min_count": data.counting["min_count"]}
    vectors, seconds = timed(lambda: ft.train(source, recipe, vector_size=data.dimension, counting=counting, **options))
    row = {**figures(vectors), "seconds": seconds}
    return row | {"live": vectors.provenance.stats.get("live_dimensions")}


def few_words(data: Data) -> dict[str, Any]:
    """Fit many dimensions to the counts of few words; return how many dimensions ARD leaves."""
    counting = {**data.counting, "min_count": 1, "max_vocab": FEW_WORDS}
    found = ft.train(str(data.corpus), "bayes", vector_size=MANY_DIMENSIONS, counting=counting, epochs=50)
    stats = found.provenance.stats
    return {"live": stats["live_dimensions"], "words": len(found), "sweeps": stats["sweeps"]}


def default_vectors(data: Data) -> ft.Vectors:
    """Return the vectors of the recipe with its defaults, trained now if they were not kept."""
    return data.vectors("default", lambda: ft.train(data.counts, "bayes", vector_size=data.dimension))


def sections(vectors: ft.Vectors) -> dict[str, Any]:
    """Return WordSim-353 with its interval, and the share of solved analogies by section."""
    facts = ft.evaluate(vectors, sets=["ws353", "google"], resamples=1000).to_dict()
    similarity, analogy = facts["similarity"]["ws353"], facts["analogy"]["google"]
    parts = {name: part["3cosadd"] for name, part in analogy["sections"].items()}
    return {"ws353": similarity["spearman"], "ci95": similarity["ci95"], "sections": parts}


#: Rows beside the default: negative events and the thesis's own choice of them.
NEGATIVES: dict[str, dict[str, Any]] = {
    "uniform, k = 5": {"ns_exponent": 0.0},
    "uniform, k = 2 (the thesis's)": {"ns_exponent": 0.0, "negative": 2.0},
}

#: Table 2 (Spearman on WordSim-353), Tables 4 and 5 (share of solved analogies, word2vec's first) of the thesis.
THESIS_WORDSIM = {
    "Algorithm 3": 0.1947, "Turian (CW)": 0.2808, "PCA": 0.3025, "Turian (HLBL)": 0.3524, "Eigenwords (LR-MVL II)": 0.379,
    "word2vec (SK)": 0.4273, "word2vec (CB)": 0.4297, "Eigenwords (OSCCA)": 0.43, "Eigenwords (LR-MVL I)": 0.4383,
    "SENNA": 0.4432, "Eigenwords (TSCCA)": 0.4485, "Algorithm 4": 0.4686,
}  # fmt: skip
THESIS_ANALOGY = {
    "capital-common-countries": (0.6324, 0.5375), "capital-world": (0.4441, 0.4120), "currency": (0.3965, 0.3688),
    "city-in-state": (0.3158, 0.2792), "family": (0.3086, 0.2696), "gram1-adjective-to-adverb": (0.1129, 0.0454),
    "gram2-opposite": (0.0772, 0.0343), "gram3-comparative": (0.1461, 0.0649), "gram4-superlative": (0.1368, 0.0518),
    "gram5-present-participle": (0.1440, 0.0646), "gram6-nationality-adjective": (0.2548, 0.1936),
    "gram7-past-tense": (0.2358, 0.1779), "gram8-plural": (0.2365, 0.1722), "gram9-plural-verbs": (0.2266, 0.1629),
}  # fmt: skip

#: Our recipes that stand for a row of Table 2.
STANDING_FOR = {"hpca": "PCA", "oscca": "Eigenwords (OSCCA)", "tscca": "Eigenwords (TSCCA)"}


def chunking(data: Data, kind: str) -> dict[str, Any]:
    """Return F1 of chunking, of the words alone or with the vectors as coordinates, as in the thesis.

    The l2 weight is that of the baseline, which ``studies/chunking.py`` chooses on the development part.
    """
    from firthian.evaluate.chunking import run

    if kind == "baseline" and (known := Study("chunking", data.quick).rows.get("baseline")):
        return dict(known)
    vectors = default_vectors(data) if kind != "baseline" else None
    small = {"train_sentences": 600, "test_sentences": 200} if data.quick else {}
    found = run(vectors, style="dense", baseline=vectors is None, l2="0.5", **small)
    return dict(next(iter(found.values())))


def compute(study: Study, data: Data) -> None:
    """Compute the missing rows of this part; those that need many runs on the small text first."""
    for text in dict.fromkeys((Data(quick=True), data)):
        for kind in KINDS:
            study.row(f"sweeps/{kind}, {text.label}", lambda kind=kind, text=text: sweep_by_sweep(text, kind))
        for name, options in NEGATIVES.items():
            study.row(f"negatives/{name}, {text.label}", lambda options=options, text=text: trained(text, **options))
    small = Data(quick=True)
    study.row(f"sweeps/{RANDOM}, {small.label}", lambda: sweep_by_sweep(small, RANDOM))
    for text in dict.fromkeys((small, data)):
        study.row(f"few words/{text.label}", lambda text=text: few_words(text))
    study.row("tables/bayes", lambda: sections(default_vectors(data)))
    for recipe in STANDING_FOR:
        study.row(f"tables/{recipe}", lambda recipe=recipe: trained(data, recipe))
    least = data.counting["min_count"]
    word2vec = functools.partial(skip_gram, data.corpus, data.dimension, least)
    study.row("tables/word2vec", lambda: sections(data.vectors("word2vec", word2vec)))
    study.row("tables/cbow", lambda: sections(word2vec(sg=0)))
    for kind in ("baseline", "bayes"):
        study.row(f"chunking/{kind}", lambda kind=kind: chunking(data, kind))


def sweep_table(study: Study) -> str:
    """Write how figures change over the sweeps."""
    lines = []
    for key, rows in study.rows.items():
        if not key.startswith("sweeps/"):
            continue
        for row in rows:
            stand, balanced = row["stand"], row["balanced"]
            lines.append([key.removeprefix("sweeps/"), str(row["sweep"]), f"{row['bound']:.6g}", f"{row['seen']:.4f}",
                          f"{stand['men']:.3f}", f"{stand['google']:.3f}", *cells(balanced)])  # fmt: skip
    head = ["sweeps", "number", "bound", "seen pairs", "MEN, unscaled", "Google, unscaled",
            "WordSim-353", "MEN", "Google", "MSR"]  # fmt: skip
    return table(head, lines)


def negatives_table(study: Study) -> str:
    """Write what the choice of negative events does, after as many sweeps as the recipe's."""
    known = study.rows
    lines = [
        [f"unigram^0.75, k = 5 (the recipe's), {key.split(', ')[-1]}", *cells(row["balanced"])]
        for key, rows in known.items()
        if key.startswith("sweeps/rotated")
        for row in rows
        if row["sweep"] == DEFAULT_SWEEPS
    ]
    lines += [
        [key.removeprefix("negatives/"), *cells(row)] for key, row in known.items() if key.startswith("negatives/")
    ]
    return table(
        ["negative events", "WordSim-353", "MEN", "Google", "MSR"], sorted(lines, key=lambda line: line[0][-11:])
    )


def wordsim_table(study: Study) -> str:
    """Write Table 2: the thesis's figures, and ours for the rows that we have."""
    ours = {"Algorithm 4": study.rows.get("tables/bayes"), "word2vec (SK)": study.rows.get("tables/word2vec")}
    ours |= {name: study.rows.get(f"tables/{recipe}") for recipe, name in STANDING_FOR.items()}
    ours["word2vec (CB)"] = study.rows.get("tables/cbow")
    lines = []
    for name, figure in THESIS_WORDSIM.items():
        row = ours.get(name)
        shown = "–" if row is None else f"{row['ws353']:.3f}"
        if row is not None and "ci95" in row:
            shown += " [{:.2f}, {:.2f}]".format(*row["ci95"])
        lines.append([name, f"{figure:.3f}", shown])
    batches = study.rows.get("batches/whole text")
    if batches:
        lines.append(["`bayes-svi`", "–", f"{batches['ws353']:.3f}"])
    return table(["Table 2", "thesis (RCV1)", "ours"], lines)


def analogy_table(study: Study) -> str:
    """Write Tables 4 and 5."""
    bayes, skip = (study.rows.get(f"tables/{name}", {}).get("sections", {}) for name in ("bayes", "word2vec"))

    def cell(found: dict[str, Any], name: str) -> str:
        return "–" if found.get(name) is None else f"{found[name]:.3f}"

    lines = [
        [name, *(f"{figure:.3f}" for figure in figures_), cell(skip, name), cell(bayes, name)]
        for name, figures_ in THESIS_ANALOGY.items()
    ]
    return table(["Tables 4 and 5", "thesis: word2vec", "thesis: Algorithm 4", "word2vec (gensim)", "bayes"], lines)


def chunking_table(study: Study) -> str:
    """Write Table 7."""
    lines = [["thesis", name, *pair] for name, pair in THESIS_CHUNKING.items()]
    for key, row in study.rows.items():
        if key.startswith("chunking/"):
            lines.append(["ours", key.split("/")[1], f"{100 * row['development_f1']:.2f}", f"{100 * row['f1']:.2f}"])
    return table(["Table 7", "features", "development", "test"], lines)
