"""AMEMF: its inner loops reach the minimum that the paper's gradient steps reach, on planted counts and on text."""

from __future__ import annotations

import numpy as np
import pytest

import firthian as ft
from firthian.errors import FirthianError
from firthian.learn.likelihood import losses
from firthian.learn.likelihood import model as ef
from firthian.learn.likelihood.alternating import sweep
from firthian.learn.likelihood.amemf import AMEMF, InnerLoop
from firthian.learn.likelihood.model import Factors
from firthian.learn.likelihood.semf import Analogies, SupervisedEMF
from firthian.runtime.executor import Threads
from firthian.runtime.run import Run
from tests.learn.common import counts_of, offset_of_answers, random_counts
from tests.learn.texts import wikipedia

ALONE = Run(executor=Threads(1))
QUESTIONS = np.array([[0, 1, 2, 3], [4, 5, 0, 1], [0, 1, 2, 7]])


def dense(model: ef.NegativeSampling, factors: Factors) -> tuple[np.ndarray, np.ndarray]:
    """Return D and Q of the paper, words in rows."""
    counts = np.zeros((model.words, model.words))
    counts[model.pairs.row_ids(), model.pairs.indices] = model.pairs.values
    return counts, counts + np.multiply.outer(*model.shares(factors))


def loss_of(vectors: np.ndarray, contexts: np.ndarray, counts: np.ndarray, trials: np.ndarray) -> float:
    eta = vectors @ contexts.T
    return float((trials * np.logaddexp(0, eta) - counts * eta).sum())


def gradient_steps(start, contexts, counts, trials, steps, combinations=None):
    """Lines 5 to 7 of Algorithm 1, in double precision, with the longest step that is safe for a row (or for all)."""
    vectors, contexts = start.astype(np.float64), contexts.astype(np.float64)
    maps = np.eye(len(vectors)) if combinations is None else combinations
    bounds = np.array([np.linalg.eigvalsh((contexts.T * row) @ contexts)[-1] / 4 for row in trials])
    if combinations is None:
        rates = 1 / bounds[:, np.newaxis]
    else:
        rates = 1 / np.linalg.eigvalsh((maps.T * bounds) @ maps)[-1]
    for _ in range(steps):
        eta = maps @ vectors @ contexts.T
        vectors = vectors - rates * (maps.T @ ((trials / (1 + np.exp(-eta)) - counts) @ contexts))
    return loss_of(maps @ vectors, contexts, counts, trials)


def planted(size=40, dimension=5, seed=0):
    rng = np.random.default_rng(seed)
    words, contexts = rng.normal(0, 0.8, (2, size, dimension))
    often = 400 / np.arange(1, size + 1)
    mu = np.outer(often, often) / often.sum() * np.exp(words @ contexts.T)
    model = ef.NegativeSampling(counts_of(rng.poisson(mu), context="left"), ALONE, 3.0, 1.0)
    start = rng.normal(0, 0.5, (2, size, dimension)).astype(np.float32)
    return model, Factors(start[0], start[1], np.zeros(size), np.zeros(size))


def test_an_inner_loop_reaches_the_minimum_of_ten_thousand_gradient_steps():
    model, factors = planted()
    counts, trials = dense(model, factors)
    start, contexts = factors.words.copy(), factors.contexts
    one, many = (gradient_steps(start, contexts, counts, trials, steps) for steps in (1, 10_000))
    InnerLoop().move(model.side("words", factors), losses.NO_GRADIENT, losses.Exact(), ALONE, 1, 0.0)
    ours = loss_of(factors.words, contexts, counts, trials)
    assert many < 0.95 * one
    assert ours == pytest.approx(many, rel=1e-6)
    # the contexts, too, whose counts are the columns
    many = gradient_steps(contexts.copy(), factors.words, counts.T, trials.T, 10_000)
    InnerLoop().move(model.side("contexts", factors), losses.NO_GRADIENT, losses.Exact(), ALONE, 2, 0.0)
    assert loss_of(factors.contexts, factors.words, counts.T, trials.T) == pytest.approx(many, rel=1e-6)


def test_words_in_analogies_reach_their_common_minimum():
    plain, factors = planted(size=20)
    model = SupervisedEMF(plain, Analogies(QUESTIONS, 0), 0.5)
    counts, trials = dense(plain, factors)
    maps = np.eye(20)
    for a, b, c, d in QUESTIONS:
        maps = np.vstack([maps, maps[b] - maps[a] + maps[c]])
        counts, trials = (np.vstack([table, 0.5 * table[d]]) for table in (counts, trials))
    start, contexts = factors.words.copy(), factors.contexts
    many = gradient_steps(start, contexts, counts, trials, 40_000, maps)
    InnerLoop(1e-8, model).move(model.side("words", factors), losses.NO_GRADIENT, losses.Exact(), ALONE, 1, 0.0)
    assert loss_of(maps @ factors.words, contexts, counts, trials) == pytest.approx(many, rel=1e-5)


@pytest.mark.realdata
def test_on_text_an_inner_loop_reaches_the_minimum_of_many_gradient_steps(tmp_path):
    corpus = wikipedia(tmp_path / "text.txt", 2_000_000)
    model = ef.NegativeSampling(ft.count(corpus, max_vocab=150, sample=1e-3), ALONE, 4.0, 1.0)
    start = np.random.default_rng(1).normal(0, 0.3, (2, model.words, 10)).astype(np.float32)
    factors = Factors(start[0], start[1], np.zeros(model.words), np.zeros(model.words))
    # contexts of a fit, which are correlated, make gradient steps slow
    sweep(model, factors, losses.Exact(), InnerLoop(), 1, 0.0, ALONE)
    InnerLoop().move(model.side("contexts", factors), losses.NO_GRADIENT, losses.Exact(), ALONE, 3, 0.0)
    counts, trials = dense(model, factors)
    steps = [gradient_steps(factors.words, factors.contexts, counts, trials, number) for number in (1, 100, 3000)]
    InnerLoop().move(model.side("words", factors), losses.NO_GRADIENT, losses.Exact(), ALONE, 4, 0.0)
    ours = loss_of(factors.words, factors.contexts, counts, trials)
    assert ours <= steps[2] * (1 + 1e-6)
    assert ours < steps[1] < steps[0]
    assert ours == pytest.approx(steps[2], rel=1e-4)


def test_turns_never_raise_the_loss_and_ridge_is_part_of_it():
    _, counts = random_counts(25)
    model = ef.NegativeSampling(counts, ALONE)
    for ridge in (0.0, 3.0):
        solution = AMEMF(epochs=30, ridge=ridge).solve(model, 4, ALONE)
        assert (np.diff(solution.objective) <= 1e-6 * solution.objective[0]).all()
        assert solution.objective[0] < 0.9 * solution.stats["objective_at_start"]
        side = model.side("words", Factors(solution.words, solution.contexts, *np.zeros((2, 25))))
        gradient = losses.Exact().gradient(side, ALONE, 0).vectors + ridge * solution.words
        assert np.abs(gradient).max() < 0.02 * side.events.max() ** 0.5


def test_a_word_without_pairs_is_left_finite():
    _, counts = random_counts(12, zero_word=3)
    assert np.isfinite(ft.train(counts, "emf-amemf", vector_size=3).matrix).all()


def test_analogies_that_exceed_the_memory_are_refused_before_the_work():
    _, counts = random_counts(400)
    # the answer is rare, so the questions are small until their rows are dense
    questions = Analogies(np.tile([[0, 1, 2, 399]], (20_000, 1)), 0)
    model = SupervisedEMF(ef.NegativeSampling(counts, ALONE), questions, 0.1)
    with pytest.raises(FirthianError, match=r"20,000 analogies among 400 words needs .* or use fewer analogies"):
        AMEMF().solve(model, 3, Run(executor=Threads(1), budget=250_000_000))


def test_analogies_are_learned(tmp_path):
    _, counts = random_counts(40, seed=3)
    words = counts.vocabulary.words
    ids = np.array([np.random.default_rng(seed).permutation(15)[:4] for seed in range(12)])
    path = tmp_path / "questions.txt"
    path.write_text("".join(" ".join(words[n] for n in row) + "\n" for row in ids))

    plain = ft.train(counts, "emf-amemf", vector_size=10)
    taught = ft.train(counts, "emf-amemf", vector_size=10, analogies=str(path), **{"lambda": 0.5})
    objective = [taught.provenance.stats["objective_at_start"], *taught.provenance.objective]
    assert (np.diff(objective) <= 1e-6 * objective[0]).all()
    assert offset_of_answers(taught, ids) < 0.8 * offset_of_answers(plain, ids)
