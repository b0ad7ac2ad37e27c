"""The eigen-solver against LAPACK and ARPACK, and its promises: order, signs, bytes, hard cases."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

from firthian.errors import FirthianError
from firthian.learn.linalg import krylov
from firthian.learn.linalg.krylov import top_eigen, top_singular
from firthian.learn.linalg.operators import SparseOperator
from firthian.learn.linalg.tall import inner, orthonormal
from firthian.runtime.run import Run
from tests.sparse import random_csr


def random_sparse(rows, columns, seed=0, density=0.02):
    """A sparse matrix with a few strong directions above noise, as association matrices have."""
    rng = np.random.default_rng(seed)
    left, right = rng.standard_normal((rows, 30)), rng.standard_normal((columns, 30))
    mask = random_csr((rows, columns), density, rng).tocoo()
    values = (left[mask.row] * np.geomspace(1, 0.1, 30) * right[mask.col]).sum(axis=1)
    return scipy.sparse.csr_array((values.astype(np.float32), (mask.row, mask.col)), shape=(rows, columns))


def symmetric_with_negatives(size, seed=0):
    """Dense: thirty positive eigenvalues beside negative ones that are ten times larger."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((size, 60)))[0]
    values = np.concatenate([np.linspace(10, 1, 30), np.linspace(-100, -11, 30)])
    return scipy.sparse.csr_array((basis * values) @ basis.T), values


def angle(left, right):
    """The sine of the largest angle between two spaces."""
    return float(np.linalg.norm(left - right @ (right.T @ left), 2))


@pytest.mark.parametrize("shape", [(900, 900), (1200, 700), (700, 1200), (1500, 40), (40, 1500), (300, 200)])
def test_singular_values_agree_with_scipy(shape):
    matrix = random_sparse(*shape, density=0.05)
    rank = 12
    u, s, v = top_singular(SparseOperator.of(matrix), rank, Run(), tolerance=1e-4)
    u1, s1, v1 = scipy.sparse.linalg.svds(matrix.astype(np.float64), k=rank, random_state=0)
    np.testing.assert_allclose(s, s1[::-1], rtol=2e-5)
    # The last vectors lie beside close neighbors: compare the well-separated part.
    assert angle(u[:, :8], u1) < 1e-2
    assert angle(v[:, :8], v1.T) < 1e-2
    np.testing.assert_allclose(u.T @ u, np.eye(rank), atol=1e-4)
    np.testing.assert_allclose(matrix @ v, u * s, atol=2e-3 * s[0])


def test_largest_is_algebraic_beside_larger_negative_eigenvalues():
    matrix, values = symmetric_with_negatives(800)
    operator = SparseOperator.of(matrix, symmetric=True)
    found, vectors = top_eigen(operator, 30, Run(), tolerance=1e-3)
    np.testing.assert_allclose(found, values[:30], rtol=1e-4)
    np.testing.assert_allclose(matrix @ vectors, vectors * found, atol=0.05)
    found, _ = top_eigen(operator, 30, Run(), which="magnitude", tolerance=1e-3)
    np.testing.assert_allclose(found, values[30:], rtol=1e-4)


def test_more_wanted_than_there_are_positive_eigenvalues():
    matrix, values = symmetric_with_negatives(700)
    found, vectors = top_eigen(SparseOperator.of(matrix, symmetric=True), 40, Run())
    np.testing.assert_allclose(found[:30], values[:30], rtol=1e-3)
    np.testing.assert_allclose(found[30:], 0, atol=1e-2)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(40), atol=1e-4)


def test_symmetric_and_general_paths_agree():
    matrix = random_sparse(800, 800)
    matrix = matrix + matrix.T
    one = top_singular(SparseOperator.of(matrix, symmetric=True), 10, Run(), tolerance=1e-4)
    two = top_singular(SparseOperator.of(matrix), 10, Run(), tolerance=1e-4)
    np.testing.assert_allclose(one[1], two[1], rtol=1e-5)
    np.testing.assert_allclose(one[0][:, :4], two[0][:, :4], atol=1e-3)
    np.testing.assert_allclose(one[2][:, :4], two[2][:, :4], atol=1e-3)


def test_bytes_do_not_depend_on_workers():
    operator = SparseOperator.of(random_sparse(2500, 2500, density=0.01))
    results = [top_singular(operator, 20, Run.create(seed=3, workers=workers)) for workers in (1, 2, 3)]
    for other in results[1:]:
        for first, second in zip(results[0], other, strict=True):
            assert first.tobytes() == second.tobytes()


def test_a_good_start_saves_products():
    matrix = random_sparse(1500, 1500)
    matrix = matrix + matrix.T

    class Counting(SparseOperator):
        multiplied = 0

        def times(self, dense, run):
            self.multiplied += dense.shape[1]
            return super().times(dense, run)

    operator = Counting.of(matrix, symmetric=True)
    values, vectors = top_eigen(operator, 40, Run())
    cold, operator.multiplied = operator.multiplied, 0
    rng = np.random.default_rng(1)
    nearly = vectors + 1e-3 * rng.standard_normal(vectors.shape).astype(np.float32)
    again, _ = top_eigen(operator, 40, Run(), start=nearly)
    np.testing.assert_allclose(again, values, rtol=1e-3)
    assert operator.multiplied < cold / 2


def test_the_largest_entry_of_each_vector_is_positive():
    u, _, _ = top_singular(SparseOperator.of(random_sparse(900, 900)), 8, Run())
    assert (u[np.abs(u).argmax(axis=0), np.arange(8)] > 0).all()


def test_zero_and_rank_deficient_matrices():
    nothing = SparseOperator.of(scipy.sparse.csr_array((900, 900), dtype=np.float32))
    u, s, v = top_singular(nothing, 5, Run())
    assert np.isfinite(u).all()
    assert np.isfinite(v).all()
    np.testing.assert_array_equal(s, 0)
    rng = np.random.default_rng(0)
    thin = scipy.sparse.csr_array(rng.standard_normal((900, 3)) @ rng.standard_normal((3, 900)))
    _, s, _ = top_singular(SparseOperator.of(thin), 6, Run())
    np.testing.assert_allclose(s[:3], np.linalg.svd(thin.toarray(), compute_uv=False)[:3], rtol=1e-4)
    assert (s[3:] < 1e-2 * s[0]).all()


def test_restarts_reach_the_same_answer(monkeypatch):
    matrix, values = symmetric_with_negatives(900, seed=2)
    monkeypatch.setattr(krylov, "BLOCK_COLUMNS", 4)
    found, _ = top_eigen(SparseOperator.of(matrix, symmetric=True), 10, Run(), tolerance=1e-3, products=4000)
    np.testing.assert_allclose(found, values[:10], rtol=1e-3)


def test_wrong_ranks_and_shapes_are_told():
    operator = SparseOperator.of(random_sparse(20, 10))
    with pytest.raises(FirthianError, match="use 1 to 10"):
        top_singular(operator, 11, Run())
    with pytest.raises(FirthianError, match="has no eigenvalues"):
        top_eigen(operator, 2, Run())


def test_orthonormal_leaves_out_what_is_known_or_noise():
    rng = np.random.default_rng(0)
    known = np.linalg.qr(rng.standard_normal((5000, 5)))[0].astype(np.float32)
    fresh = rng.standard_normal((5000, 3)).astype(np.float32)
    mixed = np.concatenate([fresh, fresh[:, :1] * 2, known @ rng.standard_normal((5, 2)), np.zeros((5000, 1))], axis=1)
    basis = orthonormal(mixed, Run(), known)
    assert basis.shape == (5000, 3)
    np.testing.assert_allclose(inner(basis, basis, Run()), np.eye(3), atol=1e-5)
    np.testing.assert_allclose(inner(known, basis, Run()), 0, atol=1e-5)
