"""Matrices of several blocks of rows: the bytes do not depend on how many workers share them."""

from __future__ import annotations

import numpy as np
import pytest

from firthian.corpus.vocabulary import Vocabulary
from firthian.models.association import PMI
from firthian.models.given import GivenVectors
from firthian.models.hellinger import Hellinger
from firthian.models.lsa import LogEntropy
from firthian.run import Run
from firthian.solvers.factorization import SVD
from firthian.solvers.ica import ICA
from firthian.solvers.projection import RandomProjection
from firthian.solvers.sparse_coding import SparseCoding
from firthian.vectors.vectors import Vectors
from tests.models.common import random_counts

WORDS = 2300


@pytest.fixture(scope="module")
def counts():
    return random_counts(WORDS)[1]


@pytest.mark.parametrize(
    ("model", "solver"),
    [
        (PMI, SVD()),
        (Hellinger, SVD()),
        (LogEntropy, SVD()),
        (PMI, ICA(epochs=5)),
        (PMI, RandomProjection()),
    ],
)
def test_counts(counts, model, solver):
    found = []
    for workers in (1, 3):
        run = Run.create(workers=workers)
        found.append(solver.solve(model(counts, run), 10, run).words)
    assert found[0].tobytes() == found[1].tobytes()


def test_vectors():
    matrix = np.random.default_rng(0).standard_normal((WORDS, 8)).astype(np.float32)
    vectors = Vectors(matrix, Vocabulary([f"w{number}" for number in range(WORDS)]))
    found = []
    for workers in (1, 3):
        run = Run.create(workers=workers)
        found.append(SparseCoding(epochs=2).solve(GivenVectors(vectors, run), 20, run).words.toarray())
    assert found[0].tobytes() == found[1].tobytes()
