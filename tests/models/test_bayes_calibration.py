"""Intervals against data drawn from the model: mean field covers too little, linear response what it says."""

from __future__ import annotations

import numpy as np
import pytest

import firthian as ft
from firthian.models.bayes import BayesianLogistic
from firthian.packing import unpack
from firthian.run import Run
from firthian.solvers.linear_response import linear_response
from firthian.solvers.variational import VariationalSweeps


def simulated(seed: int, size: int = 40, true: int = 3, events: float = 8.0):
    """Draw u, c from the prior and events from the model."""
    random = np.random.default_rng(seed)
    eta = random.standard_normal((size, true)) @ random.standard_normal((true, size))
    total = random.poisson(events, eta.shape)
    positive = random.binomial(total, 1 / (1 + np.exp(-eta)))
    return eta, positive, total - positive


def test_linear_response_mends_the_coverage():
    raw, corrected, scaled = [], [], []
    run = Run.create()
    for seed in range(3):
        eta, positive, negative = simulated(seed)
        model = BayesianLogistic.of_events(positive, negative, run)
        state = VariationalSweeps(60, start="noise", dtype="float64").fit(model, 4, run)
        found = linear_response(model, state)
        for variance, shares in (
            (found.mean_field, raw),
            (found.variance, corrected),
            (found.inflation * found.mean_field, scaled),
        ):
            shares.append(np.mean(np.abs(eta - found.mean) < 1.645 * np.sqrt(variance)))
    assert np.mean(raw) < 0.85
    assert 0.85 <= np.mean(corrected) <= 0.95
    assert 0.85 <= np.mean(scaled) <= 0.95


@pytest.mark.parametrize(("bound", "bias"), [("jaakkola", "none"), ("boehning", "both")])
def test_other_factors_only_add_variance(bound, bias):
    run = Run.create()
    _, positive, negative = simulated(1, 6, 2, 6.0)
    model = BayesianLogistic.of_events(positive, negative, run, bound=bound, bias=bias)
    state = VariationalSweeps(400, start="noise", rotate=False, dtype="float64").fit(model, 2, run)
    found = linear_response(model, state)
    # A block of the inverse of a positive definite matrix is at least the inverse of the block.
    added = found.word_covariances - unpack(state.words.covariances, state.words.free.size)
    assert np.linalg.eigvalsh(added).min() > -1e-9
    assert np.trace(added, axis1=1, axis2=2).min() > 1e-3


def test_large_problems_are_refused():
    run = Run.create()
    _, positive, negative = simulated(1, 6, 2)
    model = BayesianLogistic.of_events(positive, negative, run)
    state = VariationalSweeps(1, "diagonal", "noise").fit(model, 2, run)
    with pytest.raises(ft.FirthianError, match="dense system"):
        linear_response(model, state)
