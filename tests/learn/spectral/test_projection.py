"""Random projection keeps distances, on average and nearly always."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from firthian.learn.linalg.operators import SparseOperator
from firthian.learn.spectral.solvers import RandomProjection, random_matrix
from firthian.runtime.run import Run


class Given:
    def __init__(self, matrix):
        self.matrix = matrix

    def operator(self, dimension):
        return SparseOperator.of(scipy.sparse.csr_array(self.matrix))


@pytest.mark.parametrize("projection", ["gaussian", "sparse"])
def test_lengths_are_kept(projection):
    matrix = np.random.default_rng(0).random((40, 900)).astype(np.float32)
    words = RandomProjection(projection).solve(Given(matrix), 400, Run()).words
    ratios = np.linalg.norm(words[:20] - words[20:], axis=1) / np.linalg.norm(matrix[:20] - matrix[20:], axis=1)
    assert 0.8 < ratios.min() < ratios.max() < 1.2
    assert ratios.mean() == pytest.approx(1, abs=0.05)


def test_the_sparse_matrix_is_sparse_and_the_seed_decides():
    one = random_matrix(10_000, 20, "sparse", Run(seed=1).generator(5))
    assert np.count_nonzero(one) == pytest.approx(one.size / 100, rel=0.1)
    assert len(np.unique(np.abs(one))) == 2
    np.testing.assert_array_equal(one, random_matrix(10_000, 20, "sparse", Run(seed=1).generator(5)))
    assert (one != random_matrix(10_000, 20, "sparse", Run(seed=2).generator(5))).any()
