"""Sparse coding: codes rebuild the vectors, are sparse, and the objective only falls."""

from __future__ import annotations

import numpy as np
import pytest

from firthian.errors import FirthianError
from firthian.learn.spectral.sparse_coding import SparseCoding, TrainedVectors, improve_dictionary
from firthian.runtime.run import Run
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.vectors import Vectors


def planted(words=300, size=10, atoms=30, active=3, seed=0):
    """Vectors that are sums of a few of 30 directions in 10 dimensions."""
    rng = np.random.default_rng(seed)
    dictionary = rng.standard_normal((atoms, size))
    codes = np.zeros((words, atoms))
    for row in codes:
        row[rng.choice(atoms, active, replace=False)] = rng.random(active) + 0.5
    matrix = (codes @ dictionary).astype(np.float32)
    return Vectors(matrix, Vocabulary([f"w{number}" for number in range(words)]))


@pytest.mark.parametrize("nonnegative", [True, False])
def test_codes_rebuild_the_vectors_and_are_sparse(nonnegative):
    model = TrainedVectors(planted(), Run())
    solution = SparseCoding(l1=0.05, nonnegative=nonnegative, epochs=40).solve(model, 30, Run())
    codes = solution.words.toarray()
    rest = model.points - codes @ solution.extras["dictionary"]
    assert np.square(rest).sum() < 0.1 * np.square(model.points).sum()
    assert solution.stats["density"] < 0.4
    assert not nonnegative or (codes >= 0).all()
    assert (np.linalg.norm(solution.extras["dictionary"], axis=1) < 1 + 1e-5).all()


def test_the_objective_only_falls():
    objective = (
        SparseCoding(l1=0.1, epochs=12, tolerance=0).solve(TrainedVectors(planted(), Run()), 20, Run()).objective
    )
    assert (np.diff(objective) <= 1e-5 * objective[0]).all()
    assert objective[-1] < 0.9 * objective[0]


def test_a_higher_weight_is_sparser_and_at_last_empty():
    model = TrainedVectors(planted(), Run())
    density = [SparseCoding(l1, epochs=5).solve(model, 20, Run()).stats["density"] for l1 in (0.01, 0.1, 0.4, 2)]
    assert density == sorted(density, reverse=True)
    assert density[-1] == 0


def test_the_dictionary_step_is_the_best_one_for_each_row():
    rng = np.random.default_rng(0)
    codes, points = rng.standard_normal((50, 4)), rng.standard_normal((50, 6)) * 0.1
    best = np.linalg.lstsq(codes, points, rcond=None)[0]
    found = improve_dictionary(np.zeros((4, 6)), codes.T @ codes, codes.T @ points, sweeps=200)
    assert (np.linalg.norm(best, axis=1) < 1).all()
    np.testing.assert_allclose(found, best, atol=1e-5)


def test_zero_vectors_have_empty_codes():
    vectors = planted()
    vectors.matrix[3] = 0
    solution = SparseCoding(epochs=2).solve(TrainedVectors(vectors, Run()), 20, Run())
    assert solution.words[[3]].nnz == 0


def test_sparse_vectors_are_refused():
    import scipy.sparse

    vectors = Vectors(scipy.sparse.csr_array(np.eye(3)), Vocabulary(["a", "b", "c"]))
    with pytest.raises(FirthianError, match="already sparse"):
        TrainedVectors(vectors, Run())
