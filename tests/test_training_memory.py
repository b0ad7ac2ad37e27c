"""What training takes is known before it begins: enough, not much too much, and told when there is not as much."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import firthian as ft
from firthian.memory import INTERPRETER_BYTES, LEAST_BUDGET, Memory, Problem, anonymous_bytes
from firthian.recipes import RECIPES, find_recipe
from firthian.training import DEFAULT_RECIPE

TRAIN = """
import json, sys
import firthian as ft
from firthian.training import size_of
source, recipe, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
vectors = ft.train(source, recipe, workers=2, **options)
print(vectors.measured["peak_bytes"])
"""

MAIN = {
    "svd": {"vector_size": 60},
    "psd": {"vector_size": 60, "iterations": 2},
    "sgns": {"vector_size": 60, "epochs": 2},
    "tweedie": {"vector_size": 60, "iterations": 2},
    "glove": {"vector_size": 60, "epochs": 1},
}


def write_corpus(path: Path, lines: int) -> Path:
    generator = np.random.default_rng(0)
    words = generator.zipf(1.15, (lines, 25)) % 30_000
    path.write_text("\n".join("w" + " w".join(map(str, line)) for line in words))
    return path


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("memory")
    ft.count(write_corpus(folder / "corpus.txt", 30_000), folder / "c", window=8, min_count=2)
    return folder / "c"


@pytest.mark.skipif(not anonymous_bytes(), reason="the system does not tell anonymous memory")
@pytest.mark.parametrize(
    "recipe", [pytest.param(name, marks=[pytest.mark.slow] * (name != DEFAULT_RECIPE)) for name in MAIN]
)
def test_the_estimate_holds_and_is_not_wild(counts: Path, recipe: str) -> None:
    found = ft.Counts.load(counts, verify=False)
    problem = Problem(len(found.vocabulary), found.pairs, MAIN[recipe]["vector_size"])
    command = [sys.executable, "-c", TRAIN, str(counts), recipe, json.dumps(MAIN[recipe])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    estimate = find_recipe(recipe).memory.needed(problem)
    assert estimate > 2 * INTERPRETER_BYTES, "the problem is too small to tell"
    assert int(done.stdout) <= estimate
    assert estimate <= 2.5 * int(done.stdout)


@pytest.mark.parametrize(
    "recipe", [recipe for recipe in RECIPES if recipe.source != "vectors"], ids=lambda row: row.name
)
def test_every_recipe_says_what_it_takes(recipe: object) -> None:
    memory = recipe.memory  # type: ignore[attr-defined]
    assert memory.needed(Problem(10**6, 10**9, 300, 10**10)) > memory.needed(Problem(10**4, 10**6, 50, 10**6))


def test_a_budget_that_is_too_small_is_told_with_what_would_fit(counts: Path, tmp_path: Path, firth) -> None:
    outcome = firth("train", counts, "-m", "svd", "--dim", 3000, "-o", tmp_path / "v", "--memory", "400MB")
    outcome.complains(
        "svd with", "3,000 dimensions needs about", "more than the budget of 400 MB", "give --memory ", "--dim "
    )
    assert not list(tmp_path.iterdir())
    words = outcome.err.split()
    largest = int(words[words.index("--dim") + 1].rstrip(","))
    memory = find_recipe("svd").memory
    found = ft.Counts.load(counts, verify=False)
    assert memory.needed(Problem(len(found.vocabulary), found.pairs, largest)) <= 400e6
    assert memory.needed(Problem(len(found.vocabulary), found.pairs, largest + 1)) > 400e6


def test_no_dimension_is_proposed_where_none_would_fit() -> None:
    with pytest.raises(ft.FirthianError) as caught:
        Memory(pair=100).check("psd", Problem(1000, 10**9, 50), LEAST_BUDGET)
    assert "--dim" not in caught.value.hint


def test_small_problems_fit_the_least_budget() -> None:
    for recipe in RECIPES:
        assert recipe.memory.needed(Problem(1000, 50_000, 50, 20_000)) < LEAST_BUDGET, recipe.name
