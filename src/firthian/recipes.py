"""The names users type, and what each stands for: a model, a solver, their options, and how to count for it.

Adding a recipe is one row here. ``docs/add_a_model.md`` walks through it.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from firthian.errors import FirthianError, suggest


@dataclass(frozen=True)
class Option:
    """One thing a user may set, with its limits.

    >>> Option("shift", 1.0, "the k in log k", low=0).check("2")
    2.0
    """

    name: str
    default: Any
    help: str
    #: Which part takes it: ``model``, ``solver``, or ``result`` (what is made of the solution).
    part: str = "model"
    choices: tuple[str, ...] = ()
    low: float = -math.inf
    high: float = math.inf
    #: Words that are allowed beside numbers, such as ``auto``.
    words: tuple[str, ...] = ()

    def check(self, value: Any) -> Any:
        """Read a value, given as itself or as text, and say what is wrong with it."""
        if value is None or (isinstance(value, str) and value in self.words):
            return value
        wanted: type = type(self.default) if self.default is not None and self.default not in self.words else float
        try:
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
        except (TypeError, ValueError):
            raise self._wrong(value) from None
        if self.choices and result not in self.choices:
            raise FirthianError(
                f"{self.name} must be one of {', '.join(self.choices)}, got {value!r}",
                suggest(str(value), self.choices),
            )
        if wanted in (int, float) and not self.low <= result <= self.high:
            raise self._wrong(value)
        return result

    def _wrong(self, value: Any) -> FirthianError:
        kind = {bool: "true or false", int: "a whole number", float: "a number"}.get(type(self.default), "a number")
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
    #: The number of dimensions without ``--dim``; 0 where the recipe has none.
    dimension: int = 100

    def settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Check the options a user gave and fill in the others."""
        known = {option.name: option for option in self.options}
        for name in given:
            if name not in known:
                raise FirthianError(
                    f"the recipe {self.name} has no option {name!r}",
                    suggest(name, known) if known else "it has none",
                )
        return {name: option.check(given.get(name, option.default)) for name, option in known.items()}

    def part(self, which: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Give the settings that belong to one part."""
        return {option.name: settings[option.name] for option in self.options if option.part == which}

    def load(self, which: str) -> Callable[..., Any]:
        """Import the class of the model or the solver."""
        module, _, name = (self.model if which == "model" else self.solver).partition(":")
        return getattr(importlib.import_module(module), name)  # type: ignore[no-any-return]


_MODELS, _SOLVERS = "firthian.models", "firthian.solvers"

_SHIFT = Option("shift", 1.0, "k of the shift log k; 1 is no shift", low=1e-9)
_SMOOTHING = Option("ns_exponent", 0.75, "power of the context distribution", low=0, high=2)
_POWER = Option("eigenvalue_power", 0.5, "vectors are Q·lambda^power", "solver", low=0, high=2)

RECIPES: tuple[Recipe, ...] = (
    Recipe(
        "ppmi",
        "positive pointwise mutual information, sparse",
        "Bullinaria and Levy 2007; Levy, Goldberg and Dagan 2015",
        f"{_MODELS}.association:PMI",
        f"{_SOLVERS}.rows:Rows",
        (_SMOOTHING, _SHIFT),
        counting={"sample": 1e-3},
        dimension=0,
    ),
    Recipe(
        "bayes",
        "Bayesian logistic factorisation: every word a Gaussian, unused dimensions switched off",
        "Sakaya 2015",
        f"{_MODELS}.bayes:BayesianLogistic",
        f"{_SOLVERS}.variational:VariationalSweeps",
        (
            Option("negative", 5.0, "k: negative events for each real one", low=0),
            _SMOOTHING,
            Option(
                "negatives",
                "expected",
                "negative events: their expectation, or a sample",
                choices=("expected", "sampled"),
            ),
            Option("temper", 1.0, "factor on all counts; below 1 the posterior is wider", low=1e-9),
            Option("bias", "none", "none, row or both", choices=("none", "row", "both")),
            Option("bound", "jaakkola", "quadratic bound of the logistic function", choices=("jaakkola", "boehning")),
            Option("relevance_shape", 1e-3, "a0 of the Gamma prior of a dimension's precision", low=1e-12),
            Option("relevance_rate", 1e-3, "b0 of the Gamma prior of a dimension's precision", low=1e-12),
            Option("bias_precision", 0.01, "prior precision of the biases", low=1e-12),
            Option("epochs", 25, "sweeps over all words and contexts", "solver", low=1),
            Option("covariance", "full", "of each word", "solver", choices=("full", "diagonal")),
            Option("start", "spectral", "where to begin", "solver", choices=("spectral", "noise")),
            Option("rotate", True, "turn to the best basis after each sweep", "solver"),
            Option("tolerance", 0.0, "stop when a sweep gains less than this fraction of the bound", "solver", low=0),
            Option(
                "prune",
                0.0,
                "drop dimensions below this fraction of the largest prior variance",
                "solver",
                low=0,
                high=1,
            ),
            Option(
                "eigenvalue_power", 0.5, "share of each dimension's strength that words get", "solver", low=0, high=2
            ),
            Option("centre", False, "subtract the mean vector", "solver"),
            Option("dtype", "float32", "float32 or float64", "solver", choices=("float32", "float64")),
        ),
        counting={"sample": 1e-3},
        dimension=50,
    ),
)


def recipe_names() -> list[str]:
    """List every name and alias."""
    return [name for recipe in RECIPES for name in (recipe.name, *recipe.aliases)]


def find_recipe(name: str) -> Recipe:
    """Find a recipe by its name or alias.

    >>> find_recipe("ppmi").name
    'ppmi'
    """
    for recipe in RECIPES:
        if name == recipe.name or name in recipe.aliases:
            return recipe
    raise FirthianError(f"there is no recipe {name!r}", hint=suggest(name, recipe_names()))
