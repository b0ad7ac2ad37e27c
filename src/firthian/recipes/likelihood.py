"""Recipes of exponential families: likelihoods of the counts themselves."""

from __future__ import annotations

from firthian.recipes.common import COMBINE, DYNAMIC, MODELS, SMOOTHING, SOLVERS
from firthian.recipes.recipe import Option, Recipe

_MODEL = f"{MODELS}.exponential_family"

_NEGATIVE = Option("negative", 5.0, "k: noise for each pair that was seen", low=1e-9)
_TRUNCATE_COUNTS = Option("truncate_counts", 0.0, "larger counts are cut off here; 0 is never", low=0)
_DIAGONAL = Option("diagonal", True, "a word may be its own context")
_RIDGE = Option("ridge", 0.0, "weight of the squared lengths of all vectors", "solver", low=0)
_UNSEEN = Option(
    "unseen",
    "expanded",
    "pairs never seen: by a quadratic, all one by one, or some drawn",
    "solver",
    choices=("expanded", "exact", "sampled"),
)
_SAMPLED = Option("sampled_zeros", 2048, "contexts drawn for unseen=sampled", "solver", low=1)
_STEP = Option(
    "step",
    "damped",
    "damped: few sweeps, better vectors; newton: lower loss, with a line search",
    "solver",
    choices=("damped", "newton"),
)
_DAMPING = Option("damping", 0.1, "smaller takes longer damped steps", "solver", low=1e-3, high=100)

LIKELIHOOD = (
    Recipe(
        "binomial",
        "skip-gram with negative sampling as a likelihood of the counts (SGNS, EMF), fitted by sweeps",
        "Levy and Goldberg 2014; Li, Xu, Tian, Jiang, Zhong and Chen 2015",
        f"{_MODEL}:binomial",
        f"{SOLVERS}.alternating:Alternating",
        (
            _NEGATIVE,
            SMOOTHING,
            _TRUNCATE_COUNTS,
            _DIAGONAL,
            Option("epochs", 6, "sweeps over contexts and words", "solver", low=1),
            _UNSEEN,
            _SAMPLED,
            _STEP,
            _DAMPING,
            _RIDGE,
            COMBINE,
        ),
        counting=DYNAMIC,
        aliases=("sgns", "emf"),
    ),
)
