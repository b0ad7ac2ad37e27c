"""Text classification with word vectors: PA, whose vectors stay, beside RPA, whose vectors move (Denis and Ralaivola, 2017)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from firthian.adapt.labeled import LabeledText, read_labeled
from firthian.datasets import locate
from firthian.errors import FirthianError, require, suggest
from firthian.evaluate.suites import whole_number
from firthian.runtime.progress import Progress, Silent
from firthian.runtime.run import Run

#: The paper's five tasks: short name -> data set.
TASKS = {
    "comp": "20news-comp",
    "religion": "20news-religion",
    "sports": "20news-sports",
    "trec": "trec",
    "imdb": "imdb",
}

#: Each method: which classifier, and how it departs from its defaults.
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

    With ``cv`` folds, C, lam and passes are chosen by cross-validation on the training part; without, they are the
    defaults. ``grid`` is ``usual``, ``paper`` or values by name. ``vectors`` may also be ``random:DIM`` or ``onehot``
    (PA only).
    """
    tasks, methods, cv, grid = _read(tasks, methods, cv, grid)
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
    """Fit one method on the training part of a labeled text and judge it on the test part."""
    from firthian import adapt
    from firthian.adapt.report import scores

    name, fixed = METHODS[method]
    classifier = getattr(adapt, name)(vectors, random_state=seed, **{**parameters, **fixed})
    texts, labels = text.part("train")
    test, truth = text.part("test")
    chosen: dict[str, Any] = {}
    if cv:
        from firthian.adapt.search import USUAL_GRID

        wanted = {key: values for key, values in (grid or USUAL_GRID).items() if key not in fixed}
        found = adapt.search_parameters(classifier, texts, labels, wanted, folds=cv, workers=workers)
        classifier.set_params(**found.best)
        chosen = {"cv_accuracy": found.accuracy}
    classifier.fit(texts, labels)
    result = scores(truth, classifier.predict(test).tolist(), classifier.classes_.tolist())
    searched = ("C", "lam", "passes", "weighting", "one_hot")
    used = {key: value for key, value in classifier.get_params().items() if key in searched}
    return {"accuracy": result["accuracy"], "macro_f1": result["macro_f1"], "params": used, **chosen}


def suite(vectors: Any, options: Any, run_: Run) -> dict[str, Any]:
    """Run as a suite of ``firthian.evaluate``."""
    return run(vectors, **options.more, seed=run_.seed, workers=run_.threads.workers, progress=run_.progress)


def check(
    *,
    tasks: str | Iterable[str] = tuple(TASKS),
    methods: str | Iterable[str] = tuple(METHODS),
    cv: int | str = 0,
    grid: Mapping[str, Any] | str | None = None,
) -> None:
    """Say before any work which option is wrong, and whether the data and scikit-learn are here."""
    for task in _read(tasks, methods, cv, grid)[0]:
        locate(TASKS[task])
    require("sklearn", "sklearn")


def _read(
    tasks: str | Iterable[str], methods: str | Iterable[str], cv: int | str, grid: Mapping[str, Any] | str | None
) -> tuple[list[str], list[str], int, Mapping[str, Any] | None]:
    """Check the options and give what they mean."""
    return (
        _names(tasks, TASKS, "task"),
        _names(methods, METHODS, "method"),
        whole_number("cv", cv, 0),
        _grid(grid) if isinstance(grid, str) else grid,
    )


def _grid(name: str) -> Mapping[str, Any]:
    from firthian.adapt.search import PAPER_GRID, USUAL_GRID

    known = {"usual": USUAL_GRID, "paper": PAPER_GRID}
    if name not in known:
        raise FirthianError(f"there is no grid {name!r}", hint=suggest(name, known))
    return known[name]


def _names(wanted: str | Iterable[str], known: Mapping[str, Any], what: str) -> list[str]:
    names = wanted.replace("+", ",").split(",") if isinstance(wanted, str) else list(wanted)
    for name in names:
        if name not in known:
            raise FirthianError(f"there is no {what} {name!r}", hint=suggest(name, known))
    return names
