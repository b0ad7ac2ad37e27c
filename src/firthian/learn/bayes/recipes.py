"""Bayesian recipes: every word is a distribution."""

from __future__ import annotations

from dataclasses import replace

from firthian.learn.common import DYNAMIC, SMOOTHING
from firthian.learn.recipe import Option, Recipe
from firthian.runtime.cost import memory_of
from firthian.runtime.memory import Memory

HERE = "firthian.learn.bayes"

#: As measured with full covariances in float32.
_MEMORY = memory_of("bayes")

_LIKELIHOOD = (
    Option("negative", 5.0, "k: negative events for each real one", low=0, high=1e6),
    SMOOTHING,
    Option("temper", 1.0, "factor on all counts; below 1 the posterior is wider", low=1e-9, high=1e9),
    Option("bias", "none", "none, row or both", choices=("none", "row", "both")),
    Option("bound", "jaakkola", "quadratic bound of the logistic function", choices=("jaakkola", "boehning")),
    Option("relevance_shape", 1e-3, "a0 of the Gamma prior of a dimension's precision", low=1e-12, high=1e12),
    Option("relevance_rate", 1e-3, "b0 of the Gamma prior of a dimension's precision", low=1e-12, high=1e12),
    Option("bias_precision", 0.01, "prior precision of the biases", low=1e-12, high=1e12),
)

BAYES = (
    Recipe(
        "bayes",
        "Bayesian logistic factorization: every word a Gaussian, unused dimensions switched off",
        "Sakaya 2015",
        f"{HERE}.model:BayesianLogistic",
        f"{HERE}.variational:VariationalSweeps",
        (
            *_LIKELIHOOD,
            Option(
                "negatives", "expected", "negative events: their expectation, or a sample", choices=("expected", "sampled")
            ),
            Option("epochs", 8, "sweeps over all words and contexts", "solver", low=1),
            Option("covariance", "full", "of each word", "solver", choices=("full", "diagonal")),
            Option("start", "spectral", "where to begin", "solver", choices=("spectral", "noise")),
            Option("rotate", True, "turn to the best basis after each sweep; only covariance=full can", "solver"),
            Option("tolerance", 0.0, "stop when a sweep gains less than this fraction of the bound", "solver", low=0, high=1),
            Option("prune", 0.0, "drop dimensions with a smaller share of signal; 0.5 is sensible", "solver", low=0, high=1),
            Option("eigenvalue_power", 0.25, "share of each dimension's strength that words get", "solver", low=0, high=2),
            Option("center", False, "subtract the mean vector", "solver"),
            Option("calibrate", True, "covariances by the logistic function's own curvature, in one more sweep", "solver"),
            Option("dtype", "float32", "precision of the work", "solver", choices=("float32", "float64")),
            Option("largest", 128, "the largest dimension that --dim auto tries", "solver", low=1),
        ),
        counting=DYNAMIC,
        dimension=50,
        chooses_dimension=True,
        memory=_MEMORY,
        memory_with={
            ("covariance", "diagonal"): lambda memory: replace(memory, word_dim2=0).plus(word_dim=40),
            ("dtype", "float64"): lambda memory: memory.plus(word_dim=memory.word_dim, word_dim2=memory.word_dim2),
        },
    ),
    Recipe(
        "bayes-svi",
        "the same, learned batch by batch from a stream of text",
        "Sakaya 2015, Algorithm 3, improved",
        f"{HERE}.svi:StreamedLogistic",
        f"{HERE}.streaming:StochasticSweeps",
        (
            *(option for option in _LIKELIHOOD if not option.name.startswith("bias")),
            Option(
                "batch_tokens",
                1_000_000,
                "tokens of a batch, about; up to a million at most those of 4 MB of text, which are fewer",
                low=1,
            ),
            Option("population", 0, "tokens of which the text is assumed to be a part; 0: there are no more", low=0),
            Option("epochs", 1, "passes over the text", "solver", low=1),
            Option("forgetting", 0.85, "step = (a batch's share of a word's events)^this", "solver", low=0, high=1),
            Option("start_sweeps", 5, "full sweeps over the first batch", "solver", low=1),
            Option("eigenvalue_power", 0.25, "share of each dimension's strength that words get", "solver", low=0, high=2),
            Option("center", False, "subtract the mean vector", "solver"),
        ),
        counting=DYNAMIC,
        source="tokens",
        dimension=50,
        memory=Memory(word_dim2=16, word_dim=60, word=400, token=300, batch=1_000_000),
        batch_option="batch_tokens",
    ),
)  # fmt: skip
