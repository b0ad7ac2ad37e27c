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
    raise FirthianError(f"unknown recipe {name!r}", hint=suggest(name, recipe_names()))
