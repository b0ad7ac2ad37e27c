"""FastICA finds planted independent sources again."""

from __future__ import annotations

import numpy as np

from firthian.learn.linalg.operators import DenseOperator
from firthian.learn.spectral.ica import GAUSSIAN_LOG_COSH, ICA, fast_ica, whitened
from firthian.runtime.run import Run


def mixture(seed=0, rows=3000, sources=4):
    rng = np.random.default_rng(seed)
    hidden = np.column_stack(
        [rng.laplace(size=rows), rng.exponential(size=rows), rng.uniform(-1, 1, rows), rng.gamma(0.3, 1, rows)]
    )
    hidden = (hidden - hidden.mean(axis=0)) / hidden.std(axis=0)
    return hidden[:, :sources], (hidden @ rng.standard_normal((sources, sources))).astype(np.float32)


class Given:
    def __init__(self, matrix):
        self.matrix = matrix

    def operator(self, dimension):
        return DenseOperator(self.matrix)


def test_white_data_are_white():
    _, mixed = mixture()
    white = whitened(mixed + 5, Run())
    np.testing.assert_allclose(white.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(white.T @ white / len(white), np.eye(4), atol=1e-3)
    assert not whitened(np.ones((10, 3), dtype=np.float32), Run()).any()


def test_planted_sources_are_found_in_order_and_with_their_sign():
    hidden, mixed = mixture()
    solution = ICA().solve(Given(mixed), 4, Run())
    assert solution.status == "converged"
    correlations = np.corrcoef(hidden.T, solution.words.T)[:4, 4:]
    assert (np.abs(correlations).max(axis=1) > 0.99).all()
    assert sorted(np.abs(correlations).argmax(axis=1)) == [0, 1, 2, 3]
    # The skewed sources have their tails on the positive side.
    assert correlations[1].max() > 0.99
    assert correlations[3].max() > 0.99
    distance = np.abs(np.log(np.cosh(solution.words)).mean(axis=0) - GAUSSIAN_LOG_COSH)
    assert (np.diff(distance) <= 1e-6).all()


def test_the_constant_is_that_of_a_normal_number():
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    mean = (weights * np.log(np.cosh(nodes))).sum() / weights.sum()
    np.testing.assert_allclose(GAUSSIAN_LOG_COSH, mean, atol=1e-6)


def test_the_rotation_is_one_and_the_result_further_from_gaussian():
    _, mixed = mixture(1)
    rotation, moved, objective = fast_ica(whitened(mixed, Run()), 100, 1e-5, Run())
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(4), atol=1e-8)
    assert moved <= 1e-5
    assert objective[-1] > objective[0]


def test_directions_without_variance_become_zero():
    """Rounding of float32 products gives them some 1e-7 of the largest variance, of either sign."""
    generator = np.random.default_rng(0)
    flat = generator.standard_normal((3000, 5)) @ generator.standard_normal((5, 20))
    white = whitened(flat.astype(np.float32), Run())
    lengths = np.sort(np.square(white, dtype=np.float64).mean(axis=0))
    assert not lengths[:15].any()
    assert np.allclose(lengths[15:], 1, atol=1e-3)
