"""Train several recipes, each on counts with its own settings, evaluate them together, and report what each cost."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from firthian._version import __version__
from firthian.counts.counting import CountingContext, CountJob, count_temporary
from firthian.counts.counts import Counts
from firthian.counts.tokens import Tokens
from firthian.disk.artifact import printable, write_manifest
from firthian.disk.atomic import check_not_source, new_folder, write_file
from firthian.errors import FirthianError, from_os_error
from firthian.evaluate.report import Evaluation
from firthian.evaluate.run import Plan
from firthian.learn.recipes import find_recipe
from firthian.learn.train import TrainingPlan, is_counts, learn
from firthian.runtime.cluster import open_executor
from firthian.runtime.executor import Executor
from firthian.runtime.memory import anonymous_bytes
from firthian.runtime.progress import Progress, usual_progress
from firthian.runtime.run import Run
from firthian.runtime.table import Column, Table, Tabular
from firthian.text.readers import open_corpus, readable_again, reading_settings
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.vectors import Vectors

KIND = "report"


@dataclass(frozen=True)
class Candidate:
    """One row of a comparison: a recipe with its options, under a name.

    >>> Candidate.read("psd:cut=0.02,dim=50")
    Candidate(name='psd:cut=0.02,dim=50', recipe='psd', options={'cut': '0.02'}, vector_size=50)
    """

    name: str
    recipe: str
    options: Mapping[str, Any] = field(default_factory=dict)
    vector_size: int | None = None

    @classmethod
    def read(cls, text: str) -> Candidate:
        """Read ``NAME`` or ``NAME:option=value,option=value``; ``dim`` is the vector size."""
        recipe, _, rest = text.partition(":")
        find_recipe(recipe)
        options: dict[str, Any] = {}
        for pair in filter(None, rest.split(",")):
            key, equals, value = pair.partition("=")
            if not equals:
                raise FirthianError(f"{text}: expected option=value, got {pair}", hint="as in psd:cut=0.02,dim=50")
            options[key.strip().replace("-", "_")] = value.strip()
        size = options.pop("dim", options.pop("vector_size", None))
        if size is not None and not str(size).isdecimal():
            raise FirthianError(f"{text}: dim must be an integer", hint="for example psd:dim=50")
        find_recipe(recipe).settings(options)
        return cls(text, recipe, options, int(size) if size is not None else None)

    def size(self, default: int | None) -> int | None:
        """Return its vector size; recipes that have none ignore the default."""
        return default if self.vector_size is None and find_recipe(self.recipe).dimension else self.vector_size


@dataclass(frozen=True)
class Entry:
    """The result of a candidate and its cost."""

    name: str
    recipe: str
    vector_size: int
    words: int
    counting: str
    counting_seconds: float
    training_seconds: float
    peak_bytes: int
    record: dict[str, Any]


@dataclass(frozen=True, repr=False)
class Comparison(Tabular):
    """All entries, in the order requested, and their evaluation."""

    entries: list[Entry]
    evaluation: Evaluation
    machine: dict[str, Any]

    @property
    def table(self) -> Table:
        """One line per score, with what training cost."""
        costs = {
            entry.name: (entry.counting_seconds, entry.training_seconds, entry.peak_bytes) for entry in self.entries
        }
        scores = self.evaluation.table
        more = (Column("counting_seconds", float), Column("training_seconds", float), Column("peak_bytes", int))
        return Table("Comparison", [*scores.columns, *more], [[*row, *costs[row[0]]] for row in scores.rows])

    def __repr__(self) -> str:
        return str(self.evaluation)

    def plot(self) -> Any:
        """Return a matplotlib figure of all scores, with their intervals."""
        from firthian.compare.page import plot_scores

        return plot_scores(self.evaluation)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON types."""
        entries = [vars(entry) for entry in self.entries]
        return {"entries": entries, "evaluation": self.evaluation.to_dict(), "machine": self.machine}


def compare_recipes(
    source: Any,
    recipes: Sequence[str | Candidate],
    output: str | os.PathLike[str] | None = None,
    *,
    vector_size: int | None = None,
    counting: Mapping[str, Any] | None = None,
    suite: str = "similarity,analogy",
    sets: Any = None,
    seed: int = 1,
    workers: int | None = None,
    cluster: str | Executor | None = None,
    memory: str | int | None = None,
    force: bool = False,
    progress: Progress | None = None,
    subwords: str = "off",
) -> Comparison:
    """Train, evaluate and time several recipes; with ``output``, write vectors, ``report.html`` and ``report.json`` there.

    All recipes use the counts if ``source`` is counts. A corpus is counted with each recipe's settings, changed by
    ``counting``, and once for equal settings. ``subwords`` is that of ``firthian.train``. What cannot be trained or
    evaluated is an error before any training.
    """
    progress = progress or usual_progress()
    candidates = [item if isinstance(item, Candidate) else Candidate.read(item) for item in recipes]
    _check(candidates)
    if output is not None:
        check_not_source(output, source.path if isinstance(source, Counts) else source)
    tests = Plan.make(suite, sets)
    settings = dict(counting or {})
    from firthian.compare.page import page

    with ExitStack() as stack:
        executor = stack.enter_context(open_executor(cluster, workers))
        if not is_counts(source):
            corpus = open_corpus(source, **reading_settings(settings))
            source = stack.enter_context(readable_again(corpus))
        plans = {
            item.name: TrainingPlan.create(
                source, item.recipe, item.options, item.size(vector_size), seed, settings, subwords
            )
            for item in candidates
        }
        bench = _Bench(Run.create(seed, None, memory, progress, executor=executor))
        if output is None:
            return bench.compare(candidates, plans, tests, None)
        with new_folder(output, force) as folder:
            result = bench.compare(candidates, plans, tests, folder / "vectors")
            write_manifest(folder / "report.json", KIND, json.loads(json.dumps(result.to_dict())))
    # Written into the finished folder: an error here costs nothing that was trained.
    try:
        write_file(Path(output) / "report.html", printable(page(result)).encode())
    except OSError as error:
        raise from_os_error(error) from error
    return result


def _check(candidates: list[Candidate]) -> None:
    if not candidates:
        raise FirthianError("no recipes to compare", hint="pass at least two")
    names = [candidate.name for candidate in candidates]
    for candidate in candidates:
        name = candidate.name
        if names.count(name) > 1:
            raise FirthianError(f"{name} is listed twice", hint="name each recipe once, or with different options")
        if find_recipe(candidate.recipe).source == "vectors":
            raise FirthianError(f"{name} learns from vectors", hint="use firth train, then firth evaluate")


@dataclass(frozen=True)
class _Prepared:
    """A recipe that can be trained: its plan, its words, and its counts unless it reads the text itself."""

    plan: TrainingPlan
    vocabulary: Vocabulary
    counts: Counts | None = None
    counting: str = "the text itself"
    seconds: float = 0.0


class _Bench:
    """Counts what is needed, once each, and trains one recipe after another."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.context = CountingContext(run.executor, run.budget, run.progress)
        self.counted: dict[str, tuple[Counts, float]] = {}
        #: Vocabularies by all that they depend on: tokenizer, limits, phrases.
        self.vocabularies: dict[tuple[Any, ...], Vocabulary] = {}

    def compare(
        self, candidates: list[Candidate], plans: Mapping[str, TrainingPlan], tests: Plan, keep: Path | None
    ) -> Comparison:
        """Train and evaluate all; ``keep`` is a folder for the vectors."""
        # Recipes that read the text come last: by then its words are often known from counts.
        order = sorted(plans, key=lambda name: plans[name].recipe.source == "tokens")
        prepared = {name: self._prepare(plans[name]) for name in order}
        # Nobody should learn after hours of training that the vectors cannot be evaluated.
        for name, item in prepared.items():
            tests.check_vocabulary(name, item.vocabulary)
        entries, results = [], {}
        begin = anonymous_bytes()
        for candidate in candidates:
            name = candidate.name
            # Memory that earlier recipes left behind does not count.
            before = anonymous_bytes() - begin
            entry, vectors = self._train(candidate, prepared[name])
            entries.append(replace(entry, peak_bytes=max(0, entry.peak_bytes - before)))
            if keep is not None:
                keep.mkdir(exist_ok=True)
                place = keep / _file_name(name)
                vectors.save(place)
                # Mapped, so that trained vectors do not stay in memory; they move to their place with the folder.
                vectors = Vectors.load(place)
            results[name] = vectors
        evaluation = tests.evaluate(results, self.run)
        return Comparison(entries, evaluation, _machine(self.run.executor.workers))

    def _prepare(self, plan: TrainingPlan) -> _Prepared:
        """Get what a recipe learns from; raise if it cannot be trained on that or needs too much memory."""
        prepared = self._read(plan) if plan.recipe.source == "tokens" else self._count(plan)
        pairs = 0 if prepared.counts is None else prepared.counts.pairs
        problem = plan.problem(len(prepared.vocabulary), int(prepared.vocabulary.counts.sum()), pairs)
        plan.check_memory(problem, self.run.budget)
        return prepared

    def _count(self, plan: TrainingPlan) -> _Prepared:
        """Open the counts, or count the corpus unless it was counted with the same settings."""
        if is_counts(plan.source):
            counts = plan.source if isinstance(plan.source, Counts) else Counts.load(plan.source)
            return _Prepared(plan, counts.vocabulary, counts, "as given")
        settings = sorted(plan.count_settings.items())
        key = ", ".join(f"{name}={value}" for name, value in settings if name != "seed") or "defaults"
        if key not in self.counted:
            begin = time.perf_counter()
            counts = count_temporary(plan.count_job, self.context)
            self.counted[key] = counts, time.perf_counter() - begin
            self.vocabularies[_words_of(plan.count_job)] = counts.vocabulary
        counts, seconds = self.counted[key]
        return _Prepared(plan, counts.vocabulary, counts, key, seconds)

    def _read(self, plan: TrainingPlan) -> _Prepared:
        """Find the words that a recipe will see in the text."""
        key = _words_of(plan.count_job)
        if key not in self.vocabularies:
            with Tokens.read(plan.count_job, self.context) as tokens:
                self.vocabularies[key] = tokens.vocabulary
        return _Prepared(plan, self.vocabularies[key])

    def _train(self, candidate: Candidate, item: _Prepared) -> tuple[Entry, Vectors]:
        vectors = learn(item.plan, self.run, counts=item.counts)
        record = {key: getattr(vectors.provenance, key) for key in ("options", "objective", "status", "stats")}
        seconds, peak = vectors.measured["seconds"], vectors.measured["peak_bytes"]
        entry = Entry(
            candidate.name, candidate.recipe, vectors.vector_size, len(vectors), item.counting, round(item.seconds, 3),
            seconds, peak, record,
        )  # fmt: skip
        return entry, vectors


def _words_of(job: CountJob) -> tuple[Any, ...]:
    """Return everything that the vocabulary depends on."""
    return job.tokenizer, job.limits, job.phrases


def _file_name(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_.=" else "_" for letter in name)


def _machine(workers: int) -> dict[str, Any]:
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "workers": workers,
        "python": platform.python_version(),
        "firthian": __version__,
    }
