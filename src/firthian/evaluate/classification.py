"""Text classification: PA, with fixed vectors, next to RPA, which learns them (Denis and Ralaivola, 2017)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from firthian.adapt.labeled import LabeledText, read_labeled
from firthian.datasets import locate
from firthian.errors import FirthianError, require, suggest
from firthian.evaluate.run import EvaluationJob, whole_number
from firthian.runtime.progress import Progress, Silent
from firthian.runtime.run import Run

#: The paper's five tasks: short name -> data set.
TASKS = {
    "comp": "20news-comp", "religion": "20news-religion", "sports": "20news-sports", "trec": "trec", "imdb": "imdb",
}  # fmt: skip

#: Methods: the classifier, and parameters that differ from its defaults.
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "pa": ("PAClassifier", {}),
    "rpa": ("RPAClassifier", {}),
    "pa_single_pass": ("PAClassifier", {"passes": 1}),
    "rpa_single_pass": ("RPAClassifier", {"passes": 1}),
}


def run(
    vectors: Any,
    *,
    tasks: str | Iterable[str] = tuple(TASKS),
    methods: str | Iterable[str] = tuple(METHODS),
    cv: int | str = 0,
    grid: Mapping[str, Any] | str | None = None,
    seed: int = 1,
    workers: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Return ``{task: {method: {"accuracy", "macro_f1", "params"}}}`` on the test parts.

    With ``cv`` folds, C, lam and passes are chosen by cross-validation on the training part; without, the defaults are
    used. ``grid`` is ``usual``, ``paper`` or values by name. ``vectors`` may also be ``random:DIM`` or ``onehot`` (PA only).
    """
    tasks, methods, cv, grid = check(tasks, methods, cv, grid)
    progress = progress or Silent()
    progress.start("classification", len(tasks) * len(methods))
    results: dict[str, Any] = {}
    for task in tasks:
        text = read_labeled(str(locate(TASKS[task])))
        results[task] = {}
        for method in methods:
            results[task][method] = judge(vectors, text, method, cv=cv, grid=grid, seed=seed, workers=workers)
            progress.advance(1, f"{task} {method}")
    return results


def judge(
    vectors: Any,
    text: LabeledText,
    method: str,
    *,
    cv: int = 0,
    grid: Mapping[str, Any] | None = None,
    seed: int = 1,
    workers: int | None = None,
    **parameters: Any,
) -> dict[str, Any]:
    """Fit one method on the training part of a labeled text and score it on the test part."""
    from firthian import adapt
    from firthian.adapt.report import scores

    name, fixed = METHODS[method]
    classifier = getattr(adapt, name)(vectors, random_state=seed, **{**parameters, **fixed})
    texts, labels = text.part("train")
    test, truth = text.part("test")
    chosen: dict[str, Any] = {}
    if cv:
        from firthian.adapt.search import USUAL_GRID

        searched = {key: values for key, values in (grid or USUAL_GRID).items() if key not in fixed}
        search = adapt.search_parameters(classifier, texts, labels, searched, folds=cv, workers=workers)
        classifier.set_params(**search.best)
        chosen = {"cv_accuracy": search.accuracy}
    classifier.fit(texts, labels)
    result = scores(truth, classifier.predict(test).tolist(), classifier.classes_.tolist())
    shown = ("C", "lam", "passes", "weighting", "one_hot")
    used = {key: value for key, value in classifier.get_params().items() if key in shown}
    return {"accuracy": result["accuracy"], "macro_f1": result["macro_f1"], "params": used, **chosen}


def suite(vectors: Any, job: EvaluationJob, run_: Run) -> dict[str, Any]:
    """Run as a suite of ``firthian.evaluate``."""
    return run(vectors, **job.more, seed=run_.seed, workers=run_.threads.workers, progress=run_.progress)


def check(
    tasks: str | Iterable[str] = tuple(TASKS),
    methods: str | Iterable[str] = tuple(METHODS),
    cv: int | str = 0,
    grid: Mapping[str, Any] | str | None = None,
) -> tuple[list[str], list[str], int, Mapping[str, Any] | None]:
    """Convert the options; raise if one is invalid, or if data or scikit-learn is missing."""
    require("sklearn", "sklearn")
    from firthian.adapt.search import PAPER_GRID, USUAL_GRID

    names = _names(tasks, TASKS, "task")
    if isinstance(grid, str):
        grids = {"usual": USUAL_GRID, "paper": PAPER_GRID}
        grid = grids[_names([grid], grids, "grid")[0]]
    for task in names:
        locate(TASKS[task])
    return names, _names(methods, METHODS, "method"), whole_number("cv", cv), grid


def _names(given: str | Iterable[str], known: Mapping[str, Any], what: str) -> list[str]:
    names = given.replace("+", ",").split(",") if isinstance(given, str) else list(given)
    for name in names:
        if name not in known:
            raise FirthianError(f"unknown {what} {name!r}", hint=suggest(name, known))
    return names
