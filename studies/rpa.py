"""The tables and figures of Denis and Ralaivola (2017), ours beside the paper's. ``python -m studies.rpa [--quick]``

Every cell is saved as soon as it is computed, so that a stopped run resumes; ``--page`` makes the page of what is
there. All parameters are chosen by cross-validation on training data. ``--parts``, ``--tasks`` and ``--rows`` choose cells.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

import firthian as ft
from firthian.adapt import PAClassifier, RPAClassifier, search_parameters
from firthian.adapt.documents import learn_vocabulary, tokenize
from firthian.adapt.labeled import LabeledText, read_labeled
from firthian.adapt.learner import INNER
from firthian.adapt.search import PAPER_GRID, stratified_folds
from firthian.datasets import locate
from firthian.evaluate.classification import TASKS
from firthian.text.tokenizer import Tokenizer
from firthian.text.types import VocabularyLimits
from studies import rpa_figures, rpa_page
from studies.common import ROOT, Study, arguments

ROWS = ("one-hot", "random-50", "random-100", "random-200", "glove-50", "own-200")

#: The paper's x is a 0/1 bag; the grid is finer than the paper's where its values are useful, and leaves out the rest.
RPA_GRID = {"C": [1e-3, 1e-2, 1e-1, 1.0], "lam": [1e-4, 1e-3, 1e-2, 1e-1], "passes": [1, 5, 10]}
PA_GRID = {"C": [1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0], "passes": [1, 5, 10]}
BEST_GRID = {"one_hot": [0.0, 3.0], "C": [1e-2, 3e-2, 1e-1], "lam": [1e-3, 1e-2], "passes": [2, 5, 10]}
PLAIN_GRID = {"weighting": ["binary", "tfidf"], "C": [3e-2, 1e-1, 3e-1, 1.0, 3.0], "passes": [5, 10, 20]}

#: The paper's grid (section 5.4), and smaller values of lam, so that none is chosen for want of a smaller one.
PRINTED_GRID = PAPER_GRID | {"lam": [*(10.0**k for k in range(-9, -3)), *PAPER_GRID["lam"]]}
PRINTED_ROWS = ("random-50", "glove-50")

#: C of the linear baselines.
LINEAR = {"logistic": [1.0, 3.0, 10.0, 30.0, 100.0], "svm": [0.1, 0.3, 1.0, 3.0, 10.0]}

#: Candidates for the defaults; lam is in units of one over the vectors' mean squared length, as ``auto`` is.
DEFAULT_GRID = {"weighting": ["binary", "tfidf"], "C": [0.01, 0.03, 0.1], "lam": [0.002, 0.02, 0.2], "passes": [2, 5]}
DEFAULT_ROWS = ("glove-50", "random-100")

#: Documents of IMDB that the defaults were chosen on, and that its large grids are raced on.
SAMPLE = 5000


class Work:
    """What cells are made of: the tasks, the vectors, and how thorough the search is."""

    def __init__(self, quick: bool, folds: int) -> None:
        self.quick = quick
        self.folds = 2 if quick else folds

    @functools.cache  # noqa: B019
    def text(self, task: str) -> LabeledText:
        """Read a task."""
        return read_labeled(str(locate(TASKS[task])))

    @functools.cache  # noqa: B019
    def vectors(self, row: str) -> Any:
        """Return the vectors of a row: GloVe 6B from its wheel, our own, random or none."""
        if row == "glove-50":
            return ft.load(locate("glove-6b-50d"))
        if row == "own-200":
            return own_vectors(self)
        return "onehot" if row == "one-hot" else row.replace("-", ":")

    def grid(self, grid: dict[str, list[Any]]) -> dict[str, list[Any]]:
        """Return a grid, thinned out for a quick study."""
        return {name: values[1::2] or values for name, values in grid.items()} if self.quick else grid

    def search(
        self, classifier: Any, texts: Any, labels: Any, grid: dict[str, list[Any]]
    ) -> tuple[dict[str, Any], float]:
        """Choose parameters on training texts and give their accuracy on held-out ones.

        Of many texts, as IMDB's, a sample races and the three best settings are tried on all: four fifths teach, one is asked.
        """
        grid = self.grid(grid)
        if len(texts) <= 2 * SAMPLE:
            found = search_parameters(classifier, texts, labels, grid, folds=self.folds)
            return found.best, found.accuracy
        order = np.random.default_rng(1).permutation(len(texts))

        def part(which: Any) -> tuple[list[str], list[str]]:
            return [texts[n] for n in which], [labels[n] for n in which]

        table = search_parameters(classifier, *part(order[:SAMPLE]), grid, folds=5).table
        ranked = sorted(table, key=lambda row: (-row["folds"], -row["accuracy"]))[:3]
        settings = [{name: row[name] for name in grid} for row in ranked]
        cut = len(texts) // 5
        scores = [
            clone(classifier).set_params(**setting).fit(*part(order[cut:])).score(*part(order[:cut]))
            for setting in settings
        ]
        return settings[int(np.argmax(scores))], float(max(scores))


def own_vectors(work: Work) -> Any:
    """Train sgns on enwiki70m and the training texts of all tasks, once; a quick study makes do with the tasks."""
    folder = ROOT / "build" / "studies" / ("quick/own" if work.quick else "own-200")
    if not folder.exists():
        texts = [
            text for task in TASKS if not (work.quick and task == "imdb") for text in work.text(task).part("train")[0]
        ]
        corpus = folder.with_suffix(".txt")
        corpus.parent.mkdir(parents=True, exist_ok=True)
        corpus.write_text("".join(" ".join(text.split()) + "\n" for text in texts))
        sources = [str(corpus)] if work.quick else [str(locate("enwiki70m")), str(corpus)]
        ft.train(sources, "sgns", vector_size=50 if work.quick else 200, counting={"min_count": 5}).save(folder)
        corpus.unlink()
    return ft.load(folder)


def searched(
    work: Work, row: str, task: str, kind: Any, grid: dict[str, list[Any]], unseen: str = "ignore", **fixed: Any
) -> dict[str, Any]:
    """Choose parameters on the training part, fit, judge on the test part.

    In cross-validation the words of a held-out fold are known and have the vectors they came with: what ``unseen="vectors"``
    does for the test part.
    """
    texts, labels = work.text(task).part("train")
    test, truth = work.text(task).part("test")
    classifier = kind(work.vectors(row), **fixed)
    chosen, held_out = work.search(classifier, texts, labels, grid)
    classifier.set_params(**chosen, unseen=unseen).fit(texts, labels)
    return {
        **judged(classifier.predict(test), truth),
        "cv": held_out,
        "folds": work.folds,
        "params": {**fixed, **chosen, "unseen": unseen},
        "least_lam": min(grid.get("lam", [0.0])),
    }


def best(work: Work, row: str, task: str) -> dict[str, Any]:
    """Everything the module offers: weighting, one-hot features, pairs of neighbors, chosen by cross-validation."""
    kind, grid = (PAClassifier, PLAIN_GRID) if row == "one-hot" else (RPAClassifier, BEST_GRID)
    unseen = "ignore" if row == "one-hot" else "vectors"
    # Single words were clearly worse on IMDB, the largest task.
    lengths = (2, 3) if task == "imdb" else (1, 2, 3) if row == "one-hot" else (1, 2)
    fixed = {} if row == "one-hot" else {"weighting": "tfidf"}
    cells = [searched(work, row, task, kind, grid, unseen, ngrams=ngrams, **fixed) for ngrams in lengths]
    return max(cells, key=lambda cell: cell["cv"]) | {"tried": [{k: c[k] for k in ("cv", "params")} for c in cells]}


def judged(predicted: Any, truth: Sequence[str]) -> dict[str, Any]:
    """Return the accuracy, and which examples are right (packed bits in hexadecimal), for McNemar's test."""
    right = np.asarray(predicted) == np.asarray(truth)
    return {"accuracy": float(right.mean()), "right": np.packbits(right).tobytes().hex()}


def linear(work: Work, kind: str, task: str) -> dict[str, Any]:
    """Logistic regression or a linear SVM on sublinear tf-idf; C and the longest n-gram by the cross-validation of ours."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import PredefinedSplit, cross_val_score
    from sklearn.svm import LinearSVC

    texts, labels = (np.array(part, dtype=object) for part in work.text(task).part("train"))
    test, truth = work.text(task).part("test")

    def model(C: float) -> Any:
        return LogisticRegression(C=C, max_iter=1000) if kind == "logistic" else LinearSVC(C=C)

    def represented(longest: int, *parts: Any) -> list[Any]:
        """Return tf-idf matrices; as in ours, the vocabulary and idf come from all training texts of a search."""
        vectorizer = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, longest)).fit(parts[0])
        return [vectorizer.transform(part) for part in parts]

    def validated(part: Any, folds: int) -> list[tuple[float, int, float]]:
        names, codes = np.unique(labels[part], return_inverse=True)
        split = PredefinedSplit(stratified_folds(codes, names.tolist(), folds, 1))
        matrices = {longest: represented(longest, texts[part])[0] for longest in (1, 2)}
        settings = itertools.product(matrices, work.grid({"C": LINEAR[kind]})["C"])
        return [(cross_val_score(model(C), matrices[n], labels[part], cv=split).mean(), n, C) for n, C in settings]

    if len(texts) <= 2 * SAMPLE:
        score, longest, C = max(validated(np.arange(len(texts)), work.folds), key=lambda entry: entry[0])
    else:
        # As in ``search``: a sample chooses three settings, a fifth of all texts one of these.
        order = np.random.default_rng(1).permutation(len(texts))
        held, rest = np.split(order, [len(texts) // 5])
        scores = []
        for _, n, c in sorted(validated(order[:SAMPLE], 5), key=lambda entry: -entry[0])[:3]:
            learned, asked = represented(n, texts[rest], texts[held])
            scores.append((model(c).fit(learned, labels[rest]).score(asked, labels[held]), n, c))
        score, longest, C = max(scores, key=lambda entry: entry[0])
    learned, asked = represented(longest, texts, np.array(test, dtype=object))
    return {
        **judged(model(C).fit(learned, labels).predict(asked), truth),
        "cv": float(score),
        "folds": work.folds,
        "params": {"C": C, "ngrams": longest},
    }


def candidates(work: Work, row: str, task: str) -> dict[str, Any]:
    """Cross-validate the candidates for the defaults on the training part; nothing of the test part is seen."""
    texts, labels = work.text(task).part("train")
    vectors = work.vectors(row)
    classifier = RPAClassifier(vectors)
    unit = 1 / mean_squared_length(classifier, texts, labels)
    grid = work.grid(DEFAULT_GRID)
    chosen = np.random.default_rng(1).permutation(len(texts))[: SAMPLE // 2]
    found = search_parameters(
        classifier, [texts[n] for n in chosen], [labels[n] for n in chosen],
        grid | {"lam": [unit * value for value in grid["lam"]]}, folds=2 if work.quick else 3, race=False,
    )  # fmt: skip
    names = ("weighting", "C", "lam", "passes")
    settings = itertools.product(*(grid[name] for name in names[:3]), sorted(grid["passes"]))
    return {
        "table": [
            {**dict(zip(names, setting, strict=True)), "accuracy": row["accuracy"]}
            for setting, row in zip(settings, found.table, strict=True)
        ]
    }


def mean_squared_length(classifier: RPAClassifier, texts: list[str], labels: list[str]) -> float:
    """Return the mean squared length of the vectors of a task's words, those without a vector apart."""
    classifier._start(texts, labels)
    lengths = np.sum(np.square(classifier.base_, dtype=np.float64), axis=1)
    return float(lengths[lengths > 0].mean())


def defaults(work: Work, row: str, task: str) -> dict[str, Any]:
    """No search at all: the mean over five shuffles."""
    texts, labels = work.text(task).part("train")
    test, truth = work.text(task).part("test")
    seeds = range(1, 3 if work.quick else 6)
    scores = [
        RPAClassifier(work.vectors(row), random_state=seed).fit(texts, labels).score(test, truth) for seed in seeds
    ]
    return {"accuracy": float(np.mean(scores)), "lowest": min(scores), "highest": max(scores)}


def sizes(work: Work, task: str) -> dict[str, Any]:
    """Table 1: examples, and words in all and more than once, in both parts together."""
    text = work.text(task)
    words = learn_vocabulary(tokenize(text.texts, Tokenizer()), VocabularyLimits(1))
    again = int(np.count_nonzero(words.counts > 1))
    return {
        "train": len(text.part("train")[0]),
        "test": len(text.part("test")[0]),
        "words": len(words),
        "repeated": again,
    }


def unknown(work: Work, row: str, task: str) -> dict[str, Any]:
    """Table 2: the share of words that occur more than once and have no vector."""
    words = learn_vocabulary(tokenize(work.text(task).texts, Tokenizer()), VocabularyLimits(2)).words
    vocabulary = work.vectors(row).vocabulary
    return {"rate": sum(word not in vocabulary for word in words) / len(words)}


def cells(work: Work, tasks: list[str], rows: list[str]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Name every cell and how it is made, the cheap ones of all tasks first."""
    for task in tasks:
        yield f"sizes/{task}", functools.partial(sizes, work, task)
    for task, row in itertools.product(tasks, rows):
        if row in ("glove-50", "own-200"):
            yield f"unknown/{row}/{task}", functools.partial(unknown, work, row, task)
    for row, task in itertools.product(DEFAULT_ROWS, tasks):
        yield f"candidates/{row}/{task}", functools.partial(candidates, work, row, task)
    for task, row in itertools.product(tasks, rows):
        if row != "one-hot":
            yield f"default/{row}/{task}", functools.partial(defaults, work, row, task)
    for task, row in itertools.product(tasks, rows):
        for part, only in (("many", {}), ("once", {"passes": [1]})):
            for method, kind, grid in (("pa", PAClassifier, PA_GRID), ("rpa", RPAClassifier, RPA_GRID)):
                if (row, method) != ("one-hot", "rpa"):
                    yield (
                        f"{part}/{row}/{task}/{method}",
                        functools.partial(searched, work, row, task, kind, grid | only, weighting="binary"),
                    )
    for inner, row, task in itertools.product(INNER[::-1], PRINTED_ROWS, [task for task in tasks if task != "imdb"]):
        # Non-hapax words, C by inverse class frequency, the last parameters: section 5 of the paper.
        fixed = {"weighting": "binary", "min_count": 2, "class_weight": "balanced", "averaged": False, "inner": inner}
        yield (
            f"printed/{row}/{task}/{inner}",
            functools.partial(searched, work, row, task, RPAClassifier, PRINTED_GRID, **fixed),
        )
    for task in tasks:
        for row in rows:
            if not row.startswith("random"):
                yield f"best/{row}/{task}", functools.partial(best, work, row, task)
        for kind in LINEAR:
            yield f"{kind}/{task}", functools.partial(linear, work, kind, task)


def figures(study: Study, quick: bool) -> None:
    """Make figures 1 and 2."""
    levels = [0.0, 2.0, 8.0] if quick else [0.0, 1.0, 2.0, 4.0, 7.0, 10.0]
    curves: dict[str, dict[float, float]] = {}
    for sigma in levels:
        for name, accuracy in study.row(
            f"figure1/{sigma}", functools.partial(rpa_figures.noise_level, sigma, quick)
        ).items():
            curves.setdefault("PA" if name == "pa" else f"RPA, {name}", {})[sigma] = accuracy
    rpa_figures.draw_noise(curves, study.picture("figure1"))
    rpa_figures.draw_planes(study.picture("figure2"))


def main(given: Sequence[str] | None = None) -> None:
    parser = arguments(__doc__)
    parser.add_argument("--tasks", default="")
    parser.add_argument("--rows", default="")
    parser.add_argument("--parts", default="", help="beginnings of names of cells, such as many,best; figures")
    parser.add_argument("--folds", type=int, default=10)
    chosen = parser.parse_args(given)
    study, work = Study.of("rpa", chosen), Work(chosen.quick, chosen.folds)
    tasks = [name for name in chosen.tasks.split(",") if name] or (["comp", "trec"] if chosen.quick else list(TASKS))
    rows = [name for name in chosen.rows.split(",") if name] or (
        ["one-hot", "random-50"] if chosen.quick else list(ROWS)
    )
    parts = [name for name in chosen.parts.split(",") if name]
    if not chosen.page:
        for name, make in cells(work, tasks, rows):
            wanted = not parts or name.partition("/")[0] in parts
            if wanted and not (chosen.quick and name.startswith("candidates/glove")):
                study.row(name, make)
        if not parts or "figures" in parts:
            figures(study, chosen.quick)
    study.write(rpa_page.page(study.rows, Path(study.picture("figure1")).name, Path(study.picture("figure2")).name))


if __name__ == "__main__":
    main()
