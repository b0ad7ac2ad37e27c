"""What training will take, before anything is trained: ``firth train --dry-run``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from firthian.counts.counts import Counts
from firthian.counts.estimate import Estimate, estimate
from firthian.errors import FirthianError
from firthian.learn.recipes import Recipe, find_recipe
from firthian.learn.train import check_dimension, check_memory, check_pairs, check_source, is_counts, sizes_of
from firthian.runtime import cost
from firthian.runtime.executor import check_workers
from firthian.runtime.memory import Problem, check_budget, show_size


@dataclass(frozen=True)
class Forecast:
    """Sizes, and what training on them takes; ``counting`` is None where counts are there already."""

    recipe: str
    tokens: int
    words: int
    pairs: int
    dimension: int
    workers: int
    counting: Estimate | None
    #: None where no run of the recipe was measured.
    training: cost.Cost | None
    #: The estimate of memory and a margin: a smaller ``--memory`` is refused.
    most_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """Return the figures by name."""
        return asdict(self)

    def describe(self) -> str:
        """Write the figures for people."""
        lines = self.counting.sizes() if self.counting is not None else [f"{self.words:,} words, {self.pairs:,} pairs"]
        if self.counting is not None:
            lines.append(
                f"{'counting':<18} {self.counting.seconds:.0f} s, {show_size(self.counting.disk_bytes)} of disk"
            )
        lines.append(f"{'vectors':<18} {self.words:,} × {self.dimension}")
        if self.training is None:
            lines.append(f"{'training':<18} {self.recipe} was never measured (known are {', '.join(_measured())})")
        else:
            lines += ["training:", *cost.describe(self.training, self.workers)]
        return "\n".join([*lines, f"{'least --memory':<18} {show_size(self.most_bytes)}"])


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
    """Judge what ``train`` with the same arguments would take: from counts that are there, or from a sample of a corpus.

    What ``train`` would refuse is refused; a budget of memory only where one is given, since the run may be elsewhere.

    >>> import firthian as ft
    >>> counts = ft.count(["to be or not to be"] * 5, window=2)
    >>> forecast(counts, "svd", vector_size=2).training.seconds > 0
    True
    """
    chosen = find_recipe(recipe)
    settings = chosen.settings(options)
    if chosen.source == "vectors":
        raise FirthianError(f"the recipe {chosen.name} learns from vectors", hint="a dry run needs counts or a corpus")
    busy = check_workers(workers)
    check_source(chosen, source, counting or {})
    if is_counts(source):
        counts = source if isinstance(source, Counts) else Counts.load(source, verify=False)
        counted, speed = None, 1.0
        (words, tokens), pairs = sizes_of(counts.vocabulary), counts.pairs
    else:
        counted = estimate(source, workers=workers, memory=memory, **{**chosen.counting, **(counting or {})})
        tokens, words, pairs, speed = counted.tokens, counted.words, counted.pairs, counted.speed
    dimension = check_dimension(chosen, vector_size, words, tokens)
    if chosen.source == "counts":
        check_pairs(pairs)
    problem = Problem(words, pairs, dimension, tokens if chosen.source == "tokens" else 0)
    if memory is not None:
        check_memory(chosen, settings, problem, check_budget(memory))
    # Measured under the name that users know: an alias, where that is the better known one.
    name = next((name for name in (chosen.name, *chosen.aliases) if name in _measured()), None)
    took = None
    if name is not None:
        size = cost.Size(tokens, words, pairs, dimension)
        took = cost.predict(name, size, busy, speed, _passes(chosen, settings, tokens))
    most = chosen.memory_for(settings).needed(problem)
    return Forecast(chosen.name, tokens, words, pairs, dimension, busy, counted, took, most)


def _passes(recipe: Recipe, settings: Mapping[str, Any], tokens: int) -> float:
    """Return the epochs that are asked for as a multiple of those that were measured: the usual ones for less text."""
    if "epochs" not in settings:
        return 1.0
    usual = recipe.options["epochs"].default
    asked = settings["epochs"]
    if usual == "auto":
        find = recipe.load("solver").usual_epochs  # type: ignore[attr-defined]
        usual, asked = find(settings, 0), find(settings, tokens) if asked == "auto" else asked
    return float(asked / usual)
