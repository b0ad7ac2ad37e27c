"""One update against brute force and against plain twins, the limits of RPA, and the paper's bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from firthian.adapt.learner import INNER
from firthian.kernels import adapt as kernel
from tests.reference import adapt as slow

FORMS = pytest.mark.parametrize("inner", INNER)

#: C and lam of the paper's grids (sections 4 and 5.4) and of its figure 2.
PAPER_C = (1e-6, 1e-4, 1e-2, 0.1, 0.5, 1.0, 2.0, 10.0, 1e2, 1e4, 1e6)
PAPER_LAM = (1e-3, 1e-2, 0.1, 0.5, 1.0, 10.0, 1e2, 1e3)


def random_problem(seed: int, examples: int = 25, words: int = 9, dimension: int = 4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((examples, words)) * (rng.random((examples, words)) < 0.6)
    y = rng.choice([-1.0, 1.0], examples)
    return X, y, rng.standard_normal((dimension, words))


def run(X, y, phi, C, lam, hot=0.0, inner="anchored", most=50, tolerance=1e-10, averaged=True, dtype=np.float64):
    """One pass of the kernel over dense rows; phi is k × p, as in the paper."""
    rows = csr_array(X.astype(dtype))
    rows.sum_duplicates()
    n, words = X.shape
    table = np.ascontiguousarray(phi.T.astype(dtype))
    w, v = np.zeros((1, phi.shape[0]), dtype), np.zeros((1, words), dtype)
    drifts = [np.zeros_like(a) if averaged else np.zeros((0,) * a.ndim, a.dtype) for a in (table, w, v)]
    tally = np.zeros(4)
    examples = (rows.indptr, rows.indices, rows.data, np.full(n, hot), (y > 0).astype(np.int64), np.full(n, C))
    rule = (INNER.index(inner), lam, most, tolerance)
    clock = kernel.sweep(examples, np.arange(n), rule, (table, w, v), tuple(drifts), 0, tally)
    out = {"w": w[0], "phi": table.T, "v": v[0], "tally": tally, "clock": clock}
    if averaged:
        for name, drift in zip(("phi", "w", "v"), drifts, strict=True):
            out[f"mean_{name}"] = out[name] - (drift.T if name == "phi" else drift[0]) / clock
    return out


@FORMS
@pytest.mark.parametrize(("C", "lam"), [(0.1, 0.01), (1.0, 1.0), (100.0, 0.5), (1e-3, 10.0)])
@pytest.mark.parametrize("hot", [0.0, 0.7])
def test_scalar_updates_equal_the_plain_ones(inner, C, lam, hot):
    X, y, phi = random_problem(int(10 * C) + int(hot * 10))
    expected = slow.rpa(X, y, phi, C, lam, hot, inner)
    got = run(X, y, phi, C, lam, hot, inner)
    for name, value in expected.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-7, atol=1e-9, err_msg=name)


def test_anchored_updates_reach_the_minimum_for_all_c_and_lam_of_the_paper():
    rng = np.random.default_rng(7)
    n, k, words = 1000, 2, 3
    w, x = rng.standard_normal((n, k)), rng.standard_normal((n, words))
    w[:50] = 0
    phi = rng.standard_normal((n, k, words)) * rng.choice([0.1, 1.0, 10.0], (n, 1, 1))
    phi[50:100] = 0
    v, hot = 0.3 * rng.standard_normal((n, words)), rng.choice([0.0, 0.7], n)
    C, lam = rng.choice(PAPER_C, n), rng.choice(PAPER_LAM, n)
    f, z, xx = np.einsum("nkp,np->nk", phi, x), hot[:, None] * x, np.sum(x * x, axis=1)
    vz, zz = np.sum(v * z, axis=1), np.sum(z * z, axis=1)
    lowest = slow.lowest_objectives(w, f, vz, zz, xx, C, lam, 8, rng)
    found = np.empty(n)
    for i in range(n):
        products = (w[i] @ w[i], w[i] @ f[i], f[i] @ f[i], vz[i], zz[i], xx[i])
        a, b, beta, p, q, _ = kernel.solve_exactly(1.0, products, C[i], lam[i])
        new_phi = phi[i] + np.outer(p * w[i] + q * f[i], x[i])
        found[i] = slow.objective(
            a * w[i] + b * f[i], new_phi, v[i] + beta * z[i], w[i], phi[i], v[i], x[i], z[i], 1.0, C[i], lam[i]
        )
    assert np.all(found <= lowest * (1 + 1e-6) + 1e-12)
    # The search itself is not lost: it reaches the same minimum except where w and f are almost zero.
    assert np.mean(lowest <= found * (1 + 1e-6) + 1e-12) > 0.99


def test_the_walking_loop_forgets_what_c_asks_for():
    # MODELS.md: walking drives the loss to zero whatever C is, anchored pays for it.
    X, y, phi = random_problem(3)
    example = (np.zeros(4), phi, np.zeros(9), X[0], np.zeros(9), y[0], 1e-2, 0.1)
    w, new_phi, _ = slow.minimize(*example)
    assert y[0] * w @ new_phi @ X[0] < 0.7
    for phi_first in (False, True):
        w, new_phi, _ = slow.alternate(*example, phi_first, 500, 1e-12)
        assert y[0] * w @ new_phi @ X[0] > 0.98


def test_the_step_of_phi_first_puts_documents_on_the_margin_and_keeps_w():
    # Figure 2 of the paper, at its C and lam.
    X, _, phi = random_problem(4)
    f, w = phi @ X[0], np.array([1.0, -1.0, 0.5, 2.0])
    y0 = -np.sign(w @ f)
    products = (w @ w, w @ f, f @ f, 0.0, 0.0, X[0] @ X[0])
    moved = {phi_first: kernel.walk(y0, products, 100.0, 0.5, phi_first, 50, 1e-6)[:5] for phi_first in (False, True)}
    for a, b, _, p, q in moved.values():
        new_f = f + (p * w + q * f) * products[5]
        assert y0 * (a * w + b * f) @ new_f == pytest.approx(1, abs=0.01)
    assert np.hypot(moved[True][0] - 1, moved[True][1]) < 0.01 < np.hypot(moved[False][0] - 1, moved[False][1])


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
    assert np.abs(run(X, y, phi, 0.05, 1e10, inner="walking")["w"] - expected).max() > 0.1


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
    drifts = tuple(np.zeros_like(a) for a in (table, w, v))
    examples = (rows.indptr, rows.indices, rows.data, np.zeros(60), y, np.full(60, C))
    kernel.sweep(examples, np.arange(60), (kernel.ANCHORED, lam, 1, 0.0), (table, w, v), drifts, 0, np.zeros(4))
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
        new_u, new_phi, _ = slow.minimize(u, PHI, np.zeros(9), x, np.zeros(9), 1.0, 2 * C, 2 * lam)
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


@FORMS
@pytest.mark.parametrize("lam", [1e-12, 0.01, 1e300])
@pytest.mark.parametrize("C", [1e-300, 1e300, 1.7e308])
def test_extreme_costs_stay_finite(inner, C, lam):
    """Words without a vector too: their documents are zero until the classifier has moved them."""
    X, y, phi = random_problem(5)
    phi[:, :5] = 0
    X[::3, 5:] = 0
    got = run(X, y, phi, C, lam, inner=inner)
    assert all(np.isfinite(got[name]).all() for name in ("w", "phi", "mean_w", "mean_phi"))
