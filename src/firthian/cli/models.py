"""``firth models``: every recipe and its options."""

from __future__ import annotations

import typer

from firthian.cli.app import app
from firthian.cli.options import Json, print_json


@app.command()
def models(
    name: str | None = typer.Argument(None, help="Recipe to describe, with all its options."),
    json: Json = False,
) -> None:
    """List the recipes, or describe one."""
    from firthian.learn.recipe import LARGE_TEXT
    from firthian.learn.recipes import RECIPES, Recipe, find_recipe
    from firthian.learn.train import DEFAULT_RECIPE

    def facts(recipe: Recipe) -> dict[str, object]:
        return {
            "name": recipe.name,
            "aliases": list(recipe.aliases),
            "summary": recipe.summary,
            "paper": recipe.paper,
            "source": recipe.source,
            "dimension": recipe.dimension,
            "chooses_dimension": recipe.chooses_dimension,
            "counting": dict(recipe.counting),
            "options": {
                option.name: {"default": option.default, "help": option.help} for option in recipe.options.values()
            },
        }

    chosen = [find_recipe(name)] if name else list(RECIPES)
    if json:
        print_json([facts(recipe) for recipe in chosen])
        return
    if not name:
        width = max(len(recipe.name) for recipe in RECIPES)
        for recipe in RECIPES:
            also = f" (also {', '.join(recipe.aliases)})" if recipe.aliases else ""
            print(f"{recipe.name:<{width}}  {recipe.summary}{also}")
        print(f"\nThe default is {DEFAULT_RECIPE}. firth models NAME lists a recipe's options.")
        return
    recipe = chosen[0]
    print(f"{recipe.name}: {recipe.summary}\n  paper      {recipe.paper}")
    if recipe.aliases:
        print(f"  aliases    {', '.join(recipe.aliases)}")
    if recipe.counting:
        print(f"  counting   {', '.join(f'{key}={value}' for key, value in recipe.counting.items())}")
    if recipe.dimension:
        large = recipe.usual_dimension(LARGE_TEXT)
        more = f" ({large} for {LARGE_TEXT // 10**6} M tokens or more)" if large != recipe.dimension else ""
        more += ", or chosen by --dim auto" if recipe.chooses_dimension else ""
        print(f"  dimension  {recipe.dimension}{more}")
    for option in recipe.options.values():
        choices = f" ({', '.join(option.choices)})" if option.choices else ""
        print(f"  --set {option.name}={option.default}\n        {option.help}{choices}")
