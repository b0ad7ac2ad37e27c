"""The vectorized binomial kernel beside the general one and numpy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from firthian.kernels.binomial import exponentials, log1p_unit
from firthian.learn.likelihood import losses
from firthian.learn.likelihood.families import Binomial
from firthian.learn.likelihood.model import Side
from firthian.learn.likelihood.pairs import SeenPairs
from firthian.runtime.run import Run

ROWS, COLUMNS, WIDTH = 70, 90, 13


@pytest.fixture
def side() -> Side:
    random = np.random.default_rng(3)
    table = random.poisson(0.4, (ROWS, COLUMNS)).astype(np.float32)
    table[5] = 0  # a row without pairs
    table[6] = 1  # a row that has seen every context
    table[7, 3] = 1e6
    rows, columns = np.nonzero(table)
    indptr = np.searchsorted(rows, np.arange(ROWS + 1))
    pairs = SeenPairs(indptr, columns.astype(np.int32), table[rows, columns])
    left, right = (random.normal(scale=1.5, size=(n, WIDTH)).astype(np.float32) for n in (ROWS, COLUMNS))
    left[8] *= 40  # predictors far outside the range of a sigmoid
    left[9] = 0
    share = random.random(COLUMNS)
    return Side(Binomial(), pairs, left, np.zeros(ROWS), 6 * table.sum(axis=1) + 1.0, right, np.zeros(COLUMNS),
                share / share.sum(), learns_bias=False)  # fmt: skip


def test_exponentials_are_accurate_to_single_precision() -> None:
    products = np.linspace(-83, 83, 20_001, dtype=np.float32)
    out, powers = np.empty_like(products), np.empty(products.size, dtype=np.int32)
    exponentials(products, products.size, powers, out)
    exact = np.exp(-np.abs(products.astype(np.float64)))
    # |s|·log2(e) is rounded before the power is taken, hence an error that grows with |s|
    assert np.all(np.abs(out / exact - 1) <= 3e-7 + 1.2e-7 * np.abs(products))


def test_softplus_is_accurate_to_single_precision() -> None:
    e = np.linspace(0, 1, 10_001, dtype=np.float32)
    assert np.abs([log1p_unit(x) for x in e] - np.log1p(e.astype(np.float64))).max() < 2e-7


@pytest.fixture
def rounded(side: Side) -> Side:
    """The same side with contexts that 16 bits hold exactly."""
    integers, scales = losses.encode(side.right, Run())
    return replace(side, right=integers[:, :WIDTH] * scales)


def test_contexts_are_rounded_to_a_share_of_the_largest(side: Side, rounded: Side) -> None:
    largest = np.abs(side.right).max(axis=0)
    assert (np.abs(rounded.right - side.right) <= largest * (0.5001 / 32767)).all()
    exact, near = (losses.Expanded().gradient(one, Run(), 1) for one in (side, rounded))
    ordinary = np.arange(ROWS) != 8  # that row's products are in the hundreds
    scale = np.linalg.norm(exact.vectors[ordinary], axis=1)
    assert (np.linalg.norm((near.vectors - exact.vectors)[ordinary], axis=1) < 3e-4 * scale).all()


def test_zeros_and_numbers_that_are_not_finite_can_be_encoded() -> None:
    rows = np.array([[0, 1, 2], [0, np.nan, np.inf]], dtype=np.float32)
    integers, scales = losses.encode(rows, Run())
    assert not integers[:, 0].any()
    assert scales[0] == 0
    assert not np.isfinite(scales[1:]).any()


@pytest.mark.parametrize("value", [True, False])
def test_the_kernels_agree(rounded: Side, value: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    side = rounded
    assert losses._is_plain_binomial(side)
    fast = losses.Expanded().gradient(side, Run(), 1, value)
    values = losses.Expanded().values(side, Run(), 1)
    monkeypatch.setattr(losses, "_is_plain_binomial", lambda side: False)
    slow = losses.Expanded().gradient(side, Run(), 1, value)
    np.testing.assert_allclose(values, losses.Expanded().values(side, Run(), 1), rtol=2e-6)
    if value:
        np.testing.assert_allclose(fast.losses, slow.losses, rtol=2e-6)
    for name in ("vectors", "bias", "curvature"):
        got, expected = getattr(fast, name), getattr(slow, name)
        scale = np.abs(expected).max(axis=-1, keepdims=expected.ndim == 2)
        assert np.abs(got - expected).max() <= 2e-6 * np.max(scale), name
        assert np.median(np.abs(got - expected) / np.maximum(np.abs(expected), 1e-3)) < 2e-6, name


def test_rows_that_are_not_active_are_skipped(side: Side) -> None:
    active = np.zeros(ROWS, dtype=np.bool_)
    active[[0, 6]] = True
    some, everything = (losses.Expanded().values(side, Run(), 1, which) for which in (active, None))
    assert np.array_equal(some[active], everything[active])
    assert not some[~active].any()


def test_weights_biases_and_held_out_pairs_use_the_general_kernel(side: Side) -> None:
    side.left_bias[0] = 0.1
    assert not losses._is_plain_binomial(side)
