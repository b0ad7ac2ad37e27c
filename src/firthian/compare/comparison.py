"""Train the named recipes, each on the counts it likes, evaluate them together, and say what each cost."""

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
from firthian.counts.counting import CountingContext, CountJob, count
from firthian.counts.counts import Counts
from firthian.counts.tokens import Tokens
from firthian.disk.artifact import printable, write_manifest
from firthian.disk.atomic import check_not_source, new_folder, write_file
from firthian.errors import FirthianError, from_os_error
from firthian.evaluate.report import Evaluation
from firthian.evaluate.run import Plan
from firthian.learn.recipes import Recipe, find_recipe
from firthian.learn.train import check_dimension, check_memory, is_counts, refuse_counting, sizes_of, train
from firthian.runtime.cluster import open_executor
from firthian.runtime.executor import Executor
from firthian.runtime.memory import Problem, anonymous_bytes, check_budget
from firthian.runtime.progress import Progress, Silent
from firthian.runtime.run import Run
from firthian.text.copies import readable_again
from firthian.text.readers import open_corpus
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.vectors import Vectors

KIND = "report"


@dataclass(frozen=True)
class Candidate:
    """One row of a comparison: a recipe with its options, under a name of its own.

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
                raise FirthianError(f"{text}: {pair} is not option=value", hint="write it as psd:cut=0.02,dim=50")
            options[key.strip().replace("-", "_")] = value.strip()
        size = options.pop("dim", options.pop("vector_size", None))
        if size is not None and not str(size).isdecimal():
            raise FirthianError(f"{text}: dim must be a whole number", hint="write it as psd:dim=50")
        find_recipe(recipe).settings(options)
        return cls(text, recipe, options, int(size) if size is not None else None)


@dataclass(frozen=True)
class Entry:
    """What a candidate gave and what it cost."""

    name: str
    recipe: str
    vector_size: int
    words: int
    counting: str
    counting_seconds: float
    training_seconds: float
    peak_bytes: int
    record: dict[str, Any]


@dataclass(frozen=True)
class Comparison:
    """All entries, in the order asked for, and their evaluation."""

    entries: list[Entry]
    evaluation: Evaluation
    machine: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON knows it."""
        return {
            "entries": [vars(entry) for entry in self.entries],
            "evaluation": self.evaluation.to_dict(),
            "machine": self.machine,
        }


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
) -> Comparison:
    """Train, evaluate and time several recipes; with ``output``, write vectors, ``report.html`` and ``report.json`` there.

    On counts, all recipes use those. On a corpus, each counts with its own settings, changed by ``counting``; settings that
    are the same are counted once. What cannot be trained or evaluated is found out before anything is trained.
    """
    progress = progress or Silent()
    candidates = [item if isinstance(item, Candidate) else Candidate.read(item) for item in recipes]
    _check(candidates, source)
    if output is not None:
        check_not_source(output, source.path if isinstance(source, Counts) else source)
    plan = Plan.make(suite, sets)
    settings = dict(counting or {})
    with ExitStack() as stack:
        executor = stack.enter_context(open_executor(cluster, workers))
        if not is_counts(source):
            corpus = open_corpus(source, settings.pop("format", "auto"), settings.pop("text_column", None))
            source = stack.enter_context(readable_again(corpus))
        bench = _Bench(source, settings, seed, executor, memory, progress)
        if output is None:
            return bench.run(candidates, vector_size, plan, None)
        with new_folder(output, force) as folder:
            result = bench.run(candidates, vector_size, plan, folder / "vectors")
            write_manifest(folder / "report.json", KIND, json.loads(json.dumps(result.to_dict())))
    _write_page(result, Path(output) / "report.html")
    return result


def _write_page(result: Comparison, path: Path) -> None:
    """Write the page beside what is there already: whatever is wrong with it, nothing that was trained is lost."""
    from firthian.compare.page import page

    try:
        write_file(path, printable(page(result)).encode())
    except OSError as error:
        raise from_os_error(error) from error


def _check(candidates: list[Candidate], source: Any) -> None:
    if not candidates:
        raise FirthianError("no recipe is named", hint="give at least two with -m")
    names = [candidate.name for candidate in candidates]
    for name in names:
        if names.count(name) > 1:
            raise FirthianError(f"{name} is named twice", hint="give each recipe once, or with different options")
    for candidate in candidates:
        kind = find_recipe(candidate.recipe).source
        if kind == "tokens" and is_counts(source):
            raise FirthianError(f"{candidate.name} learns from text, not from counts", hint="give the corpus instead")
        if kind == "vectors":
            raise FirthianError(
                f"{candidate.name} learns from vectors", hint="train it with firth train, then use firth evaluate"
            )


@dataclass(frozen=True)
class _Ready:
    """A candidate that can be trained: the words it will know, what it learns from, and what getting that took."""

    candidate: Candidate
    vocabulary: Vocabulary
    data: Any
    vector_size: int | None
    counting: str
    seconds: float
    #: Further arguments of ``train``.
    more: Mapping[str, Any]


class _Bench:
    """Counts what is needed, once each, and trains one candidate after another."""

    def __init__(
        self,
        source: Any,
        counting: dict[str, Any],
        seed: int,
        executor: Executor,
        memory: str | int | None,
        progress: Progress,
    ) -> None:
        self.source = source
        self.counting = counting
        self.executor, self.progress = executor, progress
        self.budget = check_budget(memory)
        self.how: dict[str, Any] = {"cluster": executor, "memory": memory, "progress": progress}
        self.seed = seed
        self.counted: dict[str, tuple[Counts, float]] = {}
        #: Vocabularies by all that they depend on: tokenizer, limits, phrases.
        self.vocabularies: dict[tuple[Any, ...], Vocabulary] = {}

    def counts_for(self, recipe: Recipe) -> tuple[Counts, float, str]:
        """Return (counts, the seconds they took, what they are)."""
        if is_counts(self.source):
            refuse_counting(self.counting, "ready counts", hint="give the corpus instead")
            counts = self.source if isinstance(self.source, Counts) else Counts.load(self.source)
            return counts, 0.0, "as given"
        settings = self._settings(recipe)
        key = ", ".join(f"{name}={value}" for name, value in sorted(settings.items()) if name != "seed") or "defaults"
        if key not in self.counted:
            begin = time.perf_counter()
            counts = count(self.source, **settings, **self.how)
            self.counted[key] = counts, time.perf_counter() - begin
            self.vocabularies[_words_of(CountJob.create(self.source, **settings))] = counts.vocabulary
        return *self.counted[key], key

    def words_for(self, recipe: Recipe) -> Vocabulary:
        """Return the words that a recipe will find in the text."""
        job = CountJob.create(self.source, **self._settings(recipe))
        key = _words_of(job)
        if key not in self.vocabularies:
            with Tokens.read(job, CountingContext(self.executor, self.budget, self.progress)) as tokens:
                self.vocabularies[key] = tokens.vocabulary
        return self.vocabularies[key]

    def _settings(self, recipe: Recipe) -> dict[str, Any]:
        return {"seed": self.seed, **recipe.counting, **self.counting}

    def run(self, candidates: list[Candidate], vector_size: int | None, plan: Plan, keep: Path | None) -> Comparison:
        """Train and evaluate all."""
        # Recipes that read the text come last: by then its words are often known from counts.
        order = sorted(candidates, key=lambda one: find_recipe(one.recipe).source == "tokens")
        ready = {one.name: self._prepare(one, vector_size) for one in order}
        # Nobody should learn after hours of training that nothing can be asked of the vectors.
        for name, one in ready.items():
            plan.check_vocabulary(name, one.vocabulary)
        entries, found = [], {}
        began = anonymous_bytes()
        for candidate in candidates:
            # What the ones before have left behind is not this one's.
            held = anonymous_bytes() - began
            entry, vectors = self._train(ready[candidate.name])
            entries.append(replace(entry, peak_bytes=max(0, entry.peak_bytes - held)))
            if keep is not None:
                keep.mkdir(exist_ok=True)
                place = keep / _file_name(candidate.name)
                vectors.save(place)
                # Mapped, so that what was trained does not stay in memory; it moves to its place with the folder.
                vectors = Vectors.load(place)
            found[candidate.name] = vectors
        evaluation = plan.evaluate(found, Run.create(self.seed, progress=self.progress, executor=self.executor))
        return Comparison(entries, evaluation, _machine(self.executor.workers))

    def _prepare(self, candidate: Candidate, vector_size: int | None) -> _Ready:
        """Get what a candidate learns from; say if it has too few words for its dimensions, or we too little memory."""
        recipe = find_recipe(candidate.recipe)
        size = candidate.vector_size
        if size is None and recipe.dimension:
            size = vector_size
        data, described, seconds, more, pairs = self.source, "the text itself", 0.0, {"counting": self.counting}, 0
        if recipe.source == "tokens":
            vocabulary = self.words_for(recipe)
        else:
            data, seconds, described = self.counts_for(recipe)
            vocabulary, more, pairs = data.vocabulary, {}, data.pairs
        words, tokens = sizes_of(vocabulary)
        dimension = check_dimension(recipe, size, words, tokens)
        problem = Problem(words, pairs, dimension, tokens if recipe.source == "tokens" else 0)
        check_memory(recipe, recipe.settings(candidate.options), problem, self.budget)
        return _Ready(candidate, vocabulary, data, size, described, seconds, more)

    def _train(self, ready: _Ready) -> tuple[Entry, Vectors]:
        candidate = ready.candidate
        vectors = train(
            ready.data, candidate.recipe, vector_size=ready.vector_size, seed=self.seed,
            **ready.more, **self.how, **candidate.options,
        )  # fmt: skip
        entry = Entry(
            candidate.name,
            candidate.recipe,
            vectors.vector_size,
            len(vectors),
            ready.counting,
            round(ready.seconds, 3),
            vectors.measured["seconds"],
            vectors.measured["peak_bytes"],
            {key: getattr(vectors.provenance, key) for key in ("options", "objective", "status", "stats")},
        )
        return entry, vectors


def _words_of(job: CountJob) -> tuple[Any, ...]:
    """Return all that the words of a text depend on."""
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
