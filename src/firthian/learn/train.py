"""Counts or a corpus -> Vectors, by a recipe."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from firthian._version import __version__
from firthian.counts.counting import CountingContext, count_temporary
from firthian.counts.counts import Counts
from firthian.counts.tokens import Tokens
from firthian.disk.atomic import check_not_source
from firthian.disk.stopping import Stop
from firthian.learn.plan import TrainingPlan, is_counts
from firthian.learn.resume import PartialTraining
from firthian.learn.solver import Solution, check_fit
from firthian.learn.subwords import fit
from firthian.runtime.cluster import open_executor
from firthian.runtime.executor import Executor
from firthian.runtime.memory import PeakMemory
from firthian.runtime.progress import Progress
from firthian.runtime.run import Run
from firthian.text.vocabulary import Vocabulary
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
    subwords: str = "off",
    **options: Any,
) -> Vectors:
    """Learn word vectors from counts, from a folder of counts, from a corpus, or (recipe ``sparse``) from vectors.

    A corpus is counted with the recipe's own settings, changed by ``counting`` (the arguments of ``firthian.count``).
    ``vector_size="auto"`` lets the recipe choose, where it can.
    Further arguments are options of the recipe; ``firth models NAME`` lists them. ``cluster`` names a Ray cluster to work on
    (``auto``, ``ray://HOST:PORT``, ``local:N``), with the same result.

    ``subwords`` regresses the vectors on character n-grams, so that every word has a vector: ``on``, ``off``, or ``auto``,
    which keeps the n-grams if they predict the vectors of hidden words.

    With ``output`` the vectors are written to that folder, and the work is saved on the way, about every
    ``checkpoint_every`` seconds (30), in ``OUTPUT.partial``: after an interruption ``resume`` continues to the same result.
    ``force`` replaces an existing folder, or unfinished work.

    >>> import firthian as ft
    >>> vectors = ft.train(["a b c a b", "c a b"], "ppmi", counting={"min_count": 1, "sample": 0})
    >>> len(vectors)
    3
    """
    plan = TrainingPlan.create(source, recipe, options, vector_size, seed, counting, subwords)
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
        solution.words,
        vocabulary,
        contexts=solution.contexts,
        extras=solution.extras,
        provenance=made,
        state={**state, **solution.state},
    )
