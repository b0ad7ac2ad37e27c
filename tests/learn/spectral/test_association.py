"""PMI against its definition, and its options at their limits."""

from __future__ import annotations

import numpy as np
import pytest

from firthian.learn.spectral.association import PMI
from firthian.runtime.run import Run
from tests.learn.common import counts_of, random_counts


def direct(matrix, exponent=1.0, shift=1.0, smoothing=0.0):
    """max(0, log P~(i,j) / (P(i) P_a(j)) - log k), entry by entry."""
    out = np.zeros(matrix.shape)
    total, rows = matrix.sum(), matrix.sum(axis=1)
    contexts = matrix.sum(axis=0) ** exponent
    contexts = contexts / contexts.sum()
    for i, j in zip(*np.nonzero(matrix), strict=True):
        chance = rows[i] / total * contexts[j]
        joint = (1 - smoothing) * matrix[i, j] / total + smoothing * chance
        out[i, j] = max(0, np.log(joint / chance) - np.log(shift))
    return out


@pytest.mark.parametrize("context", ["both", "left"])
@pytest.mark.parametrize(
    ("exponent", "shift", "smoothing"), [(1, 1, 0), (0.75, 1, 0), (0.75, 5, 0), (1, 1, 0.2), (0.5, 2, 0.1)]
)
def test_values_are_the_formula(context, exponent, shift, smoothing):
    matrix, counts = random_counts(context=context, zero_word=7)
    made = PMI(counts, Run(), exponent, shift, smoothing).matrix()
    np.testing.assert_allclose(made.toarray(), direct(matrix, exponent, shift, smoothing), atol=1e-5)
    assert (made.data > 0).all()


def test_only_unsmoothed_symmetric_counts_give_a_symmetric_matrix():
    _, both = random_counts()
    _, left = random_counts(context="left")
    assert PMI(both, Run(), 1).operator(1).symmetric
    assert not PMI(both, Run(), 0.75).operator(1).symmetric
    assert not PMI(left, Run(), 1).operator(1).symmetric
    made = PMI(both, Run(), 1).matrix()
    assert abs(made - made.T).max() < 1e-6


def test_independent_words_have_no_association():
    made = PMI(counts_of(np.outer([4, 2, 1], [8, 4, 2])), Run(), 1).matrix()
    assert abs(made).max() < 1e-6 if made.nnz else True


def test_a_higher_shift_keeps_fewer_pairs():
    _, counts = random_counts()
    sizes = [PMI(counts, Run(), 1, shift).matrix().nnz for shift in (1, 2, 5, 1e9)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[2] > sizes[3] == 0


def test_the_counts_are_not_changed():
    matrix, counts = random_counts()
    PMI(counts, Run()).matrix().data[:] = -1
    np.testing.assert_array_equal(counts.to_scipy().toarray(), matrix)
