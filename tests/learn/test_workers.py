"""Matrices of several blocks of rows: the bytes do not depend on how many workers share them."""

from __future__ import annotations

import numpy as np
import pytest

import firthian as ft
from firthian.learn.spectral.association import PMI, Hellinger, LogEntropy
from firthian.learn.spectral.ica import ICA
from firthian.learn.spectral.solvers import SVD, RandomProjection
from firthian.learn.spectral.sparse_coding import SparseCoding, TrainedVectors
from firthian.runtime.run import Run
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.vectors import Vectors
from tests.learn.common import random_counts

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


@pytest.mark.parametrize(
    ("recipe", "options"),
    [
        ("psd", {"iterations": 2}),
        ("psd-blockwise", {"core": 600, "iterations": 2}),
        ("cca", {}),
        ("sgns", {"epochs": 2}),
        ("sgns", {"epochs": 1, "unseen": "sampled", "step": "newton"}),
        ("sgns", {"epochs": 1, "unseen": "exact"}),
        ("emf-amemf", {"epochs": 2}),
        ("poisson", {"iterations": 3, "early_stop": True}),
        ("tweedie", {"power": "auto"}),
        ("gaussian", {"epochs": 2}),
        ("bayes", {"epochs": 2, "bias": "both"}),
        ("bayes", {"epochs": 2, "covariance": "diagonal", "bound": "boehning"}),
    ],
)
def test_recipes(counts, recipe, options):
    found = []
    for workers in (1, 3):
        vectors = ft.train(counts, recipe, vector_size=5, workers=workers, **options)
        parts = {"words": vectors.matrix, "contexts": vectors.contexts, **vectors.extras}
        found.append(
            {name: np.asarray(part).tobytes() for name, part in parts.items()}
            | {"from": vectors.provenance, "state": vectors.state}
        )
    assert found[0] == found[1]


def test_vectors():
    matrix = np.random.default_rng(0).standard_normal((WORDS, 8)).astype(np.float32)
    vectors = Vectors(matrix, Vocabulary([f"w{number}" for number in range(WORDS)]))
    found = []
    for workers in (1, 3):
        run = Run.create(workers=workers)
        found.append(SparseCoding(epochs=2).solve(TrainedVectors(vectors, run), 20, run).words.toarray())
    assert found[0].tobytes() == found[1].tobytes()
