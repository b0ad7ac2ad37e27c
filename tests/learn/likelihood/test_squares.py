"""IWLRLS by Adagrad: its least squares problems are correct, and it ends where sweeps end."""

from __future__ import annotations

import numpy as np
import pytest

import firthian as ft
from firthian.errors import FirthianError
from firthian.kernels import glove as kernel
from firthian.learn.likelihood import losses
from firthian.learn.likelihood import model as ef
from firthian.learn.likelihood.alternating import sweep
from firthian.learn.likelihood.iwlrls import IWLRLS, TOLERANCE, Sweeps
from firthian.learn.likelihood.model import Factors
from firthian.learn.likelihood.squares import LONGEST_RESPONSE, MOST_WEIGHT, AdagradSquares, FirstProblem, in_cells
from firthian.learn.likelihood.updates import ConjugateGradients
from firthian.learn.stochastic.cells import PARTS
from firthian.runtime.executor import Threads
from firthian.runtime.run import Run
from tests.learn.common import counts_of, random_counts
from tests.reference import likelihood as twin

ALONE = Run(executor=Threads(1))
DIMENSION = 3


def random_factors(model, seed=0, scale=0.3):
    rng = np.random.default_rng(seed)
    words, contexts = (rng.normal(0, scale, (model.words, DIMENSION)).astype(np.float32) for _ in range(2))
    return Factors(words, contexts, *model.marginals())


def test_cells_hold_every_pair_once():
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(0, 50, (2, 3000))
    numbers = np.arange(3000, dtype=np.float32)
    pairs = in_cells(rows, columns, numbers, numbers, np.random.default_rng(1))
    seen = []
    for part in range(PARTS):
        for other in range(PARTS):
            i, j, target, weight = pairs.cell(part, other)
            assert (i % PARTS == part).all()
            assert (j % PARTS == other).all()
            assert np.array_equal(rows[target.astype(int)], i)
            assert np.array_equal(columns[weight.astype(int)], j)
            seen += target.tolist()
    assert sorted(seen) == list(range(3000))
    assert seen != sorted(seen)


@pytest.mark.parametrize("context", ["both", "left"])
def test_seen_pairs_get_the_weights_and_responses_of_the_family(context):
    matrix, counts = random_counts(25, context=context)
    model = ef.tweedie(counts, ALONE, power=1.4, truncate_weights=10.0)
    factors = random_factors(model)
    solver = AdagradSquares(15, 0.1, losses.Expanded())
    rows, columns, response, weight = solver._seen(model, factors, ALONE)
    assert np.array_equal(np.sort(rows * 25 + columns), np.flatnonzero(matrix))
    eta = factors.words @ factors.contexts.T + factors.word_bias[:, np.newaxis] + factors.context_bias
    mu, x = np.exp(eta[rows, columns]), matrix[rows, columns]
    expected = twin.response(model.family, x, mu)
    far = expected - np.log(mu) > LONGEST_RESPONSE
    assert np.allclose(response[~far], expected[~far], rtol=1e-4, atol=1e-4)
    assert np.allclose(response[far], np.log(mu[far]) + LONGEST_RESPONSE, rtol=1e-4)
    assert solver.clipped_responses == far.sum() > 0
    assert np.allclose(weight, (np.minimum(mu, 10) / 10) ** 0.6, rtol=1e-4)


@pytest.mark.parametrize("recipe", ["tweedie", "poisson"])
def test_weights_need_not_be_truncated(recipe):
    """Sweeps do not depend on the scale of the weights; ``none`` scales them by the largest count for Adagrad, which does."""
    _, counts = random_counts(40)
    options = {"vector_size": 4, "iterations": 1, "epochs": 4}
    none, huge = (ft.train(counts, recipe, truncate_weights=limit, **options) for limit in ("none", 1e9))
    assert np.allclose(none.matrix, huge.matrix, atol=1e-4)
    model = getattr(ef, recipe)(counts, ALONE, truncate_weights="none")
    assert FirstProblem(model).pairs.weights.max() == pytest.approx(1)
    moved = ft.train(counts, recipe, truncate_weights="none", solver="adagrad", **options)
    assert moved.provenance.objective[-1] < 0.9 * moved.provenance.stats["objective_at_start"]
    with pytest.raises(ft.FirthianError, match=r"truncate_weights must be a number from 1e-09 to 1e\+12 or none"):
        ft.train(counts, recipe, truncate_weights=1e39)


def test_drawn_pairs_stand_for_all_that_were_never_seen():
    matrix, counts = random_counts(25)
    model = ef.poisson(counts, ALONE)
    factors = random_factors(model)
    eta = factors.words @ factors.contexts.T + factors.word_bias[:, np.newaxis] + factors.context_bias
    expected = np.where(matrix > 0, 0, np.minimum(np.exp(eta), 10) / 10)
    total = np.zeros_like(expected)
    turns = 300
    for turn in range(turns):
        rows, columns, response, weight = AdagradSquares(15, 0.1, losses.Expanded())._drawn(model, factors, turn, ALONE)
        assert np.allclose(response, eta[rows, columns] - 1, atol=1e-5)
        np.add.at(total, (rows, columns), weight / turns)
    assert (total[matrix > 0] == 0).all()
    assert total.sum() == pytest.approx(expected.sum(), rel=0.02)
    assert np.corrcoef(total.ravel(), expected.ravel())[0, 1] > 0.95


def slow_batches(data, words, contexts, bias, other_bias, ridge, alpha, passes):
    """Textbook Adagrad on the whole sum of f·r²/2 + ridge/2·|.|², one step per pass."""
    rows, columns, targets, weights = data
    parameters = [words, contexts, bias, other_bias]
    squares = [np.zeros_like(part) for part in parameters]
    for _ in range(passes):
        u, c, a, b = parameters
        error = weights * ((u[rows] * c[columns]).sum(axis=1) + a[rows] + b[columns] - targets)
        gradients = [
            ridge * u * np.isin(np.arange(len(u)), rows)[:, None],
            ridge * c,
            np.zeros_like(a),
            np.zeros_like(b),
        ]
        np.add.at(gradients[0], rows, error[:, np.newaxis] * c[columns])
        np.add.at(gradients[1], columns, error[:, np.newaxis] * u[rows])
        np.add.at(gradients[2], rows, error)
        np.add.at(gradients[3], columns, error)
        for part, square, gradient in zip(parameters, squares, gradients, strict=True):
            square += gradient**2
            part -= alpha * gradient / np.sqrt(np.maximum(square, 1e-20))
    return parameters


def test_adagrad_takes_textbook_steps_over_batches_with_a_ridge():
    """One cell and fewer pairs than a batch: a pass is one step along the whole gradient."""
    rng = np.random.default_rng(0)
    rows, columns = (part.ravel().astype(np.int32) for part in np.meshgrid(np.arange(5), np.arange(6)))
    data = rows, columns, rng.normal(0, 1, 30).astype(np.float32), rng.random(30).astype(np.float32)
    u, c = rng.normal(0, 0.5, (5, 16)), rng.normal(0, 0.5, (6, 16))
    a, b = rng.normal(0, 1, 5), rng.normal(0, 1, 6)
    words, contexts = (
        (
            part.astype(np.float32),
            np.zeros(part.shape, np.float32),
            np.column_stack([bias, 0 * bias]).astype(np.float32),
        )
        for part, bias in ((u, a), (c, b))
    )
    ridges = np.full(5, 0.3 / 6, np.float32), np.full(6, 0.3 / 5, np.float32)
    for _ in range(3):
        kernel.adagrad_batches(data, words, contexts, *ridges, np.float32(0.1), 512, 1)
    expected = slow_batches(data, u, c, a, b, 0.3, 0.1, 3)
    for ours, theirs in zip((words[0], contexts[0], words[2][:, 0], contexts[2][:, 0]), expected, strict=True):
        assert np.allclose(ours, theirs, atol=1e-5)


def test_a_ridge_shortens_the_vectors_of_adagrad():
    _, counts = random_counts(40)
    plain, short = (
        ft.train(counts, "tweedie", vector_size=4, solver="adagrad", ridge=ridge, combine="u") for ridge in (0.0, 30.0)
    )
    assert np.linalg.norm(short.matrix) < 0.8 * np.linalg.norm(plain.matrix)


@pytest.mark.parametrize("limit", [10.0, 1000.0, "none"])
def test_the_ridge_means_the_same_in_every_iteration(limit):
    """At its optimum a problem with weights h has a gradient of -ridge·u, whatever its weights are divided by."""
    _, counts = random_counts(30)
    model = ef.tweedie(counts, ALONE, truncate_weights=limit)
    solver = IWLRLS(iterations=2, epochs=200, cg_steps=8, ridge=0.5)
    factors = Sweeps(solver).start(model, DIMENSION, ALONE)
    Sweeps(solver).fit_first(model, factors, ALONE, "first")
    rows, columns, x = model.pairs.row_ids(), model.pairs.indices, model.pairs.values
    eta = (factors.words[rows] * factors.contexts[columns]).sum(axis=1) + factors.word_bias[rows]
    error = model.family.weight(x) * (eta + factors.context_bias[columns] - np.log(x))
    gradient = np.zeros_like(factors.words)
    np.add.at(gradient, rows, (error[:, np.newaxis] * factors.contexts[columns]).astype(np.float32))
    assert np.allclose(gradient, -0.5 * factors.words, atol=0.03 * np.abs(gradient).max())


def test_weights_are_truncated_in_every_iteration():
    """Later iterations minimize the loss of the truncated family, so they differ from those without a limit."""
    _, counts = random_counts(40)
    for solver in ("sweeps", "adagrad"):
        options = {"vector_size": 4, "iterations": 4, "epochs": 10, "solver": solver}
        first, second = (ef.poisson(counts, ALONE, truncate_weights=limit) for limit in (10.0, "none"))
        assert first.side("words", random_factors(first)).family.top == pytest.approx(np.log(10))
        assert second.side("words", random_factors(second)).family.top == np.inf
        cut, whole = (ft.train(counts, "poisson", truncate_weights=limit, **options) for limit in (10.0, "none"))
        model = ef.poisson(counts, ALONE, truncate_weights=10.0)
        values = []
        for vectors in (cut, whole):
            words = np.ascontiguousarray(2 * vectors.matrix - vectors.contexts)
            biases = vectors.extras["word_bias"], vectors.extras["context_bias"]
            factors = Factors(words, np.ascontiguousarray(vectors.contexts), *biases)
            values.append(losses.Exact().values(model.side("words", factors), ALONE, 0).sum())
        assert values[0] < values[1]


def test_the_converged_solution_is_lower_than_two_sweeps():
    _, counts = random_counts(60)
    short, full = (ft.train(counts, "tweedie", vector_size=4, epochs=epochs) for epochs in ("auto", "converged"))
    objective = full.provenance.objective
    assert objective[-1] < 0.95 * short.provenance.objective[-1]
    assert len(objective) > 3
    assert objective[-2] - objective[-1] < TOLERANCE * objective[-1]


def test_weights_of_pairs_that_are_hardly_ever_drawn_are_clipped_and_counted():
    _, counts = random_counts(25)
    model = ef.poisson(counts, ALONE)
    factors = random_factors(model, scale=3.0)
    solver = AdagradSquares(15, 0.1, losses.Expanded())
    assert solver._drawn(model, factors, 1, ALONE)[3].max() <= MOST_WEIGHT
    assert solver.clipped_weights > 0


def test_adagrad_and_conjugate_gradients_end_at_one_value_from_a_common_start():
    rng = np.random.default_rng(0)
    u, c = rng.normal(0, 0.7, (2, 40, DIMENSION))
    counts = counts_of(np.exp(u @ c.T + 1), context="left")
    model = ef.tweedie(counts, ALONE)
    start = random_factors(model)
    before = losses.SeenOnly().values(FirstProblem(model).side("words", start), ALONE, 0).sum()
    first, second = (Factors(*(part.copy() for part in vars(start).values())) for _ in range(2))
    passes = AdagradSquares(400, 0.1, losses.Expanded()).fit_first(model, first, ALONE)
    sweeps = sweep(FirstProblem(model), second, losses.SeenOnly(), ConjugateGradients(4), 60, 0.0, ALONE)
    # the planted model fits exactly
    assert passes[-1] < 1e-3 * before
    assert sweeps[-1] < 1e-3 * before
    after = losses.SeenOnly().values(FirstProblem(model).side("words", first), ALONE, 0).sum()
    assert passes[-1] == pytest.approx(after, rel=0.01)


def test_iterations_by_adagrad_lower_the_deviance_as_sweeps_do():
    rng = np.random.default_rng(0)
    u, c = rng.normal(0, 0.5, (2, 60, DIMENSION))
    model = ef.poisson(counts_of(rng.poisson(np.exp(u @ c.T - 0.3)), context="left"), ALONE)
    adagrad = IWLRLS(iterations=4, solver="adagrad", unseen="exact", epochs=20).solve(model, DIMENSION, ALONE)
    sweeps = IWLRLS(iterations=4, unseen="exact").solve(model, DIMENSION, ALONE)
    nothing = Factors(*np.zeros((2, 60, DIMENSION), dtype=np.float32), *model.marginals())
    independent = losses.Exact().values(model.side("words", nothing), ALONE, 0).sum()
    start = adagrad.stats["objective_at_start"]
    assert len(adagrad.stats["passes"]) == 4
    # the first iteration knows nothing of unseen pairs, and is worse than independence
    assert adagrad.objective[-1] < independent < start
    assert adagrad.objective[-1] - sweeps.objective[-1] < 0.15 * (start - sweeps.objective[-1])


def test_biases_that_are_not_fitted_stay_at_the_marginals():
    _, counts = random_counts(30)
    for bias in ("none", "row", "base", "both"):
        model = ef.tweedie(counts, ALONE, bias=bias)
        factors = random_factors(model)
        AdagradSquares(3, 0.1, losses.Expanded()).fit_first(model, factors, ALONE)
        rows, columns = model.marginals()
        assert np.allclose(factors.word_bias, rows, atol=1e-6) == (bias == "none")
        assert np.allclose(factors.context_bias, columns, atol=1e-6) == (bias != "both")


def test_the_result_does_not_depend_on_the_workers():
    _, counts = random_counts(60)
    one, three = (
        ft.train(counts, "tweedie", vector_size=4, solver="adagrad", iterations=2, epochs=2, workers=workers)
        for workers in (1, 3)
    )
    assert np.array_equal(one.matrix, three.matrix)
    assert one.provenance.stats["solver"] == "adagrad"


def test_adagrad_stops_early_and_finds_a_power_too():
    _, counts = random_counts(60)
    solver = IWLRLS(iterations=4, solver="adagrad", epochs=4, early_stop=True)
    stopped = solver.solve(ef.tweedie(counts, ALONE, power="auto"), DIMENSION, ALONE)
    validation = stopped.stats["held_out_loss"]
    assert validation[stopped.stats["stopped_at"] - 1] == min(validation)
    assert 1 < stopped.stats["power"] < 2


def test_bad_input_is_reported():
    _, counts = random_counts(10)
    with pytest.raises(FirthianError, match="epochs=converged works only with solver=sweeps"):
        ft.train(counts, "tweedie", vector_size=2, solver="adagrad", epochs="converged")
    for wrong in ("1.5", "0", "many"):
        with pytest.raises(FirthianError, match="epochs must be an integer of at least 1 or auto or converged"):
            ft.train(counts, "tweedie", vector_size=2, epochs=wrong)
