"""CCA against explicit whitening of indicator variables, and the Eigenwords recipes against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest

from firthian.errors import FirthianError
from firthian.learn.spectral.cca import CCA, OneStepCCA, TwoStepCCA, state_whitening
from firthian.learn.spectral.solvers import SVD
from firthian.runtime.run import Run
from tests.learn.common import counts_of, random_counts


def inverse_root(matrix):
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.where(values > 1e-9, 1 / np.sqrt(np.maximum(values, 1e-9)), 0)) @ vectors.T


def dense(operator):
    return operator.times(np.eye(operator.shape[1], dtype=np.float32), Run())


def omega(matrix, power):
    return matrix**power / np.sqrt(np.outer(matrix.sum(axis=1) ** power, matrix.sum(axis=0) ** power))


def whitened_roots(matrix):
    return omega(np.sqrt(matrix), 1)


def test_plain_cca_is_whitening_of_indicators():
    matrix = np.random.default_rng(0).integers(1, 9, (6, 6)).astype(float)
    # One row of data for each token: the indicator of its word, the indicator of its context.
    tokens = [(i, j) for i in range(6) for j in range(6) for _ in range(int(matrix[i, j]))]
    words, contexts = np.eye(6)[[i for i, _ in tokens]], np.eye(6)[[j for _, j in tokens]]
    whitened = inverse_root(words.T @ words) @ (words.T @ contexts) @ inverse_root(contexts.T @ contexts)
    made = dense(CCA(counts_of(matrix, "left"), Run(), count_power=1).operator(3))
    np.testing.assert_allclose(made, whitened, atol=1e-6)
    # The canonical correlations of centered data are the singular values after the first, which is 1: chance.
    words, contexts = words - words.mean(axis=0), contexts - contexts.mean(axis=0)
    centered = inverse_root(words.T @ words) @ (words.T @ contexts) @ inverse_root(contexts.T @ contexts)
    values = np.linalg.svd(made, compute_uv=False)
    assert values[0] == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(values[1:], np.linalg.svd(centered, compute_uv=False)[:5], atol=1e-5)


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_counts_are_transformed_before_whitening(power):
    matrix, _ = random_counts()
    matrix += 1
    made = CCA(counts_of(matrix), Run(), power).operator(3)
    assert made.symmetric
    np.testing.assert_allclose(dense(made), omega(matrix, power), rtol=1e-5)


def test_words_of_one_class_share_a_direction():
    # Two classes of words that go with two classes of contexts: Stratos et al.'s theorem in its simplest form.
    matrix = np.kron(np.array([[9, 1], [1, 9]]), np.outer([1, 2, 4], [1, 3, 5]))
    words = SVD(0.0, normalize=True).solve(CCA(counts_of(matrix), Run(), count_power=1), 2, Run()).words
    cosines = words @ words.T
    assert cosines[:3, :3].min() > 0.999
    assert cosines[3:, 3:].min() > 0.999
    assert cosines[:3, 3:].max() < 0.7


def test_one_step_takes_both_sides():
    matrix, _ = random_counts(12, context="left")
    matrix += 1
    made = dense(OneStepCCA(counts_of(matrix, "left"), Run()).operator(3))
    np.testing.assert_allclose(made, np.hstack([whitened_roots(matrix), whitened_roots(matrix.T)]), rtol=1e-5)
    turned = dense(OneStepCCA(counts_of(matrix.T, "right"), Run()).operator(3))
    np.testing.assert_allclose(turned, made, rtol=1e-6)


def test_two_steps_against_dense_algebra():
    matrix, _ = random_counts(12, context="left")
    matrix += 1
    left, right = whitened_roots(matrix), whitened_roots(matrix.T)
    after, values, before = np.linalg.svd(left)
    after, values, before = after[:, :4], values[:4], before[:4].T
    # The state's covariance from its definition: in whitened coordinates, L and R have the covariance Omega.
    covariance = np.block([[before.T @ before, before.T @ left.T @ after], [after.T @ left @ before, after.T @ after]])
    wanted = np.hstack([left @ before, right @ after]) @ inverse_root(covariance)
    made = dense(TwoStepCCA(counts_of(matrix, "left"), Run()).operator(4))
    # The first canonical pair can only be chosen up to a common sign, which the product does not see.
    np.testing.assert_allclose(made @ made.T, wanted @ wanted.T, atol=1e-4)


def test_the_state_is_white():
    correlations = np.array([0.9, 0.5, 0.1])
    off = np.diag(correlations)
    covariance = np.block([[np.eye(3), off], [off, np.eye(3)]])
    white = state_whitening(correlations)
    np.testing.assert_allclose(white @ covariance @ white, np.eye(6), atol=1e-10)
    assert np.isfinite(state_whitening(np.array([1.0, 1.0 + 1e-7]))).all()


@pytest.mark.parametrize("model", [OneStepCCA, TwoStepCCA])
def test_counts_of_both_sides_in_one_are_refused(model):
    with pytest.raises(FirthianError, match="context=left"):
        model(random_counts()[1], Run())
