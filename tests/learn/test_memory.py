"""What training takes is known before it begins: a budget that is enough, not much too much, and told when there is less."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import firthian as ft
from benchmarks import scale
from firthian.learn.forecast import forecast
from firthian.learn.recipes import RECIPES, find_recipe
from firthian.learn.train import DEFAULT_RECIPE
from firthian.runtime.memory import LEAST_BUDGET, MARGIN, Memory, Problem, anonymous_bytes

TRAIN = """
import json, sys
import firthian as ft
source, recipe, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
vectors = ft.train(source, recipe, workers=2, **options)
print(vectors.measured["peak_bytes"])
"""

#: Options that keep the run of a recipe short; they do not change what it holds.
SHORT = {
    "psd": {"iterations": 2},
    "psd-blockwise": {"iterations": 2, "core": 4000},
    "sgns": {"epochs": 2},
    "semf": {"epochs": 2},
    "gaussian": {"epochs": 2},
    "emf-amemf": {"epochs": 1},
    "tweedie": {"iterations": 2},
    "poisson": {"iterations": 2},
    "multinomial": {"iterations": 2},
    "negative-binomial": {"iterations": 2},
    "glove": {"epochs": 1},
    "ica": {"epochs": 3},
    "bayes": {"epochs": 1},
}

MEASURED = [row for row in scale.load() if row["what"] in scale.RECIPES]


def write_corpus(path: Path, lines: int) -> Path:
    generator = np.random.default_rng(0)
    words = generator.zipf(1.15, (lines, 25)) % 30_000
    path.write_text("\n".join("w" + " w".join(map(str, line)) for line in words))
    return path


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("memory") / "corpus.txt", 30_000)


@pytest.fixture(scope="module")
def counts(corpus: Path) -> Path:
    ft.count(corpus, corpus.with_name("c"), window=8, min_count=2)
    return corpus.with_name("c")


@pytest.fixture(scope="module")
def left_counts(corpus: Path) -> Path:
    """For the recipes that tell left contexts from right ones."""
    ft.count(corpus, corpus.with_name("left"), window=8, min_count=2, context="left")
    return corpus.with_name("left")


def peak_bytes(source: Path, recipe: str, options: dict[str, object]) -> int:
    """Train in a process of its own and give its peak; one before it compiles the kernels, which takes memory only once."""
    command = [sys.executable, "-c", TRAIN, str(source), recipe, json.dumps(options)]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2)]
    return int(runs[-1].stdout)


@pytest.mark.parametrize("row", MEASURED, ids=lambda row: f"{row['what']}-{row['pairs']}-{row['dimension']}")
def test_every_measured_run_would_fit_its_budget(row: scale.Row) -> None:
    """Runs of up to 70 million tokens, and none of them would be asked for much more than it took."""
    problem = Problem(row["words"], row["pairs"], row["dimension"])
    memory = find_recipe(row["what"]).memory
    assert memory.needed(problem) >= row["peak_bytes"]
    assert memory.expected(problem) == pytest.approx(row["peak_bytes"], rel=0.2)


def test_a_dry_run_tells_the_same_memory(counts: Path) -> None:
    told = forecast(ft.Counts.load(counts, verify=False), "psd", vector_size=60)
    assert told.training is not None
    assert told.minimum_budget == pytest.approx(max(LEAST_BUDGET, MARGIN * told.training.peak_bytes), abs=2)


def test_options_that_hold_less_or_more_are_known() -> None:
    bayes, problem = find_recipe("bayes"), Problem(50_000, 10**7, 100)
    diagonal, double = {"covariance": "diagonal"}, {"dtype": "float64"}
    found = [
        bayes.memory_for(bayes.settings(options)).expected(problem)
        for options in ({}, diagonal, double, diagonal | double)
    ]
    assert found[1] < found[0] / 5 < found[2] / 8
    assert found[1] < found[3] < 2 * found[1] < found[2]


@pytest.mark.skipif(not anonymous_bytes(), reason="the system does not tell anonymous memory")
@pytest.mark.parametrize(
    ("recipe", "options"),
    [
        pytest.param(
            recipe.name,
            SHORT.get(recipe.name, {}),
            marks=[pytest.mark.slow] * (recipe is not find_recipe(DEFAULT_RECIPE)),
            id=recipe.name,
        )
        for recipe in RECIPES
        if recipe.source == "counts"
    ]
    + [
        pytest.param("bayes", {"covariance": "diagonal", "epochs": 1}, marks=pytest.mark.slow, id="bayes, diagonal"),
        pytest.param("bayes", {"dtype": "float64", "epochs": 1}, marks=pytest.mark.slow, id="bayes, float64"),
    ],
)
def test_the_estimate_holds_and_is_not_wild(
    request: pytest.FixtureRequest, recipe: str, options: dict[str, object]
) -> None:
    chosen = find_recipe(recipe)
    counts: Path = request.getfixturevalue("left_counts" if "context" in chosen.counting else "counts")
    found = ft.Counts.load(counts, verify=False)
    size = {"vector_size": 60} if chosen.dimension else {}
    memory = chosen.memory_for(chosen.settings(options))
    needed = memory.needed(Problem(len(found.vocabulary), found.pairs, 60 if size else 0))
    assert needed > 1.5 * memory.once, "the problem is too small to tell"
    assert needed / 2.5 <= peak_bytes(counts, recipe, options | size) <= needed


@pytest.mark.slow
@pytest.mark.skipif(not anonymous_bytes(), reason="the system does not tell anonymous memory")
@pytest.mark.parametrize("recipe", [recipe.name for recipe in RECIPES if recipe.source == "tokens"])
def test_the_estimate_of_what_reads_the_text_itself_holds(corpus: Path, recipe: str) -> None:
    # The stretches of sgns-sgd are shorter in fewer epochs than it makes by default.
    options = {"vector_size": 40, "counting": {"min_count": 2}, "epochs": 5 if recipe == "sgns-sgd" else 1}
    words = len(ft.count(corpus, min_count=2, window=1).vocabulary)
    needed = find_recipe(recipe).memory.needed(Problem(words, 0, 40, 30_000 * 25))
    assert needed / 2.5 <= peak_bytes(corpus, recipe, options) <= needed


@pytest.mark.parametrize(
    "recipe", [recipe for recipe in RECIPES if recipe.source != "vectors"], ids=lambda row: row.name
)
def test_every_recipe_says_what_it_takes(recipe: object) -> None:
    memory = recipe.memory  # type: ignore[attr-defined]
    assert memory.needed(Problem(10**6, 10**9, 300, 10**10)) > memory.needed(Problem(10**4, 10**6, 50, 10**6))


def test_a_budget_that_is_too_small_is_told_with_what_would_fit(counts: Path, tmp_path: Path, firth) -> None:
    outcome = firth("train", counts, "-m", "svd", "--dim", 3000, "-o", tmp_path / "v", "--memory", "400MB")
    outcome.complains(
        "svd with", "3,000 dimensions needs about", "more than the budget of 400 MB", "set --memory ", "--dim "
    )
    assert not list(tmp_path.iterdir())
    words = outcome.err.split()
    largest = int(words[words.index("--dim") + 1].rstrip(","))
    memory = find_recipe("svd").memory
    found = ft.Counts.load(counts, verify=False)
    assert memory.needed(Problem(len(found.vocabulary), found.pairs, largest)) <= 400e6
    assert memory.needed(Problem(len(found.vocabulary), found.pairs, largest + 1)) > 400e6


def test_covariances_that_do_not_fit_are_told_with_those_that_would(counts: Path, tmp_path: Path, firth) -> None:
    command = ("train", counts, "-m", "bayes", "--epochs", 1, "--memory", "1GB", "-o", tmp_path / "v")
    outcome = firth(*command, "--dim", 150)
    outcome.complains("bayes with", "more than the budget of 1.0 GB", "--dim ", "--covariance diagonal")
    assert "float64" not in outcome.err


def test_no_dimension_is_proposed_where_none_would_fit() -> None:
    with pytest.raises(ft.FirthianError) as caught:
        Memory(pair=100).check("psd", Problem(1000, 10**9, 50), LEAST_BUDGET)
    assert "vector_size" not in caught.value.hint


def test_small_problems_fit_the_least_budget() -> None:
    for recipe in RECIPES:
        assert recipe.memory.needed(Problem(1000, 50_000, 50, 20_000)) < LEAST_BUDGET, recipe.name
