"""Counts or a corpus -> Vectors, by a recipe."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from firthian._version import __version__
from firthian.cluster import open_executor
from firthian.cooccurrence.counting import CountJob, HowToRun, count
from firthian.cooccurrence.counts import Counts
from firthian.cooccurrence.tokens import Tokens
from firthian.errors import FirthianError
from firthian.memory import PeakMemory
from firthian.parallel import Executor
from firthian.progress import Progress
from firthian.recipes import Recipe, find_recipe
from firthian.run import Run
from firthian.solvers.base import Solution, check_fit
from firthian.vectors.vectors import Vectors

#: The recipe of ``firth train`` without ``-m``.
DEFAULT_RECIPE = "sgns"


def train(
    source: Any,
    recipe: str = DEFAULT_RECIPE,
    *,
    vector_size: int | None = None,
    seed: int = 1,
    workers: int | None = None,
    memory: str | int | None = None,
    cluster: str | Executor | None = None,
    counting: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Vectors:
    """Learn word vectors from counts, from a folder of counts, from a corpus, or (recipe ``sparse``) from vectors.

    A corpus is counted with the recipe's own settings, changed by ``counting`` (the arguments of ``firthian.count``).
    Further arguments are options of the recipe; ``firth models NAME`` lists them. ``cluster`` names a Ray cluster to work on
    (``auto``, ``ray://HOST:PORT``, ``local:N``), with the same result.

    >>> import firthian as ft
    >>> vectors = ft.train(["a b c a b", "c a b"], "ppmi", counting={"min_count": 1})
    >>> len(vectors)
    3
    """
    chosen = find_recipe(recipe)
    settings = chosen.settings(options)
    with ExitStack() as stack:
        executor = stack.enter_context(open_executor(cluster, workers))
        run = Run.create(seed, workers, memory, progress, executor)
        begin = time.perf_counter()
        peak = stack.enter_context(PeakMemory())
        data: Counts | Tokens | Vectors
        if chosen.source == "vectors":
            data = find_vectors(source, chosen)
        elif chosen.source == "tokens":
            data = stack.enter_context(find_tokens(source, chosen, run, counting or {}))
        else:
            data = find_counts(source, chosen, run, counting or {})
        dimension = check_dimension(chosen, vector_size, len(data.vocabulary))
        model = chosen.load("model")(data, run, **chosen.part("model", settings))
        solver = chosen.load("solver")(**chosen.part("solver", settings))
        check_fit(solver, model)
        run.progress.start(f"training {chosen.name}")
        solution: Solution = solver.solve(model, dimension, run)
        seconds = time.perf_counter() - begin
    vectors = finish(solution, data, chosen, settings, dimension, seed)
    vectors.measured = {"seconds": round(seconds, 3), "peak_bytes": peak.bytes}
    return vectors


def find_vectors(source: Any, recipe: Recipe) -> Vectors:
    """Take vectors that were learnt before as they are, or open them."""
    if isinstance(source, Vectors):
        return source
    if isinstance(source, str | os.PathLike):
        from firthian.vectors.loading import open_vectors

        return open_vectors(source)
    raise FirthianError(
        f"the recipe {recipe.name} learns from vectors", hint="give Vectors or their path: first train svd, for example"
    )


def find_counts(source: Any, recipe: Recipe, run: Run, counting: Mapping[str, Any]) -> Counts:
    """Take counts as they are, open a folder of them, or count a corpus the way the recipe likes."""
    if is_counts(source):
        if counting:
            raise FirthianError(
                f"counting options ({', '.join(counting)}) do not apply to ready counts",
                hint="give the corpus instead",
            )
        return source if isinstance(source, Counts) else Counts.load(source)
    settings = {"seed": run.seed, **recipe.counting, **counting}
    return count(source, cluster=run.executor, memory=run.budget, progress=run.progress, **settings)


def find_tokens(source: Any, recipe: Recipe, run: Run, counting: Mapping[str, Any]) -> Tokens:
    """Tokenise a corpus the way the recipe likes; close the result when done with it."""
    if is_counts(source):
        raise FirthianError(
            f"the recipe {recipe.name} learns from the text itself, not from counts", hint="give it the corpus"
        )
    job = CountJob.create(source, **{"seed": run.seed, **recipe.counting, **counting})
    return Tokens.read(job, HowToRun(run.executor, run.budget, run.progress))


def is_counts(source: Any) -> bool:
    """Tell whether a source is counts, open or in a folder."""
    return isinstance(source, Counts) or (
        isinstance(source, str | os.PathLike) and (Path(source) / "counts.json").is_file()
    )


def check_dimension(recipe: Recipe, wanted: int | None, words: int) -> int:
    """Say whether the vocabulary is large enough for the dimension."""
    if recipe.dimension == 0:
        if wanted is not None:
            raise FirthianError(
                f"the recipe {recipe.name} has no vector size to choose", hint="leave out --dim (see firth models)"
            )
        return 0
    dimension = recipe.dimension if wanted is None else wanted
    if dimension < 1:
        raise FirthianError(f"the vector size must be at least 1, got {dimension}", hint="100 is usual")
    if dimension > words:
        raise FirthianError(
            f"a vector size of {dimension} is larger than the vocabulary of {words} words",
            hint=f"give --dim {words} or less, or lower --min-count",
        )
    return dimension


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
        source = {"vectors": data.record}
    else:
        source = {"counts": {"options": data.options.as_dict(), **data.record}}
    record = {
        "recipe": recipe.name,
        "paper": recipe.paper,
        "options": dict(settings),
        "vector_size": int(solution.words.shape[1]),
        "seed": seed,
        "objective": [float(value) for value in solution.objective],
        "status": solution.status,
        "stats": solution.stats,
        **source,
        "versions": {"firthian": __version__, "numpy": np.__version__},
    }
    return Vectors(solution.words, data.vocabulary, contexts=solution.contexts, extras=solution.extras, record=record)
