"""Recipes take their options from the signatures of models and solvers; a row holds overrides only."""

from __future__ import annotations

import subprocess
import sys

import pytest

from firthian.errors import FirthianError
from firthian.learn.recipe import Recipe
from firthian.learn.recipes import RECIPES, find_recipe
from firthian.learn.solver import check_fit
from firthian.learn.spectral.solvers import SVD, Rows
from firthian.learn.stochastic.skipgram import StochasticGradient
from firthian.options import declared

PMI, SVD_PATH = "firthian.learn.spectral.association:PMI", "firthian.learn.spectral.solvers:SVD"


def test_defaults_replace_those_of_the_classes():
    recipe = Recipe("mine", "", "", PMI, SVD_PATH, defaults={"shift": 3.0})
    assert recipe.settings({})["shift"] == 3.0
    assert recipe.settings({})["smoothing"] == declared(recipe.load("model"))["smoothing"].default
    assert set(recipe.part("model", recipe.settings({}))) == {"ns_exponent", "shift", "smoothing"}
    assert recipe.part("solver", recipe.settings({"tolerance": "0.1"}))["tolerance"] == 0.1


@pytest.mark.parametrize(
    ("name", "option", "same", "other"), [("psd", "band_ridges", "0", "2,4"), ("svd", "normalize", "false", True)]
)
def test_fixed_options_are_recorded_and_cannot_be_changed(name, option, same, other):
    recipe = find_recipe(name)
    assert option not in recipe.options
    assert recipe.settings({option: same}) == recipe.settings({})
    assert recipe.settings({})[option] == recipe.fixed[option]
    with pytest.raises(
        FirthianError, match=f"the recipe {name} has {option}=.*, which cannot be changed: omit {option}"
    ):
        recipe.settings({option: other})


@pytest.mark.parametrize("field", ["defaults", "fixed"])
def test_a_row_that_overrides_an_option_nobody_declares_is_a_mistake(field):
    with pytest.raises(TypeError, match="recipe mine: neither the model nor the solver declares shfit"):
        _ = Recipe("mine", "", "", PMI, SVD_PATH, **{field: {"shfit": 3.0}}).options


def test_an_option_named_like_a_keyword_gets_an_underscore_in_the_signature():
    recipe = find_recipe("semf")
    assert recipe.part("model", recipe.settings({"lambda": 0.5}))["lambda_"] == 0.5


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_every_setting_goes_to_the_model_or_the_solver(recipe):
    settings = recipe.settings({})
    passed = {*recipe.part("model", settings), *recipe.part("solver", settings)}
    assert {name.rstrip("_") for name in passed} == set(settings)


def test_a_solver_says_what_a_model_lacks():
    class OnlyMatrix:
        def matrix(self): ...

    check_fit(Rows(), OnlyMatrix())
    with pytest.raises(FirthianError, match="the solver SVD needs a model with 'operator', which OnlyMatrix lacks"):
        check_fit(SVD(), OnlyMatrix())
    with pytest.raises(FirthianError, match="the solver StochasticGradient needs a SkipGram, got a OnlyMatrix"):
        check_fit(StochasticGradient(), OnlyMatrix())


def test_listing_recipes_imports_no_model():
    program = (
        "import sys; from firthian.cli.app import main; main(['models']);"
        "print(sorted(name for name in sys.modules if name in ('numba', 'scipy.sparse', 'firthian.learn.spectral.cca')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
