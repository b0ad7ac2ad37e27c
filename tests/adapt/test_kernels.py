"""The scalar inner loop against the plain one, the limits of RPA, and the paper's bound."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from firthian.kernels import adapt as kernel
from tests.reference import adapt as slow

FORMS = [pytest.param(True, id="anchored"), pytest.param(False, id="walking")]


def random_problem(seed: int, examples: int = 25, words: int = 9, dimension: int = 4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((examples, words)) * (rng.random((examples, words)) < 0.6)
    y = rng.choice([-1.0, 1.0], examples)
    return X, y, rng.standard_normal((dimension, words))


def run(X, y, phi, C, lam, hot=0.0, anchored=True, most=50, tolerance=1e-10, averaged=True, dtype=np.float64):
    """One pass of the kernel over dense rows; phi is k × p, as in the paper."""
    rows = csr_array(X.astype(dtype))
    rows.sum_duplicates()
    n, words = X.shape
    table = np.ascontiguousarray(phi.T.astype(dtype))
    w, v = np.zeros(phi.shape[0], dtype), np.zeros(words, dtype)
    drifts = [np.zeros_like(a) if averaged else np.zeros((0,) * a.ndim, a.dtype) for a in (table, w, v)]
    tally = np.zeros(4)
    clock = kernel.sweep(
        rows.indptr, rows.indices, rows.data, np.full(n, hot), y, np.full(n, C), lam, np.arange(n), anchored, most,
        tolerance, table, w, v, *drifts, 0, tally,
    )  # fmt: skip
    out = {"w": w, "phi": table.T, "v": v, "tally": tally, "clock": clock}
    if averaged:
        for name, drift in zip(("phi", "w", "v"), drifts, strict=True):
            out[f"mean_{name}"] = out[name] - drift.T / clock
    return out


@pytest.mark.parametrize("anchored", FORMS)
@pytest.mark.parametrize(("C", "lam"), [(0.1, 0.01), (1.0, 1.0), (100.0, 0.5), (1e-3, 10.0)])
@pytest.mark.parametrize("hot", [0.0, 0.7])
def test_scalar_loop_equals_the_plain_one(anchored, C, lam, hot):
    X, y, phi = random_problem(int(10 * C) + int(hot * 10))
    expected = slow.rpa(X, y, phi, C, lam, hot, anchored)
    got = run(X, y, phi, C, lam, hot, anchored)
    for name, value in expected.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-7, atol=1e-9, err_msg=name)


@given(st.integers(0, 10**6), st.floats(-2, 0.5), st.floats(-3, 3))
@settings(max_examples=40, deadline=None)
def test_anchored_steps_never_raise_the_objective_and_end_at_a_stationary_point(seed, log_c, log_lam):
    rng = np.random.default_rng(seed)
    w, phi, v, x = rng.standard_normal(3), rng.standard_normal((3, 5)), np.zeros(5), rng.standard_normal(5)
    C, lam = 10**log_c, 10**log_lam
    new_w, new_phi, _, history = slow.alternate(w, phi, v, x, v, 1.0, C, lam, True, 3000, 1e-14)
    assert all(b <= a + 1e-9 * max(1, a) for a, b in pairwise(history))
    a, b, _, p, q, _ = kernel.inner_loop(
        True, 1.0, w @ w, w @ phi @ x, x @ phi.T @ phi @ x, 0.0, 0.0, x @ x, C, lam, 3000, 1e-14
    )
    np.testing.assert_allclose(a * w + b * phi @ x, new_w, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(phi + np.outer(p * w + q * phi @ x, x), new_phi, rtol=1e-6, atol=1e-8)

    def value(w_, phi_):
        return slow.objective(w_, phi_, v, w, phi, v, x, v, 1.0, C, lam)

    here = value(new_w, new_phi)
    for _ in range(5):
        step = 1e-4 * rng.standard_normal(3)
        assert value(new_w + step, new_phi) >= here - 1e-6 * max(1, here)


def test_the_walking_loop_forgets_what_c_asks_for():
    # MODELS.md: walking drives the loss to zero whatever C is, anchored pays for it.
    X, y, phi = random_problem(3)
    w, v, x = np.zeros(4), np.zeros(9), X[0]
    margins = {}
    for anchored in (True, False):
        new_w, new_phi, _, history = slow.alternate(w, phi, v, x, v, y[0], 1e-2, 0.1, anchored, 500, 1e-12)
        margins[anchored] = y[0] * new_w @ new_phi @ x
        if anchored:
            assert history == sorted(history, reverse=True)
    assert margins[True] < 0.7
    assert margins[False] > 0.98


@pytest.mark.parametrize("C", [0.05, 3.0])
def test_anchored_rpa_becomes_pa_as_lam_grows(C):
    X, y, phi = random_problem(5, examples=40)
    expected, losses = slow.pa(X @ phi.T, y, C)
    for lam, tolerance in ((1e10, 1e-6), (np.inf, 1e-12)):
        got = run(X, y, phi, C, lam)
        np.testing.assert_allclose(got["w"], expected, atol=tolerance)
        np.testing.assert_allclose(got["phi"], phi, atol=tolerance)
    assert got["tally"][kernel.SQUARED_LOSS] == pytest.approx(np.sum(np.square(losses)))
    # The same as PA on one-hot features, when the features are the documents' vectors and there is no embedding.
    plain = run(X @ phi.T, y, np.zeros((0, 4)), C, np.inf, hot=1.0)
    np.testing.assert_allclose(plain["v"], expected, atol=1e-12)


def test_walking_rpa_does_not_become_pa():
    X, y, phi = random_problem(5, examples=40)
    expected, _ = slow.pa(X @ phi.T, y, 0.05)
    assert np.abs(run(X, y, phi, 0.05, 1e10, anchored=False)["w"] - expected).max() > 0.1


@given(st.integers(0, 10**6), st.integers(1, 40), st.floats(-3, 3), st.floats(-2, 2), st.booleans())
@settings(max_examples=100, deadline=None)
def test_proposition_3_bounds_the_squared_loss(seed, examples, log_c, log_lam, learn_phi):
    """Eq. 15 with w alone (lam = 1), and with Phi alone: there v_t is w x' laid out as one long vector."""
    rng = np.random.default_rng(seed)
    X, y, phi = random_problem(seed, examples)
    C, lam = 10**log_c, 10**log_lam if learn_phi else 1.0
    w = rng.standard_normal(4)
    V = np.stack([np.outer(w, x).ravel() for x in X]) if learn_phi else X @ phi.T
    # Problem (8) has C and lam only through lam / 2C.
    got = run(V, y, np.zeros((0, V.shape[1])), C / lam, np.inf, hot=1.0)
    R = np.linalg.norm(V, axis=1).max()
    anyone = rng.standard_normal((20, V.shape[1])) * rng.exponential(1, (20, 1))
    candidates = [np.zeros(V.shape[1]), got["v"], np.linalg.lstsq(V, y, rcond=None)[0], *anyone]
    for u in candidates:
        suffered = np.sum(np.maximum(0, 1 - y * (V @ u)) ** 2)
        bound = (R**2 + lam / (2 * C)) * (u @ u + 2 * C / lam * suffered)
        assert got["tally"][kernel.SQUARED_LOSS] <= bound * (1 + 1e-9) + 1e-9


def test_updates_of_phi_alone_are_pa_on_outer_products():
    # Eq. 12, and that the test above really is about Phi.
    X, y, phi = random_problem(11)
    w = np.array([1.0, -2.0, 0.5, 1.5])
    C, lam = 0.3, 2.0
    expected = np.zeros_like(phi)
    for x, label in zip(X, y, strict=True):
        loss = max(0.0, 1 - label * (w @ expected @ x))
        expected += label * loss / ((w @ w) * (x @ x) + lam / (2 * C)) * np.outer(w, x)
    V = np.stack([np.outer(w, x).ravel() for x in X])
    np.testing.assert_allclose(run(V, y, np.zeros((0, 36)), C / lam, np.inf, hot=1.0)["v"].reshape(4, 9), expected)


def test_single_and_double_precision_agree():
    X, y, phi = random_problem(2)
    double = run(X, y, phi, 0.1, 0.01, 0.5, tolerance=1e-6)
    single = run(X, y, phi, 0.1, 0.01, 0.5, tolerance=1e-6, dtype=np.float32)
    assert single["phi"].dtype == np.float32
    for name in ("w", "phi", "v", "mean_w", "mean_phi", "mean_v"):
        np.testing.assert_allclose(single[name], double[name], rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("frozen", [True, False])
def test_shared_embedding(frozen):
    rng = np.random.default_rng(0)
    X, _, phi = random_problem(1, examples=60)
    y = rng.integers(0, 3, 60)
    C, lam = 0.2, np.inf if frozen else 0.5
    rows = csr_array(X)
    table, w, v = phi.T.copy(), np.zeros((3, 4)), np.zeros((3, 9))
    drifts = [np.zeros_like(a) for a in (table, w, v)]
    kernel.sweep_shared(
        rows.indptr, rows.indices, rows.data, np.zeros(60), y, np.full(60, C), lam, np.arange(60), True, 200, 1e-12,
        table, w, v, *drifts, 0, np.zeros(4),
    )  # fmt: skip
    if frozen:
        np.testing.assert_allclose(w, slow.pa_multiclass(X @ phi.T, y, 3, C), atol=1e-10)
        return
    # The reduction to two classes: no small change of W or of Phi improves the problem of several classes.
    W, PHI = np.zeros((3, 4)), phi.copy()
    for x, right in zip(X, y, strict=True):
        scores = W @ PHI @ x
        wrong = max((k for k in range(3) if k != right), key=lambda k: scores[k])
        u = W[right] - W[wrong]
        if scores[right] - scores[wrong] >= 1:
            continue
        new_u, new_phi, _, _ = slow.alternate(
            u, PHI, np.zeros(9), x, np.zeros(9), 1.0, 2 * C, 2 * lam, True, 200, 1e-12
        )
        before = W.copy(), PHI.copy()
        W[right] += (new_u - u) / 2
        W[wrong] -= (new_u - u) / 2
        PHI = new_phi

        def value(w_, phi_, before=before, right=right, wrong=wrong, x=x):
            slack = max(0.0, 1 - (w_[right] - w_[wrong]) @ phi_ @ x)
            moved = np.sum((w_ - before[0]) ** 2) + lam * np.sum((phi_ - before[1]) ** 2)
            return 0.5 * moved + C * slack**2

        here = value(W, PHI)
        for _ in range(3):
            assert value(W + 1e-4 * rng.standard_normal(W.shape), PHI) >= here - 1e-7
            assert value(W, PHI + 1e-4 * rng.standard_normal(PHI.shape)) >= here - 1e-7
    np.testing.assert_allclose(w, W, atol=1e-6)
    np.testing.assert_allclose(table.T, PHI, atol=1e-6)


def test_empty_documents_change_nothing():
    phi = np.ones((2, 3))
    got = run(np.zeros((4, 3)), np.ones(4), phi, 1.0, 1.0, hot=1.0)
    assert not got["w"].any()
    assert not got["v"].any()
    np.testing.assert_array_equal(got["phi"], phi)
    assert got["tally"][kernel.MISTAKES] == 4


@pytest.mark.parametrize("anchored", FORMS)
@pytest.mark.parametrize("C", [1e-300, 1e300, 1.7e308])
def test_extreme_costs_stay_finite(anchored, C):
    """Words without a vector too: their documents are zero until the classifier has moved them."""
    X, y, phi = random_problem(5)
    phi[:, :5] = 0
    X[::3, 5:] = 0
    got = run(X, y, phi, C, 0.01, anchored=anchored)
    assert all(np.isfinite(got[name]).all() for name in ("w", "phi", "mean_w", "mean_phi"))
