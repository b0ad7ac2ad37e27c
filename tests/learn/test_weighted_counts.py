"""Hellinger PCA, LSA and HAL against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from firthian.learn.spectral.association import Hellinger, LogEntropy
from firthian.learn.spectral.hal import HAL
from firthian.learn.spectral.solvers import SVD
from firthian.runtime.run import Run
from tests.learn.common import counts_of, random_counts


def test_full_hellinger_vectors_have_hellinger_distances():
    matrix, _ = random_counts(10)
    matrix += 1
    words = SVD(1.0).solve(Hellinger(counts_of(matrix), Run()), 10, Run()).words
    shares = np.sqrt(matrix / matrix.sum(axis=1, keepdims=True))
    for i, j in [(0, 1), (2, 9), (4, 7)]:
        wanted = np.linalg.norm(shares[i] - shares[j])
        assert np.linalg.norm(words[i] - words[j]) == pytest.approx(wanted, abs=1e-4)


def test_hellinger_components_are_those_of_pca():
    matrix, _ = random_counts(25, zero_word=3)
    words = SVD(1.0).solve(Hellinger(counts_of(matrix), Run()), 4, Run()).words
    shares = np.sqrt(matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1))
    centered = shares - shares.mean(axis=0)
    u, s, _ = np.linalg.svd(centered)
    np.testing.assert_allclose(np.abs(words), np.abs(u[:, :4] * s[:4]), atol=1e-4)


def test_hellinger_keeps_the_most_frequent_contexts():
    matrix, counts = random_counts(12)
    made = Hellinger(counts, Run(), contexts=5).matrix().toarray()
    assert not made[:, 5:].any()
    kept = matrix[:, :5]
    np.testing.assert_allclose(made[:, :5] ** 2, kept / kept.sum(axis=1, keepdims=True), atol=1e-6)


@pytest.mark.parametrize("entropy", ["word", "context", "both"])
def test_log_entropy_is_the_formula(entropy):
    matrix, counts = random_counts(15, context="left", zero_word=2)
    size = len(matrix)

    def weight(distribution):
        if distribution.sum() == 0:
            return 1.0
        share = distribution[distribution > 0] / distribution.sum()
        return 1 + (share * np.log(share)).sum() / np.log(size)

    words = [weight(row) if entropy in ("word", "both") else 1 for row in matrix]
    contexts = [weight(column) if entropy in ("context", "both") else 1 for column in matrix.T]
    made = LogEntropy(counts, Run(), entropy).operator(3).times(np.eye(size, dtype=np.float32), Run())
    np.testing.assert_allclose(made, np.log1p(matrix) * np.outer(words, contexts), atol=1e-5)


def test_a_context_of_everything_alike_has_no_weight():
    matrix = np.diag([5.0, 5, 5, 5])
    matrix[:, 0] = 7
    words, contexts = LogEntropy(counts_of(matrix, "left"), Run()).global_weights()
    assert contexts[0] == pytest.approx(0, abs=1e-6)
    assert contexts[1] == pytest.approx(1, abs=1e-6)
    assert words[0] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("normalize", [True, False])
def test_hal_keeps_the_columns_that_vary_most(normalize):
    matrix, counts = random_counts(10, context="left", zero_word=4)
    full = np.hstack([matrix, matrix.T])
    if normalize:
        full = full / np.maximum(np.linalg.norm(full, axis=1, keepdims=True), 1e-9)
    model = HAL(counts, Run(), normalize)
    best = model.best_columns(6)
    variances = full.var(axis=0)
    np.testing.assert_allclose(variances[best], np.sort(variances)[::-1][:6], rtol=1e-5)
    np.testing.assert_allclose(model.columns(6), full[:, best], rtol=1e-5)
