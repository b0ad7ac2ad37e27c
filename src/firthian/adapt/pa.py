"""PA-II on document vectors: the baseline whose word vectors never move, and plain PA on one-hot features."""

from __future__ import annotations

from typing import Any

import numpy as np

from firthian.adapt.base import DocumentClassifier, check_is_fitted
from firthian.adapt.examples import Examples
from firthian.arrays import Array


class PAClassifier(DocumentClassifier):
    """Passive-aggressive classification (PA-II, Crammer et al. 2006) of documents as sums of fixed word vectors.

    Parameters are those of ``RPAClassifier``, without what concerns the learning of vectors. ``vectors="onehot"``
    takes the words themselves as features.

    >>> texts = ["good fine film", "bad poor film", "fine good", "poor bad"]
    >>> PAClassifier("onehot").fit(texts, ["+", "-", "+", "-"]).predict(["a good one", "a poor one"]).tolist()
    ['+', '-']
    """

    def __init__(
        self,
        vectors: Any = "random:100",
        *,
        C: float = 0.1,
        passes: int = 5,
        averaged: bool = True,
        class_weight: Any = None,
        multi_class: str = "ovr",
        one_hot: float = 0.0,
        weighting: str = "auto",
        scaling: str = "embedding",
        ngrams: int = 1,
        min_count: int = 1,
        tokenizer: Any = "unicode",
        keep_case: bool = False,
        unseen: str = "ignore",
        shuffle: bool = True,
        random_state: Any = 1,
        n_jobs: int | None = None,
    ) -> None:
        self.vectors = vectors
        self.C = C
        self.passes = passes
        self.averaged = averaged
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.one_hot = one_hot
        self.weighting = weighting
        self.scaling = scaling
        self.ngrams = ngrams
        self.min_count = min_count
        self.tokenizer = tokenizer
        self.keep_case = keep_case
        self.unseen = unseen
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _hot_part(self) -> float:
        return float(self.one_hot) or (0.0 if self.base_.shape[1] else 1.0)

    def _has_one_hot(self) -> bool:
        # To the learner the document's vector is a row of features, which is what its one-hot part is made for.
        return True

    def _ensemble_base(self) -> Array:
        features = self.base_.shape[1] + (self.base_.shape[0] if self._hot_part() else 0)
        return np.empty((features, 0), dtype=np.float32)

    def _examples(self, counts: Any) -> Examples:
        from scipy.sparse import csr_array, hstack

        scaled = self._scaled(counts)
        features = [csr_array(scaled.matrix @ self.base_)]
        if self._hot_part():
            lengths = np.sqrt(scaled.matrix.multiply(scaled.matrix).sum(axis=1))
            factors = np.repeat(self._hot_part() / np.where(lengths > 0, lengths, 1.0), np.diff(scaled.matrix.indptr))
            hot = scaled.matrix.copy()
            hot.data = (hot.data * factors).astype(np.float32)
            features.append(hot)
        return Examples(csr_array(hstack(features, format="csr", dtype=np.float32)), np.ones(counts.shape[0]))

    def transform(self, X: Any) -> Any:
        """Return the features of documents: their vectors, and one-hot features where there are any (then sparse)."""
        check_is_fitted(self)
        matrix = self._examples(self._read(X)[0]).matrix
        return matrix if self._hot_part() else matrix.toarray()
