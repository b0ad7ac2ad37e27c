"""Brown clustering: the kernel against a search of all merges, planted classes, bit strings."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse

from firthian.errors import FirthianError
from firthian.learn.spectral.brown import Brown, bit_strings, read_prefixes
from firthian.runtime.run import Run
from tests.learn.common import counts_of
from tests.reference import brown as slow


def neighbors(size, seed):
    """Counts of neighbors, all sums distinct enough that no two merges tie."""
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(0.5, 8, (size, size))).astype(float) + rng.random((size, size)) * 0.01


def brown(matrix, **options):
    """The matrix is word before × word after; left counts are its transpose."""
    return Brown(counts_of(matrix.T, "left"), Run(), **options)


@pytest.mark.parametrize(("size", "classes", "seed"), [(7, 3, 0), (9, 4, 1), (9, 2, 2), (6, 6, 3), (8, 1, 4)])
def test_the_kernel_makes_the_best_merges(size, classes, seed):
    matrix = neighbors(size, seed).astype(np.float32).astype(float)
    # Many zeros, so that the shortcuts for entries that are not there are taken.
    matrix[np.random.default_rng(seed).random(matrix.shape) < 0.4] = 0
    matrix += np.diag(np.arange(1, size + 1) * 0.01).astype(np.float32)
    found, bits = brown(matrix, classes=classes).clusters()
    sets = [frozenset(np.flatnonzero(found == k).tolist()) for k in range(len(bits))]
    wanted, tree = slow.cluster(matrix, classes)
    assert set(sets) == wanted
    prefixes = {way[:length] for way in bits for length in range(len(way) + 1)}
    made = {frozenset().union(*(s for s, way in zip(sets, bits, strict=True) if way.startswith(p))) for p in prefixes}
    assert made == tree


def test_planted_classes_are_found():
    rng = np.random.default_rng(0)
    classes, size = 5, 60
    member = np.arange(size) % classes
    # A word of a class is followed by words of the next class only.
    follows = (member[:, None] + 1) % classes == member[None, :]
    matrix = rng.poisson(np.where(follows, 20, 0.3)).astype(float)
    found, bits = brown(matrix, classes=classes).clusters()
    assert len(set(bits)) == classes
    for number in range(classes):
        assert len(set(found[member == number])) == 1


def test_features_are_one_hot_prefixes():
    matrix, classes, bits = brown(neighbors(30, 5), classes=8, prefixes="1,2,20").features()
    assert matrix.shape[0] == 30
    assert (matrix.sum(axis=1) == 3).all()
    shared = (matrix @ matrix.T).toarray()
    for i, j in [(0, 1), (4, 20), (7, 29), (3, 3)]:
        one, two = bits[classes[i]], bits[classes[j]]
        assert shared[i, j] == sum(one[:length] == two[:length] for length in (1, 2, 20))


def test_bit_strings_are_a_prefix_code():
    _, bits = brown(neighbors(20, 6), classes=10).clusters()
    assert sum(2.0 ** -len(way) for way in bits) == pytest.approx(1)
    assert len(bit_strings(np.empty((0, 2), dtype=np.int64), 2)[0]) == 0


def test_more_classes_than_words_are_as_many_as_words():
    found, bits = brown(neighbors(4, 7), classes=100).clusters()
    assert sorted(found) == [0, 1, 2, 3]
    assert len(bits) == 4


def test_words_without_neighbors_do_no_harm():
    matrix = neighbors(12, 8)
    matrix[5] = matrix[:, 5] = 0
    found, _ = brown(matrix, classes=4).clusters()
    assert set(found) == {0, 1, 2, 3}


@pytest.mark.parametrize("text", ["", "0,4", "a", "4,,6"])
def test_wrong_prefixes_are_told(text):
    with pytest.raises(FirthianError, match="4,6,10,20"):
        read_prefixes(text)


def test_the_kept_costs_are_those_of_the_definition():
    """After many words have come and been merged, the table of costs equals one computed from scratch."""
    from firthian.kernels.brown import cluster_words, h

    size, slots = 80, 11
    matrix = np.floor(neighbors(size, 9))
    forward, backward = (scipy.sparse.csr_array(one) for one in (matrix, matrix.T))
    table, entropic, cost, corners = np.zeros((4, slots, slots))
    totals, joint, used = np.zeros((2, slots)), np.zeros((2, slots, slots)), np.zeros(slots, dtype=bool)
    class_of = np.full(size, -1)
    rows = [(one.indptr, one.indices, one.data) for one in (forward, backward)]
    word_totals = np.stack([matrix.sum(axis=1), matrix.sum(axis=0)])
    cluster_words(*rows, word_totals, 0, size, class_of, (table, entropic, totals, used, cost, corners, joint))

    member = np.eye(slots)[class_of]
    np.testing.assert_allclose(table, member.T @ matrix @ member)
    np.testing.assert_allclose(totals[:, used], (word_totals @ member)[:, used])
    taken = np.flatnonzero(used)
    assert len(taken) == slots - 1
    for a, b in itertools.combinations(taken, 2):
        others = [d for d in taken if d not in (a, b)]
        pairs = [(one[a, d], one[b, d]) for d in others for one in (table, table.T)]
        wanted = sum(h(x) + h(y) - h(x + y) for x, y in pairs)
        assert cost[a, b] == pytest.approx(wanted, rel=1e-9)
