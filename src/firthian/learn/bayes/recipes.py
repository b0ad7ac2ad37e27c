"""Bayesian recipes: a distribution for every word."""

from __future__ import annotations

from dataclasses import replace

from firthian.learn.recipe import Recipe
from firthian.runtime.cost import memory_of
from firthian.runtime.memory import Memory

HERE = "firthian.learn.bayes"

# The memory was measured with full covariances in float32.
_FULL = Recipe(
    "bayes", "Bayesian logistic factorization: every word a Gaussian, unused dimensions switched off", "Sakaya 2015",
    f"{HERE}.model:BayesianLogistic", f"{HERE}.variational:VariationalSweeps",
    dimension=50, chooses_dimension=True, memory=memory_of("bayes"),
    memory_with={
        ("covariance", "diagonal"): lambda memory: replace(memory, word_dim2=0).plus(word_dim=40),
        ("dtype", "float64"): lambda memory: memory.plus(word_dim=memory.word_dim, word_dim2=memory.word_dim2),
    },
)  # fmt: skip

SVI = Recipe(
    "bayes-svi", "bayes, trained in mini-batches on a stream of text", "Sakaya 2015, Algorithm 3, improved",
    f"{HERE}.model:StreamedLogistic", f"{HERE}.streaming:StochasticSweeps",
    source="tokens", dimension=50, batch_option="batch_tokens",
    memory=Memory(word_dim2=16, word_dim=80, word=600, token=300, batch=1_000_000),
)  # fmt: skip

BAYES = (_FULL, SVI)
