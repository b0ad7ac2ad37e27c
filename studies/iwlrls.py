"""IWLRLS' Figure 1 and Tables 2 to 6: families, iterations, power, truncation, penalty, biases. ``python -m studies.iwlrls``

The paper's corpus is text8 (17 M tokens of Wikipedia, about 11,000 words seen 50 times); ours is enwiki17m with the same
limits. ``--quick`` tries everything on 10 MB. Rows that are known are not computed again.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import firthian as ft
from firthian.learn.likelihood.iwlrls import IWLRLS, Sweeps
from firthian.learn.recipes import find_recipe
from firthian.runtime.run import Run
from firthian.vectors.transform import combine
from studies.common import Study, arguments, corpus_path, scores, timed
from studies.iwlrls_page import write_page


@dataclass(frozen=True)
class Scale:
    """How large the study is."""

    min_count: int
    dimension: int
    #: Iterations of Figure 1 and Table 2.
    iterations: int
    #: Passes of Adagrad.
    passes: int


FULL, QUICK = Scale(50, 150, 10, 15), Scale(20, 50, 3, 3)

COUNTING: dict[str, dict[str, Any]] = {
    "harmonic": {"window": 10, "weighting": "harmonic"},
    "dynamic": {"window": 5, "weighting": "dynamic", "sample": 1e-3},
}


class Bench:
    """Counts of the corpus, made when they are first needed, and what is done with them."""

    def __init__(self, quick: bool) -> None:
        self.scale = QUICK if quick else FULL
        self.corpus = corpus_path(quick)

    @functools.cache  # noqa: B019  there is one bench
    def counts(self, kind: str) -> Any:
        return ft.count(self.corpus, min_count=self.scale.min_count, **COUNTING[kind])

    def kind(self, recipe: str) -> str:
        """Each family is counted as its recipe says."""
        return "harmonic" if find_recipe(recipe).counting.get("weighting") == "harmonic" else "dynamic"

    def trained(self, recipe: str, **options: Any) -> dict[str, Any]:
        """Train once, evaluate."""
        counts = self.counts(self.kind(recipe))
        vectors, seconds = timed(lambda: ft.train(counts, recipe, vector_size=self.scale.dimension, **options))
        stats = {key: value for key, value in vectors.provenance.stats.items() if key != "passes"}
        return {"scores": scores(vectors), "seconds": round(seconds, 1), "stats": stats}

    def followed(self, recipe: str, iterations: int, **options: Any) -> list[dict[str, Any]]:
        """Train, and evaluate after every iteration: the factors go on, so this costs no more than the last of them."""
        counts, run = self.counts(self.kind(recipe)), Run.create()
        chosen = find_recipe(recipe)
        settings = chosen.settings({**options, "iterations": iterations})
        model = chosen.load("model")(counts, run, **chosen.part("model", settings))
        method = Sweeps(IWLRLS(**chosen.part("solver", settings)))
        factors, seconds = timed(lambda: method.start(model, self.scale.dimension, run))
        found = []
        for iteration in range(iterations):
            values, more = timed(
                functools.partial(method.fit_first, model, factors, run, "first")
                if iteration == 0
                else functools.partial(method.fit_next, model, factors, iteration, run)
            )
            seconds += more
            words = combine(factors.words, factors.contexts, settings["combine"])
            judged = scores(ft.Vectors(words.copy(), counts.vocabulary))
            found.append(
                {"iteration": iteration + 1, "seconds": round(seconds, 1), "objective": values[-1], "scores": judged}
            )
        return found


#: The paper's Tables 2 and 6 have a penalty and no diagonal (its section 6.2); Tables 3 and 5 leave all weights as they are.
_REGULARIZED: dict[str, Any] = {"ridge": 0.002, "diagonal": False}
_UNCUT: dict[str, Any] = {"truncate_weights": 1e9}

#: Our weights are divided by the largest that there may be, so the penalty that means the same is, too.
_SCALE = 1e9**0.75

#: Rows with a score after every iteration: name -> recipe, iterations (0: as many as the scale says), options.
FOLLOWED: dict[str, tuple[str, int, dict[str, Any]]] = {
    "tweedie, both biases": ("tweedie", 0, {}),
    "tweedie, word bias": ("tweedie", 5, {"bias": "row"}),
    "poisson": ("poisson", 5, {}),
    "multinomial": ("multinomial", 5, {}),
    "negative-binomial": ("negative-binomial", 3, {}),
    "tweedie, both biases, regularized": ("tweedie", 5, _REGULARIZED),
    "tweedie, word bias, regularized": ("tweedie", 0, {"bias": "row", **_REGULARIZED}),
    "poisson, regularized": ("poisson", 0, _REGULARIZED),
    "multinomial, regularized": ("multinomial", 0, _REGULARIZED),
    "tweedie, weights not cut": ("tweedie", 2, _UNCUT),
    **{
        f"tweedie, power {power:g}, weights not cut": ("tweedie", 2, {"power": power, **_UNCUT})
        for power in (1.1, 1.5, 1.75, 1.9)
    },
    "tweedie, counts cut at 10": ("tweedie", 2, {"truncate_counts": 10.0, **_UNCUT}),
    "tweedie, ridge, no diagonal, weights not cut": (
        "tweedie",
        2,
        {"ridge": 0.002 / _SCALE, "diagonal": False, **_UNCUT},
    ),
}

#: Rows with one score.
TRAINED: dict[str, tuple[str, dict[str, Any]]] = {
    **{
        f"{name}, stopped by held-out pairs": (
            name.split(",")[0],
            {"iterations": 0, "early_stop": True, **_REGULARIZED, **more},
        )
        for name, more in (
            ("tweedie, word bias, regularized", {"bias": "row"}),
            ("poisson, regularized", {}),
            ("multinomial, regularized", {}),
        )
    },
    "tweedie, power found on held-out pairs": ("tweedie", {"power": "auto"}),
    "tweedie, Adagrad, one step": ("tweedie", {"solver": "adagrad", "epochs": 0}),
    "tweedie, Adagrad, two iterations": ("tweedie", {"solver": "adagrad", "epochs": 0, "iterations": 2}),
    "gaussian": ("gaussian", {}),
    "gaussian, log link": ("gaussian", {"link": "log"}),
    "binomial (sgns)": ("sgns", {}),
    "binomial (sgns), unseen pairs exact": ("sgns", {"unseen": "exact"}),
    "binomial (sgns), unseen pairs sampled": ("sgns", {"unseen": "sampled"}),
}


def main(given: Sequence[str] | None = None) -> None:
    parser = arguments(__doc__)
    parser.add_argument("--only", default="", help="only rows whose name holds this; the page is not written")
    chosen = parser.parse_args(given)
    study, bench = Study.of("iwlrls", chosen), Bench(chosen.quick)
    for name, (recipe, number, options) in FOLLOWED.items():
        if chosen.only in name and not chosen.page:
            iterations = number or bench.scale.iterations
            study.row(name, functools.partial(bench.followed, recipe, iterations, **options))
    for name, (recipe, options) in TRAINED.items():
        if chosen.only in name and not chosen.page:
            # 0 stands for what the scale says
            given = {"iterations": bench.scale.iterations, "epochs": bench.scale.passes}
            filled = {key: given[key] if key in given and value == 0 else value for key, value in options.items()}
            study.row(name, functools.partial(bench.trained, recipe, **filled))
    if not chosen.only:
        words = study.row("words", lambda: len(bench.counts("dynamic").vocabulary))
        write_page(study, TRAINED, bench.scale.min_count, bench.scale.dimension, words)


if __name__ == "__main__":
    main()
