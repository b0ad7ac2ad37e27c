"""Held-out pairs: how well they validate a fit, and that the fit does not see them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from firthian.learn.likelihood import losses
from firthian.learn.likelihood import model as ef
from firthian.learn.likelihood.iwlrls import IWLRLS, Sweeps, ValidationLoss
from firthian.runtime.executor import Threads
from firthian.runtime.run import Run
from tests.learn.common import counts_of, random_counts

#: One thread: starting more takes longer than these small problems.
ALONE = Run(executor=Threads(1))


def test_held_out_loss_follows_the_loss_under_the_truth():
    rng = np.random.default_rng(0)
    u, c = rng.normal(0, 0.5, (2, 200, 4))
    level = 0.5 - np.linspace(0, 3, 200)
    truth = np.exp(u @ c.T + level[:, np.newaxis] + level)
    counts = counts_of(rng.poisson(truth), context="left")
    model = ef.poisson(counts, ALONE)
    model, held_out = model.hold_out(0.3)
    validate = ValidationLoss(model, held_out)
    method = Sweeps(IWLRLS(iterations=8))
    factors = method.start(model, 4, ALONE)
    method.fit_first(model, factors, ALONE, "first")
    validation, expected = [], []
    for iteration in range(1, 8):
        eta = factors.words @ factors.contexts.T + factors.word_bias[:, np.newaxis] + factors.context_bias
        expected.append(float((np.exp(eta) - truth * eta).sum() / counts.total))
        validation.append(validate(factors))
        method.fit_next(model, factors, iteration, ALONE)
    assert spearmanr(validation, expected)[0] > 0.9
    assert expected[int(np.argmin(validation))] < min(expected) + 0.02 * (expected[0] - min(expected))


def test_unseen_cells_are_unseen_and_stand_for_all_of_them():
    matrix, counts = random_counts(60)
    model = ef.poisson(counts, ALONE)
    drawn = model.draw_unseen(400_000)
    assert (matrix[drawn.rows, drawn.columns] == 0).all()
    shown = np.random.default_rng(5).uniform(0.5, 1, (60, 60))
    assert np.sum(drawn.weights * shown[drawn.rows, drawn.columns]) == pytest.approx(shown[matrix == 0].sum(), rel=0.05)


def test_a_start_does_not_see_pairs_that_are_held_out():
    matrix, counts = random_counts(60, context="left")
    model = ef.poisson(counts, ALONE)
    rest, held = model.hold_out(0.3)
    changed = matrix.copy()
    changed[held.rows, held.columns] = 0
    start = rest.start(4)
    assert np.array_equal(start.words, ef.poisson(counts_of(changed, context="left"), ALONE).start(4).words)
    # the model itself still fits all pairs
    assert np.array_equal(model.start(4).words, ef.poisson(counts, ALONE).start(4).words)
    assert model.pairs.fitted.all()
    assert rest.pairs.fitted.sum() == model.pairs.values.size - held.rows.size


def test_zeros_are_redrawn_in_every_iteration():
    turns = []

    class Recording(losses.Sampled):
        def _draw(self, side, run, turn):
            turns.append(turn)
            return super()._draw(side, run, turn)

    _, counts = random_counts(40)
    model = ef.poisson(counts, ALONE)
    method = Sweeps(IWLRLS(iterations=4, unseen="sampled", sampled_zeros=8))
    method.loss = Recording(8)
    factors = method.start(model, 4, ALONE)
    method.fit_first(model, factors, ALONE, "first")
    for iteration in (1, 2, 3):
        method.fit_next(model, factors, iteration, ALONE)
    assert set(turns) == {0, 1, 2, 3, 4, 5, 6}
