"""Recipes of PSDVec."""

from __future__ import annotations

from firthian.learn.common import DYNAMIC, POWER
from firthian.learn.recipe import Option, Recipe
from firthian.runtime.cost import memory_of

HERE = "firthian.learn.psd"

_MODEL_OPTIONS = (
    Option("kappa", 0.02, "Jelinek-Mercer smoothing of the bigrams", low=0, high=0.99),
    Option("cut", 0.01, "share of all pairs whose weight is cut off at 1 (the paper: 0.0002)", low=0, high=1),
    Option("weight_power", 0.5, "power of the count in the weight", low=0, high=2),
)
_DESCENT_OPTIONS = (
    Option(
        "iterations", 4, "block descent iterations, or auto: until the loss settles", "solver", low=1, words=("auto",)
    ),
    Option("ridge", 0.0, "Tikhonov mu of the core: taken from every eigenvalue", "solver", low=0),
    Option(
        "step", 1.9, "length of a step; 1 is the paper's algorithm, longer ones get further", "solver", low=0.1, high=2
    ),
    Option("center", True, "take the mean from every vector", "solver"),
    POWER,
)

PSD = (
    Recipe(
        "psd",
        "weighted low-rank positive semidefinite approximation of PMI",
        "Li, Zhu and Miao 2015 (PSDVec)",
        f"{HERE}.model:WeightedPMI",
        f"{HERE}.block_descent:BlockDescent",
        (*_MODEL_OPTIONS, *_DESCENT_OPTIONS),
        counting=DYNAMIC,
        memory=memory_of("psd"),
    ),
    Recipe(
        "psd-blockwise",
        "psd for the most frequent words, every other word by ridge regression on them",
        "Li, Zhu and Miao 2015 (PSDVec)",
        f"{HERE}.model:WeightedPMI",
        f"{HERE}.blockwise:Blockwise",
        (
            *_MODEL_OPTIONS,
            Option("core", 25_000, "how many of the most frequent words are fitted together", low=1),
            *_DESCENT_OPTIONS,
            Option(
                "band_ridges",
                "2,4,8",
                "mu of each band of further words, the rarest last; 0 is unregularized",
                "solver",
            ),
        ),
        counting=DYNAMIC,
        memory=memory_of("psd").plus(pair=30),
    ),
)
