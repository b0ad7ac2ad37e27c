"""What training would cost: the sizes of the problem, seconds, memory and disk, estimated before any work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from firthian.counts.counts import Counts
from firthian.counts.estimate import Estimate, estimate
from firthian.errors import FirthianError
from firthian.learn.recipes import Recipe
from firthian.learn.train import TrainingPlan, is_counts
from firthian.runtime import cost
from firthian.runtime.executor import check_workers
from firthian.runtime.memory import LEAST_BUDGET, check_budget, show_size


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
        lines = [f"{self.words:,} words, {self.pairs:,} pairs"]
        if self.counting is not None:
            disk = show_size(self.counting.disk_bytes)
            lines = [*self.counting.sizes(), f"{'counting':<18} {self.counting.seconds:.0f} s, {disk} of disk"]
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
        find = recipe.load("solver").default_epochs  # type: ignore[attr-defined]
        usual, epochs = find(settings, 0), find(settings, tokens) if epochs == "auto" else epochs
    return float(epochs / usual)
