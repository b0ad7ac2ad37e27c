"""Supervised EMF: the objective with analogies, its gradients, and what is learned from them."""

from __future__ import annotations

import numpy as np
import pytest

import firthian as ft
from firthian.errors import FirthianError
from firthian.learn.likelihood import losses
from firthian.learn.likelihood import model as ef
from firthian.learn.likelihood.model import Factors
from firthian.learn.likelihood.semf import (
    Analogies,
    AnalogyLoss,
    Supervised,
    SupervisedEMF,
    _add_slopes,
    fit_metric,
    read_analogies,
    semf,
)
from firthian.learn.likelihood.updates import LEAST_DAMPING, auto_damping
from firthian.runtime.run import Run
from tests.learn.common import counts_of, offset_of_answers, random_counts
from tests.reference import likelihood as twin

QUESTIONS = np.array([[0, 1, 2, 3], [4, 5, 0, 1], [0, 1, 2, 7]])


def supervised(weight=0.3, size=12):
    matrix, counts = random_counts(size)
    model = SupervisedEMF(ef.NegativeSampling(counts, Run()), Analogies(QUESTIONS, 0), weight)
    words, contexts = np.random.default_rng(0).normal(0, 0.4, (2, size, 3)).astype(np.float32)
    return model, Factors(words, contexts, np.zeros(size), np.zeros(size)), matrix


def slow_objective(model, factors, matrix, weight):
    """Compute eq. 14 directly."""
    u, c = factors.words.astype(np.float64), factors.contexts.astype(np.float64)
    rho = np.multiply.outer(*model.model.shares(factors))
    zeros = np.zeros(len(matrix))
    total = twin.total_loss(model.family, matrix, u, c, zeros, zeros, rho)
    for a, b, third, d in QUESTIONS:
        row = [u[b] - u[a] + u[third]]
        total += weight * twin.total_loss(model.family, matrix[[d]], row, c, zeros[:1], zeros, rho[[d]])
    return total


def test_the_objective_is_equation_14():
    model, factors, matrix = supervised()
    loss = AnalogyLoss(losses.Exact(), model, factors)
    values = loss.values(model.side("contexts", factors), Run(), 0).sum()
    assert values == pytest.approx(slow_objective(model, factors, matrix, 0.3), rel=1e-5)


@pytest.mark.parametrize("unseen", ["exact", "expanded"])
def test_gradients_are_derivatives_of_equation_14(unseen):
    model, factors, matrix = supervised()
    loss = AnalogyLoss(losses.choose_loss(unseen), model, factors)
    for which, part in (("words", factors.words), ("contexts", factors.contexts)):
        gradient = loss.gradient(model.side(which, factors), Run(), 1).vectors
        towards = np.random.default_rng(1).normal(0, 1, part.shape).astype(np.float32)
        old, values = part.copy(), []
        for step in (1e-3, -1e-3):
            part[:] = old + np.float32(step) * towards
            values.append(slow_objective(model, factors, matrix, 0.3))
        part[:] = old
        slope = float((gradient * towards).sum())
        assert (values[0] - values[1]) / 2e-3 == pytest.approx(slope, rel=0.01 if unseen == "exact" else 0.1)


def test_sweeps_lower_the_objective():
    model, _, _ = supervised(size=30)
    solution = Supervised(epochs=8, unseen="exact").solve(model, 4, Run())
    assert solution.objective[-1] < 0.9 * solution.stats["objective_at_start"]
    assert solution.stats["analogies"] == 3


def test_no_weight_and_no_file_are_plain_emf():
    _, counts = random_counts(30)
    plain = Supervised(epochs=3).solve(semf(counts, Run()), 4, Run()).words
    model = SupervisedEMF(ef.NegativeSampling(counts, Run()), Analogies(QUESTIONS, 0), 0.0)
    assert np.allclose(Supervised(epochs=3).solve(model, 4, Run()).words, plain, atol=1e-4)


def test_the_auto_damping_is_that_of_the_counts_not_of_the_questions():
    counts = counts_of(1e5 * random_counts(30)[0])
    model = SupervisedEMF(ef.NegativeSampling(counts, Run()), Analogies(QUESTIONS, 0), 0.001)
    solution = Supervised(epochs=1, damping="auto").solve(model, 4, Run())
    assert solution.stats["damping"] == auto_damping(counts.total) == LEAST_DAMPING
    assert auto_damping(model.pairs.values.sum()) > LEAST_DAMPING


def test_questions_that_do_not_fit_the_memory_are_refused_before_the_work(tmp_path):
    """Each question adds the pairs of its answer once more, which the counts do not show."""
    _, counts = random_counts(40)
    words = counts.vocabulary.words
    path = tmp_path / "questions.txt"
    path.write_text(f"{words[0]} {words[1]} {words[2]} {words[3]}\n" * 200_000)
    with pytest.raises(FirthianError, match=r"200,000 analogies \([\d,]+ pairs .*: set memory=\d+MB, or use fewer"):
        ft.train(counts, "semf", vector_size=4, analogies=str(path), memory="256MB")


def test_what_is_taught_is_learned(tmp_path):
    _, counts = random_counts(40, seed=3)
    words = counts.vocabulary.words
    rng = np.random.default_rng(0)
    ids = np.array([rng.permutation(15)[:4] for _ in range(12)])
    path = tmp_path / "questions.txt"
    path.write_text("".join(" ".join(words[n] for n in row) + "\n" for row in ids) + "no such words here\n")

    plain = ft.train(counts, "semf", vector_size=10)
    taught = ft.train(counts, "semf", vector_size=10, analogies=str(path), **{"lambda": 0.5})
    assert taught.provenance.stats["unknown_analogies"] == 1
    assert offset_of_answers(taught, ids) < 0.8 * offset_of_answers(plain, ids)


def test_bad_files_are_reported(tmp_path):
    _, counts = random_counts(10)
    path = tmp_path / "questions.txt"
    path.write_text("one two three four\n")
    with pytest.raises(FirthianError, match="four known words"):
        read_analogies(path, counts)
    with pytest.raises(FirthianError):
        read_analogies(tmp_path / "missing.txt", counts)


def planted_relation(pairs=24, dimension=12, seed=0):
    """Vectors of words a_i and b_i = a_i + offset + noise, where noise is in a few directions, and the same for all pairs."""
    rng = np.random.default_rng(seed)
    offset, scale = rng.normal(0, 1, dimension), np.where(np.arange(dimension) < 3, 1.5, 0.05)
    first = rng.normal(0, 1, (pairs, dimension))
    second = first + offset + rng.normal(0, 1, (pairs, dimension)) * scale
    others = rng.normal(0, 1, (200, dimension)) + np.where(rng.random((200, 1)) < 0.5, offset, 0)
    words = np.concatenate([first, second, others]).astype(np.float32)
    return words, lambda ids: np.array([[i, pairs + i, j, pairs + j] for i in ids for j in ids if i != j])


def answered(words, questions):
    unit = words / np.linalg.norm(words, axis=1, keepdims=True)
    a, b, c, d = questions.T
    scores = (unit[b] - unit[a] + unit[c]) @ unit.T
    for given in (a, b, c):
        scores[np.arange(len(a)), given] = -np.inf
    return float((scores.argmax(axis=1) == d).mean())


def test_a_taught_metric_helps_pairs_that_were_not_taught():
    words, questions = planted_relation()
    taught, asked = questions(range(12)), questions(range(12, 24))
    moved = words @ fit_metric(words, taught, 0.1)
    assert answered(moved, asked) > answered(words, asked) + 0.1
    # a strong penalty leaves everything where it is
    np.testing.assert_allclose(fit_metric(words, taught, 1e6), np.eye(12), atol=1e-3)


def test_the_metrics_gradient_is_its_derivative():
    words, questions = planted_relation(pairs=4)
    unit = words / np.linalg.norm(words, axis=1, keepdims=True)
    slopes = np.zeros_like(unit)
    _add_slopes(unit, questions(range(4)), slopes)
    towards = np.random.default_rng(1).normal(0, 1, unit.shape).astype(np.float32)
    values = [
        _add_slopes(unit + np.float32(step) * towards, questions(range(4)), np.zeros_like(unit))
        for step in (1e-3, -1e-3)
    ]
    assert (values[0] - values[1]) / 2e-3 == pytest.approx(float((slopes * towards).sum()), rel=1e-2)


@pytest.mark.parametrize("recipe", ["semf", "emf-amemf"])
def test_a_taught_metric_keeps_the_likelihood_of_the_counts(tmp_path, recipe):
    _, counts = random_counts(40, seed=3)
    words = counts.vocabulary.words
    path = tmp_path / "questions.txt"
    path.write_text("".join(" ".join(words[n] for n in row) + "\n" for row in QUESTIONS))
    options = {"center": False} if recipe == "semf" else {}
    plain = ft.train(counts, recipe, vector_size=6, **options)
    taught = ft.train(counts, recipe, vector_size=6, analogies=str(path), teach="metric", **options)
    assert taught.provenance.stats["analogies"] == 3
    assert taught.provenance.stats["metric_change"] > 0.1
    assert not np.allclose(taught.matrix, plain.matrix, atol=0.05)
    np.testing.assert_allclose(taught.matrix @ taught.contexts.T, plain.matrix @ plain.contexts.T, atol=1e-3)
