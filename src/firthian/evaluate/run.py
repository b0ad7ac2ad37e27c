"""Evaluate vectors: the suites by name, their options, and one table of results.

A new suite is one row in ``SUITES`` and one module. Its function ``suite(vectors, job, run)`` returns a dictionary: name of
a set or task -> its results, each a plain dictionary or an object with ``to_dict()``. If that object also has
``compare(other, run)``, it compares two models and returns a dictionary with a ``p_value``, or one such dictionary per measure.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from firthian.datasets.word_tasks import Pairs, Questions
from firthian.errors import FirthianError, suggest
from firthian.evaluate.ranks import RESAMPLES
from firthian.evaluate.report import Evaluation
from firthian.evaluate.sets import Set, choose
from firthian.evaluate.words import SCORES, finder
from firthian.options import Option, declared, listing
from firthian.runtime.cluster import open_executor
from firthian.runtime.executor import Executor
from firthian.runtime.progress import Progress
from firthian.runtime.run import Run
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.vectors import Vectors

Source = Vectors | str | os.PathLike[str]

#: The suites that run if the user names none.
DEFAULT_SUITES = "similarity,analogy"


@dataclass(frozen=True)
class EvaluationOptions:
    """How test items are scored."""

    oov: Annotated[
        str,
        Option(
            "items with unknown words: skip them, count them as wrong (score zero), or compose them of subwords",
            choices=("skip", "zero", "subwords"),
        ),
    ] = "skip"
    score: Annotated[str, Option("similarity of a pair of words", choices=tuple(SCORES))] = "cosine"
    restrict_vocab: Annotated[int | None, Option("use only the N most frequent words, as in gensim", low=1)] = None
    resamples: Annotated[int, Option("bootstrap resamples; 0 for no interval", low=0)] = RESAMPLES

    def __post_init__(self) -> None:
        for name, option in declared(EvaluationOptions).items():
            option.check(getattr(self, name))


@dataclass(frozen=True)
class EvaluationJob(EvaluationOptions):
    """What a suite is asked to do: the options, the opened test sets by suite, and options that suites declare."""

    sets: Mapping[str, Sequence[Pairs | Questions]] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Suite:
    """A suite: its name, its module, the names of its own options, and their given values.

    The module's ``check``, if any, is called with the suite's own options before any work; it raises if one is invalid, or
    if data or a library is missing.
    """

    name: str
    module: str
    options: tuple[str, ...] = ()
    given: Mapping[str, str] = field(default_factory=dict)

    def load(self) -> Any:
        """Import the module."""
        return importlib.import_module(self.module)

    def check_early(self, job: EvaluationJob) -> None:
        """Raise, before any work, if the suite cannot run."""
        check = getattr(self.load(), "check", None)
        if check is not None:
            check(**self.own(job).more)

    def own(self, job: EvaluationJob) -> EvaluationJob:
        """Return the job without the options that only other suites declare."""
        mine = {name: value for name, value in job.more.items() if name in self.options}
        return replace(job, more={**mine, **self.given})


SUITES = {
    suite.name: suite
    for suite in (
        Suite("similarity", "firthian.evaluate.similarity"),
        Suite("analogy", "firthian.evaluate.analogy"),
        Suite("classification", "firthian.evaluate.classification", ("tasks", "methods", "cv", "grid")),
        Suite("chunking", "firthian.evaluate.chunking", ("l2", "style", "states", "train_sentences", "test_sentences")),
    )
}


def find_suites(names: str) -> list[Suite]:
    """Parse a list of suites such as ``similarity,analogy``; a suite's own options follow its name.

    >>> [suite.name for suite in find_suites("analogy, similarity")]
    ['analogy', 'similarity']
    >>> find_suites("classification:tasks=trec+comp:cv=5")[0].given
    {'tasks': 'trec+comp', 'cv': '5'}
    """
    requested = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not requested:
        raise FirthianError("no suite is named", hint=f"choose from: {', '.join(SUITES)}")
    return [_parse_suite(text) for text in requested]


def _parse_suite(text: str) -> Suite:
    name, *settings = text.split(":")
    if name not in SUITES:
        raise FirthianError(f"unknown suite {name!r}", hint=suggest(name, SUITES))
    suite = SUITES[name]
    given = {}
    for setting in settings:
        option, equals, value = setting.partition("=")
        if not equals:
            raise FirthianError(f"expected option=value, got {setting!r}", hint=f"write {name}:option=value")
        _check_suite_options([suite], [option])
        given[option] = value
    return replace(suite, given=given)


def _check_suite_options(suites: list[Suite], names: Iterable[str]) -> None:
    known = {name for suite in suites for name in suite.options}
    for name in names:
        if name not in known:
            close = suggest(name, sorted(known)) if known else "omit it"
            raise FirthianError(f"no chosen suite has an option {name}", hint=close)


def whole_number(name: str, value: int | str | None) -> int:
    """Return an option of a suite, which may be text from the command line, as a number of at least 0.

    >>> whole_number("cv", "5")
    5
    """
    return int(Option("omit it for the default", name=name, kind=int, low=0).check(value or 0))


@listing(EvaluationOptions)
def evaluate(
    vectors: Source | Iterable[Source] | Mapping[str, Source],
    suite: str = DEFAULT_SUITES,
    sets: Iterable[Set] | str | None = None,
    *,
    seed: int = 1,
    workers: int | None = None,
    cluster: str | Executor | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Evaluation:
    """Evaluate vectors; with several, also test whether they differ from the first by more than chance.

    ``vectors`` are vectors or a path, a list of them, or a dictionary with their names. ``sets`` are names of common test
    sets or files of your own (word pairs or analogies); by default, every common set on this machine.
    ``oov`` is what to do with items that have unknown words: ``skip`` them, or count them with a score of ``zero``.
    ``score`` is the similarity of a pair: ``cosine``, ``euclidean`` (distance) or ``product-kernel`` (Gaussian vectors).
    Further arguments are options of the chosen suites. ``cluster`` is a Ray cluster that solves the analogies.

    >>> import firthian as ft
    >>> import numpy as np
    >>> vectors = ft.Vectors(np.array([[1.0, 0], [1, 1], [0, 1]]), ft.Vocabulary(["tea", "coffee", "moon"]))
    >>> pairs = ft.evaluate.Pairs("mine", [("tea", "coffee"), ("tea", "moon"), ("tea", "milk")], np.array([9.0, 2, 7]))
    >>> result = ft.evaluate(vectors, sets=[pairs]).to_dict()["similarity"]["mine"]
    >>> result["spearman"], result["covered"], result["missing"]
    (1.0, 2, ['milk'])
    """
    plan = Plan.make(suite, sets, **settings)
    with open_executor(cluster, workers) as executor:
        return plan.evaluate(vectors, Run.create(seed, workers, None, progress, executor=executor))


@dataclass(frozen=True)
class Plan:
    """An evaluation to run: suites, sets and options, all read and checked before any work."""

    suites: list[Suite]
    job: EvaluationJob
    #: Common sets that are not available, and why.
    absent: Mapping[str, str]

    @classmethod
    def make(cls, suite: str, sets: Iterable[Set] | str | None = None, **settings: Any) -> Plan:
        """Read the options of ``EvaluationOptions`` and of the suites, open the sets, and raise if something is invalid."""
        suites = find_suites(suite)
        shared = {name: settings.pop(name) for name in declared(EvaluationOptions) if name in settings}
        _check_suite_options(suites, settings)
        chosen, absent = choose(sets, [one.name for one in suites])
        job = EvaluationJob(**shared, sets=chosen, more=settings)
        # A suite of sets is left out if all requested sets belong to another.
        suites = [one for one in suites if chosen.get(one.name, [None])]
        for one in suites:
            one.check_early(job)
        return cls(suites, job, absent)

    def evaluate(self, vectors: Source | Iterable[Source] | Mapping[str, Source], run: Run) -> Evaluation:
        """Run every suite on every model."""
        results: dict[str, dict[str, Mapping[str, Any]]] = {}
        for name, source in _named(vectors):
            run.progress.start(f"evaluating {name}"[:40])
            opened = _open(source)
            self.check_vocabulary(name, opened.vocabulary)
            results[name] = {one.name: one.load().suite(opened, one.own(self.job), run) for one in self.suites}
        if not results:
            raise FirthianError("there are no vectors to evaluate", hint="pass at least one")
        notes = [f"the set {name} is left out: {why}" for name, why in self.absent.items()]
        return Evaluation(results, _compare(results, run), notes)

    def check_vocabulary(self, name: str, vocabulary: Vocabulary) -> None:
        """Raise if a vocabulary covers no item of any test set, and no suite without sets runs."""
        if any(one.name not in self.job.sets for one in self.suites):
            return
        find = finder(vocabulary, self.job.restrict_vocab or len(vocabulary))
        items = (item for opened in self.job.sets.values() for one in opened for item in one.words)
        if not any(all(find(word) >= 0 for word in item) for item in items):
            message = f"the vocabulary of {name} covers no item of the test sets"
            raise FirthianError(message, hint="check the language and the case of the words")


def _named(vectors: Source | Iterable[Source] | Mapping[str, Source]) -> Iterator[tuple[str, Source]]:
    """Yield each model with a unique name."""
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

    def against(other: str) -> dict[str, Any]:
        return {
            suite: {
                name: result.compare(results[other][suite][name], run)
                for name, result in part.items()
                if hasattr(result, "compare")
            }
            for suite, part in results[first].items()
        }

    return [{"vectors": other, "against": first, **against(other)} for other in others]
