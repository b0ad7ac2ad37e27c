"""Recipes that learn by stochastic gradients."""

from __future__ import annotations

from firthian.learn.recipe import Recipe
from firthian.runtime.cost import memory_of
from firthian.runtime.memory import Memory

HERE = "firthian.learn.stochastic"

STOCHASTIC = (
    Recipe(
        "glove", "GloVe: logarithms of counts by weighted least squares, Adagrad", "Pennington, Socher and Manning 2014",
        f"{HERE}.glove:GloVe", f"{HERE}.glove:Adagrad",
        counting={"window": 10, "weighting": "harmonic"}, memory=memory_of("glove"),
    ),
    # Samples of a stretch, 60 of each token and 16 bytes each: 1/64 of the tokens of five epochs, or 2^23 samples.
    Recipe(
        "sgns-sgd", "skip-gram (or CBOW) with negative sampling by stochastic gradient on the text",
        "Mikolov, Sutskever, Chen, Corrado and Dean 2013",
        f"{HERE}.skipgram:SkipGram", f"{HERE}.skipgram:StochasticGradient",
        aliases=("word2vec",), source="tokens", memory=Memory(word_dim=16, word=400, token=75, batch=1_790_000),
    ),
)  # fmt: skip
