"""Parameter search by cross-validation on the training examples; one run serves every number of passes."""

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
from firthian.adapt.learner import predict_codes
from firthian.arrays import Array
from firthian.errors import suggest
from firthian.runtime.executor import Threads
from firthian.runtime.progress import Progress, usual_progress

#: The paper's grid (section 5.4).
PAPER_GRID: dict[str, list[Any]] = {
    "C": [10.0**k for k in (-6, -4, -2, 0, 2, 4, 6)],
    "lam": [10.0**k for k in range(-3, 4)],
    "passes": [1, 5, 10],
}

#: The default grid: the region where good values lie.
USUAL_GRID: dict[str, list[Any]] = {
    "C": [0.003, 0.01, 0.03, 0.1, 0.3, 1.0],
    "lam": [1e-4, 1e-3, 1e-2, 1e-1],
    "passes": [1, 2, 5, 10],
}

#: Parameters that change the documents' vectors; those are built once per combination.
_REPRESENTATION = ("one_hot", "weighting", "scaling")

#: Parameters that can be searched; the others change the vocabulary or the word vectors.
_SEARCHED = (*_REPRESENTATION, "C", "lam", "passes", "inner", "averaged", "class_weight", "multi_class")


@dataclass(frozen=True)
class SearchResult:
    """The best parameters, their cross-validated accuracy, and every candidate (those dropped early have fewer folds)."""

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
    """Cross-validate every candidate of a grid on the same stratified folds; return the best.

    With ``race``, folds run in rounds and only the better candidates stay, as in successive halving; the winner has run
    on every fold. The vocabulary comes from all the documents; labels of a held-out fold are never used. Ties go to the
    first candidate.

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
    counts, read = reader._start(documents, labels)
    codes = reader._start_classes(read)
    parts = stratified_folds(codes, [str(label) for label in reader.classes_], folds, reader.seed_)
    prepared = list(_prepare(reader, candidates, counts))
    scores = np.full((len(candidates), folds, len(passes)), np.nan)

    def task(job: tuple[int, int]) -> list[float]:
        number, fold = job
        return _try_fold(*prepared[number], codes, parts == fold, passes, fold)

    rounds = _rounds(folds, len(candidates)) if race else [(range(folds), len(candidates))]
    progress = progress or usual_progress()
    progress.start("cross-validation", sum(len(part) * left for part, left in rounds))
    alive = list(range(len(candidates)))
    for part, left in rounds:
        # Dropped candidates stay dropped, so that some run on every fold.
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
    """Return the fold of each example, with the same class proportions in each."""
    if not 2 <= folds <= codes.size:
        raise ParameterError(
            f"{folds} folds for {codes.size} examples", hint="use 2 folds or more, and at most one per example"
        )
    sizes = np.bincount(codes)
    if sizes.min() < 2:
        raise ParameterError(
            f"the label {names[int(sizes.argmin())]!r} has one example; cross-validation needs at least two",
            hint="add examples of it, drop it, or skip cross-validation",
        )
    generator = np.random.default_rng([seed, 1 << 33])
    # Dealt like cards, class after class, so fold sizes differ by at most one.
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
            raise ParameterError(f"`{name}` cannot be searched", hint=suggest(name, known))
        if isinstance(values, str) or not hasattr(values, "__len__"):
            raise ParameterError(f"the grid needs a list of values for `{name}`, got {values!r}", hint="use brackets")
        if not len(values):
            raise ParameterError(f"the grid has no value for {name}", hint="add one or more")
    for number in grid.get("passes", ()):
        # The candidates, which are checked one by one, do not include passes.
        copy.copy(estimator).set_params(passes=number)._check_parameters()
    return grid


def _prepare(
    reader: DocumentClassifier, candidates: list[dict[str, Any]], counts: Any
) -> Iterator[tuple[DocumentClassifier, Examples]]:
    """Yield each candidate as a classifier, with its examples."""
    examples: dict[tuple[Any, ...], Examples] = {}
    for candidate in candidates:
        classifier = copy.copy(reader).set_params(**candidate)
        classifier._check_parameters()
        key = tuple(getattr(classifier, name) for name in _REPRESENTATION)
        if key not in examples:
            examples[key] = classifier._examples(counts)
        yield classifier, examples[key]


def _try_fold(
    classifier: DocumentClassifier, examples: Examples, codes: Array, held_out: Array, passes: list[int], fold: int
) -> list[float]:
    """Train on all folds but one; return the accuracy on that one after each number of passes."""
    train, test = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    seen, unseen = examples[train], examples[test]
    ensemble = classifier._new_ensemble()
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
    """Return the folds of each round and its number of candidates.

    >>> _rounds(10, 24)
    [(range(0, 2), 24), (range(2, 5), 8), (range(5, 10), 3)]
    """
    ends = sorted({0, max(1, folds // 5), max(1, folds // 2), folds})
    return [
        (range(first, last), min(candidates, max(3, -(-candidates // 3**n))))
        for n, (first, last) in enumerate(itertools.pairwise(ends))
    ]


def _means(scores: Array) -> Array:
    """Average over finished folds; NaN if there are none."""
    done = np.sum(~np.isnan(scores), axis=1)
    return np.where(done > 0, np.nansum(scores, axis=1) / np.maximum(done, 1), np.nan)
