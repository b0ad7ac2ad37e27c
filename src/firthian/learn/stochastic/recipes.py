"""Recipes that learn by stochastic gradients."""

from __future__ import annotations

from dataclasses import replace

from firthian.learn.common import COMBINE, DYNAMIC, SMOOTHING
from firthian.learn.recipe import Option, Recipe
from firthian.runtime.cost import memory_of
from firthian.runtime.memory import Memory

HERE = "firthian.learn.stochastic"

STOCHASTIC = (
    Recipe(
        "glove",
        "GloVe: logarithms of counts by weighted least squares, Adagrad",
        "Pennington, Socher and Manning 2014",
        f"{HERE}.glove:GloVe",
        f"{HERE}.adagrad:Adagrad",
        (
            Option(
                "x_max",
                10.0,
                "counts from here on have weight 1; 10 for tens of millions of tokens",
                low=1e-9,
                high=1e12,
            ),
            Option("weight_exponent", 0.75, "power of the weight of smaller counts", low=0, high=10),
            Option("epochs", 15, "passes over the pairs", "solver", low=1),
            Option("alpha", 0.05, "rate of learning", "solver", low=1e-9, high=10),
            replace(COMBINE, default="u+c"),
        ),
        counting={"window": 10, "weighting": "harmonic"},
        memory=memory_of("glove"),
    ),
    Recipe(
        "sgns-sgd",
        "skip-gram (or CBOW) with negative sampling by stochastic gradient on the text",
        "Mikolov, Sutskever, Chen, Corrado and Dean 2013",
        f"{HERE}.skipgram:from_text",
        f"{HERE}.sgd:StochasticGradient",
        (
            Option("cbow", False, "predict a word from the mean of its neighbors instead"),
            Option("negative", 5, "noise words for each pair", low=0, high=1000),
            SMOOTHING,
            Option("epochs", 5, "passes over the text", "solver", low=1),
            Option("alpha", 0.025, "rate of learning at the start", "solver", low=1e-9, high=10),
            Option("min_alpha", 0.0001, "rate of learning at the end", "solver", low=0, high=10),
            COMBINE,
        ),
        counting=DYNAMIC,
        source="tokens",
        memory=Memory(word_dim=16, word=400, token=80, batch=1_000_000),
    ),
)
