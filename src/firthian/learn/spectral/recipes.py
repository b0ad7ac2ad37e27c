"""Recipes of association between words and contexts, and of its factorizations."""

from __future__ import annotations

from dataclasses import replace

from firthian.learn.common import DYNAMIC, POWER, SEARCH, SMOOTHING
from firthian.learn.recipe import Option, Recipe
from firthian.runtime.memory import Memory

HERE = "firthian.learn.spectral"

_SHIFT = Option("shift", 1.0, "k of the shift log k; 1 is no shift", low=1e-9)
_UNSMOOTHED = replace(SMOOTHING, default=1.0)
_JELINEK_MERCER = Option("smoothing", 0.0, "part of chance mixed into the joint probability", low=0, high=0.999)
_NORMALIZE = Option("normalize", True, "every word vector has length 1", "solver")
_TOLERANCE = Option(
    "tolerance", 0.01, "relative residual at which a singular vector is found", "solver", low=1e-6, high=1
)
_COUNT_POWER = Option("count_power", 0.5, "power of every count before whitening; 1 is plain CCA", low=0.01, high=2)

ASSOCIATION = (
    Recipe(
        "ppmi",
        "positive pointwise mutual information, sparse",
        "Bullinaria and Levy 2007; Levy, Goldberg and Dagan 2015",
        f"{HERE}.association:PMI",
        f"{HERE}.rows:Rows",
        (SMOOTHING, _SHIFT, _JELINEK_MERCER),
        counting=DYNAMIC,
        dimension=0,
        memory=Memory(once=SEARCH.once, pair=12),
    ),
    Recipe(
        "sppmi",
        "shifted positive PMI, sparse",
        "Levy and Goldberg 2014",
        f"{HERE}.association:PMI",
        f"{HERE}.rows:Rows",
        (SMOOTHING, replace(_SHIFT, default=5.0), _JELINEK_MERCER),
        counting=DYNAMIC,
        dimension=0,
        memory=Memory(once=SEARCH.once, pair=12),
    ),
    Recipe(
        "svd",
        "singular vectors of positive PMI",
        "Levy, Goldberg and Dagan 2015",
        f"{HERE}.association:PMI",
        f"{HERE}.factorization:SVD",
        (_UNSMOOTHED, _SHIFT, _JELINEK_MERCER, POWER, _TOLERANCE),
        counting=DYNAMIC,
        memory=SEARCH,
    ),
    Recipe(
        "imf",
        "singular vectors of shifted positive PMI (implicit matrix factorization)",
        "Levy and Goldberg 2014",
        f"{HERE}.association:PMI",
        f"{HERE}.factorization:SVD",
        (_UNSMOOTHED, replace(_SHIFT, default=5.0), _JELINEK_MERCER, POWER, _TOLERANCE),
        counting=DYNAMIC,
        memory=SEARCH,
    ),
    Recipe(
        "lsa",
        "latent semantic analysis of contexts: log-entropy weights, singular vectors",
        "Deerwester et al. 1990; Dumais 1991",
        f"{HERE}.lsa:LogEntropy",
        f"{HERE}.factorization:SVD",
        (
            Option("entropy", "both", "which global weights to use", choices=("context", "word", "both")),
            POWER,
            _TOLERANCE,
        ),
        counting=DYNAMIC,
        memory=SEARCH.plus(pair=24),
    ),
    Recipe(
        "hpca",
        "Hellinger PCA: principal components of square roots of context probabilities",
        "Lebret and Collobert 2014",
        f"{HERE}.hellinger:Hellinger",
        f"{HERE}.factorization:SVD",
        (
            Option("contexts", 0, "how many of the most frequent words are contexts; 0 is all", low=0),
            replace(POWER, default=0.25),
            _TOLERANCE,
        ),
        counting=DYNAMIC,
        memory=SEARCH.plus(pair=8),
    ),
    Recipe(
        "cca",
        "canonical correlations of words and contexts, on square roots of counts",
        "Stratos, Collins and Hsu 2015",
        f"{HERE}.cca:CCA",
        f"{HERE}.factorization:SVD",
        (_COUNT_POWER, _UNSMOOTHED, POWER, _NORMALIZE, _TOLERANCE),
        counting=DYNAMIC,
        aliases=("singular",),
        memory=SEARCH.plus(pair=8),
    ),
    Recipe(
        "oscca",
        "Eigenwords in one step: canonical correlations of a word and its left and right contexts",
        "Dhillon, Foster and Ungar 2015",
        f"{HERE}.cca:OneStepCCA",
        f"{HERE}.factorization:SVD",
        (_COUNT_POWER, replace(POWER, default=0.0), _NORMALIZE, _TOLERANCE),
        counting={**DYNAMIC, "context": "left"},
        memory=SEARCH.plus(pair=24),
    ),
    Recipe(
        "tscca",
        "Eigenwords in two steps: left against right contexts, then the word against what they share",
        "Dhillon, Foster and Ungar 2015",
        f"{HERE}.cca:TwoStepCCA",
        f"{HERE}.factorization:SVD",
        (_COUNT_POWER, replace(POWER, default=0.0), _NORMALIZE, _TOLERANCE),
        counting={**DYNAMIC, "context": "left"},
        memory=SEARCH.plus(pair=24, word_dim=32),
    ),
    Recipe(
        "random-projection",
        "random projection of positive PMI: no fitting, quick, a baseline",
        "Li, Hastie and Church 2006; Sahlgren 2005",
        f"{HERE}.association:PMI",
        f"{HERE}.projection:RandomProjection",
        (
            SMOOTHING,
            _SHIFT,
            _JELINEK_MERCER,
            Option("projection", "gaussian", "entries of the matrix", "solver", choices=("gaussian", "sparse")),
        ),
        counting=DYNAMIC,
        memory=Memory(pair=24, word_dim=16),
    ),
    Recipe(
        "hal",
        "hyperspace analogue to language: the left and right contexts that vary most",
        "Lund and Burgess 1996",
        f"{HERE}.hal:HAL",
        f"{HERE}.columns:Columns",
        (Option("normalize", True, "counts of a word are divided by their length"),),
        counting={"window": 10, "weighting": "dynamic", "context": "left"},
        dimension=200,
        memory=Memory(pair=64, word_dim=16),
    ),
    Recipe(
        "ica",
        "independent components of the singular vectors of positive PMI: axes that can be named",
        "Hyvärinen 1999; Väyrynen and Honkela 2005",
        f"{HERE}.association:PMI",
        f"{HERE}.ica:ICA",
        (
            _UNSMOOTHED,
            _SHIFT,
            _JELINEK_MERCER,
            Option("epochs", 200, "most iterations of FastICA", "solver", low=1),
            Option("tolerance", 1e-4, "movement of an axis at which it stops", "solver", low=0, high=1),
        ),
        counting=DYNAMIC,
        memory=SEARCH.plus(word_dim=16),
    ),
    Recipe(
        "sparse",
        "sparse overcomplete codes of given dense vectors",
        "Faruqui et al. 2015",
        f"{HERE}.given:GivenVectors",
        f"{HERE}.sparse_coding:SparseCoding",
        (
            Option("l1", 0.1, "weight of the l1 norm of the codes; higher is sparser", "solver", low=0),
            Option("nonnegative", True, "codes are never negative", "solver"),
            Option("epochs", 15, "turns of codes and dictionary", "solver", low=1),
            Option("tolerance", 1e-3, "relative fall of the objective at which it stops", "solver", low=0, high=1),
        ),
        source="vectors",
        dimension=1000,
        memory=Memory(word=2000, word_dim=16),
    ),
    Recipe(
        "brown",
        "Brown clusters; vectors are one-hot prefixes of their bit strings",
        "Brown et al. 1992; Turian, Ratinov and Bengio 2010",
        f"{HERE}.brown:Brown",
        f"{HERE}.clusters:Clusters",
        (
            Option("classes", 256, "number of classes", low=1),
            Option("prefixes", "4,6,10,20", "lengths of the prefixes that become features"),
        ),
        counting={"window": 1, "weighting": "flat", "context": "left"},
        dimension=0,
        memory=Memory(pair=72),
    ),
)
