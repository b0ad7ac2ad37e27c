"""Fast kernels against their slow twins, on random input."""

from __future__ import annotations

import numpy as np
import pytest

from firthian.kernels.pmi import logarithms, weighted_pmi
from firthian.kernels.regression import descend
from firthian.kernels.sparse import inner_products, times_dense
from firthian.learn.linalg.operators import Centered, DenseOperator, SideBySide, SparseOperator
from firthian.runtime.run import Run
from tests.reference import lasso as slow_lasso
from tests.reference import sparse as slow_sparse
from tests.sparse import random_csr


def sparse_matrix(rows, columns, seed):
    return random_csr((rows, columns), 0.2, np.random.default_rng(seed))


@pytest.mark.parametrize("width", [1, 3, 8, 33])
def test_sparse_times_dense(width):
    matrix = sparse_matrix(37, 21, width)
    dense = np.random.default_rng(1).standard_normal((21, width)).astype(np.float32)
    out = np.full((37, width), np.nan, dtype=np.float32)
    times_dense(matrix.indptr, matrix.indices, matrix.data, dense, 5, 30, out)
    wanted = slow_sparse.dense_of(matrix.indptr, matrix.indices, matrix.data, matrix.shape) @ dense
    np.testing.assert_allclose(out[5:30], wanted[5:30], rtol=1e-5, atol=1e-6)
    assert np.isnan(out[:5]).all()
    assert np.isnan(out[30:]).all()


def test_inner_products_on_a_pattern():
    matrix = sparse_matrix(20, 15, 0)
    rng = np.random.default_rng(2)
    left, right = rng.standard_normal((20, 7)).astype(np.float32), rng.standard_normal((15, 7)).astype(np.float32)
    out = np.zeros(matrix.nnz, dtype=np.float32)
    inner_products(matrix.indptr, matrix.indices, left, right, 0, 20, out)
    wanted = slow_sparse.inner_products(matrix.indptr, matrix.indices, left, right)
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-5)


def test_logarithms_are_accurate_to_single_precision():
    numbers = np.exp(np.random.default_rng(3).uniform(-80, 80, 50_001)).astype(np.float32)
    numbers[:1001] = np.linspace(0.5, 2, 1001)
    out = np.empty_like(numbers)
    logarithms(numbers, numbers.size, out)
    exact = np.log(numbers.astype(np.float64))
    assert (np.abs(out - exact) < 2e-7 * np.maximum(np.abs(exact), 1)).all()


@pytest.mark.parametrize("power", [0.5, 0.75])
def test_weighted_pmi(power):
    matrix = sparse_matrix(30, 30, 5)
    matrix.data = np.random.default_rng(5).integers(1, 9, matrix.nnz).astype(np.float32)
    sums = np.asarray(matrix.sum(axis=1)).ravel() + 1.0, np.asarray(matrix.sum(axis=0)).ravel() + 1.0
    total, kappa, root = sums[1].sum(), 0.02, 2.0
    targets, weights = np.zeros((2, matrix.nnz), dtype=np.float32)
    pairs, marginals = (matrix.indptr, matrix.indices, matrix.data), (sums[0], sums[1] / total)
    weighted_pmi(pairs, marginals, (kappa, root, power), 0, 30, targets, weights)
    rows, x = np.repeat(np.arange(30), np.diff(matrix.indptr)), matrix.data.astype(np.float64)
    expected = sums[0][rows] * sums[1][matrix.indices] / total
    np.testing.assert_allclose(targets, np.log((1 - kappa) * x / expected + kappa), rtol=0, atol=5e-7)
    wanted = np.where(rows == matrix.indices, 0, np.minimum(x**power / root, 1))
    np.testing.assert_allclose(weights, wanted, rtol=1e-6)


def test_a_word_without_pairs_has_no_pmi():
    indptr, indices, values = np.array([0, 1, 1, 2]), np.array([2, 0], dtype=np.int32), np.ones(2, dtype=np.float32)
    sums = np.array([1.0, 0.0, 1.0])
    targets, weights = np.zeros((2, 2), dtype=np.float32)
    weighted_pmi((indptr, indices, values), (sums, sums / 2), (0.02, 1.0, 0.5), 0, 3, targets, weights)
    np.testing.assert_allclose(targets, np.log(0.98 * 2 + 0.02), rtol=1e-6)


def operators():
    one, two = sparse_matrix(30, 20, 1), sparse_matrix(30, 12, 2)
    mean = np.linspace(-1, 1, 20)
    dense = np.random.default_rng(3).standard_normal((30, 9)).astype(np.float32)
    return [
        (SparseOperator.of(one), one.toarray()),
        (SideBySide(SparseOperator.of(one), SparseOperator.of(two)), np.hstack([one.toarray(), two.toarray()])),
        (Centered(SparseOperator.of(one), mean), one.toarray() - mean),
        (DenseOperator(dense), dense),
    ]


@pytest.mark.parametrize("number", range(4))
def test_operators_do_what_their_matrices_do(number):
    operator, matrix = operators()[number]
    rng = np.random.default_rng(0)
    right, left = rng.standard_normal((matrix.shape[1], 4)), rng.standard_normal((matrix.shape[0], 4))
    assert operator.shape == matrix.shape
    np.testing.assert_allclose(operator.times(right.astype(np.float32), Run()), matrix @ right, atol=1e-4)
    np.testing.assert_allclose(operator.transposed_times(left.astype(np.float32), Run()), matrix.T @ left, atol=1e-4)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("l1", [0.01, 0.3])
def test_lasso_by_coordinate_descent_agrees_with_proximal_gradient(nonnegative, l1):
    rng = np.random.default_rng(4)
    points, dictionary = rng.standard_normal((6, 8)), rng.standard_normal((12, 8))
    codes = np.zeros((6, 12), dtype=np.float32)
    descend(
        (dictionary @ dictionary.T).astype(np.float32),
        (points @ dictionary.T).astype(np.float32),
        codes,
        l1,
        nonnegative,
        2000,
        0.0,
    )
    for point, code in zip(points, codes, strict=True):
        wanted = slow_lasso.lasso(point, dictionary, l1, nonnegative)
        reached, possible = (slow_lasso.objective(point, dictionary, one, l1) for one in (code, wanted))
        # Proximal gradient is slow to finish: it may stop a little above, never below.
        assert possible * 0.98 < reached < possible * 1.0001
        if nonnegative:
            assert (code >= 0).all()


def test_lasso_leaves_an_empty_dictionary_row_alone():
    gram = np.diag([1.0, 0.0]).astype(np.float32)
    codes = np.zeros((1, 2), dtype=np.float32)
    descend(gram, np.array([[2.0, 5.0]], dtype=np.float32), codes, 0.5, False, 10, 0.0)
    np.testing.assert_allclose(codes, [[1.5, 0]])
