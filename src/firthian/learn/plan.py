"""The plan of a training run: every check that needs no training, made once for training, dry runs and comparisons."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

from firthian._version import __version__
from firthian.counts.counting import CountJob
from firthian.counts.counts import Counts
from firthian.counts.estimate import Estimate, estimate
from firthian.counts.tokens import Tokens
from firthian.disk.artifact import sha256
from firthian.disk.atomic import is_counts_folder
from firthian.errors import FirthianError
from firthian.learn.recipes import RECIPES, Recipe, find_recipe
from firthian.learn.solver import AUTO
from firthian.learn.subwords import check_choice
from firthian.options import Option
from firthian.runtime import cost
from firthian.runtime.executor import check_workers
from firthian.runtime.memory import LEAST_BUDGET, Problem, check_budget, show_size
from firthian.runtime.run import check_seed
from firthian.vectors.vectors import Vectors

_SIZE = Option("try 100", name="vector_size", kind=int)


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
    ) -> TrainingPlan:
        """Check recipe, options, dimension, seed and source against each other."""
        recipe = find_recipe(recipe) if isinstance(recipe, str) else recipe
        check_auto(recipe, vector_size)
        seed = check_seed(seed)
        if vector_size is not None and not isinstance(vector_size, str):
            vector_size = _SIZE.check(vector_size, strict=True)
        plan = cls(
            source, recipe, recipe.settings(options), vector_size, seed, dict(counting or {}), check_choice(subwords)
        )
        if plan.subwords == "on" and recipe.dimension == 0:
            raise FirthianError(f"subwords need dense vectors, those of {recipe.name} are not", hint="train svd")
        plan._check_source()
        return plan

    def _check_source(self) -> None:
        """Raise if the recipe cannot learn from the source, or if counting settings have no effect on it."""
        name, kind = self.recipe.name, self.recipe.source
        if kind == "vectors":
            if not isinstance(self.source, Vectors | str | os.PathLike):
                raise FirthianError(
                    f"the recipe {name} learns from vectors",
                    hint="pass Vectors or their path; train svd first, for example",
                )
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
        return {
            "recipe": self.recipe.name,
            "options": self.settings,
            "files": {name: _file_hash(value) for name, value in self.settings.items() if _is_file(value)},
            "vector size": self.vector_size or "the default",
            "seed": self.seed,
            "counting": counting,
            "subwords": self.subwords,
            "version of": {
                "firthian": __version__,
                **{name: metadata.version(name) for name in ("numpy", "scipy", "numba")},
            },
        }

    def problem(self, words: int, tokens: int, pairs: int = 0) -> Problem:
        """Return the size of the problem; raise if it has no pairs or fewer words than dimensions."""
        dimension = check_dimension(self.recipe, self.vector_size, words, tokens)
        if self.recipe.source == "counts" and pairs == 0:
            raise FirthianError(
                "the counts contain no pair of words", hint="use a larger corpus, raise `window`, or set `sample=0`"
            )
        return Problem(words, pairs, dimension, tokens if self.recipe.source == "tokens" else 0)

    def problem_of(self, data: Counts | Tokens | Vectors) -> Problem:
        """Return the size of the problem that data pose."""
        pairs = data.pairs if isinstance(data, Counts) else 0
        return self.problem(len(data.vocabulary), int(data.vocabulary.counts.sum()), pairs)

    def check_memory(self, problem: Problem, budget: int) -> None:
        """Raise if the budget is too small, and name the options that would make the problem fit."""
        recipe, settings = self.recipe, self.settings
        other = {
            f"`{name}={value}`": recipe.memory_for({**settings, name: value}) for name, value in recipe.memory_with
        }
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
    dimension = recipe.usual_dimension(tokens) if requested is None else requested
    if dimension < 1:
        raise FirthianError(f"`vector_size` must be at least 1, got {dimension}", hint="try 100")
    if dimension > words:
        raise FirthianError(
            f"a vector size of {dimension} is larger than the vocabulary of {words} words",
            hint=f"set `vector_size={words}` or less, or lower `min_count`",
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
        raise FirthianError(
            f"the recipe {recipe.name} cannot choose the vector size",
            hint=f"set `vector_size` to a number, or train {able}",
        )


def _is_file(value: Any) -> bool:
    return isinstance(value, str) and value != "" and Path(value).is_file()


def _file_hash(path: str) -> str:
    return sha256(Path(path).read_bytes())


@dataclass(frozen=True)
class Forecast:
    """Sizes, and the cost of training on them; ``counting`` is None if the counts exist already."""

    recipe: str
    tokens: int
    words: int
    pairs: int
    dimension: int
    workers: int
    counting: Estimate | None
    #: None if no run of the recipe was measured.
    training: cost.Cost | None
    #: The estimate of memory with a margin: the smallest ``memory`` that is accepted.
    minimum_budget: int

    def to_dict(self) -> dict[str, Any]:
        """Return the figures by name."""
        return asdict(self)

    def describe(self) -> str:
        """Format the figures for people."""
        lines = self.counting.sizes() if self.counting is not None else [f"{self.words:,} words, {self.pairs:,} pairs"]
        if self.counting is not None:
            lines.append(
                f"{'counting':<18} {self.counting.seconds:.0f} s, {show_size(self.counting.disk_bytes)} of disk"
            )
        lines.append(f"{'vectors':<18} {self.words:,} × {self.dimension}")
        if self.training is None:
            lines.append(f"{'training':<18} {self.recipe} was never measured (measured: {', '.join(_measured())})")
        else:
            lines += ["training:", *cost.describe(self.training, self.workers)]
        return "\n".join([*lines, f"{'minimum memory':<18} {show_size(self.minimum_budget)}"])


def _measured() -> list[str]:
    return [name for name in cost.known() if name != "count"]


def forecast(
    source: Any,
    recipe: str,
    *,
    vector_size: int | None = None,
    workers: int | None = None,
    memory: str | int | None = None,
    counting: Mapping[str, Any] | None = None,
    **options: Any,
) -> Forecast:
    """Estimate the cost of ``train`` with the same arguments, from counts or from a sample of a corpus.

    Raises the same errors as ``train``, but checks memory only if a budget is given: the run may be on another machine.

    >>> import firthian as ft
    >>> counts = ft.count(["to be or not to be"] * 5, window=2)
    >>> forecast(counts, "svd", vector_size=2).training.seconds > 0
    True
    """
    plan = TrainingPlan.create(source, recipe, options, vector_size, counting=counting)
    chosen, settings = plan.recipe, plan.settings
    if chosen.source == "vectors":
        raise FirthianError(f"the recipe {chosen.name} learns from vectors", hint="a dry run needs counts or a corpus")
    busy = check_workers(workers)
    if is_counts(source):
        counts = source if isinstance(source, Counts) else Counts.load(source, verify=False)
        counted, speed = None, 1.0
        words, tokens, pairs = len(counts.vocabulary), int(counts.vocabulary.counts.sum()), counts.pairs
    else:
        counted = estimate(source, workers=workers, memory=memory, **plan.count_settings)
        tokens, words, pairs, speed = counted.tokens, counted.words, counted.pairs, counted.speed
    problem = plan.problem(words, tokens, pairs)
    if memory is not None:
        plan.check_memory(problem, check_budget(memory))
    # Measured under the name that users know, which may be an alias.
    name = next((name for name in (chosen.name, *chosen.aliases) if name in _measured()), None)
    expected = None
    if name is not None:
        size = cost.Size(tokens, words, pairs, problem.dimension)
        expected = cost.predict(name, size, busy, speed, _passes(chosen, settings, tokens))
    least = max(LEAST_BUDGET, chosen.memory_for(settings).needed(problem))
    return Forecast(chosen.name, tokens, words, pairs, problem.dimension, busy, counted, expected, least)


def _passes(recipe: Recipe, settings: Mapping[str, Any], tokens: int) -> float:
    """Return the epochs as a multiple of the measured ones, which are the default for little text."""
    if "epochs" not in settings:
        return 1.0
    usual, epochs = recipe.options["epochs"].default, settings["epochs"]
    if usual == "auto":
        find = recipe.load("solver").usual_epochs  # type: ignore[attr-defined]
        usual, epochs = find(settings, 0), find(settings, tokens) if epochs == "auto" else epochs
    return float(epochs / usual)
