"""Vectors from singular values: their product, their powers, and the trap of PSDVec's Appendix A."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from firthian.arrays import unit_rows
from firthian.learn.linalg.krylov import top_eigen
from firthian.learn.linalg.operators import SparseOperator
from firthian.learn.spectral.solvers import SVD
from firthian.runtime.run import Run


class Given:
    """A model that is a matrix."""

    def __init__(self, matrix):
        self.given = matrix

    def operator(self, dimension):
        return SparseOperator.of(scipy.sparse.csr_array(np.asarray(self.given, dtype=np.float32)))


#: Appendix A of PSDVec: the same singular values, but the second has an eigenvalue of -3.
FIRST = np.array([[1.4, 0.8, 0], [0.8, 2.6, 0], [0, 0, 2]])
SECOND = np.array([[0.2, -1.6, 0], [-1.6, -2.2, 0], [0, 0, 2]])


def test_svds_trap():
    one, two = (SVD(0.5).solve(Given(matrix), 2, Run()).words for matrix in (FIRST, SECOND))
    # SVD cannot tell the matrices apart: it says that words 1 and 2 are alike in both.
    np.testing.assert_allclose(one, two, atol=1e-6)
    assert two[0] @ two[1] > 0
    assert SECOND[0, 1] < 0
    # Eigenvectors of the largest eigenvalues can.
    eigen = []
    for matrix in (FIRST, SECOND):
        values, vectors = top_eigen(SparseOperator.of(scipy.sparse.csr_array(matrix), symmetric=True), 2, Run())
        eigen.append(vectors * np.sqrt(values))
    np.testing.assert_allclose(np.abs(eigen[0]), np.abs(one), atol=1e-6)
    assert eigen[0][0] @ eigen[0][1] > 0
    assert eigen[1][0] @ eigen[1][1] < 0
    np.testing.assert_allclose(eigen[1] @ eigen[1].T, [[0.8, -0.4, 0], [-0.4, 0.2, 0], [0, 0, 2]], atol=1e-6)


@pytest.mark.parametrize("power", [0, 0.25, 0.5, 1])
def test_words_times_contexts_is_the_best_approximation_whatever_the_power(power):
    matrix = np.random.default_rng(0).standard_normal((20, 20))
    solution = SVD(power).solve(Given(matrix), 5, Run())
    u, s, vt = np.linalg.svd(matrix)
    np.testing.assert_allclose(solution.words @ solution.contexts.T, (u[:, :5] * s[:5]) @ vt[:5], atol=1e-4)
    np.testing.assert_allclose(np.linalg.norm(solution.words, axis=0), s[:5] ** power, rtol=1e-4)


def test_words_without_pairs_have_zero_vectors():
    matrix = np.random.default_rng(0).standard_normal((9, 9))
    matrix[4] = 0
    for normalize in (False, True):
        words = SVD(0.0, normalize).solve(Given(matrix), 3, Run()).words
        np.testing.assert_allclose(words[4], 0, atol=1e-6)
        assert np.isfinite(words).all()


def test_directions_of_zero_matrices_are_zero():
    assert not SVD(0.0).solve(Given(np.zeros((5, 5))), 2, Run()).words.any()


def test_normalized_rows_have_length_one():
    rows = unit_rows(np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32))
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-6)
