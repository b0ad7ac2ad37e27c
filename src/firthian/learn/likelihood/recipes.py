"""Recipes of exponential families: likelihoods of the counts themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firthian.learn.recipe import Recipe
from firthian.runtime.cost import memory_of
from firthian.runtime.memory import Memory

if TYPE_CHECKING:
    from firthian.learn.likelihood.alternating import FactorModel, SweptModel
    from firthian.learn.likelihood.model import ExponentialFamily, NegativeSampling
    from firthian.learn.likelihood.semf import SupervisedEMF
    from firthian.learn.likelihood.squares import ReweightedModel

    # Rows name models and solvers as text; mypy checks here that the models have what the solvers need.
    _ALTERNATING: list[type[SweptModel]] = [ExponentialFamily, NegativeSampling, SupervisedEMF]
    _AMEMF: list[type[FactorModel]] = [NegativeSampling, SupervisedEMF]
    _IWLRLS: list[type[ReweightedModel]] = [ExponentialFamily, NegativeSampling]

HERE = "firthian.learn.likelihood"
_IWLRLS_SOLVER = f"{HERE}.iwlrls:IWLRLS"

_HARMONIC = {"window": 10, "weighting": "harmonic"}
_EMF = "Li, Xu, Tian, Jiang, Zhong and Chen 2015 (EMF)"
_PAPER = "Baer, Seto and Wells (exponential family word embeddings)"

#: The start computes eigenvectors; a sweep holds gradients, directions and their images.
_SWEEPS = memory_of("sgns")
#: The same with a response and a weight for every pair.
_REWEIGHTED = memory_of("tweedie")
#: Sweeps with a transposed copy of the counts and of the questions.
SEMF_MEMORY = _SWEEPS.plus(pair=24)

#: One iteration of these has no name in the literature; four are near the likelihood they are named after.
_LIKELIHOOD = {"iterations": 4}

LIKELIHOOD = (
    Recipe(
        "tweedie", "counts with variance mu^p; one iteration is GloVe's objective, more are a likelihood of all pairs", _PAPER,
        f"{HERE}.model:tweedie", _IWLRLS_SOLVER, counting=_HARMONIC, memory=_REWEIGHTED,
    ),
    Recipe(
        "poisson", "counts with variance mu", _PAPER,
        f"{HERE}.model:poisson", _IWLRLS_SOLVER, defaults=_LIKELIHOOD, memory=_REWEIGHTED,
    ),
    # Without a context bias, as in the paper, vectors must hold the frequencies: worse at similarity, better at analogies.
    Recipe(
        "multinomial", "a word's contexts as draws from a softmax, by the Poisson trick: skip-gram without sampling", _PAPER,
        f"{HERE}.model:poisson", _IWLRLS_SOLVER, defaults={**_LIKELIHOOD, "bias": "base"}, memory=_REWEIGHTED,
    ),
    Recipe(
        "negative-binomial", "counts with variance mu + mu²/theta", _PAPER,
        f"{HERE}.model:negative_binomial", _IWLRLS_SOLVER, defaults=_LIKELIHOOD, memory=_REWEIGHTED,
    ),
    Recipe(
        "gaussian", "counts with constant variance: the singular vectors of the counts, by alternating least squares", _PAPER,
        f"{HERE}.model:gaussian", f"{HERE}.alternating:AlternatingSquares", memory=_SWEEPS,
    ),
    Recipe(
        "sgns", "skip-gram with negative sampling as a likelihood of the counts (SGNS, EMF), fitted by sweeps",
        "Levy and Goldberg 2014; Li, Xu, Tian, Jiang, Zhong and Chen 2015",
        f"{HERE}.model:NegativeSampling", f"{HERE}.alternating:Alternating",
        aliases=("emf", "binomial", "skipgram"), memory=_SWEEPS,
    ),
    Recipe(
        "sgns-iwlrls",
        "the likelihood of SGNS, started at shifted PMI: one weighted least squares problem, or more iterations", _PAPER,
        f"{HERE}.model:NegativeSampling", _IWLRLS_SOLVER, memory=_REWEIGHTED,
    ),
    Recipe(
        "emf-amemf",
        "explicit matrix factorization by the paper's own algorithm, which fits every pair; with analogies, it is SEMF", _EMF,
        f"{HERE}.semf:semf", f"{HERE}.amemf:AMEMF",
        defaults={"negative": 5.0, "ns_exponent": 1.0}, memory=Memory(pair=16, word_dim=40),
    ),
    Recipe(
        "semf", "explicit matrix factorization supervised by known analogies", _EMF,
        f"{HERE}.semf:semf", f"{HERE}.semf:Supervised", memory=SEMF_MEMORY,
    ),
)  # fmt: skip
