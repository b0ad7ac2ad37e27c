"""The kernels of contexts on random input, beside plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from firthian.arrays import offsets
from firthian.kernels.contexts import group_sums, mean_contexts, sort_positions
from tests.reference.regression import mean_context


@pytest.mark.parametrize("seed", range(5))
def test_mean_contexts_are_those_of_a_loop(seed):
    draw = np.random.default_rng(seed)
    ids = draw.integers(0, 9, 80).astype(np.int32)
    starts = np.array([0, 0, 3, 40, 80])
    rows = np.array([0, -1, 1, 2, -1, 3, 4, -1, 5], dtype=np.int32)
    matrix = draw.normal(size=(6, 4)).astype(np.float32)
    known = {str(word): matrix[row].astype(float) for word, row in enumerate(rows) if row >= 0}
    first = np.sort(draw.choice(78, 20, replace=False))
    documents = np.searchsorted(starts, first, side="right") - 1
    after = np.minimum(first + draw.integers(1, 3, 20), starts[documents + 1])
    out, counts = np.empty((20, 4)), np.empty(20, dtype=np.int64)
    spans = (first, after, starts[documents], starts[documents + 1])
    mean_contexts(ids, rows, spans, 3, matrix, out, counts)
    for n, document in enumerate(documents):
        begin, end = starts[document], starts[document + 1]
        text = [str(word) for word in ids[begin:end]]
        expected = mean_context(text, first[n] - begin, after[n] - begin, 3, known)
        assert (expected is None) == (counts[n] == 0)
        np.testing.assert_allclose(out[n], 0 if expected is None else expected, rtol=1e-12)


def test_sums_by_group_and_positions_by_word():
    draw = np.random.default_rng(1)
    values, known, groups = draw.normal(size=(50, 3)), draw.integers(0, 3, 50), draw.integers(0, 6, 50)
    sums, sizes = np.zeros((6, 3)), np.zeros(6, dtype=np.int64)
    group_sums(values, known, groups, sums, sizes)
    for group in range(6):
        chosen = (groups == group) & (known > 0)
        assert sizes[group] == chosen.sum()
        np.testing.assert_allclose(sums[group], values[chosen].sum(axis=0), atol=1e-12)
    ids = draw.integers(0, 7, 60).astype(np.int32)
    pointers = offsets(np.bincount(ids, minlength=7))
    positions = np.empty(60, dtype=np.int64)
    sort_positions(ids, pointers, positions)
    for word in range(7):
        assert positions[pointers[word] : pointers[word + 1]].tolist() == np.flatnonzero(ids == word).tolist()
