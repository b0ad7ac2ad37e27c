"""Sums over windows by unit, and rows against fixed contexts: equal to slow twins."""

from __future__ import annotations

import numpy as np
import pytest

from firthian.ask import occurrences
from firthian.ask.occurrences import Occurrences, _index
from firthian.ask.rows import RowProblem
from firthian.ask.slices import slices_of
from firthian.errors import BudgetError
from firthian.kernels.change import context_sums, unit_scores
from firthian.runtime.run import Run
from tests.reference import change as slow


@pytest.fixture(scope="module")
def text():
    generator = np.random.default_rng(0)
    ids = generator.integers(-1, 7, 300).astype(np.int32)
    ids[generator.random(300) < 0.05] = -2
    ids[-1] = -1
    units = (np.cumsum(ids == -1) % 5 - 1).astype(np.int32)
    contexts = generator.normal(size=(7, 4)).astype(np.float32)
    images = generator.normal(size=(7, 3)).astype(np.float32)
    return ids, units, contexts, images


@pytest.mark.parametrize("weights", [np.array([2, 1]), np.array([3, 3, 3])])
def test_scores_and_contexts_equal_their_twins(text, weights):
    ids, units, contexts, images = text
    words = np.array([4, 0])
    left = np.random.default_rng(1).normal(size=(2, 4)).astype(np.float32)
    scores, mass = np.zeros((2, 4, 3), dtype=np.float32), np.zeros((2, 4), dtype=np.float32)
    sides = weights.astype(np.int64), weights.astype(np.int64)
    index = _index(ids, 7)
    balance = np.random.default_rng(2).uniform(0.2, 2, (4, 7)).astype(np.float32)
    unit_scores(ids, index, units, words, sides, 2.0, balance, left, contexts, images, scores, mass)
    slices, factors = np.array([0, 1, 1, 0], dtype=np.int32), np.array([1.0, 0.5, 2.0, 0.25])
    for row, word in enumerate(words):
        known = slow.unit_scores(ids, units, 4, word, weights / 2, balance, left[row], contexts, images)
        np.testing.assert_allclose(scores[row], known[0], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(mass[row], known[1], rtol=1e-5)
        sums = np.zeros((2, 7))
        context_sums(ids, index, units, word, sides, 2.0, balance, slices, factors, sums)
        np.testing.assert_allclose(
            sums, slow.context_sums(ids, units, word, weights / 2, balance, slices, factors, (2, 7)), rtol=1e-6
        )


@pytest.mark.parametrize("events", [1.0, 50.0])
def test_rows_are_the_minimum_that_scipy_finds(events):
    generator = np.random.default_rng(3)
    contexts = generator.normal(size=(60, 5)).astype(np.float32)
    noise = generator.dirichlet(np.ones(60))
    counts = generator.poisson(3, 60) * (generator.random(60) < 0.5).astype(float)
    prior = generator.normal(size=5)
    rates = counts / counts.sum()
    found = RowProblem(contexts, noise, 5.0, prior, rates).solve(counts, events)
    known = slow.solve_row(contexts.astype(float), noise, 5.0, prior, rates, counts, events)
    np.testing.assert_allclose(found, known, atol=1e-3)


def test_a_prior_worth_many_events_holds_a_row():
    generator = np.random.default_rng(3)
    contexts, prior = generator.normal(size=(60, 5)), generator.normal(size=5)
    counts = generator.poisson(1, 60).astype(float)
    problem = RowProblem(contexts, np.full(60, 1 / 60), 5.0, prior, counts / counts.sum())
    near, far = (np.linalg.norm(problem.solve(counts, events) - prior) for events in (1e4, 1.0))
    assert near < 0.05 * far


def test_text_that_does_not_fit_in_memory_is_refused(monkeypatch):
    slices = slices_of([["a b c a b"] * 200, ["b c a"] * 200], None, None, None)
    monkeypatch.setattr(occurrences, "BYTES", 1e6)
    with pytest.raises(BudgetError, match="comparing these documents needs about"):
        Occurrences.read(slices, {"min_count": 1, "window": 2}, None, Run(budget=10**9))
