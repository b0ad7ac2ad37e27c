"""The names users type, and what each stands for: a model, a solver, their options, and how to count for it.

Adding a recipe is one row here. ``docs/add_a_model.md`` walks through it.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
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
_UNSMOOTHED = replace(_SMOOTHING, default=1.0)
_POWER = Option("eigenvalue_power", 0.5, "vectors are U·s^power", "solver", low=0, high=2)
_JELINEK_MERCER = Option("smoothing", 0.0, "part of chance mixed into the joint probability", low=0, high=0.999)
_NORMALIZE = Option("normalize", True, "every word vector has length 1", "solver")
_TOLERANCE = Option(
    "tolerance", 0.01, "relative residual at which a singular vector is found", "solver", low=1e-6, high=1
)
_COUNT_POWER = Option("count_power", 0.5, "power of every count before whitening; 1 is plain CCA", low=0.01, high=2)

#: Windows that do best for association and its factorisations.
_DYNAMIC = {"window": 5, "weighting": "dynamic", "sample": 1e-3}

_PSD_OPTIONS = (
    Option("kappa", 0.02, "Jelinek-Mercer smoothing of the bigrams", low=0, high=0.99),
    Option("cut", 0.01, "share of all pairs whose weight is cut off at 1 (the paper: 0.0002)", low=0, high=1),
    Option("weight_power", 0.5, "power of the count in the weight", low=0, high=2),
)
_DESCENT_OPTIONS = (
    Option(
        "iterations", 4, "block descent iterations, or auto: until the loss settles", "solver", low=1, words=("auto",)
    ),
    Option("ridge", 0.0, "Tikhonov mu of the core: taken from every eigenvalue", "solver", low=0),
    _POWER,
)

RECIPES: tuple[Recipe, ...] = (
    Recipe(
        "ppmi",
        "positive pointwise mutual information, sparse",
        "Bullinaria and Levy 2007; Levy, Goldberg and Dagan 2015",
        f"{_MODELS}.association:PMI",
        f"{_SOLVERS}.rows:Rows",
        (_SMOOTHING, _SHIFT, _JELINEK_MERCER),
        counting=_DYNAMIC,
        dimension=0,
    ),
    Recipe(
        "sppmi",
        "shifted positive PMI, sparse",
        "Levy and Goldberg 2014",
        f"{_MODELS}.association:PMI",
        f"{_SOLVERS}.rows:Rows",
        (_SMOOTHING, replace(_SHIFT, default=5.0), _JELINEK_MERCER),
        counting=_DYNAMIC,
        dimension=0,
    ),
    Recipe(
        "svd",
        "singular vectors of positive PMI",
        "Levy, Goldberg and Dagan 2015",
        f"{_MODELS}.association:PMI",
        f"{_SOLVERS}.factorization:SVD",
        (_UNSMOOTHED, _SHIFT, _JELINEK_MERCER, _POWER, _TOLERANCE),
        counting=_DYNAMIC,
    ),
    Recipe(
        "imf",
        "singular vectors of shifted positive PMI (implicit matrix factorisation)",
        "Levy and Goldberg 2014",
        f"{_MODELS}.association:PMI",
        f"{_SOLVERS}.factorization:SVD",
        (_UNSMOOTHED, replace(_SHIFT, default=5.0), _JELINEK_MERCER, _POWER, _TOLERANCE),
        counting=_DYNAMIC,
    ),
    Recipe(
        "lsa",
        "latent semantic analysis of contexts: log-entropy weights, singular vectors",
        "Deerwester et al. 1990; Dumais 1991",
        f"{_MODELS}.lsa:LogEntropy",
        f"{_SOLVERS}.factorization:SVD",
        (
            Option("entropy", "both", "which global weights to use", choices=("context", "word", "both")),
            _POWER,
            _TOLERANCE,
        ),
        counting=_DYNAMIC,
    ),
    Recipe(
        "hpca",
        "Hellinger PCA: principal components of square roots of context probabilities",
        "Lebret and Collobert 2014",
        f"{_MODELS}.hellinger:Hellinger",
        f"{_SOLVERS}.factorization:SVD",
        (
            Option("contexts", 0, "how many of the most frequent words are contexts; 0 is all", low=0),
            replace(_POWER, default=0.25),
            _TOLERANCE,
        ),
        counting=_DYNAMIC,
    ),
    Recipe(
        "cca",
        "canonical correlations of words and contexts, on square roots of counts",
        "Stratos, Collins and Hsu 2015",
        f"{_MODELS}.cca:CCA",
        f"{_SOLVERS}.factorization:SVD",
        (_COUNT_POWER, _UNSMOOTHED, _POWER, _NORMALIZE, _TOLERANCE),
        counting=_DYNAMIC,
        aliases=("singular",),
    ),
    Recipe(
        "oscca",
        "Eigenwords in one step: canonical correlations of a word and its left and right contexts",
        "Dhillon, Foster and Ungar 2015",
        f"{_MODELS}.cca:OneStepCCA",
        f"{_SOLVERS}.factorization:SVD",
        (_COUNT_POWER, replace(_POWER, default=0.0), _NORMALIZE, _TOLERANCE),
        counting={**_DYNAMIC, "context": "left"},
    ),
    Recipe(
        "tscca",
        "Eigenwords in two steps: left against right contexts, then the word against what they share",
        "Dhillon, Foster and Ungar 2015",
        f"{_MODELS}.cca:TwoStepCCA",
        f"{_SOLVERS}.factorization:SVD",
        (_COUNT_POWER, replace(_POWER, default=0.0), _NORMALIZE, _TOLERANCE),
        counting={**_DYNAMIC, "context": "left"},
    ),
    Recipe(
        "random-projection",
        "random projection of positive PMI: no fitting, quick, a baseline",
        "Li, Hastie and Church 2006; Sahlgren 2005",
        f"{_MODELS}.association:PMI",
        f"{_SOLVERS}.projection:RandomProjection",
        (
            _SMOOTHING,
            _SHIFT,
            _JELINEK_MERCER,
            Option("projection", "gaussian", "entries of the matrix", "solver", choices=("gaussian", "sparse")),
        ),
        counting=_DYNAMIC,
    ),
    Recipe(
        "hal",
        "hyperspace analogue to language: the left and right contexts that vary most",
        "Lund and Burgess 1996",
        f"{_MODELS}.hal:HAL",
        f"{_SOLVERS}.columns:Columns",
        (Option("normalize", True, "counts of a word are divided by their length"),),
        counting={"window": 10, "weighting": "dynamic", "context": "left"},
        dimension=200,
    ),
    Recipe(
        "ica",
        "independent components of the singular vectors of positive PMI: axes that can be named",
        "Hyvärinen 1999; Väyrynen and Honkela 2005",
        f"{_MODELS}.association:PMI",
        f"{_SOLVERS}.ica:ICA",
        (
            _UNSMOOTHED,
            _SHIFT,
            _JELINEK_MERCER,
            Option("epochs", 200, "most iterations of FastICA", "solver", low=1),
            Option("tolerance", 1e-4, "movement of an axis at which it stops", "solver", low=0, high=1),
        ),
        counting=_DYNAMIC,
    ),
    Recipe(
        "sparse",
        "sparse overcomplete codes of given dense vectors",
        "Faruqui et al. 2015",
        f"{_MODELS}.given:GivenVectors",
        f"{_SOLVERS}.sparse_coding:SparseCoding",
        (
            Option("l1", 0.1, "weight of the l1 norm of the codes; higher is sparser", "solver", low=0),
            Option("nonnegative", True, "codes are never negative", "solver"),
            Option("epochs", 15, "turns of codes and dictionary", "solver", low=1),
            Option("tolerance", 1e-3, "relative fall of the objective at which it stops", "solver", low=0, high=1),
        ),
        source="vectors",
        dimension=1000,
    ),
    Recipe(
        "brown",
        "Brown clusters; vectors are one-hot prefixes of their bit strings",
        "Brown et al. 1992; Turian, Ratinov and Bengio 2010",
        f"{_MODELS}.brown:Brown",
        f"{_SOLVERS}.clusters:Clusters",
        (
            Option("classes", 256, "number of classes", low=1),
            Option("prefixes", "4,6,10,20", "lengths of the prefixes that become features"),
        ),
        counting={"window": 1, "weighting": "flat", "context": "left"},
        dimension=0,
    ),
    Recipe(
        "psd",
        "weighted low-rank positive semidefinite approximation of PMI",
        "Li, Zhu and Miao 2015 (PSDVec)",
        f"{_MODELS}.psd:WeightedPMI",
        f"{_SOLVERS}.block_descent:BlockDescent",
        (*_PSD_OPTIONS, *_DESCENT_OPTIONS),
        counting={"sample": 1e-3},
    ),
    Recipe(
        "psd-blockwise",
        "psd for the most frequent words, every other word by ridge regression on them",
        "Li, Zhu and Miao 2015 (PSDVec)",
        f"{_MODELS}.psd:WeightedPMI",
        f"{_SOLVERS}.blockwise:Blockwise",
        (
            *_PSD_OPTIONS,
            Option("core", 25_000, "how many of the most frequent words are fitted together", low=1),
            *_DESCENT_OPTIONS,
            Option(
                "band_ridges",
                "2,4,8",
                "mu of each band of further words, the rarest last; 0 is unregularised",
                "solver",
            ),
        ),
        counting={"sample": 1e-3},
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
