"""Vectors: a matrix with one row per word, its vocabulary, provenance and state."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from firthian.vectors import uncertainty
from firthian.vectors.lookup import with_composed
from firthian.vectors.queries import ANALOGY_METHODS, Neighbors
from firthian.vectors.store import load_vectors, save_vectors
from firthian.vectors.transform import Transforms
from firthian.vectors.uncertainty import Answer, CosineEstimate, Neighbor, WordUncertainty

if TYPE_CHECKING:
    from firthian.counts.counts import Counts

__all__ = ["ANALOGY_METHODS", "Neighbors", "Vectors"]


class Vectors(Transforms):
    """Word vectors: ``matrix`` (dense float32, or a SciPy CSR array) and ``vocabulary``.

    ``contexts`` are the vectors of words as contexts; ``extras`` further arrays by name (biases, covariances);
    ``provenance`` says how the vectors were made; ``state`` has the scalars that methods need again; ``subwords`` has the
    vectors of character n-grams.

    With ``subwords`` an unknown word has a vector composed of its n-grams, and ``composed`` counts it; without, or with
    ``missing="error"``, it raises an error that suggests close spellings. With ``missing="skip"`` it is left out, with
    ``"zero"`` it has a vector of zeros. ``missed`` counts all unknown words.

    >>> import numpy as np
    >>> from firthian import Vectors, Vocabulary
    >>> vectors = Vectors(np.array([[1, 0], [1, 1], [0, 1]]), Vocabulary(["tea", "cup", "mug"]))
    >>> vectors
    <Vectors: 3 words × 2 dimensions>
    >>> [(word, round(score, 3)) for word, score in vectors.most_similar("tea")]
    [('cup', 0.707), ('mug', 0.0)]
    >>> vectors["teacup"]
    Traceback (most recent call last):
    ...
    firthian.errors.UnknownWordError: 'teacup' is not in the vocabulary: check its spelling and case
    """

    # Vectors with uncertainty (recipes bayes and bayes-svi)

    def similarity_estimate(self, first: str, second: str, level: float = 0.9) -> CosineEstimate:
        """Return the posterior median of the cosine of two words, and its credible interval (median, low, high).

        ``similarity`` is the cosine of the means.
        """
        return uncertainty.similarity_estimate(with_composed(self, (first, second)), first, second, level)

    def similarity_interval(self, first: str, second: str, level: float = 0.9) -> tuple[float, float]:
        """Return the central credible interval of the cosine of two words."""
        return uncertainty.similarity_interval(with_composed(self, (first, second)), first, second, level)

    def most_similar_with_intervals(
        self, word: str, topn: int = 10, score: str = "cosine", level: float = 0.9
    ) -> list[Neighbor]:
        """Return the nearest words by the posterior median of the cosine, with credible intervals.

        Other scores are ``cosine-of-means`` and ``product-kernel``. A vector of zeros has no neighbors by cosine.
        """
        if score != "product-kernel" and uncertainty.has_uncertainty(self) and not self[word].any():
            return []
        return uncertainty.most_similar(with_composed(self, [word]), word, topn, score, level)

    def uncertainty(self, word: str) -> WordUncertainty:
        """Return how uncertain the model is about a word: trace, log-determinant, effective dimensions."""
        return uncertainty.uncertainty(with_composed(self, [word]), word)

    def analogy_probabilities(
        self, a: str, b: str, c: str, topn: int = 10, draws: int = 500, seed: int = 1
    ) -> list[Answer]:
        """Return the words that complete an analogy, each with its probability of being the best."""
        return uncertainty.analogy(with_composed(self, (a, b, c)), a, b, c, topn, draws, seed)

    # Changed vectors

    def add_words(self, counts: Counts, ridge: float = 1.0, unseen_weight: float = 0.15) -> Vectors:
        """Fold in the words that only ``counts`` has (recipes psd and psd-blockwise); old vectors do not change.

        ``unseen_weight`` is the weight of pairs that do not occur; 0 is the formula of the paper.

        Words that share no pair with the trained ones are left out and named in ``provenance.added``.
        """
        from firthian.vectors.psd import add_words

        return add_words(self, counts, ridge, unseen_weight).vectors

    def compressed(self, bytes: int = 100, **options: Any) -> Vectors:
        """Return vectors of N bytes per word; see ``firthian.vectors.compress.compress``."""
        from firthian.vectors.compress import compress

        return compress(self, bytes, **options)

    # On disk

    def save(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Write a folder; ``force`` replaces an existing one. The same vectors give the same bytes."""
        save_vectors(path, self, force)

    @classmethod
    def load(cls, path: str | os.PathLike[str], verify: bool = False) -> Vectors:
        """Open a folder written by ``save``, memory-mapped; ``verify`` reads and checks every byte."""
        return cls(**load_vectors(path, verify))
