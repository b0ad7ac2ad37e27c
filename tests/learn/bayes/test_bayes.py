"""Variational logistic factorization: the slow twin, the monotone bound, coordinate maxima, a planted answer."""

from __future__ import annotations

import weakref

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import firthian as ft
from firthian.kernels.packing import pack
from firthian.learn.bayes import rotation, updates, variational
from firthian.learn.bayes.model import BayesianLogistic, Events, sampled_events
from firthian.learn.bayes.posterior import VariationalState
from firthian.learn.bayes.variational import VariationalSweeps
from firthian.learn.solver import AUTO
from firthian.runtime.executor import Threads
from firthian.runtime.run import Run
from studies.bayes_synthetic import dense_covariances, planted
from tests.learn.common import counts_of
from tests.reference import bayes as slow


def small_counts(seed: int = 0, words: int = 12, context: str = "both") -> ft.Counts:
    random = np.random.default_rng(seed)
    weights = 1 / np.arange(1, words + 1)
    lines = [" ".join(f"w{k}" for k in random.choice(words, 12, p=weights / weights.sum())) for _ in range(12)]
    return ft.count(lines, min_count=1, window=2, context=context)


def twin_of(model: BayesianLogistic, state: VariationalState) -> slow.Dense:
    """Copy a model and a state into dense arrays."""
    side = model.words
    listed = np.zeros(model.shape, dtype=bool)
    positive, extra = np.zeros(model.shape), np.zeros(model.shape)
    rows = np.repeat(np.arange(side.rows), np.diff(side.indptr))
    listed[rows, side.indices] = True
    positive[rows, side.indices] = side.positive
    if side.negative.size:
        extra[rows, side.indices] = side.negative
    negative = model.temper * extra + np.outer(side.own_rate, side.other_rate)

    return slow.Dense(
        model.temper * positive,
        negative,
        ~listed,
        model.bound,
        state.words.means.copy(),
        dense_covariances(state.words),
        state.contexts.means.copy(),
        dense_covariances(state.contexts),
        state.words.free,
        state.contexts.free,
        state.dimension,
        model.bias_precision,
        model.relevance_shape,
        model.relevance_rate,
        state.relevance.shape,
        state.relevance.rates.copy(),
        state.words.diagonal,
    )


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize("bound", ["jaakkola", "boehning"])
@pytest.mark.parametrize(("bias", "negatives", "context"), [
    ("none", "expected", "both"), ("both", "expected", "left"), ("row", "sampled", "both"),
])  # fmt: skip
def test_sweeps_agree_with_the_dense_twin(bound, bias, negatives, context, covariance):
    counts = small_counts(context=context)
    run = Run.create(seed=3)
    model = BayesianLogistic(counts, run, bound=bound, bias=bias, negatives=negatives, temper=0.7)
    solver = VariationalSweeps(3, covariance, "noise", rotate=False, dtype="float64")
    twin = twin_of(model, solver._begin(model, 4, run))
    state = solver.fit(model, 4, run)
    expected = []
    for _ in range(3):
        twin.update_words()
        twin.update_contexts()
        expected.append(twin.elbo())
    np.testing.assert_allclose(state.history, expected, rtol=1e-8)
    np.testing.assert_allclose(state.words.means, twin.word_mean, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(state.contexts.means, twin.context_mean, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(dense_covariances(state.words), twin.word_cov, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(state.relevance.rates, twin.rates, rtol=1e-8)


@settings(max_examples=12, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["jaakkola", "boehning"]),
    st.sampled_from(["none", "row", "both"]),
    st.sampled_from(["full", "diagonal"]),
    st.booleans(),
    st.floats(0.05, 3),
)
def test_the_bound_never_falls(seed, bound, bias, covariance, rotate, temper):
    random = np.random.default_rng(seed)
    shape = tuple(random.integers(3, 14, 2))
    positive, negative = random.poisson(temper, shape), random.poisson(2 * temper, shape)
    run = Run.create(seed=seed, workers=1)
    model = BayesianLogistic(Events.from_dense(positive, negative), run, bound=bound, bias=bias)
    solver = VariationalSweeps(8, covariance, "noise", rotate, dtype="float64")
    state = solver.fit(model, 3, run)
    steps = np.diff(state.halves)
    assert steps.min() > -1e-9 * abs(state.halves[-1])


@pytest.mark.parametrize("negatives", ["expected", "sampled"])
def test_the_bound_never_falls_on_counts(negatives):
    run = Run.create(seed=2)
    model = BayesianLogistic(small_counts(5, 30), run, negatives=negatives)
    state = VariationalSweeps(10, dtype="float64").fit(model, 5, run)
    assert np.diff(state.halves).min() > -1e-9 * abs(state.halves[-1])


@pytest.mark.parametrize("bound", ["jaakkola", "boehning"])
def test_each_update_is_the_coordinate_maximum(bound):
    """Finite differences: right after an update the bound does not rise in any direction of that factor."""
    run = Run.create(seed=4)
    model = BayesianLogistic(small_counts(1), run, bound=bound, bias="both")
    solver = VariationalSweeps(2, start="noise", rotate=False, dtype="float64")
    twin = twin_of(model, solver.fit(model, 3, run))
    for update, mean, cov, free in (
        (twin.update_words, twin.word_mean, twin.word_cov, twin.word_free),
        (twin.update_contexts, twin.context_mean, twin.context_cov, twin.context_free),
    ):
        # To the joint maximum of the factor and the bound's own parameters.
        for _ in range(200):
            update()
        best, step = twin.elbo(), 1e-4
        for k in free:
            slopes = []
            for sign in (1, -1):
                mean[2, k] += sign * step
                slopes.append(twin.elbo() - best)
                mean[2, k] -= sign * step
            assert max(slopes) <= 1e-9
            assert abs(slopes[0] - slopes[1]) < 1e-3 * abs(sum(slopes))
            for sign in (1, -1):
                cov[2, k, k] *= 1 + sign * 1e-3
                assert twin.elbo() <= best + 1e-9
                cov[2, k, k] /= 1 + sign * 1e-3


def test_planted_dimension_is_found():
    positive, negative = planted(3)
    run = Run.create()
    model = BayesianLogistic(Events.from_dense(positive, negative), run)
    bounds, live = {}, {}
    for d in (5, 10, 20):
        state = VariationalSweeps(100, start="noise", dtype="float64").fit(model, d, run)
        bounds[d], live[d] = state.history[-1], int((rotation.signal_shares(state) > rotation.LIVE_SHARE).sum())
    assert max(bounds, key=bounds.get) == 10
    assert live[5] == 5
    assert 8 <= live[20] <= 12


def test_rotation_keeps_the_likelihood_and_raises_the_bound():
    run = Run.create()
    model = BayesianLogistic(small_counts(7, 20), run)
    solver = VariationalSweeps(3, rotate=False, dtype="float64")
    state = solver.fit(model, 4, run)
    before, value = state.words.means @ state.contexts.means.T, updates.prior_bound(model, state)
    rotation.rotate(state, run)
    np.testing.assert_allclose(state.words.means @ state.contexts.means.T, before, atol=1e-9)
    assert updates.prior_bound(model, state) > value
    moment = rotation.second_moments(state.words, 4) / state.words.rows
    np.testing.assert_allclose(moment, np.eye(4), atol=1e-8)


def test_same_bytes_for_any_number_of_workers():
    counts = small_counts(9, 600)
    results = [ft.train(counts, "bayes", vector_size=4, workers=workers, epochs=3) for workers in (1, 3)]
    assert results[0].matrix.tobytes() == results[1].matrix.tobytes()
    assert results[0].extras["covariances"].tobytes() == results[1].extras["covariances"].tobytes()


def test_float32_is_close_to_float64():
    counts = small_counts(2, 20)
    single, double = (ft.train(counts, "bayes", vector_size=4, epochs=4, dtype=d) for d in ("float32", "float64"))
    np.testing.assert_allclose(single.matrix, double.matrix, atol=2e-3)
    np.testing.assert_allclose(single.provenance.objective, double.provenance.objective, rtol=1e-5)


def test_pruning_drops_switched_off_dimensions():
    positive, negative = planted(1, true=3, size=40, samples=6000)
    run = Run.create()
    model = BayesianLogistic(Events.from_dense(positive, negative), run)
    solution = VariationalSweeps(80, start="noise", prune=0.5, dtype="float64").solve(model, 8, run)
    assert solution.words.shape == (40, solution.stats["live_dimensions"])
    assert 2 <= solution.words.shape[1] <= 4
    assert solution.extras["covariances"].shape[1] == pack(np.eye(solution.words.shape[1])[None]).shape[1]


@pytest.mark.parametrize("settings", [{"vector_size": 3, "prune": 0.5}, {"vector_size": "auto"}])
def test_uninformative_text_leaves_no_dimension(settings):
    with pytest.raises(ft.FirthianError, match="ARD switched all dimensions off"):
        ft.train(small_counts(), "bayes", temper=1e-9, **settings)


def test_stops_when_a_sweep_gains_little():
    vectors = ft.train(small_counts(), "bayes", vector_size=3, epochs=500, tolerance=1e-4)
    assert vectors.provenance.status == "converged"
    assert len(vectors.provenance.objective) < 500


def test_a_sample_has_the_events_and_the_contexts_it_should():
    """Rows with fewer draws than words are drawn one by one, the others all at once."""
    matrix = np.zeros((60, 60))
    matrix[0, 1:] = 40.0
    matrix[1:, 0] = np.arange(1, 60)
    counts = counts_of(matrix, "left")
    noise = np.arange(60) / np.arange(60).sum()
    side = sampled_events(counts, Run(executor=Threads(1)), 2.0, noise)
    other = sampled_events(counts, Run(executor=Threads(4)), 2.0, noise)
    assert np.array_equal(side.negative, other.negative)
    assert np.array_equal(side.indices, other.indices)
    negative = scipy.sparse.csr_array((side.negative, side.indices, side.indptr), shape=(60, 60)).toarray()
    assert np.array_equal(negative.sum(axis=1), 2 * matrix.sum(axis=1))
    assert not negative[:, 0].any()
    few = 2 * matrix.sum(axis=1) < 60
    for rows in (few, ~few):
        shares = negative[rows].sum(axis=0) / negative[rows].sum()
        assert np.abs(shares - noise).max() < 5 * np.sqrt(noise.max() / negative[rows].sum())
    # another seed, another sample
    assert not np.array_equal(sampled_events(counts, Run(2), 2.0, noise).indices, side.indices)


def test_few_events_of_many_words_are_drawn_one_by_one(monkeypatch):
    """A number for each of V contexts, for each of V words, took minutes for what a second does."""
    drawn = []
    monkeypatch.setattr(
        Run, "generator", lambda self, *purpose: _Counted(np.random.default_rng([self.seed, *purpose]), drawn)
    )
    counts = counts_of(np.eye(500) + np.eye(500, k=1))
    sampled_events(counts, Run(), 5.0, np.full(500, 1 / 500))
    assert sum(drawn) == 5 * counts.total


class _Counted:
    """A generator that records how many numbers were drawn."""

    def __init__(self, generator, drawn):
        self.generator, self.drawn = generator, drawn

    def random(self, number):
        self.drawn.append(int(number))
        return self.generator.random(number)

    def multinomial(self, number, chances):
        self.drawn.append(len(chances))
        return self.generator.multinomial(number, chances)


def test_no_negative_events_is_refused():
    with pytest.raises(ft.FirthianError, match="vectors are all alike"):
        ft.train(small_counts(), "bayes", vector_size=3, negative=0)


def test_covariances_that_do_not_fit_are_refused_with_the_remedy():
    run = Run.create(memory="2GB")

    class Huge:
        shape = (200_000, 200_000)

    with pytest.raises(
        ft.FirthianError, match=r"budget of 2.0 GB: set memory=\S+, or vector_size=\d+, or covariance=diagonal"
    ):
        variational.check_memory(Huge(), 100, "full", run)  # type: ignore[arg-type]
    single, double = (variational.memory_needed(Huge.shape, 100, "full", run, kind) for kind in ("float32", "float64"))
    assert 1.8 * single < double < 2 * single


def topic_text(topics: int, each: int = 8, lines: int = 700) -> list[str]:
    """Lines that are about one topic each: the log-odds of pairs have one rank a topic."""
    random = np.random.default_rng(0)
    own = random.random((lines, 12)) < 0.8
    about = np.where(own, random.integers(topics, size=(lines, 1)), random.integers(topics, size=(lines, 12)))
    return [" ".join(f"t{t}w{k}" for t, k in zip(row, random.integers(each, size=12), strict=True)) for row in about]


@pytest.mark.parametrize("topics", [5, 11])
def test_the_dimension_is_chosen_by_the_bound(topics):
    vectors = ft.train(topic_text(topics), "bayes", vector_size="auto", counting={"min_count": 1, "sample": 0.0})
    tried = {trial["dimension"]: trial for trial in vectors.provenance.stats["dimensions_tried"]}
    assert vectors.vector_size == topics
    assert max(tried, key=lambda d: tried[d]["bound"]) == topics
    assert {trial["live"] for d, trial in tried.items() if d >= topics} == {topics}


def test_auto_stops_at_the_largest_dimension():
    vectors = ft.train(topic_text(11), "bayes", vector_size="auto", largest=9, epochs=2, counting={"min_count": 1})
    assert [trial["dimension"] for trial in vectors.provenance.stats["dimensions_tried"]] == [8, 9]
    assert vectors.vector_size == 9


def test_auto_depends_on_neither_workers_nor_memory():
    counts = ft.count(topic_text(45, each=5), min_count=1, sample=0)
    found = [
        ft.train(counts, "bayes", vector_size="auto", largest=64, epochs=2, workers=workers, memory=memory)
        for workers, memory in ((1, "256MB"), (8, "256MB"), (1, "2GB"))
    ]
    for other in found[1:]:
        assert other.provenance.stats["dimensions_tried"] == found[0].provenance.stats["dimensions_tried"]
        assert other.matrix.tobytes() == found[0].matrix.tobytes()


def test_auto_that_does_not_fit_fails_before_the_work():
    """It must not try fewer dimensions instead: the result would depend on the machine."""
    model, run = BayesianLogistic(small_counts(), Run()), Run.create(memory="2GB")
    model.__class__ = type("Huge", (BayesianLogistic,), {"shape": (20_000, 20_000)})
    with pytest.raises(
        ft.FirthianError, match=r"128 dimensions needs .* memory=\S+, or largest=\d+, or covariance=diagonal"
    ):
        VariationalSweeps().solve(model, AUTO, run)


def test_auto_keeps_only_the_best_fit_besides_the_current_one(monkeypatch):
    class Fit:
        pass

    made: list[weakref.ref[Fit]] = []
    alive = []

    def fit(model, dimension, solver, run):
        alive.append(sum(one() is not None for one in made) + 1)
        state = Fit()
        made.append(weakref.ref(state))
        # The second is worse than the first, and leaves a number that was not tried.
        return variational.Trial(dimension, {8: 1.0, 16: 0.0, 11: 2.0}[dimension], min(dimension, 11)), state

    monkeypatch.setattr(variational, "_fit", fit)
    _, trials = variational.choose_dimension(None, 128, None, Run())  # type: ignore[arg-type]
    assert [trial.dimension for trial in trials] == [8, 16, 11]
    assert max(alive) == variational.FITS_IN_MEMORY


def test_auto_only_where_a_recipe_can_choose():
    with pytest.raises(ft.FirthianError, match=r"svd cannot choose .*or train bayes"):
        ft.train(["a b"], "svd", vector_size="auto")
    with pytest.raises(ft.FirthianError, match="must be a number or auto, got 'many'"):
        ft.train(["a b"], "bayes", vector_size="many")
