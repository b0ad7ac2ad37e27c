"""Every recipe: the names users type.

One file per family, one row per recipe. ``docs/add_a_model.md`` walks through adding one.
"""

from __future__ import annotations

from firthian.errors import FirthianError, suggest
from firthian.learn.bayes.recipes import BAYES
from firthian.learn.likelihood.recipes import LIKELIHOOD
from firthian.learn.psd.recipes import PSD
from firthian.learn.recipe import Recipe
from firthian.learn.spectral.recipes import SPECTRAL
from firthian.learn.stochastic.recipes import STOCHASTIC

__all__ = ["RECIPES", "Recipe", "find_recipe", "recipe_names"]

RECIPES: tuple[Recipe, ...] = (*SPECTRAL, *PSD, *LIKELIHOOD, *STOCHASTIC, *BAYES)


#: Names of other tools that are a recipe with an option.
_ELSEWHERE = {
    "cbow": "CBOW is the recipe sgns-sgd with cbow=true",
    "fasttext": "fastText is the recipe sgns with `subwords=on`",
}


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
    hint = _ELSEWHERE.get(name.lower()) or suggest(name, recipe_names())
    raise FirthianError(f"unknown recipe {name!r}", hint)
