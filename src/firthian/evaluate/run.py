"""Evaluate vectors: run the suites, compare the models, give one table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firthian.errors import FirthianError
from firthian.evaluate.ranks import RESAMPLES
from firthian.evaluate.report import Evaluation
from firthian.evaluate.sets import Set, choose
from firthian.evaluate.suites import DEFAULT_SUITES, EvaluationOptions, Suite, check_options, find_suites
from firthian.evaluate.words import finder
from firthian.runtime.cluster import open_executor
from firthian.runtime.executor import Executor
from firthian.runtime.progress import Progress
from firthian.runtime.run import Run
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.vectors import Vectors

Source = Vectors | str | os.PathLike[str]


def evaluate(
    vectors: Source | Iterable[Source] | Mapping[str, Source],
    suite: str = DEFAULT_SUITES,
    sets: Iterable[Set] | str | None = None,
    *,
    oov: str = "skip",
    score: str = "cosine",
    restrict_vocab: int | None = None,
    resamples: int = RESAMPLES,
    seed: int = 1,
    workers: int | None = None,
    cluster: str | Executor | None = None,
    progress: Progress | None = None,
    **more: Any,
) -> Evaluation:
    """Say how good vectors are; of several, also whether they differ from the first beyond chance.

    ``vectors`` are vectors or where they are, a list of them, or a dictionary with their names. ``sets`` are names of
    common sets or files of your own, of word pairs or analogies; without them, every common set that is here is asked.
    ``oov`` says what becomes of items with unknown words: ``skip`` them, or count them with a score of ``zero``.
    ``score`` of a pair is its ``cosine``, ``euclidean`` (distance) or ``product-kernel`` (Gaussian vectors).
    Further arguments are options of the chosen suites. ``cluster`` names a Ray cluster that answers the analogies.

    >>> import firthian as ft
    >>> import numpy as np
    >>> vectors = ft.Vectors(np.array([[1.0, 0], [1, 1], [0, 1]]), ft.Vocabulary(["tea", "coffee", "moon"]))
    >>> pairs = ft.evaluate.Pairs("mine", [("tea", "coffee"), ("tea", "moon"), ("tea", "milk")], np.array([9.0, 2, 7]))
    >>> found = ft.evaluate(vectors, sets=[pairs]).to_dict()["similarity"]["mine"]
    >>> found["spearman"], found["covered"], found["missing"]
    (1.0, 2, ['milk'])
    """
    plan = Plan.make(
        suite, sets, oov=oov, score=score, restrict_vocab=restrict_vocab, resamples=resamples, more=more
    )  # fmt: skip
    with open_executor(cluster, workers) as executor:
        return plan.evaluate(vectors, Run.create(seed, workers, None, progress, executor=executor))


@dataclass(frozen=True)
class Plan:
    """What will be asked of vectors: suites, sets and options, all of them read and checked before any work."""

    suites: list[Suite]
    options: EvaluationOptions
    #: Common sets that are not to be had, and why.
    absent: Mapping[str, str]

    @classmethod
    def make(
        cls,
        suite: str = DEFAULT_SUITES,
        sets: Iterable[Set] | str | None = None,
        *,
        oov: str = "skip",
        score: str = "cosine",
        restrict_vocab: int | None = None,
        resamples: int = RESAMPLES,
        more: Mapping[str, Any] | None = None,
    ) -> Plan:
        """Read what the user wants, open the sets, and say what cannot be asked."""
        suites = find_suites(suite)
        check_options(suites, more or {})
        chosen, absent = choose(sets, [one.name for one in suites])
        options = EvaluationOptions(chosen, oov, score, restrict_vocab, resamples, more or {})
        # A suite of sets is left out when all the wanted sets belong to another.
        suites = [one for one in suites if chosen.get(one.name, [None])]
        for one in suites:
            one.check_early(options)
        return cls(suites, options, absent)

    def evaluate(self, vectors: Source | Iterable[Source] | Mapping[str, Source], run: Run) -> Evaluation:
        """Ask everything of all vectors."""
        results: dict[str, dict[str, Mapping[str, Any]]] = {}
        for name, source in _named(vectors):
            run.progress.start(f"evaluating {name}"[:40])
            opened = _open(source)
            self.check_vocabulary(name, opened.vocabulary)
            results[name] = {one.name: one.load()(opened, one.own(self.options), run) for one in self.suites}
        if not results:
            raise FirthianError("there are no vectors to evaluate", hint="give at least one")
        notes = [f"the set {name} is left out: {why}" for name, why in self.absent.items()]
        return Evaluation(results, _compare(results, run), notes)

    def check_vocabulary(self, name: str, vocabulary: Vocabulary) -> None:
        """Refuse to report on nothing: where there are only sets, at least one item of one set must be covered."""
        if any(one.name not in self.options.sets for one in self.suites):
            return
        find = finder(vocabulary, self.options.restrict_vocab or len(vocabulary))
        items = (item for opened in self.options.sets.values() for one in opened for item in one.words)
        if not any(all(find(word) >= 0 for word in item) for item in items):
            raise FirthianError(
                f"the vocabulary of {name} covers not one item of the test sets",
                hint="check the language and the case of the words",
            )


def _named(vectors: Source | Iterable[Source] | Mapping[str, Source]) -> Iterator[tuple[str, Source]]:
    """Return every model a name of its own."""
    if isinstance(vectors, Vectors | str | os.PathLike):
        vectors = [vectors]
    if isinstance(vectors, Mapping):
        yield from vectors.items()
        return
    seen: dict[str, int] = {}
    for source in vectors:
        name = source.provenance.recipe or "vectors" if isinstance(source, Vectors) else os.fspath(source)
        seen[name] = seen.get(name, 0) + 1
        yield (name if seen[name] == 1 else f"{name} ({seen[name]})"), source


def _open(source: Source) -> Vectors:
    if isinstance(source, Vectors):
        return source
    from firthian.vectors.formats import open_vectors

    return open_vectors(Path(source))


def _compare(results: Mapping[str, Mapping[str, Mapping[str, Any]]], run: Run) -> list[dict[str, Any]]:
    """Compare each model with the first, set by set."""
    first, *others = results
    return [
        {
            "vectors": other,
            "against": first,
            **{
                suite: {
                    name: found.compare(results[other][suite][name], run)
                    for name, found in part.items()
                    if hasattr(found, "compare")
                }
                for suite, part in results[first].items()
            },
        }
        for other in others
    ]
