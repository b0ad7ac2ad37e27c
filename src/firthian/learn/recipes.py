"""Every recipe: the names users type.

One file per family, one row per recipe. ``docs/add_a_model.md`` walks through adding one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firthian.errors import FirthianError, suggest
from firthian.learn.bayes.recipes import BAYES
from firthian.learn.likelihood.recipes import LIKELIHOOD
from firthian.learn.psd.recipes import PSD
from firthian.learn.recipe import Recipe
from firthian.learn.spectral.recipes import SPECTRAL
from firthian.learn.stochastic.recipes import STOCHASTIC

__all__ = ["RECIPES", "Recipe", "find_recipe", "recipe_names"]

RECIPES: tuple[Recipe, ...] = (*SPECTRAL, *PSD, *LIKELIHOOD, *STOCHASTIC, *BAYES)


#: Names of other tools for a recipe with an option.
SYNONYMS: dict[str, tuple[str, dict[str, Any]]] = {
    "cbow": ("sgns-sgd", {"cbow": True}),
    "fasttext": ("sgns", {"subwords": "on"}),
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
    if name.lower() in SYNONYMS:
        recipe_name, options = SYNONYMS[name.lower()]
        settings = " ".join(f"`{option}={value}`" for option, value in options.items())
        raise FirthianError(f"{name} is the recipe {recipe_name} with {settings}", hint="pass both")
    raise FirthianError(f"unknown recipe {name!r}", suggest(name, recipe_names()))


def meant(name: str, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the recipe that a name of another tool means, and the options with those it implies.

    >>> meant("fasttext", {"negative": 5})
    ('sgns', {'subwords': 'on', 'negative': 5})
    """
    recipe, implied = SYNONYMS.get(name.lower(), (name, {}))
    return recipe, {**implied, **options}
