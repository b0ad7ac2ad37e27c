"""Train the named recipes, each on the counts it likes, evaluate them together, and say what each cost."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from firthian._version import __version__
from firthian.cluster import open_executor
from firthian.cooccurrence.counting import count
from firthian.cooccurrence.counts import Counts
from firthian.errors import FirthianError
from firthian.evaluate.report import Evaluation
from firthian.evaluate.run import evaluate
from firthian.evaluate.sets import choose
from firthian.evaluate.suites import find_suites
from firthian.parallel import Executor
from firthian.progress import Progress, Silent
from firthian.recipes import Recipe, find_recipe
from firthian.storage import new_folder, write_manifest
from firthian.training import check_dimension, is_counts, refuse_counting, sizes_of, train

KIND, VERSION = "report", 1


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
        """Give everything as JSON knows it."""
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
    are the same are counted once.
    """
    progress = progress or Silent()
    candidates = [item if isinstance(item, Candidate) else Candidate.read(item) for item in recipes]
    _check(candidates, source)
    # A misspelt set must not be found out after hours of training.
    sets = sets if sets is None or isinstance(sets, str) else list(sets)
    choose(sets, [one.name for one in find_suites(suite)])
    with open_executor(cluster, workers) as executor:
        bench = _Bench(source, dict(counting or {}), seed, executor, memory, progress)
        if output is None:
            return bench.run(candidates, vector_size, suite, sets, None)
        with new_folder(output, force) as folder:
            from firthian.compare.page import page

            result = bench.run(candidates, vector_size, suite, sets, folder / "vectors")
            (folder / "report.html").write_text(page(result), encoding="utf-8")
            write_manifest(folder / "report.json", KIND, VERSION, json.loads(json.dumps(result.to_dict())))
    return result


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
        self.how: dict[str, Any] = {"cluster": executor, "memory": memory, "progress": progress}
        self.seed = seed
        self.counted: dict[str, tuple[Counts, float]] = {}

    def counts_for(self, recipe: Recipe) -> tuple[Counts, float, str]:
        """Give (counts, the seconds they took, what they are)."""
        if is_counts(self.source):
            refuse_counting(self.counting, "ready counts", hint="give the corpus instead")
            counts = self.source if isinstance(self.source, Counts) else Counts.load(self.source)
            return counts, 0.0, "as given"
        settings = {"seed": self.seed, **recipe.counting, **self.counting}
        key = ", ".join(f"{name}={value}" for name, value in sorted(settings.items()) if name != "seed") or "defaults"
        if key not in self.counted:
            begin = time.perf_counter()
            self.counted[key] = count(self.source, **settings, **self.how), time.perf_counter() - begin
        return *self.counted[key], key

    def run(
        self, candidates: list[Candidate], vector_size: int | None, suite: str, sets: Any, keep: Path | None
    ) -> Comparison:
        """Train and evaluate all."""
        entries, found = [], {}
        for candidate in candidates:
            recipe = find_recipe(candidate.recipe)
            size = candidate.vector_size
            if size is None and recipe.dimension:
                size = vector_size
            if recipe.source == "tokens":
                data, seconds, described = self.source, 0.0, "the text itself"
                more: dict[str, Any] = {"counting": self.counting}
            else:
                data, seconds, described = self.counts_for(recipe)
                check_dimension(recipe, size, *sizes_of(data.vocabulary))
                more = {}
            vectors = train(
                data, candidate.recipe, vector_size=size, seed=self.seed, **more, **self.how, **candidate.options
            )
            entries.append(
                Entry(
                    candidate.name,
                    candidate.recipe,
                    vectors.vector_size,
                    len(vectors),
                    described,
                    round(seconds, 3),
                    vectors.measured["seconds"],
                    vectors.measured["peak_bytes"],
                    {key: vectors.record[key] for key in ("options", "objective", "status", "stats")},
                )
            )
            found[candidate.name] = vectors
            if keep is not None:
                keep.mkdir(exist_ok=True)
                vectors.save(keep / _file_name(candidate.name))
        evaluation = evaluate(found, suite, sets, cluster=self.how["cluster"], progress=self.how["progress"])
        return Comparison(entries, evaluation, _machine(self.how["cluster"].workers))


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
