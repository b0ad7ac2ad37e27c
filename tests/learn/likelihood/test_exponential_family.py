"""Exponential family models: gradients, treatments of unseen pairs, updates, limits, and recovered parameters."""

from __future__ import annotations

import numpy as np
import pytest

import firthian as ft
from firthian.errors import FirthianError
from firthian.learn.likelihood import alternating, losses, updates
from firthian.learn.likelihood import model as ef
from firthian.learn.likelihood.alternating import Alternating, sweep
from firthian.learn.likelihood.amemf import InnerLoop
from firthian.learn.likelihood.families import (
    Binomial,
    Gaussian,
    LogGaussian,
    NegativeBinomial,
    Poisson,
    Truncated,
    Tweedie,
)
from firthian.learn.likelihood.iwlrls import IWLRLS
from firthian.learn.likelihood.model import ExponentialFamily, Factors, NegativeSampling
from firthian.learn.likelihood.semf import Supervised
from firthian.learn.likelihood.squares import FirstProblem
from firthian.learn.likelihood.updates import ConjugateGradients
from firthian.runtime.executor import Threads
from firthian.runtime.run import Run
from tests.learn.common import counts_of, random_counts
from tests.reference import glove as glove_twin
from tests.reference import likelihood as twin

DIMENSION = 4
#: One thread: starting more takes longer than these small problems.
ALONE = Run(executor=Threads(1))
FAMILIES = {
    "gaussian": (Gaussian(), "none"),
    "gaussian-log": (LogGaussian(), "both"),
    "poisson": (Poisson(), "both"),
    "tweedie": (Tweedie(1.25), "both"),
    "truncated": (Truncated(Tweedie(1.25), 5.0), "both"),
    "negative-binomial": (NegativeBinomial(2.0), "both"),
    "binomial": (Binomial(), "none"),
}


def problem(name, size=25, seed=0, context="both", scale=0.3, **options):
    """Return a model, random factors, and dense counts and shares."""
    family, bias = FAMILIES[name]
    matrix, counts = random_counts(size, seed, context)
    if name == "binomial":
        model = NegativeSampling(counts, ALONE, negative=5.0, ns_exponent=0.75, **options)
    else:
        model = ExponentialFamily(counts, ALONE, family, bias, **options)
    rng = np.random.default_rng(seed)
    words, contexts = (rng.normal(0, scale, (size, DIMENSION)).astype(np.float32) for _ in range(2))
    word_bias, context_bias = (rng.normal(0, 0.3, size) if bias == "both" else np.zeros(size) for _ in range(2))
    factors = Factors(words, contexts, word_bias, context_bias)
    return model, factors, matrix, np.multiply.outer(*model.shares(factors))


def slow_loss(model, factors, matrix, rho):
    parts = (np.asarray(part, dtype=np.float64) for part in vars(factors).values())
    return twin.total_loss(model.family, matrix, *parts, rho)


@pytest.mark.parametrize("context", ["both", "left"])
@pytest.mark.parametrize("name", FAMILIES)
def test_the_exact_loss_is_the_sum_over_all_pairs(name, context):
    model, factors, matrix, rho = problem(name, context=context)
    expected = slow_loss(model, factors, matrix, rho)
    for which in ("words", "contexts"):
        values = losses.Exact().values(model.side(which, factors), ALONE, 0)
        assert values.sum() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("unseen", ["exact", "sampled", "expanded", "ignored"])
@pytest.mark.parametrize("name", FAMILIES)
def test_gradients_are_derivatives_of_the_loss(name, unseen):
    model, factors, _, _ = problem(name)
    loss = losses.choose_loss(unseen, 64)
    if unseen == "expanded" and name != "gaussian":
        pytest.skip("its quadratic moves with the vectors: compared with the exact gradient below, its bias by itself")
    if unseen == "sampled" and name == "negative-binomial":
        pytest.skip("its unseen pairs are bounded, not counted")
    for which in ("words", "contexts"):
        side = model.side(which, factors)
        gradient = loss.gradient(side, ALONE, 1)
        rng = np.random.default_rng(1)
        towards = rng.normal(0, 1, side.left.shape).astype(np.float32)
        bias_towards = rng.normal(0, 1, len(side.left)) * side.learns_bias
        old, old_bias, step = side.left.copy(), side.left_bias.copy(), 1e-3
        values = []
        for sign in (1, -1):
            side.left[:] = old + np.float32(sign * step) * towards
            side.left_bias[:] = old_bias + sign * step * bias_towards
            # drawn by shares of contexts, which do not move with the biases of this side
            values.append(loss.values(side.refresh_shares(), ALONE, 1))
        side.left[:], side.left_bias[:] = old, old_bias
        slopes = (gradient.vectors * towards).sum(axis=1) + gradient.bias * bias_towards
        # dense blocks are in single precision, so differences of their sums have few digits
        rtol, atol = (2e-2, 2e-2) if unseen == "exact" else (1e-3, 1e-4)
        assert np.allclose((values[0] - values[1]) / (2 * step), slopes, rtol=rtol, atol=atol * np.abs(slopes).max())


@pytest.mark.parametrize("which", ["words", "contexts"])
@pytest.mark.parametrize("unseen", ["exact", "expanded", "sampled"])
@pytest.mark.parametrize("name", ["poisson", "tweedie", "gaussian-log"])
def test_losses_move_with_the_biases_as_the_gradient_says(name, unseen, which):
    # small products, so that the quadratic of unseen pairs is close
    model, factors, _, _ = problem(name, size=60, scale=0.1)
    side, loss, step = model.side(which, factors), losses.choose_loss(unseen), 1e-3
    before, slope = loss.values(side, ALONE, 1), loss.gradient(side, ALONE, 1).bias
    side.left_bias[:] -= step
    values = (loss.values(side.refresh_shares(), ALONE, 1) - before).sum()
    assert values == pytest.approx(-step * slope.sum(), rel=0.05)


@pytest.mark.parametrize("name", ["poisson", "tweedie", "negative-binomial"])
def test_all_rows_move_and_reach_what_visiting_every_pair_reaches(name):
    _, counts = random_counts(300)
    reached = {}
    for unseen in ("exact", "expanded"):
        family, bias = FAMILIES[name]
        model = ExponentialFamily(counts, ALONE, family, bias, truncate_weights=10.0)
        values = IWLRLS(iterations=4, unseen=unseen).solve(model, DIMENSION, ALONE)
        assert values.stats["kept_rows"] <= 0.01 * 3 * 2 * 300
        words = np.ascontiguousarray(2 * values.words - values.contexts)
        factors = Factors(words, values.contexts, values.extras["word_bias"], values.extras["context_bias"])
        reached[unseen] = float(losses.Exact().values(model.side("words", factors), ALONE, 0).sum())
    assert reached["expanded"] < reached["exact"] + 0.03 * abs(reached["exact"])


@pytest.mark.parametrize("name", FAMILIES)
def test_the_expansion_is_exact_for_squares_and_close_otherwise(name):
    # e^2s has heavier tails
    model, factors, matrix, rho = problem(name, size=60, scale=0.25 if name == "gaussian-log" else 0.5)
    if name == "negative-binomial":
        # unseen pairs are rare words, where the bound is tight
        factors.word_bias -= 3
    side = model.side("words", factors)
    exact, close = (losses.choose_loss(unseen).gradient(side, ALONE, 1) for unseen in ("exact", "expanded"))
    tolerance = 1e-5 if name == "gaussian" else 0.06
    assert close.losses.sum() == pytest.approx(exact.losses.sum(), rel=tolerance)
    difference = np.linalg.norm(close.vectors - exact.vectors) / np.linalg.norm(exact.vectors)
    assert difference < tolerance
    # the quadratic has the curvature of rho·phi, (2 - p)·h; seen pairs have the expected curvature h
    eta = factors.words @ factors.contexts.T + factors.word_bias[:, np.newaxis] + factors.context_bias
    curvature = model.family.curvature(matrix, eta, rho)
    expected = np.where(matrix > 0, 1, model.family.share_power or 1) * curvature
    assert np.allclose(close.curvature, expected.sum(axis=1), rtol=3 * tolerance)


def test_sampled_gradients_are_right_on_average():
    model, factors, _, _ = problem("binomial")
    side = model.side("words", factors)
    exact = losses.Exact().gradient(side, ALONE, 1)
    drawn = [losses.Sampled(50).gradient(side, ALONE, turn) for turn in range(200)]
    mean = np.mean([one.vectors for one in drawn], axis=0)
    assert np.linalg.norm(mean - exact.vectors) < 0.15 * np.linalg.norm(drawn[0].vectors - exact.vectors)
    assert np.allclose(np.mean([one.curvature for one in drawn], axis=0), exact.curvature, rtol=0.02)


def test_emf_is_the_expected_loss_of_sgns():
    """Theorem 1 of Li et al. 2015, with any noise distribution."""
    for seed in range(3):
        model, factors, matrix, _ = problem("binomial", size=12, seed=seed)
        values = losses.Exact().values(model.side("words", factors), ALONE, 0).sum()
        u, c = factors.words.astype(np.float64), factors.contexts.astype(np.float64)
        assert values == pytest.approx(twin.sgns_expected_loss(matrix, u, c, 5.0, 0.75), rel=1e-6)


def test_held_out_pairs_cost_nothing():
    for unseen in ("exact", "expanded", "sampled"):
        model, factors, matrix, rho = problem("binomial", context="left")
        model, held = model.hold_out(0.3)
        assert 0.1 * model.pairs.values.size < held.rows.size < 0.5 * model.pairs.values.size
        assert np.array_equal(matrix[held.rows, held.columns], held.values)
        if unseen == "exact":
            rest, empty = matrix.copy(), rho.copy()
            rest[held.rows, held.columns] = empty[held.rows, held.columns] = 0
            expected = slow_loss(model, factors, rest, empty)
            for which in ("words", "contexts"):
                assert losses.Exact().values(model.side(which, factors), ALONE, 0).sum() == pytest.approx(
                    expected, rel=1e-5
                )
            exact = losses.Exact().gradient(model.side("words", factors), ALONE, 1).vectors
        else:
            close = losses.choose_loss(unseen, 20_000).gradient(model.side("words", factors), ALONE, 1).vectors
            assert np.linalg.norm(close - exact) < 0.05 * np.linalg.norm(exact)


def test_one_tweedie_iteration_has_gloves_objective():
    matrix, counts = random_counts(12)
    model = ef.tweedie(counts, ALONE, power=1.25, truncate_weights=10.0)
    _, factors, _, _ = problem("tweedie", size=12)
    rows, columns = np.nonzero(matrix)
    x = matrix[rows, columns]
    weights = [glove_twin.weight(value, 10.0, 0.75) for value in x]
    parts = [np.asarray(part, dtype=np.float64) for part in vars(factors).values()]
    expected = glove_twin.objective(rows, columns, np.log(x), weights, *parts)
    for which in ("words", "contexts"):
        values = losses.SeenOnly().values(FirstProblem(model).side(which, factors), ALONE, 0)
        assert 2 * values.sum() == pytest.approx(expected, rel=1e-5)


def test_conjugate_gradients_solve_each_row():
    model, factors, matrix, _ = problem("tweedie", size=15, truncate_weights=10.0)
    side = FirstProblem(model).side("words", factors)
    ridge = 0.1
    ConjugateGradients(60).move(side, losses.NO_GRADIENT, losses.SeenOnly(), ALONE, 0, ridge)
    for row in range(15):
        seen = np.flatnonzero(matrix[row])
        x = matrix[row, seen]
        weights = (np.minimum(x, 10) / 10) ** 0.75
        right = np.column_stack([factors.contexts[seen].astype(np.float64), np.ones(seen.size)])
        hessian = (right * weights[:, np.newaxis]).T @ right + ridge * np.diag([1.0] * DIMENSION + [0.0])
        expected = np.linalg.solve(hessian, right.T @ (weights * (np.log(x) - factors.context_bias[seen])))
        assert np.allclose(np.append(side.left[row], side.left_bias[row]), expected, atol=2e-3)


def test_least_squares_never_rise():
    model, factors, _, _ = problem("tweedie", size=40, truncate_weights=10.0)
    for number in (1, 3):
        values = sweep(FirstProblem(model), factors, losses.SeenOnly(), ConjugateGradients(number), 10, 0.05, ALONE)
        assert (np.diff(values) <= 1e-6 * values[0]).all()


def test_gaussian_is_the_truncated_svd():
    matrix, counts = random_counts(30)
    model = ef.gaussian(counts, ALONE, truncate_counts="none")
    solution = Alternating(epochs=40, step="newton").solve(model, DIMENSION, ALONE)
    values = np.linalg.svd(matrix, compute_uv=False)
    assert solution.objective[-1] == pytest.approx(0.5 * (values[DIMENSION:] ** 2).sum(), rel=1e-3)


def test_tweedie_and_the_negative_binomial_become_poisson():
    """The fitted vectors, not only the formulas: p to 1, theta to infinity."""
    _, counts = random_counts(40)
    values = [
        IWLRLS(iterations=4).solve(model, DIMENSION, ALONE)
        for model in (
            ef.poisson(counts, ALONE),
            ef.tweedie(counts, ALONE, power=1 + 1e-5),
            ef.negative_binomial(counts, ALONE, theta=1e7),
        )
    ]
    far = IWLRLS(iterations=4).solve(ef.negative_binomial(counts, ALONE, theta=1.0), DIMENSION, ALONE)
    scale = np.abs(values[0].words).max()
    for near in values[1:]:
        assert np.allclose(near.words, values[0].words, atol=0.01 * scale)
    assert not np.allclose(far.words, values[0].words, atol=0.05 * scale)


def test_a_log_link_keeps_the_means_of_the_gaussian_above_zero():
    matrix, counts = random_counts(30)
    model = ef.gaussian(counts, ALONE, link="log", truncate_counts="none")
    solution = Alternating(epochs=60, step="newton", combine="u", center=False).solve(model, DIMENSION, ALONE)
    eta = solution.words @ solution.contexts.T + solution.extras["word_bias"][:, np.newaxis]
    mu = np.exp(eta + solution.extras["context_bias"])
    independent = np.outer(matrix.sum(axis=1), matrix.sum(axis=0)) / matrix.sum()
    assert ((matrix - mu) ** 2).sum() < 0.3 * ((matrix - independent) ** 2).sum()


def test_vectors_are_combined_as_requested():
    _, counts = random_counts(30)
    for recipe in ("sgns", "tweedie"):
        options = {"center": False} if recipe == "sgns" else {}
        u, both, mean = (
            ft.train(counts, recipe, vector_size=3, combine=combine, **options) for combine in ("u", "u+c", "mean")
        )
        assert np.allclose(both.matrix, u.matrix + u.contexts)
        assert np.allclose(mean.matrix, both.matrix / 2)


def test_a_share_of_the_contexts_is_added_to_the_words():
    _, counts = random_counts(30)
    u, none, some = (ft.train(counts, "sgns", vector_size=3, combine=combine) for combine in ("u", 0, 0.25))
    np.testing.assert_array_equal(none.matrix, u.matrix)
    words, contexts = u.matrix + u.extras["mean_vector"], u.contexts
    weights = np.sqrt(ef.NegativeSampling(counts, ALONE, negative=6.0).side("words", factors_of(u)).events)

    def length(vectors):
        away = vectors - np.average(vectors, axis=0, weights=weights)
        return np.sqrt(np.average((away**2).sum(axis=1), weights=weights))

    factor = some.provenance.stats["context_factor"]
    assert factor == pytest.approx(0.25 * length(words) / length(contexts), rel=1e-5)
    np.testing.assert_allclose(some.matrix + some.extras["mean_vector"], words + factor * contexts, atol=1e-5)
    with pytest.raises(FirthianError, match="combine must be a number from 0 to 10 or u or u"):
        ft.train(counts, "sgns", vector_size=3, combine="c")


def factors_of(vectors):
    zeros = np.zeros(len(vectors))
    return ef.Factors(vectors.matrix, vectors.contexts, zeros, zeros)


def test_large_corpora_get_more_sweeps(monkeypatch):
    _, counts = random_counts(30)
    assert len(ft.train(counts, "sgns", vector_size=3).provenance.objective) == 6
    monkeypatch.setattr(alternating, "LARGE_TEXT", int(counts.vocabulary.counts.sum()))
    assert len(ft.train(counts, "sgns", vector_size=3).provenance.objective) == 8
    assert len(ft.train(counts, "sgns", vector_size=3, epochs=2).provenance.objective) == 2


@pytest.mark.parametrize("name", FAMILIES)
def test_careful_steps_never_raise_the_loss_and_reach_a_stationary_point(name):
    # with weights mu² a few large counts are all there is, and one matrix for all rows a poor guide
    options = {"truncate_counts": 10.0} if name == "gaussian-log" else {}
    model, factors, _, _ = problem(name, size=15, scale=0.1, **options)
    update = updates.choose_update("newton")
    values = sweep(model, factors, losses.Exact(), update, 150, 1.0, ALONE)
    assert (np.diff(values) <= 1e-6 * np.abs(values[0])).all()
    for which in ("words", "contexts"):
        side = model.side(which, factors)
        gradient = losses.Exact().gradient(side, ALONE, 1).vectors + 1.0 * side.left
        assert np.linalg.norm(gradient) < 0.02 * np.linalg.norm(side.events[:, np.newaxis] * side.left)


def test_a_prior_shortens_the_steps_of_rare_rows():
    moved = []
    for prior in (0.0, 5.0, 1e9):
        model, factors, _, _ = problem("binomial", size=12, scale=0.3)
        side = model.side("words", factors)
        before = side.left.copy()
        updates.choose_update("damped", 0.5, prior).move(
            side, losses.Exact().gradient(side, ALONE, 1), losses.Exact(), ALONE, 1, 0.0
        )
        moved.append(before - side.left)
    mass = side.events
    assert mass.max() > 3 * mass.min()
    np.testing.assert_allclose(moved[1], moved[0] * (mass / (mass + 5))[:, np.newaxis], rtol=1e-4, atol=1e-6)
    # On a text where all words are rare, no more than a tenth of the mean.
    most = updates.PRIOR_SHARE * mass.mean()
    np.testing.assert_allclose(moved[2], moved[0] * (mass / (mass + most))[:, np.newaxis], rtol=1e-4, atol=1e-6)


def test_vectors_are_centered_where_words_weigh_as_the_root_of_their_events():
    matrix, counts = random_counts(30)
    plain, centered = (ft.train(counts, "sgns", vector_size=5, center=center) for center in (False, True))
    # A row's events are its counts and k times as many.
    weights = np.sqrt(matrix.sum(axis=1))
    mean = weights @ plain.matrix.astype(np.float64) / weights.sum()
    np.testing.assert_allclose(centered.extras["mean_vector"], mean, atol=1e-5)
    np.testing.assert_allclose(centered.matrix, plain.matrix - mean, atol=1e-5)


def test_every_solver_reaches_the_same_value_from_a_common_start():
    values = {}
    for unseen, update, epochs in (
        ("exact", updates.choose_update("newton"), 150),
        ("exact", updates.choose_update("damped", 0.5), 300),
        ("exact", InnerLoop(1e-8), 100),
    ):
        model, factors, _, _ = problem("binomial", size=12, scale=0.3)
        sweep(model, factors, losses.choose_loss(unseen), update, epochs, 3.0, ALONE)
        side = model.side("words", factors)
        penalty = sum(updates.penalties(part, 3.0).sum() for part in (factors.words, factors.contexts))
        values[type(update).__name__, epochs] = losses.Exact().values(side, ALONE, 0).sum() + penalty
    lowest = min(values.values())
    assert all(value == pytest.approx(lowest, rel=2e-3) for value in values.values()), values


def test_small_corpora_take_shorter_steps_and_the_record_says_so():
    _, counts = random_counts(30)
    usual, short, longer = (
        ft.train(counts, "sgns", vector_size=4, **options) for options in ({}, {"damping": 0.3}, {"damping": 0.1})
    )
    assert usual.provenance.stats["damping"] == short.provenance.stats["damping"] == 0.3
    assert np.array_equal(usual.matrix, short.matrix)
    assert not np.array_equal(usual.matrix, longer.matrix)


def test_multinomial_rows_sum_to_the_counts():
    matrix, counts = random_counts(20)
    model = ef.poisson(counts, ALONE, bias="base", truncate_weights="none")
    factors = model.start(DIMENSION)
    sweep(model, factors, losses.Exact(), updates.choose_update("newton"), 80, 1.0, ALONE)
    mu = np.exp(factors.words @ factors.contexts.T + factors.word_bias[:, np.newaxis] + factors.context_bias)
    assert np.allclose(mu.sum(axis=1), matrix.sum(axis=1), rtol=0.02)


def test_a_planted_model_is_recovered():
    rng = np.random.default_rng(0)
    size, rank = 120, 3
    u, c = rng.normal(0, 0.6, (2, size, rank))
    bias = 1.0 - np.linspace(0, 2, size)
    eta = u @ c.T + bias[:, np.newaxis] + bias
    counts = counts_of(rng.poisson(np.exp(eta)), context="left")
    vectors = IWLRLS(iterations=60, epochs=3).solve(ef.poisson(counts, ALONE), rank, ALONE)
    fitted = vectors.extras["word_bias"][:, np.newaxis] + vectors.extras["context_bias"]
    words = 2 * vectors.words - vectors.contexts  # the mean of u and c
    fitted = fitted + words @ vectors.contexts.T
    often = np.exp(eta) > 1
    assert np.corrcoef(fitted[often], eta[often])[0, 1] > 0.9


def test_more_iterations_fit_better_and_early_stop_keeps_the_best():
    _, counts = random_counts(80)
    full = IWLRLS(iterations=8).solve(ef.tweedie(counts, ALONE), DIMENSION, ALONE)
    assert full.objective[-1] < full.objective[0]
    stopped = IWLRLS(iterations=8, early_stop=True).solve(ef.tweedie(counts, ALONE), DIMENSION, ALONE)
    validation = stopped.stats["held_out_loss"]
    assert validation[stopped.stats["stopped_at"] - 1] == min(validation)
    assert len(stopped.objective) == stopped.stats["stopped_at"] - 1
    # the first iteration leaves unseen pairs alone, which shows on them
    assert validation[0] > min(validation)


def planted_tweedie(size, p, zeros, seed=0):
    """Draw counts from a Tweedie model of rank 3 with a share of zeros, by P(0) and sums of gamma variables."""
    rng = np.random.default_rng(seed)
    u, c = rng.normal(0, 0.5, (2, size, 3))
    eta = u @ c.T + np.add.outer(np.linspace(1, -1, size), np.linspace(1, -1, size))
    low, high = -50.0, 50.0
    for _ in range(50):
        middle = (low + high) / 2
        mu = np.exp(eta + middle)
        low, high = (middle, high) if np.exp(-(mu ** (2 - p)) / (2 - p)).mean() > zeros else (low, middle)
    number = rng.poisson(mu ** (2 - p) / (2 - p))
    draws = rng.gamma(np.maximum(number, 1e-9) * (2 - p) / (p - 1)) * (p - 1) * mu ** (p - 1)
    return np.where(number > 0, draws, 0)


@pytest.mark.parametrize(("p", "zeros"), [(1.1, 0.9), (1.25, 0.9), (1.5, 0.9), (1.75, 0.9)])
def test_the_power_is_recovered_where_most_pairs_are_unseen(p, zeros):
    matrix = planted_tweedie(300, p, zeros)
    assert (matrix == 0).mean() == pytest.approx(zeros, abs=0.02)
    vectors = ft.train(counts_of(matrix, context="left"), "tweedie", vector_size=3, power="auto", workers=1)
    assert vectors.provenance.stats["power"] == pytest.approx(p, abs=0.05)


@pytest.mark.parametrize("recipe", ["multinomial", "tweedie", "poisson"])
def test_contexts_have_no_bias_with_bias_row(recipe, tmp_path):
    """Everything the mean needs is saved: a word's means sum to its counts, as a multinomial's do."""
    matrix, counts = random_counts(200)
    vectors = ft.train(counts, recipe, vector_size=10, bias="row", iterations=8, unseen="exact")
    vectors.save(tmp_path / "v")
    saved = ft.load(tmp_path / "v")
    assert "context_bias" not in saved.extras
    eta = (2 * np.asarray(saved.matrix) - saved.contexts) @ saved.contexts.T + saved.extras["word_bias"][:, np.newaxis]
    ratio = np.exp(eta).sum(axis=1) / matrix.sum(axis=1)
    # a Poisson model with a bias for words only is a multinomial; for other families this holds roughly
    assert np.abs(np.log(ratio)).max() < (0.01 if recipe != "tweedie" else 1)


@pytest.mark.parametrize("bias", ["none", "base", "both"])
def test_biases_that_are_fixed_are_saved_too(bias):
    matrix, counts = random_counts(60)
    vectors = ft.train(counts, "poisson", vector_size=3, bias=bias, iterations=6, truncate_weights="none")
    eta = (2 * vectors.matrix - vectors.contexts) @ vectors.contexts.T + vectors.extras["word_bias"][:, np.newaxis]
    mu = np.exp(eta + vectors.extras["context_bias"])
    assert mu.sum() == pytest.approx(matrix.sum(), rel=0.15)


def test_one_binomial_step_is_weighted_shifted_pmi():
    """The first iteration of the binomial family: log(x/rho) with the weights x·rho/(x + rho), for both sides."""
    matrix, counts = random_counts(20)
    model = NegativeSampling(counts, ALONE, negative=3.0, ns_exponent=0.75)
    noise = matrix.sum(axis=0) ** 0.75 / (matrix.sum(axis=0) ** 0.75).sum()
    rho = 3 * np.outer(matrix.sum(axis=1), noise)
    problem = FirstProblem(model)
    for pairs, x, noise_share in ((problem.pairs, matrix, rho), (problem.transposed, matrix.T, rho.T)):
        seen = pairs.row_ids(), pairs.indices
        assert np.allclose(pairs.values, np.log(x[seen] / noise_share[seen]), rtol=1e-4, atol=1e-5)
        assert np.allclose(pairs.weights, x[seen] * noise_share[seen] / (x + noise_share)[seen], rtol=1e-4)


def test_iterations_of_the_binomial_family_approach_sgns_and_stop_early():
    _, counts = random_counts(80)
    model = NegativeSampling(counts, ALONE)
    for solver in ("sweeps", "adagrad"):
        more = IWLRLS(iterations=5, solver=solver, epochs=5).solve(model, DIMENSION, ALONE)
        assert more.objective[-1] < more.stats["objective_at_start"]
    stopped = ft.train(counts, "sgns-iwlrls", vector_size=4, iterations=8, early_stop=True)
    validation = stopped.provenance.stats["held_out_loss"]
    assert validation[stopped.provenance.stats["stopped_at"] - 1] == min(validation)
    best = Alternating(epochs=40, step="newton").solve(model, DIMENSION, ALONE).objective[-1]
    many = IWLRLS(iterations=40).solve(model, DIMENSION, ALONE).objective[-1]
    assert many == pytest.approx(best, rel=0.02)


def test_truncated_counts_and_the_diagonal():
    matrix, counts = random_counts(20)
    model = ef.NegativeSampling(counts, ALONE, truncate_counts=3.0, diagonal=False)
    expected = np.minimum(matrix, 3) * (1 - np.eye(20))
    assert np.allclose(model.row_sums, expected.sum(axis=1))
    rows = np.repeat(np.arange(20), np.diff(model.pairs.indptr))
    assert np.allclose(model.pairs.values, expected[rows, model.pairs.indices])
    assert not (rows == model.pairs.indices).any()


class _NoStart(ExponentialFamily):
    def __init__(self, counts):
        super().__init__(counts, ALONE, Poisson(), "both")

    def start(self, dimension):
        raise AssertionError("memory is checked first")


def test_bad_input_is_reported():
    _, counts = random_counts(20)
    with pytest.raises(FirthianError, match="the binomial family does not support bias=both"):
        ExponentialFamily(counts, ALONE, Binomial(), "both")
    side = ef.NegativeSampling(counts, ALONE).side("words", ef.NegativeSampling(counts, ALONE).start(2))
    with pytest.raises(FirthianError, match=r"unseen=exact with 20 words needs .*unseen=expanded"):
        losses.Exact().gradient(side, Run(budget=1000), 1)
    for solver in (Alternating(unseen="exact"), Supervised(unseen="exact"), IWLRLS(iterations=2, unseen="exact")):
        # before the start, which takes long where there are many words
        with pytest.raises(FirthianError, match=r"unseen=exact with 20 words needs .*unseen=expanded"):
            solver.solve(_NoStart(counts), 2, Run(budget=1000))
    for name, option in (("tweedie", {"power": 0.5}), ("sgns", {"negative": -1}), ("tweedie", {"truncate_weights": 0})):
        with pytest.raises(FirthianError, match=next(iter(option))):
            ft.train(counts, name, vector_size=2, **option)
    with pytest.raises(FirthianError, match="early_stop chooses between iterations"):
        IWLRLS(early_stop=True)
    few = counts_of(np.array([[0.0, 2.0], [2.0, 0.0]]))
    for solver, power in ((IWLRLS(iterations=3, early_stop=True), 1.25), (IWLRLS(), "auto")):
        with pytest.raises(FirthianError, match="2 pairs are too few to hold some out"):
            solver.solve(ef.tweedie(few, ALONE, power), 1, ALONE)


def test_any_seed_holds_pairs_out():
    held = []
    for seed in (1, 2, 2**63, 2**64 + 1):
        model = problem("binomial")[0]
        model.run = Run(seed=seed, executor=Threads(1))
        held.append(model.hold_out(0.3)[1].rows.tolist())
    assert held[0] == held[3]
    assert held[0] != held[1] != held[2]


def test_an_overflowing_predictor_is_damped_and_reported():
    model, factors, _, _ = problem("poisson", size=20)
    factors.words *= 1000
    update = updates.choose_update("newton")
    with pytest.raises(FirthianError, match="not a number"):
        sweep(model, factors, losses.Exact(), update, 3, 0.0, ALONE)
    model, factors, _, _ = problem("poisson", size=20)
    factors.words *= 20
    values = sweep(model, factors, losses.Exact(), update, 20, 0.0, ALONE)
    assert (np.diff(values) <= 0).all()
    assert update.halved > 0


def test_a_row_without_a_direction_stays_where_it_is():
    model, factors, _, _ = problem("poisson", size=20)
    side = model.side("words", factors)
    gradient = losses.Exact().gradient(side, ALONE, 1)
    gradient.vectors[3] = np.nan
    before, update = side.left[3].copy(), updates.choose_update("newton")
    update.move(side, gradient, losses.Exact(), ALONE, 1, 0.0)
    assert update.kept == 1
    assert np.array_equal(side.left[3], before)
    assert np.isfinite(side.left).all()
