"""Recipes of PSDVec."""

from __future__ import annotations

from firthian.learn.recipe import DYNAMIC, Recipe
from firthian.runtime.cost import memory_of

HERE = "firthian.learn.psd"

PSD = (
    Recipe(
        "psd",
        "weighted low-rank positive semidefinite approximation of PMI",
        "Li, Zhu and Miao 2015 (PSDVec)",
        f"{HERE}.model:WeightedPMI",
        f"{HERE}.block_descent:BlockDescent",
        fixed={"core": None, "band_ridges": "0"},
        counting=DYNAMIC,
        memory=memory_of("psd"),
    ),
    Recipe(
        "psd-blockwise",
        "psd for the most frequent words, every other word by ridge regression on them",
        "Li, Zhu and Miao 2015 (PSDVec)",
        f"{HERE}.model:WeightedPMI",
        f"{HERE}.block_descent:BlockDescent",
        defaults={"core": 25_000},
        counting=DYNAMIC,
        memory=memory_of("psd").plus(pair=30),
    ),
)
