"""Recipes of exponential families: likelihoods of the counts themselves."""

from __future__ import annotations

from dataclasses import replace

from firthian.learn.common import COMBINE, DYNAMIC, SMOOTHING
from firthian.learn.recipe import Option, Recipe
from firthian.runtime.cost import memory_of
from firthian.runtime.memory import Memory
from firthian.vectors.transform import COMBINATIONS

HERE = "firthian.learn.likelihood"

_MODEL = f"{HERE}.model"

_NEGATIVE = Option("negative", 6.0, "k: noise for each pair that was seen", low=1e-9)
_TRUNCATE_COUNTS = Option(
    "truncate_counts", "none", "larger counts are cut off here; none: never", low=1e-9, words=("none",)
)
_DIAGONAL = Option("diagonal", True, "a word may be its own context")
_RIDGE = Option("ridge", 0.0, "weight of the squared lengths of all vectors", "solver", low=0)
_UNSEEN = Option(
    "unseen",
    "expanded",
    "pairs never seen: by a quadratic, all one by one, or some drawn",
    "solver",
    choices=("expanded", "exact", "sampled"),
)
_SAMPLED = Option("sampled_zeros", 2048, "contexts drawn for unseen=sampled", "solver", low=1)
_STEP = Option(
    "step",
    "damped",
    "damped: few sweeps, better vectors; newton: lower loss, with a line search",
    "solver",
    choices=("damped", "newton"),
)
_CENTER = Option("center", True, "the mean of all word vectors, frequent ones weighing more, is taken off", "solver")
_PRIOR = Option(
    "prior_events",
    1000.0,
    "a row's steps are as short as if it had so many events more: rare words are fitted less closely",
    "solver",
    low=0,
    only_with=("step", "damped"),
)
_MIXED = Option(
    "combine",
    0.1,
    "so much of a word's context vector is added to its vector, both as long on average; or u, u+c, mean",
    "solver",
    low=0,
    high=10,
    words=COMBINATIONS,
)
_DAMPING = Option(
    "damping",
    "auto",
    "smaller takes longer damped steps, after which the objective of a tiny text may rise; auto: 0.1, up to 0.3 for less "
    "than 15 M tokens",
    "solver",
    low=1e-3,
    high=100,
    words=("auto",),
    only_with=("step", "damped"),
)

_BINOMIAL_MODEL = (_NEGATIVE, replace(SMOOTHING, default=0.6), _TRUNCATE_COUNTS, _DIAGONAL)
_BIAS = Option("bias", "both", "which biases are fitted; the others are log marginals", choices=("none", "row", "both"))
# Weights are shares of the one at the limit; their squares must not vanish in float32.
_TRUNCATE_WEIGHTS = Option(
    "truncate_weights",
    10.0,
    "counts from here on have weight 1 in the first iteration; none: the largest count alone",
    low=1e-9,
    high=1e12,
    words=("none",),
)
_ITERATIONS = Option(
    "iterations", 1, "1 fits the seen pairs only, more go on to the likelihood of all pairs", "solver", low=1
)
#: One step of these is nobody's method; four are near the likelihood they are named after.
_LIKELIHOOD = replace(_ITERATIONS, default=4)
_ITERATIVE = (
    Option(
        "solver",
        "sweeps",
        "sweeps, or adagrad as in the paper: slower, from a random start",
        "solver",
        choices=("sweeps", "adagrad"),
    ),
    Option(
        "epochs",
        "auto",
        "sweeps of the first iteration (auto: 2), or Adagrad's passes in each (auto: 15)",
        "solver",
        low=1,
        words=("auto",),
        whole=True,
    ),
    Option("alpha", 0.1, "learning rate of solver=adagrad", "solver", low=1e-9, high=10),
    Option("early_stop", False, "stop where held-out pairs and unseen cells are fitted best", "solver"),
    _UNSEEN,
    _SAMPLED,
    Option(
        "cg_steps",
        1,
        "conjugate gradient steps for each row and sweep",
        "solver",
        low=1,
        only_with=("solver", "sweeps"),
    ),
    _RIDGE,
    replace(COMBINE, default="mean"),
)
_HARMONIC = {"window": 10, "weighting": "harmonic"}
_EMF = "Li, Xu, Tian, Jiang, Zhong and Chen 2015 (EMF)"
_PAPER = "Baer, Seto and Wells (exponential family word embeddings)"

#: The start searches for eigenvectors; a sweep holds gradients, directions and their images.
_SWEEPS = memory_of("sgns")
#: The same with a response and a weight for every pair.
_REWEIGHTED = memory_of("tweedie")

LIKELIHOOD = (
    Recipe(
        "tweedie",
        "counts with variance mu^p; one iteration is GloVe's objective, more are a likelihood of all pairs",
        _PAPER,
        f"{_MODEL}:tweedie",
        f"{HERE}.iwlrls:IWLRLS",
        (
            Option("power", 1.25, "p of the variance; auto finds it on held-out pairs", low=1, high=2, words=("auto",)),
            _BIAS,
            _TRUNCATE_WEIGHTS,
            _TRUNCATE_COUNTS,
            _DIAGONAL,
            _ITERATIONS,
            *_ITERATIVE,
        ),
        counting=_HARMONIC,
        memory=_REWEIGHTED,
    ),
    Recipe(
        "poisson",
        "counts with variance mu",
        _PAPER,
        f"{_MODEL}:poisson",
        f"{HERE}.iwlrls:IWLRLS",
        (_BIAS, _TRUNCATE_WEIGHTS, _TRUNCATE_COUNTS, _DIAGONAL, _LIKELIHOOD, *_ITERATIVE),
        counting=DYNAMIC,
        memory=_REWEIGHTED,
    ),
    Recipe(
        "multinomial",
        "a word's contexts as draws from a softmax, by the Poisson trick: skip-gram without sampling",
        _PAPER,
        f"{_MODEL}:poisson",
        f"{HERE}.iwlrls:IWLRLS",
        (
            replace(_BIAS, default="row", choices=("row",)),
            _TRUNCATE_WEIGHTS,
            _TRUNCATE_COUNTS,
            _DIAGONAL,
            _LIKELIHOOD,
            *_ITERATIVE,
        ),
        counting=DYNAMIC,
        aliases=("skipgram",),
        memory=_REWEIGHTED,
    ),
    Recipe(
        "negative-binomial",
        "counts with variance mu + mu²/theta",
        _PAPER,
        f"{_MODEL}:negative_binomial",
        f"{HERE}.iwlrls:IWLRLS",
        (
            Option("theta", 1.0, "shape; a large one is nearly Poisson", low=1e-6),
            _BIAS,
            _TRUNCATE_WEIGHTS,
            _TRUNCATE_COUNTS,
            _DIAGONAL,
            _LIKELIHOOD,
            *_ITERATIVE,
        ),
        counting=DYNAMIC,
        memory=_REWEIGHTED,
    ),
    Recipe(
        "gaussian",
        "counts with constant variance: the singular vectors of the counts, by alternating least squares",
        _PAPER,
        f"{_MODEL}:gaussian",
        f"{HERE}.alternating:Alternating",
        (
            Option(
                "link",
                "identity",
                "identity: singular vectors; log: means above 0, and biases",
                choices=("identity", "log"),
            ),
            replace(_TRUNCATE_COUNTS, default=10.0),
            _DIAGONAL,
            Option("epochs", 10, "sweeps over contexts and words", "solver", low=1),
            replace(_STEP, default="newton"),
            _RIDGE,
            COMBINE,
        ),
        counting=DYNAMIC,
        memory=_SWEEPS,
    ),
    Recipe(
        "sgns",
        "skip-gram with negative sampling as a likelihood of the counts (SGNS, EMF), fitted by sweeps",
        "Levy and Goldberg 2014; Li, Xu, Tian, Jiang, Zhong and Chen 2015",
        f"{_MODEL}:binomial",
        f"{HERE}.alternating:Alternating",
        (
            *_BINOMIAL_MODEL,
            Option(
                "epochs",
                "auto",
                "sweeps over contexts and words; auto: 6, or 8 from 50 M tokens on",
                "solver",
                low=1,
                words=("auto",),
                whole=True,
            ),
            _UNSEEN,
            _SAMPLED,
            _STEP,
            _DAMPING,
            _PRIOR,
            _RIDGE,
            _MIXED,
            _CENTER,
        ),
        counting=DYNAMIC,
        aliases=("emf", "binomial"),
        memory=_SWEEPS,
    ),
    Recipe(
        "emf-amemf",
        "explicit matrix factorization by the paper's own algorithm: alternating gradient descent over every pair",
        _EMF,
        f"{_MODEL}:binomial",
        f"{HERE}.amemf:AMEMF",
        (
            replace(_NEGATIVE, default=5.0),
            replace(SMOOTHING, default=1.0),
            _TRUNCATE_COUNTS,
            _DIAGONAL,
            Option("epochs", 200, "turns of contexts and words", "solver", low=1),
            Option(
                "rate",
                "auto",
                "length of a step; auto is each row's longest that cannot raise the loss (the paper: 6e-7 for all)",
                "solver",
                low=0,
                words=("auto",),
            ),
            _RIDGE,
            COMBINE,
        ),
        counting=DYNAMIC,
        memory=Memory(pair=16, word_dim=40),
    ),
    Recipe(
        "semf",
        "explicit matrix factorization taught by known analogies",
        _EMF,
        f"{HERE}.semf:semf",
        f"{HERE}.supervised:Supervised",
        (
            Option("analogies", "", "a file of questions to learn from; none is plain EMF"),
            Option("lambda", 0.05, "weight of an analogy beside a word's own counts", low=0),
            *_BINOMIAL_MODEL,
            Option("epochs", 6, "sweeps over contexts and words", "solver", low=1),
            _UNSEEN,
            _SAMPLED,
            # Learning what is taught takes longer steps, however small the text.
            replace(_DAMPING, default=0.1),
            replace(_PRIOR, default=0.0),
            _RIDGE,
            COMBINE,
            _CENTER,
        ),
        counting=DYNAMIC,
        memory=_SWEEPS.plus(pair=24),
    ),
)
