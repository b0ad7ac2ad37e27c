"""A recipe pairs a model with a solver under a name, with settings for counting."""

from __future__ import annotations

import importlib
import keyword
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any

from firthian.errors import FirthianError
from firthian.options import Option, check_all, declared
from firthian.runtime.memory import Memory
from firthian.vectors.transform import COMBINATIONS

#: Dimensions by default, and the default for corpora of at least LARGE_TEXT tokens.
USUAL_DIMENSION, LARGE_DIMENSION, LARGE_TEXT = 100, 150, 50_000_000

#: Options that several families share.
Smoothing = Annotated[float, Option("power of the context distribution", low=0, high=2)]
EigenvaluePower = Annotated[float, Option("power p of the eigenvalues or singular values: U·s^p", low=0, high=2)]
Combine = Annotated[str, Option("combination of word vectors u and context vectors c", choices=COMBINATIONS)]

#: Counting settings that do best for most recipes.
DYNAMIC = {"window": 5, "weighting": "dynamic", "sample": 1e-3}


@dataclass(frozen=True)
class Recipe:
    """A model and a solver, the defaults that differ from theirs, and how to count for them."""

    name: str
    summary: str
    paper: str
    #: ``module:Class`` of each part; imported only when the recipe is used.
    model: str
    solver: str
    #: Defaults that replace those of the model and the solver.
    defaults: Mapping[str, Any] = field(default_factory=dict)
    #: Options of the model and the solver that users cannot change, with their values.
    fixed: Mapping[str, Any] = field(default_factory=dict)
    #: Counting settings that differ from those of ``count``.
    counting: Mapping[str, Any] = field(default_factory=lambda: DYNAMIC)
    aliases: tuple[str, ...] = ()
    #: Its input: ``counts``, ``tokens`` (the corpus itself) or ``vectors`` (trained before).
    source: str = "counts"
    #: The default ``vector_size`` for corpora below LARGE_TEXT; 0 if the recipe has none.
    dimension: int = USUAL_DIMENSION
    #: Whether its solver can choose the number of dimensions (``vector_size="auto"``).
    chooses_dimension: bool = False
    #: The memory it needs, and how values of options change that; several changes add up.
    memory: Memory = field(default_factory=Memory)
    memory_with: Mapping[tuple[str, Any], Callable[[Memory], Memory]] = field(default_factory=dict)
    #: The option that sets the tokens per batch, if any; ``memory`` sets their minimum.
    batch_option: str = ""

    @cached_property
    def options(self) -> dict[str, Option]:
        """The options users may set, by name, as the signatures of the model and the solver declare them."""
        return {
            name: replace(option, default=self.defaults.get(name, option.default))
            for name, option in self._declared.items()
            if name not in self.fixed
        }

    @cached_property
    def _declared(self) -> dict[str, Option]:
        """The options of both parts, with their own defaults."""
        both = declared(self.load("model")) | declared(self.load("solver"))
        if unknown := (self.defaults.keys() | self.fixed.keys()) - both.keys():
            raise TypeError(
                f"recipe {self.name}: neither the model nor the solver declares {', '.join(sorted(unknown))}"
            )
        return both

    def settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Check the options a user passed; fill in the defaults of the others and the fixed ones."""
        free = dict(given)
        for name, value in self.fixed.items():
            requested = free.pop(name, None)
            if requested is not None and self._declared[name].check(requested) != value:
                raise FirthianError(
                    f"the recipe {self.name} has `{name}={value}`, which cannot be changed", hint=f"omit `{name}`"
                )
        return {**self.fixed, **check_all(f"the recipe {self.name}", self.options, free)}

    def default_dimension(self, tokens: int) -> int:
        """Return the default ``vector_size`` for a corpus of ``tokens`` tokens: large ones fill more dimensions."""
        return LARGE_DIMENSION if self.dimension == USUAL_DIMENSION and tokens >= LARGE_TEXT else self.dimension

    def part(self, which: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the keyword arguments of one part, ``model`` or ``solver``."""
        names = declared(self.load(which))
        return {f"{name}_" if keyword.iskeyword(name) else name: settings[name] for name in names}

    def memory_for(self, settings: Mapping[str, Any]) -> Memory:
        """Return the memory needed with these settings."""
        memory = self.memory
        if self.batch_option:
            memory = replace(memory, batch=max(memory.batch, settings[self.batch_option]))
        for (name, value), changed in self.memory_with.items():
            if settings[name] == value:
                memory = changed(memory)
        return memory

    def load(self, which: str) -> Callable[..., Any]:
        """Import the class of the model or the solver."""
        module, _, name = (self.model if which == "model" else self.solver).partition(":")
        return getattr(importlib.import_module(module), name)  # type: ignore[no-any-return]
