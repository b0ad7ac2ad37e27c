"""Every recipe on a corpus that is small, but large enough for its loops to take several steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import firthian as ft
from firthian.learn.recipes import RECIPES, find_recipe

#: Options that make a recipe's run short, with several steps.
SHORT: dict[str, dict[str, Any]] = {
    "ica": {"epochs": 12},
    "sparse": {"epochs": 4},
    "brown": {"classes": 12},
    "psd-blockwise": {"core": 560},
    "glove": {"epochs": 3},
    "sgns-sgd": {"epochs": 2},
    "emf-amemf": {"epochs": 4},
    "gaussian": {"epochs": 4},
    "tweedie": {"iterations": 4},
    "poisson": {"iterations": 3},
    "multinomial": {"iterations": 3},
    "negative-binomial": {"iterations": 3},
    "bayes": {"epochs": 4},
    "bayes-svi": {"batch_tokens": 3000, "epochs": 2, "start_sweeps": 2},
}

#: Ways through a solver that a recipe's defaults do not take.
OTHER_WAYS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("psd until it settles", "psd", {"iterations": "auto"}),
    ("psd with steps taken back", "psd", {"step": 2.0, "iterations": 6}),
    ("tweedie with early stop", "tweedie", {"iterations": 8, "early_stop": True}),
    ("tweedie with power auto", "tweedie", {"power": "auto", "iterations": 2}),
    ("tweedie by adagrad", "tweedie", {"solver": "adagrad", "iterations": 3, "epochs": 2, "early_stop": True}),
    ("sgns by Newton steps", "sgns", {"step": "newton", "epochs": 3}),
    ("sgns with sampled zeros", "sgns", {"unseen": "sampled", "sampled_zeros": 100, "epochs": 3}),
    ("cbow", "sgns-sgd", {"cbow": True, "epochs": 2}),
    ("bayes, diagonal with biases", "bayes", {"covariance": "diagonal", "bias": "both", "epochs": 3}),
    ("bayes until it settles", "bayes", {"tolerance": 1e-3, "prune": 0.5, "epochs": 6}),
)

#: Recipes without a loop: nothing can be saved, and nothing need be.
WITHOUT_STEPS = ("ppmi", "sppmi", "random-projection", "hal")

#: Dimensions other than 8: with 8, the one Krylov search of these recipes ends at its first or second look at the residuals.
SIZES = {"hpca": 24, "oscca": 24, "tscca": 24}


@dataclass(frozen=True)
class Way:
    """A recipe with its options."""

    label: str
    recipe: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def has_steps(self) -> bool:
        """Whether there is a loop."""
        return self.recipe not in WITHOUT_STEPS


WAYS = (
    *(Way(recipe.name, recipe.name, SHORT.get(recipe.name, {})) for recipe in RECIPES),
    *(Way(*row) for row in OTHER_WAYS),
)


def write_corpus(path: Path, lines: int = 1400, words: int = 640, seed: int = 0) -> Path:
    """Write sentences about topics; every word occurs."""
    generator = np.random.default_rng(seed)
    topics = generator.integers(12, size=lines)
    chosen = (generator.zipf(1.4, (lines, 12)) * 12 + topics[:, None]) % words
    chosen[:words, 0] = np.arange(min(words, lines))[:words]
    path.write_text("\n".join("w" + " w".join(map(str, line)) for line in chosen) + "\n")
    return path


def source_of(way: Way, folder: Path) -> Any:
    """Return the input of a recipe, made once in a folder: a corpus, counts or vectors."""
    recipe = find_recipe(way.recipe)
    corpus = folder / "corpus.txt"
    if not corpus.exists():
        write_corpus(corpus)
    if recipe.source == "tokens":
        return corpus
    settings = {**recipe.counting, "min_count": 1}
    counts = folder / ("counts-" + "-".join(str(value) for value in settings.values()))
    if not counts.exists():
        ft.count(corpus, counts, **settings)
    if recipe.source == "counts":
        return counts
    vectors = folder / "svd"
    if not vectors.exists():
        ft.train(counts, "svd", vector_size=12).save(vectors)
    return vectors


def train(way: Way, folder: Path, target: Path | None, **arguments: Any) -> ft.Vectors:
    """Train, with every step saved if there is a target."""
    recipe = find_recipe(way.recipe)
    size = {0: None, 1000: 24}.get(recipe.dimension, SIZES.get(recipe.name, 8))
    if recipe.source == "tokens":
        arguments["counting"] = {"min_count": 1, "sample": 0.01}
    if target is not None:
        arguments = {"output": target, "checkpoint_every": 0, **arguments}
    return ft.train(source_of(way, folder), way.recipe, vector_size=size, **way.options, **arguments)
