"""Choose parameters by cross-validation on the training examples alone, every number of passes from one run."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firthian.adapt.base import DocumentClassifier
from firthian.adapt.checks import ParameterError
from firthian.adapt.documents import Examples
from firthian.adapt.learner import Ensemble, predict_codes
from firthian.arrays import Array
from firthian.errors import suggest
from firthian.runtime.executor import Threads
from firthian.runtime.progress import Progress, Silent

#: The paper's grid (section 5.4).
PAPER_GRID: dict[str, list[Any]] = {
    "C": [10.0**k for k in (-6, -4, -2, 0, 2, 4, 6)],
    "lam": [10.0**k for k in range(-3, 4)],
    "passes": [1, 5, 10],
}

#: What ``firth adapt --grid`` searches: where good values are.
USUAL_GRID: dict[str, list[Any]] = {
    "C": [0.003, 0.01, 0.03, 0.1, 0.3, 1.0],
    "lam": [1e-4, 1e-3, 1e-2, 1e-1],
    "passes": [1, 2, 5, 10],
}

#: Parameters that change the documents' vectors, which are made once for each of their values.
_REPRESENTATION = ("one_hot", "weighting", "scaling")

#: Parameters that may be searched; others change the vocabulary or the vectors, and are choices of the user.
_SEARCHED = (*_REPRESENTATION, "C", "lam", "passes", "inner", "averaged", "class_weight", "multi_class")


@dataclass(frozen=True)
class SearchResult:
    """The best parameters, their cross-validated accuracy, and every setting tried (one that left early has few folds)."""

    best: dict[str, Any]
    accuracy: float
    folds: int
    table: list[dict[str, Any]]


def search_parameters(
    estimator: DocumentClassifier,
    documents: Any,
    labels: Any,
    grid: Mapping[str, Sequence[Any]] | None = None,
    *,
    folds: int = 10,
    race: bool = True,
    workers: int | None = None,
    progress: Progress | None = None,
) -> SearchResult:
    """Try every setting of the grid on the same stratified folds and give the best one.

    With ``race``, folds are done in rounds and only the better settings stay, as in successive halving; the winner has
    seen every fold. The vocabulary is that of all documents given, which are training documents; the labels of a
    held-out fold are never seen. Ties go to the setting named first.

    >>> from firthian.adapt import PAClassifier
    >>> texts = ["good fine film", "bad poor film", "fine good", "poor bad"] * 3
    >>> labels = ["+", "-", "+", "-"] * 3
    >>> search_parameters(PAClassifier("onehot"), texts, labels, {"C": [1e-6, 1]}, folds=2).accuracy
    1.0
    """
    grid = _checked(estimator, dict(USUAL_GRID if grid is None else grid))
    passes = sorted(set(grid.pop("passes", [estimator.passes])))
    candidates = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    reader = copy.copy(estimator)
    counts, given = reader._start(documents, labels)
    codes = reader._start_classes(given)
    parts = stratified_folds(codes, [str(label) for label in reader.classes_], folds, reader.seed_)
    shaped = list(_shape(reader, candidates, counts))
    scores = np.full((len(candidates), folds, len(passes)), np.nan)

    def task(job: tuple[int, int]) -> list[float]:
        number, fold = job
        return _try_fold(*shaped[number], codes, parts == fold, passes, fold)

    rounds = _rounds(folds, len(candidates)) if race else [(range(folds), len(candidates))]
    progress = progress or Silent()
    progress.start("cross-validation", sum(len(part) * left for part, left in rounds))
    alive = list(range(len(candidates)))
    for part, left in rounds:
        # Who has left stays away, or nobody would see every fold.
        means = np.nan_to_num(_means(scores).max(axis=1), nan=-1.0)
        alive = sorted(sorted(alive, key=lambda number: -means[number])[:left])
        jobs = [(number, fold) for number in alive for fold in part]
        for (number, fold), result in zip(jobs, Threads(workers).map(task, jobs), strict=True):
            scores[number, fold] = result
            progress.advance(1, f"best {np.nanmax(_means(scores)):.4f}")
    means, done = _means(scores), np.sum(~np.isnan(scores[:, :, 0]), axis=1)
    table = [
        {**candidate, "passes": number, "accuracy": float(means[n, place]), "folds": int(done[n])}
        for n, candidate in enumerate(candidates)
        for place, number in enumerate(passes)
    ]
    winner = max((row for row in table if row["folds"] == folds), key=lambda row: row["accuracy"])
    best = {name: value for name, value in winner.items() if name not in ("accuracy", "folds")}
    return SearchResult(best, winner["accuracy"], folds, table)


def stratified_folds(codes: Array, names: Sequence[str], folds: int, seed: int) -> Array:
    """Return the fold of each example, with the same mixture of classes in each."""
    if not 2 <= folds <= codes.size:
        raise ParameterError(f"{folds} folds of {codes.size} examples", hint="give 2 folds or more, 5 or 10 are usual")
    found = np.bincount(codes)
    if found.min() < 2:
        raise ParameterError(
            f"the label {names[int(found.argmin())]!r} has one example, which cannot be both learned from and held out",
            hint="give more examples of it, leave it out, or do without cross-validation",
        )
    generator = np.random.default_rng([seed, 1 << 33])
    # Dealt like cards, class after class: the folds differ by at most one example in all.
    order = np.lexsort((generator.random(codes.size), codes))
    parts = np.empty(codes.size, dtype=np.int64)
    parts[order] = np.arange(codes.size) % folds
    return parts


def _checked(estimator: DocumentClassifier, grid: dict[str, Sequence[Any]]) -> dict[str, Any]:
    known = [name for name in _SEARCHED if name in estimator.get_params()]
    if "lam" not in known:
        grid.pop("lam", None)
    for name, values in grid.items():
        if name not in known:
            raise ParameterError(f"{name} cannot be searched", hint=suggest(name, known))
        if not len(values):
            raise ParameterError(f"the grid has no value for {name}", hint="give one or more")
    for number in grid.get("passes", ()):
        # Passes are no part of the candidates, which are checked one by one.
        copy.copy(estimator).set_params(passes=number)._check_parameters()
    return grid


def _shape(
    reader: DocumentClassifier, candidates: list[dict[str, Any]], counts: Any
) -> Iterator[tuple[DocumentClassifier, Examples]]:
    """Return each candidate as a classifier, with the documents as it sees them."""
    made: dict[tuple[Any, ...], Examples] = {}
    for candidate in candidates:
        classifier = copy.copy(reader).set_params(**candidate)
        classifier._check_parameters()
        key = tuple(getattr(classifier, name) for name in _REPRESENTATION)
        if key not in made:
            made[key] = classifier._examples(counts)
        yield classifier, made[key]


def _try_fold(
    classifier: DocumentClassifier, examples: Examples, codes: Array, held_out: Array, passes: list[int], fold: int
) -> list[float]:
    """Learn from all folds but one; give the accuracy on that one after each number of passes."""
    train, test = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    seen, unseen = examples[train], examples[test]
    ensemble = Ensemble(
        classifier._ensemble_base(), classifier.classes_.size, classifier._has_one_hot(), classifier.multi_class
    )
    generator = np.random.default_rng([classifier.seed_, fold])
    accuracies = []
    for number in range(1, max(passes) + 1):
        ensemble.learn(
            seen, codes[train], float(classifier.C), classifier._class_weights(), classifier._rule(),
            [generator.permutation(train.size)],
        )  # fmt: skip
        if number in passes:
            predicted = predict_codes(ensemble.decide(unseen, bool(classifier.averaged)))
            accuracies.append(float(np.mean(predicted == codes[test])))
    return accuracies


def _rounds(folds: int, candidates: int) -> list[tuple[range, int]]:
    """Say which folds each round does and how many candidates take part.

    >>> _rounds(10, 24)
    [(range(0, 2), 24), (range(2, 5), 8), (range(5, 10), 3)]
    """
    ends = sorted({0, max(1, folds // 5), max(1, folds // 2), folds})
    return [
        (range(first, last), min(candidates, max(3, -(-candidates // 3**n))))
        for n, (first, last) in enumerate(itertools.pairwise(ends))
    ]


def _means(scores: Array) -> Array:
    """Average over the folds that were done; NaN where none was."""
    done = np.sum(~np.isnan(scores), axis=1)
    return np.where(done > 0, np.nansum(scores, axis=1) / np.maximum(done, 1), np.nan)
