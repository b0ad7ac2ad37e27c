"""Recipes of PSDVec."""

from __future__ import annotations

from firthian.learn.recipe import Recipe
from firthian.runtime.cost import memory_of

_MODEL, _SOLVER = "firthian.learn.psd.model:WeightedPMI", "firthian.learn.psd.block_descent:BlockDescent"
_PAPER = "Li, Zhu and Miao 2015 (PSDVec)"

PSD = (
    Recipe(
        "psd", "weighted low-rank positive semidefinite approximation of PMI", _PAPER,
        _MODEL, _SOLVER, fixed={"core": None, "band_ridges": "0", "unseen_weight": 0.0}, memory=memory_of("psd"),
    ),
    Recipe(
        "psd-blockwise", "psd for the most frequent words, every other word by ridge regression on them", _PAPER,
        _MODEL, _SOLVER, defaults={"core": 25_000}, memory=memory_of("psd").plus(pair=30),
    ),
)  # fmt: skip
