"""GloVe: kernels against slow twins, the same bytes for any workers, known answers found."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

import firthian as ft
from firthian.kernels import glove as kernel
from firthian.learn.stochastic.cells import PARTS, over_cells, padded
from firthian.learn.stochastic.glove import Adagrad, GloVe
from firthian.runtime.executor import Threads
from firthian.runtime.run import Run
from tests.learn.texts import TOPIC, two_topics
from tests.reference import glove as slow


def random_problem(words=12, contexts=9, pairs=80, dimension=5, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, words, pairs).astype(np.int32)
    columns = rng.integers(0, contexts, pairs).astype(np.int32)
    targets = rng.normal(size=pairs).astype(np.float32)
    weights = rng.random(pairs).astype(np.float32)
    parts = [
        rng.normal(size=shape).astype(np.float32)
        for shape in ((words, dimension), (contexts, dimension), words, contexts)
    ]
    return (rows, columns, targets, weights), parts


def fast_state(parts):
    """Parameters as the kernels have them: vectors, squares, and biases beside their squares."""
    u, c, a, b = parts
    biases = [np.stack([bias, np.ones_like(bias)], axis=1) for bias in (a, b)]
    return u.copy(), np.ones_like(u), biases[0], c.copy(), np.ones_like(c), biases[1]


@pytest.fixture(scope="module")
def counts():
    return ft.count(two_topics(), window=5, weighting="harmonic", min_count=1)


def test_steps_agree_with_the_twin():
    problem, parts = random_problem()
    u, u_squares, a, c, c_squares, b = fast_state(parts)
    kernel.adagrad_steps(problem, (u, u_squares, a), (c, c_squares, b), np.float32(0.1))
    exact = tuple(part.astype(np.float64) for part in parts)
    squares = tuple(np.ones_like(part) for part in exact)
    slow.adagrad(*problem, exact, squares, 0.1)
    for mine, other in zip((u, c, a[:, 0], b[:, 0]), exact, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-5)
    for mine, other in zip((u_squares, c_squares, a[:, 1], b[:, 1]), squares, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5)


def test_gradient_of_the_twin_is_the_slope_of_its_objective():
    problem, parts = random_problem()
    parts = [part.astype(np.float64) for part in parts]
    for number, derivative in enumerate(slow.gradient(*problem, *parts)):
        place = tuple(np.array(derivative.shape) // 2)
        sides = []
        for shift in (1e-6, -1e-6):
            moved = [part.copy() for part in parts]
            moved[number][place] += shift
            sides.append(slow.objective(*problem, *moved))
        assert (sides[0] - sides[1]) / 2e-6 == pytest.approx(derivative[place], rel=1e-5)


def test_the_first_step_is_half_the_gradient_times_alpha():
    """Also for the biases, which one public program forgets."""
    problem, parts = random_problem(pairs=1)
    u, u_squares, a, c, c_squares, b = fast_state(parts)
    kernel.adagrad_steps(problem, (u, u_squares, a), (c, c_squares, b), np.float32(0.01))
    for before, after, slope in zip(parts, (u, c, a[:, 0], b[:, 0]), slow.gradient(*problem, *parts), strict=True):
        np.testing.assert_allclose((before - after) / 0.01, slope / 2, rtol=1e-3, atol=1e-4)


def test_objective_agrees_with_the_twin():
    problem, parts = random_problem()
    u, _, a, c, _, b = fast_state(parts)
    value = kernel.squared_errors(problem, (u, u, a), (c, c, b))
    assert value == pytest.approx(slow.objective(*problem, *(part.astype(np.float64) for part in parts)), rel=1e-5)


def test_cells_hold_every_pair_once_and_share_nothing(counts):
    model = GloVe(counts, Run())
    pairs = model.weighted_pairs()
    matrix = counts.to_scipy().tocoo()
    expected = {(i, j): x for i, j, x in zip(matrix.row, matrix.col, matrix.data, strict=True)}
    assert pairs.rows.size == len(expected)
    for i, j, target, weight in zip(pairs.rows, pairs.columns, pairs.targets, pairs.weights, strict=True):
        x = expected.pop((i, j))
        assert target == pytest.approx(np.log(x), abs=1e-6)
        assert weight == pytest.approx(slow.weight(x, 10.0, 0.75), rel=1e-5)
    for part in range(PARTS):
        for other in range(PARTS):
            rows, columns, *_ = pairs.cell(part, other)
            assert (rows % PARTS == part).all()
            assert (columns % PARTS == other).all()


def test_order_inside_a_cell_comes_from_the_seed(counts):
    one, again, two = (GloVe(counts, Run(seed=seed)).weighted_pairs() for seed in (1, 1, 2))
    assert np.array_equal(one.columns, again.columns)
    assert not np.array_equal(one.columns, two.columns)
    rows, *_ = one.cell(0, 0)
    assert (np.diff(rows) < 0).any(), "a shuffled cell is not in the order of its rows"


def test_shuffle_is_fair():
    """Each of three pairs of a cell stands at each place equally often."""
    indptr, indices = np.array([0, 3]), np.arange(0, 3, dtype=np.int32)
    values = np.ones(3, dtype=np.float32)
    seen = np.zeros((3, 3))
    for seed in range(3000):
        rows, columns, sums = np.empty(3, np.int32), np.empty(3, np.int32), np.empty(3, np.float32)
        kernel.fill_cells(
            (indptr, indices, values), 0, 1, np.zeros(2, np.int64), np.uint64(seed), (rows, columns, sums)
        )
        seen[np.arange(3), columns] += 1
    assert np.abs(seen / 3000 - 1 / 3).max() < 0.04


def test_values_that_are_not_positive_are_left_out():
    sizes = np.zeros(2, np.int64)
    kernel.count_cells(
        (np.array([0, 3]), np.array([0, 1, 2], np.int32), np.array([0.0, 1.0, 2.0], np.float32)), 0, 2, sizes
    )
    assert sizes.tolist() == [1, 1]


def test_a_round_never_touches_a_part_twice():
    visited = over_cells(Run(), lambda part, other: (part, other), range(PARTS))
    assert len(set(visited)) == PARTS * PARTS
    for first in range(0, len(visited), PARTS):
        words, contexts = zip(*visited[first : first + PARTS], strict=True)
        assert len(set(words)) == len(set(contexts)) == PARTS


@pytest.mark.parametrize("dimension", [1, 15, 16, 17])
def test_padding_stays_zero(counts, dimension):
    vectors = ft.train(counts, "glove", vector_size=dimension, epochs=1)
    assert vectors.matrix.shape == (len(counts.vocabulary), dimension)
    assert padded(dimension) % 16 == 0
    model = GloVe(counts, Run())
    found = Adagrad(1, combine="u").solve(model, dimension, Run())
    pairs = model.weighted_pairs()
    problem = (pairs.rows, pairs.columns, pairs.targets, pairs.weights)
    value = slow.objective(*problem, found.words, found.contexts, *found.extras.values())
    assert value == pytest.approx(found.objective[-1], rel=1e-4), "the reported objective is that of the result"


def test_workers_change_nothing_and_seeds_do(counts):
    one, two, three = (ft.train(counts, "glove", vector_size=10, epochs=3, workers=n) for n in (1, 2, 3))
    assert one.matrix.tobytes() == two.matrix.tobytes() == three.matrix.tobytes()
    assert one.provenance == two.provenance == three.provenance
    other = ft.train(counts, "glove", vector_size=10, epochs=3, seed=2)
    assert not np.array_equal(one.matrix, other.matrix)


def test_objective_falls(counts):
    history = ft.train(counts, "glove", vector_size=10, epochs=12).provenance.objective
    assert len(history) == 12
    assert all(later < earlier for earlier, later in pairwise(history))


def test_topics_are_found(counts):
    vectors = ft.train(counts, "glove", vector_size=8, epochs=40)
    assert topics_apart(vectors) > 0.3


def topics_apart(vectors):
    """Mean cosine inside a topic less that across topics."""
    unit = vectors.matrix / np.linalg.norm(vectors.matrix, axis=1, keepdims=True)
    topic = np.array([TOPIC[word] for word in vectors.vocabulary.words])
    cosine = unit @ unit.T
    same = topic[:, None] == topic
    np.fill_diagonal(cosine, np.nan)
    return np.nanmean(cosine[same]) - np.nanmean(cosine[~same])


def test_ways_to_combine(counts):
    made = {how: ft.train(counts, "glove", vector_size=4, epochs=1, combine=how) for how in ("u", "u+c", "mean")}
    np.testing.assert_array_equal(made["u+c"].matrix, made["u"].matrix + made["u"].contexts)
    np.testing.assert_array_equal(made["mean"].matrix, made["u+c"].matrix / 2)
    assert set(made["u"].extras) == {"word_bias", "context_bias"}


def test_reaches_what_a_general_optimizer_finds():
    """Adagrad ends where L-BFGS, started there, finds next to nothing to gain."""
    texts = two_topics(documents=12, words=4)
    run = Run(executor=Threads(1))
    model = GloVe(ft.count(texts, window=3, weighting="harmonic", min_count=1), run)
    found = Adagrad(epochs=400, alpha=0.3, combine="u").solve(model, 2, run)
    pairs = model.weighted_pairs()
    problem = (pairs.rows, pairs.columns, pairs.targets.astype(float), pairs.weights.astype(float))
    parts = [found.words, found.contexts, *found.extras.values()]
    ends = np.cumsum([part.size for part in parts])[:-1]

    def split(flat):
        return [piece.reshape(part.shape) for piece, part in zip(np.split(flat, ends), parts, strict=True)]

    def both(flat):
        here = split(flat)
        return slow.objective(*problem, *here), np.concatenate([g.ravel() for g in slow.gradient(*problem, *here)])

    start = np.concatenate([part.ravel() for part in parts]).astype(float)
    best = minimize(both, start, jac=True, method="L-BFGS-B", options={"maxiter": 200})
    assert found.objective[-1] < found.objective[0] / 3
    assert found.objective[-1] < best.fun * 1.02


def test_memory_budget_is_kept(counts):
    with pytest.raises(ft.FirthianError, match="pairs need"):
        GloVe(counts, Run(budget=1000)).weighted_pairs()


def test_weights_that_leave_everything_as_it_was_are_refused(counts):
    with pytest.raises(ft.FirthianError, match=r"x_max is so far above the largest count, \d+.*: set x_max=\d+"):
        ft.train(counts, "glove", vector_size=2, x_max=1e12)


@pytest.mark.parametrize(
    "wrong", [{"x_max": 0}, {"x_max": 1e39}, {"epochs": 0}, {"alpha": -1}, {"combine": "v"}, {"eta": 1}]
)
def test_wrong_options_are_refused(counts, wrong):
    with pytest.raises(ft.FirthianError, match=next(iter(wrong))):
        ft.train(counts, "glove", **wrong)
