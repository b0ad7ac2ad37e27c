"""Recipes of association between words and contexts, and of its factorizations."""

from __future__ import annotations

from firthian.learn.recipe import DYNAMIC, Recipe
from firthian.runtime.cost import memory_of
from firthian.runtime.memory import Memory

HERE = "firthian.learn.spectral"
_PMI, _ROWS, _SVD = f"{HERE}.association:PMI", f"{HERE}.solvers:Rows", f"{HERE}.solvers:SVD"
_LEFT = {**DYNAMIC, "context": "left"}

#: A matrix as sparse as the counts, and a Krylov search: a basis of twice the dimensions and 256 more, and its image.
_SEARCH = memory_of("svd")
_SPARSE = Memory(once=_SEARCH.once, pair=12)

SPECTRAL = (
    Recipe(
        "ppmi", "positive pointwise mutual information, sparse", "Bullinaria and Levy 2007; Levy, Goldberg and Dagan 2015",
        _PMI, _ROWS, dimension=0, memory=_SPARSE,
    ),
    Recipe(
        "sppmi", "shifted positive PMI, sparse", "Levy and Goldberg 2014",
        _PMI, _ROWS, defaults={"shift": 5.0}, dimension=0, memory=_SPARSE,
    ),
    Recipe(
        "svd", "singular vectors of positive PMI", "Levy, Goldberg and Dagan 2015",
        _PMI, _SVD, defaults={"ns_exponent": 1.0}, fixed={"normalize": False}, memory=_SEARCH,
    ),
    Recipe(
        "imf", "singular vectors of shifted positive PMI (implicit matrix factorization)", "Levy and Goldberg 2014",
        _PMI, _SVD, defaults={"ns_exponent": 1.0, "shift": 5.0}, fixed={"normalize": False}, memory=_SEARCH,
    ),
    Recipe(
        "lsa", "latent semantic analysis of contexts: log-entropy weights, singular vectors",
        "Deerwester et al. 1990; Dumais 1991",
        f"{HERE}.association:LogEntropy", _SVD, fixed={"normalize": False}, memory=_SEARCH.plus(pair=24),
        aliases=("lsi",),
    ),
    Recipe(
        "hpca", "Hellinger PCA: principal components of square roots of context probabilities", "Lebret and Collobert 2014",
        f"{HERE}.association:Hellinger", _SVD,
        defaults={"eigenvalue_power": 0.25}, fixed={"normalize": False}, memory=_SEARCH.plus(pair=8),
    ),
    Recipe(
        "cca", "canonical correlations of words and contexts, on square roots of counts", "Stratos, Collins and Hsu 2015",
        f"{HERE}.cca:CCA", _SVD, defaults={"normalize": True}, aliases=("singular",), memory=_SEARCH.plus(pair=8),
    ),
    Recipe(
        "oscca", "one-step Eigenwords: canonical correlations of a word with its left and right contexts",
        "Dhillon, Foster and Ungar 2015",
        f"{HERE}.cca:OneStepCCA", _SVD,
        defaults={"eigenvalue_power": 0.0, "normalize": True}, counting=_LEFT, memory=_SEARCH.plus(pair=24),
    ),
    Recipe(
        "tscca", "two-step Eigenwords: left against right contexts, then the word against what they share",
        "Dhillon, Foster and Ungar 2015",
        f"{HERE}.cca:TwoStepCCA", _SVD,
        defaults={"eigenvalue_power": 0.0, "normalize": True}, counting=_LEFT, memory=_SEARCH.plus(pair=24, word_dim=32),
    ),
    Recipe(
        "random-projection", "random projection of positive PMI: a fast baseline without fitting",
        "Li, Hastie and Church 2006; Sahlgren 2005",
        _PMI, f"{HERE}.solvers:RandomProjection", memory=_SPARSE.plus(word_dim=16),
    ),
    Recipe(
        "hal", "hyperspace analogue to language: the left and right contexts that vary most", "Lund and Burgess 1996",
        f"{HERE}.hal:HAL", f"{HERE}.hal:Columns",
        counting={"window": 10, "weighting": "dynamic", "context": "left"},
        dimension=200, memory=Memory(pair=64, word_dim=16),
    ),
    Recipe(
        "ica", "independent components of the singular vectors of positive PMI: interpretable axes",
        "Hyvärinen 1999; Väyrynen and Honkela 2005",
        _PMI, f"{HERE}.ica:ICA", defaults={"ns_exponent": 1.0}, memory=_SEARCH.plus(word_dim=16),
    ),
    Recipe(
        "sparse", "sparse overcomplete codes of existing dense vectors", "Faruqui et al. 2015",
        f"{HERE}.sparse_coding:TrainedVectors", f"{HERE}.sparse_coding:SparseCoding",
        counting={}, source="vectors", dimension=1000, memory=Memory(word=2000, word_dim=16),
    ),
    Recipe(
        "brown", "Brown clusters; vectors are one-hot prefixes of their bit strings",
        "Brown et al. 1992; Turian, Ratinov and Bengio 2010",
        f"{HERE}.brown:Brown", f"{HERE}.brown:Clusters",
        counting={"window": 1, "weighting": "flat", "context": "left"}, dimension=0, memory=Memory(pair=72),
    ),
)  # fmt: skip
