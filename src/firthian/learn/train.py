"""Counts or a corpus -> Vectors, by a recipe: a plan with every check that needs no training, then the training itself."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from firthian._version import __version__
from firthian.counts.counting import CountingContext, CountJob, count_temporary
from firthian.counts.counts import Counts
from firthian.counts.tokens import Tokens
from firthian.disk.artifact import sha256
from firthian.disk.atomic import check_not_source, is_counts_folder
from firthian.disk.stopping import Stop
from firthian.errors import FirthianError
from firthian.kernels.compiling import tell_compiling
from firthian.learn.arguments import divide
from firthian.learn.recipes import RECIPES, Recipe, find_recipe
from firthian.learn.resume import PartialTraining
from firthian.learn.solver import AUTO, Solution, check_fit
from firthian.learn.subwords import check_choice, fit
from firthian.options import Option
from firthian.runtime.cluster import open_executor
from firthian.runtime.executor import Executor
from firthian.runtime.memory import PeakMemory, Problem
from firthian.runtime.progress import Progress
from firthian.runtime.run import Run, check_seed
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.provenance import COUNTING_STATE, Provenance, counting_state
from firthian.vectors.vectors import Vectors

#: The recipe of ``firth train`` without ``-m``.
DEFAULT_RECIPE = "sgns"


_SIZE = Option("try 100", name="vector_size", kind=int)

#: Libraries on whose versions the resulting bytes depend.
_LIBRARIES = ("numpy", "scipy", "numba")


@dataclass(frozen=True)
class TrainingPlan:
    """All that decides what the vectors will be, checked; workers and memory are not part of it."""

    source: Any
    recipe: Recipe
    settings: dict[str, Any]
    vector_size: int | str | None
    seed: int
    #: Counting settings that differ from the recipe's.
    counting: dict[str, Any]
    #: Whether character n-grams are fitted afterwards: on, off or auto.
    subwords: str = "off"
    #: Whether the vectors of words as contexts are kept.
    contexts: bool = True

    @classmethod
    def create(
        cls,
        source: Any,
        recipe: str | Recipe,
        options: Mapping[str, Any],
        vector_size: int | str | None = None,
        seed: int = 1,
        counting: Mapping[str, Any] | None = None,
        subwords: str = "off",
        contexts: bool = True,
    ) -> TrainingPlan:
        """Check recipe, options, dimension, seed and source against each other."""
        recipe = find_recipe(recipe) if isinstance(recipe, str) else recipe
        check_auto(recipe, vector_size)
        seed = check_seed(seed)
        if vector_size is not None and not isinstance(vector_size, str):
            vector_size = _SIZE.check(vector_size, strict=True)
        settings, choice = recipe.settings(options), check_choice(subwords)
        plan = cls(source, recipe, settings, vector_size, seed, dict(counting or {}), choice, contexts)
        if plan.subwords == "on" and recipe.dimension == 0:
            raise FirthianError(f"subwords need dense vectors, those of {recipe.name} are not", hint="train svd")
        plan._check_source()
        return plan

    def _check_source(self) -> None:
        """Raise if the recipe cannot learn from the source, or if counting settings have no effect on it."""
        name, kind = self.recipe.name, self.recipe.source
        if kind == "vectors":
            if not isinstance(self.source, Vectors | str | os.PathLike):
                raise FirthianError(f"the recipe {name} learns from vectors", hint="pass Vectors or their path")
            self._refuse_counting("vectors", hint="omit them")
        elif is_counts(self.source):
            if kind == "tokens":
                raise FirthianError(
                    f"the recipe {name} learns from text, not from counts", hint="pass the corpus instead"
                )
            self._refuse_counting("ready counts", hint="pass the corpus instead")

    def _refuse_counting(self, source: str, hint: str) -> None:
        if self.counting:
            names = ", ".join(f"`{name}`" for name in self.counting)
            raise FirthianError(f"counting options ({names}) do not apply to {source}", hint)

    @property
    def count_settings(self) -> dict[str, Any]:
        """The counting settings: the recipe's, changed by the user's."""
        return {"seed": self.seed, **self.recipe.counting, **self.counting}

    @cached_property
    def count_job(self) -> CountJob:
        """The corpus and how it is counted; word lists may come from iterators, so it is made once."""
        return CountJob.create(self.source, **self.count_settings)

    def describe(self) -> dict[str, Any]:
        """Return all that the resulting bytes depend on, by name, for a resumed run to compare."""
        counting = None
        if self.recipe.source != "vectors" and not is_counts(self.source):
            counting = {**self.count_job.describe(), **self.count_job.describe_reading()}
        files = {name: value for name, value in self.settings.items() if isinstance(value, str) and value}
        return {
            "recipe": self.recipe.name,
            "options": self.settings,
            "files": {name: sha256(Path(path).read_bytes()) for name, path in files.items() if Path(path).is_file()},
            "vector size": self.vector_size or "the default",
            "seed": self.seed,
            "counting": counting,
            "subwords": self.subwords,
            "context vectors": self.contexts,
            "version of": {"firthian": __version__} | {name: metadata.version(name) for name in _LIBRARIES},
        }

    def problem(self, words: int, tokens: int, pairs: int = 0) -> Problem:
        """Return the size of the problem; raise if it has no pairs or fewer words than dimensions."""
        dimension = check_dimension(self.recipe, self.vector_size, words, tokens)
        if self.recipe.source == "counts" and pairs == 0:
            raise FirthianError(
                "the counts contain no pairs of words", hint="add text, raise `window`, or set `sample=0`"
            )
        return Problem(words, pairs, dimension, tokens if self.recipe.source == "tokens" else 0)

    def problem_of(self, data: Counts | Tokens | Vectors) -> Problem:
        """Return the size of the problem that data pose."""
        pairs = data.pairs if isinstance(data, Counts) else 0
        return self.problem(len(data.vocabulary), int(data.vocabulary.counts.sum()), pairs)

    def check_memory(self, problem: Problem, budget: int) -> None:
        """Raise if the budget is too small, and name the options that would make the problem fit."""
        recipe, settings = self.recipe, self.settings
        changes = {f"`{name}={value}`": {**settings, name: value} for name, value in recipe.memory_with}
        other = {change: recipe.memory_for(changed) for change, changed in changes.items()}
        recipe.memory_for(settings).check(recipe.name, problem, budget, other)


def is_counts(source: Any) -> bool:
    """Return whether a source is counts, open or in a folder."""
    return isinstance(source, Counts) or is_counts_folder(source)


def check_dimension(recipe: Recipe, requested: int | str | None, words: int, tokens: int) -> int:
    """Return the dimension to train, or ``AUTO`` if the solver chooses it; raise if there are fewer words."""
    if isinstance(requested, str):
        check_auto(recipe, requested)
        return AUTO
    if recipe.dimension == 0:
        if requested is not None:
            raise FirthianError(f"the recipe {recipe.name} has no vector size to choose", hint="omit `vector_size`")
        return 0
    dimension = recipe.default_dimension(tokens) if requested is None else requested
    if dimension < 1:
        raise FirthianError(f"`vector_size` must be at least 1, got {dimension}", hint="try 100")
    if dimension > words:
        smaller = f"set `vector_size={words}` or less, or lower `min_count`"
        raise FirthianError(
            f"a vector size of {dimension} is larger than the vocabulary of {words} words", hint=smaller
        )
    return dimension


def check_auto(recipe: Recipe, requested: int | str | None) -> None:
    """Raise if a vector size is a word other than ``auto``, or the recipe cannot choose one."""
    if not isinstance(requested, str):
        return
    if requested != "auto":
        raise FirthianError(f"`vector_size` must be a number or auto, got {requested!r}", hint="try 100")
    if not recipe.chooses_dimension:
        able = " or ".join(other.name for other in RECIPES if other.chooses_dimension)
        raise FirthianError(f"{recipe.name} cannot choose `vector_size`", hint=f"set a number, or train {able}")


def train(
    source: Any = None,
    recipe: str | None = None,
    *,
    vector_size: int | str | None = None,
    seed: int = 1,
    workers: int | None = None,
    memory: str | int | None = None,
    cluster: str | Executor | None = None,
    counting: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    output: str | os.PathLike[str] | None = None,
    resume: bool = False,
    force: bool = False,
    checkpoint_every: float | None = None,
    stop: Stop | None = None,
    subwords: str | None = None,
    contexts: bool = True,
    **options: Any,
) -> Vectors:
    """Learn word vectors from counts, from a folder of counts, from a corpus, or (recipe ``sparse``) from vectors.

    A corpus is counted with the recipe's own settings. Further arguments change them, such as ``window`` and ``min_count``
    (see ``firthian.count``), or are options of the recipe (``firth models NAME`` lists them). ``counting`` is a dictionary of
    counting settings, for names that both have. gensim's ``sentences`` and ``sg`` work too: ``sg=0`` trains CBOW.
    The default recipe is ``sgns``. ``vector_size="auto"`` lets the recipe choose, where it can. ``cluster`` names a Ray
    cluster to work on (``auto``, ``ray://HOST:PORT``, ``local:N``), with the same result.

    ``subwords`` regresses the vectors on character n-grams, so that every word has a vector: ``on``, ``off``, or ``auto``,
    which keeps the n-grams if they predict the vectors of hidden words. The default is ``auto``, and ``off`` if you name a
    recipe. ``contexts=False`` leaves the context vectors out, which halves the size of most models.

    With ``output`` the vectors are written to that folder, and the work is saved on the way, about every
    ``checkpoint_every`` seconds (30), in ``OUTPUT.partial``: after an interruption ``resume`` continues to the same result.
    ``force`` replaces an existing folder, or unfinished work.

    >>> import firthian as ft
    >>> vectors = ft.train(["a b c a b", "c a b"], "ppmi", min_count=1, sample=0)
    >>> len(vectors)
    3
    """
    asked = divide(source, recipe, DEFAULT_RECIPE, options, counting)
    source = asked.source
    if asked.subwords != "off":
        subwords = asked.subwords
    elif subwords is None:
        subwords = "auto" if recipe is None else "off"
    plan = TrainingPlan.create(
        source, asked.recipe, asked.options, vector_size, seed, asked.counting, subwords, contexts
    )
    with open_executor(cluster, workers) as executor:
        if output is None:
            return learn(plan, Run.create(plan.seed, workers, memory, progress, executor=executor))
        check_not_source(output, source.path if isinstance(source, Counts) else source)
        partial = PartialTraining(Path(output), checkpoint_every, stop)
        run = Run.create(plan.seed, workers, memory, progress, partial.steps, executor)
        with partial.opened(plan.describe(), resume, force):
            vectors = None if partial.finished else learn(plan, run, partial)
            partial.finish(vectors, force)
    if vectors is None:
        vectors = Vectors.load(output)
        vectors.measured = {"seconds": 0.0, "peak_bytes": 0}
    if partial.steps.damaged:
        vectors.measured["damaged_steps"] = [item.name for item in partial.steps.damaged]
    return vectors


def learn(
    plan: TrainingPlan, run: Run, partial: PartialTraining | None = None, counts: Counts | None = None
) -> Vectors:
    """Get the data, fit the model and make vectors; ``partial`` stores checkpoints, ``counts`` are used as they are."""
    recipe, settings = plan.recipe, plan.settings
    tell_compiling()
    begin = time.perf_counter()
    with PeakMemory() as peak, ExitStack() as stack:
        data = counts if counts is not None else load_or_count(plan, run, partial, stack)
        if partial is not None:
            partial.check_data(data)
        problem = plan.problem_of(data)
        plan.check_memory(problem, run.budget)
        model = recipe.load("model")(data, run, **recipe.part("model", settings))
        solver = recipe.load("solver")(**recipe.part("solver", settings))
        check_fit(solver, model)
        run.progress.start(f"training {recipe.name}")
        solution: Solution = solver.solve(model, problem.dimension, run)
        solution.check_finite()
        vectors = make_vectors(solution, data, plan)
        # The model and its counts are no longer needed, and n-grams take memory too.
        del model, solver, solution
        vectors = fit(vectors, plan.subwords, run)
    vectors.measured = {"seconds": round(time.perf_counter() - begin, 3), "peak_bytes": peak.bytes}
    return vectors


def load_or_count(
    plan: TrainingPlan, run: Run, partial: PartialTraining | None, stack: ExitStack
) -> Counts | Tokens | Vectors:
    """Open counts or vectors, or count or tokenize a corpus with the recipe's settings; ``stack`` closes tokens."""
    source = plan.source
    if plan.recipe.source == "vectors":
        from firthian.vectors.formats import open_vectors

        return source if isinstance(source, Vectors) else open_vectors(source)
    if is_counts(source):
        return source if isinstance(source, Counts) else Counts.load(source)
    context = CountingContext(run.executor, run.budget, run.progress)
    if plan.recipe.source == "tokens":
        read = Tokens.read if partial is None else partial.tokens
        return stack.enter_context(read(plan.count_job, context))
    if partial is None:
        return count_temporary(plan.count_job, context)
    return partial.counts(plan.count_job, context)


def make_vectors(solution: Solution, data: Counts | Tokens | Vectors, plan: TrainingPlan) -> Vectors:
    """Make vectors of a solution, with their provenance and the state that their methods need."""
    if isinstance(data, Vectors):
        source = Provenance(vectors=data.provenance.to_dict())
        state = {name: data.state[name] for name in COUNTING_STATE if name in data.state}
    else:
        source = Provenance(counts={"options": data.options.as_dict(), **data.record})
        state = counting_state(data.record.get("settings"), data.options.window)
    if "eigenvalue_power" in plan.settings:
        state["eigenvalue_power"] = plan.settings["eigenvalue_power"]
    provenance = replace(source, recipe=plan.recipe.name, paper=plan.recipe.paper, options=dict(plan.settings))
    solution = solution if plan.contexts else replace(solution, contexts=None)
    return with_provenance(solution, data.vocabulary, provenance, plan.seed, state)


def with_provenance(
    solution: Solution, vocabulary: Vocabulary, provenance: Provenance, seed: int, state: Mapping[str, Any]
) -> Vectors:
    """Make vectors of a solution; add to their provenance how it was found, and to their state what it says."""
    made = replace(
        provenance,
        vector_size=int(solution.words.shape[1]),
        seed=seed,
        objective=[float(value) for value in solution.objective],
        status=solution.status,
        stats=solution.stats,
        versions={"firthian": __version__, "numpy": np.__version__},
    )
    return Vectors(
        solution.words, vocabulary, contexts=solution.contexts, extras=solution.extras, provenance=made,
        state={**state, **solution.state},
    )  # fmt: skip
