"""What a recipe is: a model, a solver, their options with limits, and how to count for them."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from firthian.errors import FirthianError, suggest
from firthian.runtime.memory import Memory

#: What recipes have without ``--dim``, unless they say otherwise, and what they have from so many tokens on.
USUAL_DIMENSION, LARGE_DIMENSION, LARGE_TEXT = 100, 150, 50_000_000


@dataclass(frozen=True)
class Option:
    """One thing a user may set, with its limits.

    >>> Option("shift", 1.0, "the k in log k", low=0).check("2")
    2.0
    """

    name: str
    default: Any
    help: str
    #: Which part takes it: ``model`` or ``solver``.
    part: str = "model"
    choices: tuple[str, ...] = ()
    low: float = -math.inf
    high: float = math.inf
    #: Words that are allowed beside numbers, such as ``auto``.
    words: tuple[str, ...] = ()
    #: Whether only whole numbers will do; said by the default, unless that is one of the words.
    whole: bool = False
    #: Another option and the value without which this one has no effect, where the recipe has both.
    only_with: tuple[str, str] | None = None

    def check(self, value: Any) -> Any:
        """Read a value, given as itself or as text, and say what is wrong with it."""
        if isinstance(value, str) and value in self.words:
            return value
        wanted: type = int if self.whole else float
        if self.default not in self.words:
            wanted = type(self.default)
        try:
            if isinstance(value, bool) and wanted in (int, float):
                raise ValueError
            if wanted is bool:
                result: Any = _boolean(value)
            elif wanted is str:
                result = str(value)
            elif wanted is int:
                result = int(value)
                if isinstance(value, float) and value != result:
                    raise ValueError
            else:
                result = float(value)
        except (TypeError, ValueError, OverflowError):
            raise self._wrong(value) from None
        if self.choices and result not in self.choices:
            raise FirthianError(
                f"{self.name} must be one of {', '.join(self.choices)}, got {value!r}",
                suggest(str(value), self.choices),
            )
        # What has a limit below has one above: no model computes with infinity.
        endless = self.low > -math.inf and result == math.inf
        if wanted in (int, float) and (endless or not self.low <= result <= self.high):
            raise self._wrong(value)
        return result

    def _wrong(self, value: Any) -> FirthianError:
        kinds = {bool: "true or false", int: "a whole number", float: "a number"}
        kind = "a whole number" if self.whole else kinds.get(type(self.default), "a number")
        limits = ""
        if self.low > -math.inf and self.high < math.inf:
            limits = f" from {self.low:g} to {self.high:g}"
        elif self.low > -math.inf:
            limits = f" of at least {self.low:g}"
        extra = f" or {' or '.join(self.words)}" if self.words else ""
        return FirthianError(f"{self.name} must be {kind}{limits}{extra}, got {value!r}", hint=self.help)


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    known = {
        "true": True,
        "yes": True,
        "1": True,
        "on": True,
        "false": False,
        "no": False,
        "0": False,
        "off": False,
    }
    text = str(value).lower()
    if text not in known:
        raise ValueError
    return known[text]


@dataclass(frozen=True)
class Recipe:
    """A model, a solver, their options, and how to count for them."""

    name: str
    summary: str
    paper: str
    #: ``module:Class`` of each part; imported only when the recipe is used.
    model: str
    solver: str
    options: tuple[Option, ...] = ()
    #: Counting settings that differ from those of ``firth count``.
    counting: Mapping[str, Any] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    #: What it learns from: ``counts``, ``tokens`` (the corpus itself) or ``vectors`` (given ones).
    source: str = "counts"
    #: The number of dimensions without ``--dim``, on texts below LARGE_TEXT; 0 where the recipe has none.
    dimension: int = USUAL_DIMENSION
    #: Whether its solver can choose the number of dimensions (``--dim auto``).
    chooses_dimension: bool = False
    #: What it takes in memory, and how an option's value changes that; several changes follow one another.
    memory: Memory = field(default_factory=Memory)
    memory_with: Mapping[tuple[str, Any], Callable[[Memory], Memory]] = field(default_factory=dict)

    #: The option that says how many tokens are held at a time, where there is one; not fewer than ``memory`` says.
    batch_option: str = ""

    def settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Check the options a user gave and fill in the others, those that are None too."""
        known = {option.name: option for option in self.options}
        for name in given:
            if name not in known:
                raise FirthianError(
                    f"the recipe {self.name} has no option {name!r}",
                    suggest(name, known) if known else "it has none",
                )
        chosen = {name: value for name, value in given.items() if value is not None}
        settings = {name: option.check(chosen.get(name, option.default)) for name, option in known.items()}
        for name in chosen:
            self._refuse_idle(known[name], settings)
        return settings

    @staticmethod
    def _refuse_idle(option: Option, settings: Mapping[str, Any]) -> None:
        """Say that a value would change nothing; a default may be given: records hold all options of a run."""
        if option.only_with is None or settings[option.name] == option.default:
            return
        other, value = option.only_with
        if settings.get(other, value) != value:
            raise FirthianError(
                f"{option.name} has no effect with {other}={settings[other]}",
                hint=f"leave it out, or give --set {other}={value}",
            )

    def usual_dimension(self, tokens: int) -> int:
        """Return the number of dimensions without ``--dim`` for so many tokens: much text fills more of them."""
        return LARGE_DIMENSION if self.dimension == USUAL_DIMENSION and tokens >= LARGE_TEXT else self.dimension

    def part(self, which: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings that belong to one part."""
        return {option.name: settings[option.name] for option in self.options if option.part == which}

    def memory_for(self, settings: Mapping[str, Any]) -> Memory:
        """Return what it takes in memory with these settings."""
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
