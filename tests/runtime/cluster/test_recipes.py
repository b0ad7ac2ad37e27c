"""Every recipe gives the same bytes with one or two threads and with one or two workers of a Ray cluster."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import firthian as ft
from firthian.learn.recipes import RECIPES, find_recipe
from tests.conformance.test_recipes import fingerprint

pytest.importorskip("ray")

#: Of each kind of work that goes to a cluster one: products, blocks of pairs, words added, sweeps, posteriors, text.
SHORT = ("svd", "psd-blockwise", "sgns", "bayes")

#: Blocks have 128 to 1024 rows, so every recipe has several.
WORDS, TOPICS, DIMENSION = 1100, 20, 6

#: Enough to go through every kind of task twice.
OPTIONS = {
    "bayes": {"epochs": 2},
    "glove": {"epochs": 2},
    "sgns-sgd": {"epochs": 1},
    "ica": {"epochs": 3},
    "tweedie, by Adagrad": {"solver": "adagrad", "epochs": 2},
}

#: Every recipe, and those whose other solver has tasks of its own.
NAMES = [*(recipe.name for recipe in RECIPES), "tweedie, by Adagrad"]


@functools.cache
def corpus() -> tuple[str, ...]:
    rng = np.random.default_rng(5)
    shares = 1 / np.arange(2, WORDS // TOPICS + 2)
    shares /= shares.sum()
    lines = [
        " ".join(f"t{topic}w{word}" for word in rng.choice(shares.size, size=40, p=shares))
        for topic in rng.integers(TOPICS, size=250)
    ]
    return *lines, *(f"t{topic}w{word} t{topic}w0" for topic in range(TOPICS) for word in range(shares.size))


def fit(name: str, **how):
    recipe = find_recipe(name.partition(",")[0])
    size = DIMENSION if recipe.dimension else None
    options = OPTIONS.get(name, {})
    if recipe.source == "vectors":
        return ft.train(given(), recipe.name, vector_size=size, **options, **how)
    counting = {"min_count": 1, "sample": 0.0}
    return ft.train(list(corpus()), recipe.name, vector_size=size, counting=counting, **options, **how)


@functools.cache
def given():
    return ft.train(list(corpus()), "svd", vector_size=DIMENSION, counting={"min_count": 1, "sample": 0.0})


@pytest.mark.parametrize(
    "name",
    [name if name in SHORT else pytest.param(name, marks=pytest.mark.cluster) for name in NAMES],
)
def test_same_bytes(name, ray_cluster):
    from firthian.runtime.cluster.executor import RayExecutor

    one = fit(name, workers=1)
    wanted = fingerprint(one)
    for how in ({"workers": 2}, {"cluster": RayExecutor(1)}, {"cluster": RayExecutor(2)}):
        found = fit(name, **how)
        assert fingerprint(found) == wanted, how
        assert (found.provenance, found.state) == (one.provenance, one.state), how
