"""How many dimensions there are when nobody says."""

from __future__ import annotations

import pytest

from firthian.errors import FirthianError
from firthian.learn.recipe import LARGE_DIMENSION, LARGE_TEXT, USUAL_DIMENSION
from firthian.learn.recipes import RECIPES, find_recipe
from firthian.learn.train import check_dimension


def test_much_text_has_more_dimensions() -> None:
    sgns = find_recipe("sgns")
    assert check_dimension(sgns, None, 10**5, LARGE_TEXT - 1) == USUAL_DIMENSION
    assert check_dimension(sgns, None, 10**5, LARGE_TEXT) == LARGE_DIMENSION
    assert check_dimension(sgns, 100, 10**5, LARGE_TEXT) == 100
    with pytest.raises(FirthianError, match="larger than the vocabulary of 120 words"):
        check_dimension(sgns, None, 120, LARGE_TEXT)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_a_recipe_that_names_its_own_number_keeps_it(recipe: object) -> None:
    usual, large = recipe.default_dimension(0), recipe.default_dimension(LARGE_TEXT)  # type: ignore[attr-defined]
    assert (usual == large) == (usual != USUAL_DIMENSION)
