from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from firthian import FirthianError, Vectors, Vocabulary
from firthian.vectors.search import ApproximateIndex


def test_most_neighbors_are_found() -> None:
    pytest.importorskip("usearch.index")
    matrix = np.random.default_rng(0).normal(size=(500, 8)).astype(np.float32)
    vectors = Vectors(matrix, Vocabulary([f"w{i}" for i in range(500)]))
    index = ApproximateIndex(vectors)
    words = vectors.vocabulary.words[:50]
    exact, near = vectors.most_similar_many(words), index.most_similar_many(words)
    hits = sum(len(dict(one).keys() & dict(other).keys()) for one, other in zip(exact, near, strict=True))
    assert hits >= 0.95 * 500
    assert near[0][0][1] == pytest.approx(exact[0][0][1], abs=1e-4)
    assert ApproximateIndex(vectors).most_similar_many(words) == near


def test_sparse_vectors_are_refused() -> None:
    pytest.importorskip("usearch.index")
    with pytest.raises(FirthianError, match="dense vectors"):
        ApproximateIndex(Vectors(scipy.sparse.csr_array((1, 3)), Vocabulary(["a"])))
