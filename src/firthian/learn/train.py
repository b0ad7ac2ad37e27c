"""Counts or a corpus -> Vectors, by a recipe."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from firthian._version import __version__
from firthian.counts.counting import CountingContext, CountJob, count
from firthian.counts.counts import Counts
from firthian.counts.tokens import Tokens
from firthian.disk.artifact import sha256
from firthian.disk.atomic import check_not_source
from firthian.disk.checkpoints import EVERY
from firthian.disk.stopping import Stop
from firthian.errors import FirthianError
from firthian.learn.recipes import Recipe, find_recipe
from firthian.learn.resume import Unfinished
from firthian.learn.solver import AUTO, Solution, check_fit
from firthian.options import Option
from firthian.runtime.cluster import open_executor
from firthian.runtime.executor import Executor
from firthian.runtime.memory import PeakMemory, Problem
from firthian.runtime.progress import Progress
from firthian.runtime.run import Run, check_seed
from firthian.text.vocabulary import Vocabulary
from firthian.text.word_lists import read_words
from firthian.vectors.provenance import COUNTING_STATE, Provenance, counting_state
from firthian.vectors.vectors import Vectors

#: The recipe of ``firth train`` without ``-m``.
DEFAULT_RECIPE = "sgns"


def train(
    source: Any,
    recipe: str = DEFAULT_RECIPE,
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
    **options: Any,
) -> Vectors:
    """Learn word vectors from counts, from a folder of counts, from a corpus, or (recipe ``sparse``) from vectors.

    A corpus is counted with the recipe's own settings, changed by ``counting`` (the arguments of ``firthian.count``).
    ``vector_size="auto"`` lets the recipe choose, where it can.
    Further arguments are options of the recipe; ``firth models NAME`` lists them. ``cluster`` names a Ray cluster to work on
    (``auto``, ``ray://HOST:PORT``, ``local:N``), with the same result.

    With ``output`` the vectors are written to that folder, and the work is saved on the way, about every
    ``checkpoint_every`` seconds (30), in ``OUTPUT.partial``: after an interruption ``resume`` goes on to the same bytes.
    ``force`` replaces an existing folder, or unfinished work.

    >>> import firthian as ft
    >>> vectors = ft.train(["a b c a b", "c a b"], "ppmi", counting={"min_count": 1, "sample": 0})
    >>> len(vectors)
    3
    """
    chosen = find_recipe(recipe)
    check_auto(chosen, vector_size)
    seed = check_seed(seed)
    if vector_size is not None and not isinstance(vector_size, str):
        vector_size = Option("100 is usual", name="vector_size", kind=int).check(vector_size, strict=True)
    job = Job(source, chosen, chosen.settings(options), vector_size, seed, settled(counting or {}))
    with open_executor(cluster, workers) as executor:
        if output is None:
            return learn(job, Run.create(seed, workers, memory, progress, executor=executor))
        check_not_source(output, source.path if isinstance(source, Counts) else source)
        place = Unfinished(Path(output), EVERY if checkpoint_every is None else checkpoint_every, stop)
        run = Run.create(seed, workers, memory, progress, place.steps, executor)
        with place.held(job.describe(), resume, force):
            vectors = None if place.finished else learn(job, run, place)
            place.deliver(vectors, force)
    if vectors is None:
        vectors = Vectors.load(output)
        vectors.measured = {"seconds": 0.0, "peak_bytes": 0}
    if place.steps.damaged:
        vectors.measured["damaged_steps"] = [item.name for item in place.steps.damaged]
    return vectors


def settled(counting: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of counting that can be read twice: lists of words may come from an iterator."""
    lists = {name: counting[name] for name in ("vocabulary", "stop_words") if isinstance(counting.get(name), Iterator)}
    return {**counting, **{name: read_words(words) for name, words in lists.items()}}


@dataclass(frozen=True)
class Job:
    """All that decides what the vectors will be. How they are made (workers, memory) is not part of it."""

    source: Any
    recipe: Recipe
    settings: dict[str, Any]
    vector_size: int | str | None
    seed: int
    counting: dict[str, Any]

    def describe(self) -> dict[str, Any]:
        """Return it by names, for a run that goes on to compare: what is not the same gives other bytes."""
        counted = self.recipe.source != "vectors" and not is_counts(self.source)
        how = self.count_job() if counted else None
        return {
            "recipe": self.recipe.name,
            "options": self.settings,
            "files": {name: _file_hash(value) for name, value in self.settings.items() if _is_file(value)},
            "vector size": self.vector_size or "as usual",
            "seed": self.seed,
            "counting": {**how.describe(), **how.describe_reading()} if how is not None else None,
            "version of": {
                "firthian": __version__,
                **{name: metadata.version(name) for name in ("numpy", "scipy", "numba")},
            },
        }

    def count_job(self) -> CountJob:
        """Say how the corpus is counted."""
        return CountJob.create(self.source, **{"seed": self.seed, **self.recipe.counting, **self.counting})


def _is_file(value: Any) -> bool:
    return isinstance(value, str) and value != "" and Path(value).is_file()


def _file_hash(path: str) -> str:
    return sha256(Path(path).read_bytes())


def learn(job: Job, run: Run, place: Unfinished | None = None) -> Vectors:
    """Get the data, fit the model, make vectors; with a place, what was done there before is not done again."""
    recipe = job.recipe
    begin = time.perf_counter()
    with PeakMemory() as peak, ExitStack() as stack:
        data: Counts | Tokens | Vectors
        if recipe.source == "vectors":
            refuse_counting(job.counting, "vectors", hint="leave them out")
            data = find_vectors(job.source, recipe)
        elif recipe.source == "tokens":
            data = stack.enter_context(find_tokens(job, run, place))
        else:
            data = find_counts(job, run, place)
        if place is not None:
            place.check_data(data)
        dimension = check_dimension(recipe, job.vector_size, *sizes_of(data.vocabulary))
        if isinstance(data, Counts):
            check_pairs(data.pairs)
        check_memory(recipe, job.settings, size_of(data, dimension), run.budget)
        model = recipe.load("model")(data, run, **recipe.part("model", job.settings))
        solver = recipe.load("solver")(**recipe.part("solver", job.settings))
        check_fit(solver, model)
        run.progress.start(f"training {recipe.name}")
        solution: Solution = solver.solve(model, dimension, run)
        solution.check_finite()
    vectors = finish(solution, data, recipe, job.settings, dimension, job.seed)
    vectors.measured = {"seconds": round(time.perf_counter() - begin, 3), "peak_bytes": peak.bytes}
    return vectors


def find_vectors(source: Any, recipe: Recipe) -> Vectors:
    """Take vectors that were learned before as they are, or open them."""
    if isinstance(source, Vectors):
        return source
    if isinstance(source, str | os.PathLike):
        from firthian.vectors.formats import open_vectors

        return open_vectors(source)
    raise FirthianError(
        f"the recipe {recipe.name} learns from vectors", hint="give Vectors or their path; train svd first, for example"
    )


def refuse_counting(counting: Mapping[str, Any], source: str, hint: str) -> None:
    """Say that settings of counting come too late, where nothing is counted."""
    if counting:
        raise FirthianError(f"counting options ({', '.join(counting)}) do not apply to {source}", hint)


def check_source(recipe: Recipe, source: Any, counting: Mapping[str, Any]) -> None:
    """Say when counts are given that a recipe cannot learn from, or settings of counting that come too late for them."""
    if not is_counts(source):
        return
    if recipe.source == "tokens":
        raise FirthianError(
            f"the recipe {recipe.name} learns from the text itself, not from counts", hint="give it the corpus"
        )
    refuse_counting(counting, "ready counts", hint="give the corpus instead")


def check_pairs(pairs: int) -> None:
    """Say when there is nothing to learn from."""
    if pairs == 0:
        raise FirthianError(
            "the counts hold no pair of words", hint="use a larger corpus, a wider --window, or --sample 0"
        )


def find_counts(job: Job, run: Run, place: Unfinished | None = None) -> Counts:
    """Take counts as they are, open a folder of them, or count a corpus the way the recipe likes."""
    check_source(job.recipe, job.source, job.counting)
    if is_counts(job.source):
        return job.source if isinstance(job.source, Counts) else Counts.load(job.source)
    if place is not None:
        return place.counts(job.count_job(), CountingContext(run.executor, run.budget, run.progress))
    settings = {"seed": run.seed, **job.recipe.counting, **job.counting}
    return count(job.source, cluster=run.executor, memory=run.budget, progress=run.progress, **settings)


def find_tokens(job: Job, run: Run, place: Unfinished | None = None) -> Tokens:
    """Tokenize a corpus the way the recipe likes; close the result when done with it."""
    check_source(job.recipe, job.source, job.counting)
    how = CountingContext(run.executor, run.budget, run.progress)
    return Tokens.read(job.count_job(), how) if place is None else place.tokens(job.count_job(), how)


def is_counts(source: Any) -> bool:
    """Return whether a source is counts, open or in a folder."""
    return isinstance(source, Counts) or (
        isinstance(source, str | os.PathLike) and (Path(source) / "counts.json").is_file()
    )


def size_of(data: Counts | Tokens | Vectors, dimension: int) -> Problem:
    """Say how large a problem is."""
    words = len(data.vocabulary)
    if isinstance(data, Counts):
        return Problem(words, pairs=data.pairs, dimension=dimension)
    tokens = int(data.vocabulary.counts.sum()) if isinstance(data, Tokens) else 0
    return Problem(words, dimension=dimension, tokens=tokens)


def check_dimension(recipe: Recipe, wanted: int | str | None, words: int, tokens: int) -> int:
    """Return the dimension to train, or ``AUTO`` where the solver chooses it; raise if there are fewer words."""
    if isinstance(wanted, str):
        check_auto(recipe, wanted)
        return AUTO
    if recipe.dimension == 0:
        if wanted is not None:
            raise FirthianError(
                f"the recipe {recipe.name} has no vector size to choose", hint="leave out --dim (see firth models)"
            )
        return 0
    dimension = recipe.usual_dimension(tokens) if wanted is None else wanted
    if dimension < 1:
        raise FirthianError(f"vector_size must be at least 1, got {dimension}", hint="100 is usual")
    if dimension > words:
        raise FirthianError(
            f"a vector size of {dimension} is larger than the vocabulary of {words} words",
            hint=f"give --dim {words} or less, or lower --min-count",
        )
    return dimension


def check_memory(recipe: Recipe, settings: Mapping[str, Any], problem: Problem, budget: int) -> None:
    """Say before the work when the budget is too small for a recipe, and which of its options would make it fit."""
    instead = {f"`{name}={value}`": recipe.memory_for({**settings, name: value}) for name, value in recipe.memory_with}
    recipe.memory_for(settings).check(recipe.name, problem, budget, instead)


def sizes_of(vocabulary: Vocabulary) -> tuple[int, int]:
    """Return the number of words, and of their tokens."""
    return len(vocabulary), int(vocabulary.counts.sum())


def check_auto(recipe: Recipe, wanted: int | str | None) -> None:
    """Check whether a vector size that is a word can be had: it is ``auto``, and the recipe can choose."""
    from firthian.learn.recipes import RECIPES

    if not isinstance(wanted, str):
        return
    if wanted != "auto":
        raise FirthianError(f"the vector size must be a number or auto, got {wanted!r}", hint="100 is usual")
    if not recipe.chooses_dimension:
        able = " or ".join(one.name for one in RECIPES if one.chooses_dimension)
        raise FirthianError(
            f"the recipe {recipe.name} cannot choose the vector size itself",
            hint=f"give --dim a number, or train {able}",
        )


def finish(
    solution: Solution,
    data: Counts | Tokens | Vectors,
    recipe: Recipe,
    settings: Mapping[str, Any],
    dimension: int,
    seed: int,
) -> Vectors:
    """Make vectors of a solution and write down where they come from."""
    if isinstance(data, Vectors):
        source = Provenance(vectors=data.provenance.to_dict())
        state = {name: data.state[name] for name in COUNTING_STATE if name in data.state}
    else:
        source = Provenance(counts={"options": data.options.as_dict(), **data.record})
        state = counting_state(data.record.get("settings"), data.options.window)
    state |= solution.state
    if "eigenvalue_power" in settings:
        state["eigenvalue_power"] = settings["eigenvalue_power"]
    provenance = replace(
        source,
        recipe=recipe.name,
        paper=recipe.paper,
        options=dict(settings),
        vector_size=int(solution.words.shape[1]),
        seed=seed,
        objective=[float(value) for value in solution.objective],
        status=solution.status,
        stats=solution.stats,
        versions={"firthian": __version__, "numpy": np.__version__},
    )
    return Vectors(
        solution.words,
        data.vocabulary,
        contexts=solution.contexts,
        extras=solution.extras,
        provenance=provenance,
        state=state,
    )
