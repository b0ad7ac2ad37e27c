"""Passive-aggressive learning of a classifier jointly with its word vectors (Denis and Ralaivola, 2017).

A document is a row ``x`` of a CSR matrix; its vector is ``f = Phi x``. It may also have one-hot features
``z = hot x`` with weights ``v``. The margin is ``y (w.f + v.z)``. With a ``phi`` of zero dimensions and ``hot = 1``
this is plain PA-II on ``x``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from firthian.arrays import Array

#: Entries of ``tally``: misclassified examples, updates, inner steps, squared loss.
MISTAKES, UPDATES, STEPS, SQUARED_LOSS = 0, 1, 2, 3


@njit(cache=True, nogil=True)
def inner_loop(
    anchored: bool,
    y: float,
    ww: float,
    wf: float,
    ff: float,
    vz: float,
    zz: float,
    xx: float,
    cost: float,
    lam: float,
    most: int,
    tolerance: float,
) -> tuple[float, float, float, float, float, int]:
    """Run the alternation for one example on inner products only; return (a, b, beta, p, q, steps).

    Both forms stay in the plane of the initial ``w`` and ``f``, so the result is

        w <- a w + b f,    v <- v + beta z,    Phi <- Phi + (p w + q f) x'

    and follows from the inner products ``ww, wf, ff, vz, zz, xx`` of ``w``, ``f``, ``v``, ``z`` and ``x``.
    Anchored steps start from the values before the example, so each minimizes problem (1) in one block; walking steps
    start from the latest values, as Algorithm 1 is printed. Both stop when objective (1a) converges.
    """
    soft = 1.0 / (2.0 * cost)
    stiff = lam / (2.0 * cost)
    frozen = np.isinf(lam)
    a, b, beta = 1.0, 0.0, 0.0
    p, q = 0.0, 0.0
    loss = max(0.0, 1.0 - y * (wf + vz))
    objective = cost * loss * loss
    steps = 0
    while steps < most:
        steps += 1
        # f = c w0 + d f0, since Phi has moved by (p w0 + q f0) x'.
        c, d = xx * p, 1.0 + xx * q
        f_f = c * c * ww + 2.0 * c * d * wf + d * d * ff
        # No step moves w if the document has no vector, nor Phi if w is 0. Skipping such steps avoids overflow: a huge C
        # makes them huge.
        empty = f_f + zz == 0.0
        if anchored:
            # eq. 11 from w_t: the margin of the old w under the new Phi.
            loss = max(0.0, 1.0 - y * (c * ww + d * wf + vz))
            tau = 0.0 if empty else y * loss / (f_f + zz + soft)
            a, b, beta = 1.0 + tau * c, tau * d, tau
        else:
            w_f = a * c * ww + (a * d + b * c) * wf + b * d * ff
            loss = max(0.0, 1.0 - y * (w_f + vz + beta * zz))
            tau = 0.0 if empty else y * loss / (f_f + zz + soft)
            a, b, beta = a + tau * c, b + tau * d, beta + tau
        if frozen:
            break
        reach = xx * (a * a * ww + 2.0 * a * b * wf + b * b * ff)
        w_f0 = a * wf + b * ff
        w_w0 = a * ww + b * wf
        hot = vz + beta * zz
        if anchored:
            # eq. 12 from Phi_t: the margin of the new w under the old Phi.
            loss = max(0.0, 1.0 - y * (w_f0 + hot))
            tau = y * loss / (reach + stiff) if reach > 0.0 else 0.0
            p, q = tau * a, tau * b
        else:
            loss = max(0.0, 1.0 - y * (c * w_w0 + d * w_f0 + hot))
            tau = y * loss / (reach + stiff) if reach > 0.0 else 0.0
            p, q = p + tau * a, q + tau * b
        # The objective (1a), to test convergence.
        loss = max(0.0, 1.0 - y * (xx * p * w_w0 + (1.0 + xx * q) * w_f0 + hot))
        moved_w = (a - 1.0) * (a - 1.0) * ww + 2.0 * (a - 1.0) * b * wf + b * b * ff + beta * beta * zz
        moved_phi = xx * (p * p * ww + 2.0 * p * q * wf + q * q * ff)
        now = 0.5 * moved_w + 0.5 * lam * moved_phi + cost * loss * loss
        if abs(objective - now) <= tolerance * max(abs(now), tolerance):
            break
        objective = now
    return a, b, beta, p, q, steps


@njit(cache=True, nogil=True)
def _gather(indices: Array, data: Array, phi: Array, f: Array) -> float:
    """Write ``f = Phi x``; return ``|x|²``."""
    f[:] = 0.0
    xx = 0.0
    for n in range(indices.size):
        row = indices[n]
        value = data[n]
        xx += value * value
        for j in range(f.size):
            f[j] += value * phi[row, j]
    return xx


@njit(cache=True, nogil=True)
def _dot(left: Array, right: Array) -> float:
    total = 0.0
    for j in range(left.size):
        total += np.float64(left[j]) * np.float64(right[j])
    return total


@njit(cache=True, nogil=True)
def _sparse_dot(indices: Array, data: Array, weights: Array) -> float:
    total = 0.0
    for n in range(indices.size):
        total += np.float64(data[n]) * np.float64(weights[indices[n]])
    return total


@njit(cache=True, nogil=True)
def _scatter(indices: Array, data: Array, step: Array, phi: Array, phi_drift: Array, age: float) -> None:
    """Add ``step x'`` to Phi, and ``age`` times it to its drift, if kept."""
    averaged = phi_drift.shape[0] > 0
    for n in range(indices.size):
        row = indices[n]
        value = data[n]
        late = data.dtype.type(age) * value
        for j in range(step.size):
            phi[row, j] += value * step[j]
        if averaged:
            for j in range(step.size):
                phi_drift[row, j] += late * step[j]


@njit(cache=True, nogil=True)
def sweep(
    indptr: Array,
    indices: Array,
    data: Array,
    hot: Array,
    y: Array,
    cost: Array,
    lam: float,
    order: Array,
    anchored: bool,
    most: int,
    tolerance: float,
    phi: Array,
    w: Array,
    v: Array,
    phi_drift: Array,
    w_drift: Array,
    v_drift: Array,
    clock: int,
    tally: Array,
) -> int:
    """Process the examples in ``order``, for two classes ``y = ±1``; return the clock afterwards.

    ``cost`` is C per example; an infinite ``lam`` keeps Phi fixed. ``clock`` counts the examples seen so far. The drifts
    hold the sum of (clock × change), so the average of a parameter over all examples is ``parameter - drift / clock``;
    drifts of size 0 are not kept.
    """
    dimension = phi.shape[1]
    f = np.empty(dimension, phi.dtype)
    step = np.empty(dimension, phi.dtype)
    averaged = w_drift.size > 0 or v_drift.size > 0
    for t in order:
        words = indices[indptr[t] : indptr[t + 1]]
        x = data[indptr[t] : indptr[t + 1]]
        age = float(clock)
        clock += 1
        xx = _gather(words, x, phi, f)
        wf = _dot(w, f)
        zz = hot[t] * hot[t] * xx
        vz = hot[t] * _sparse_dot(words, x, v) if hot[t] != 0.0 else 0.0
        margin = y[t] * (wf + vz)
        if margin <= 0.0:
            tally[MISTAKES] += 1
        if margin >= 1.0 or xx == 0.0:
            continue
        tally[UPDATES] += 1
        tally[SQUARED_LOSS] += (1.0 - margin) * (1.0 - margin)
        a, b, beta, p, q, steps = inner_loop(
            anchored, y[t], _dot(w, w), wf, _dot(f, f), vz, zz, xx, cost[t], lam, most, tolerance
        )
        tally[STEPS] += steps
        for j in range(dimension):
            step[j] = p * w[j] + q * f[j]
            change = (a - 1.0) * w[j] + b * f[j]
            w[j] += change
            if averaged:
                w_drift[j] += age * change
        if hot[t] != 0.0:
            for n in range(words.size):
                change = beta * hot[t] * x[n]
                v[words[n]] += change
                if averaged:
                    v_drift[words[n]] += age * change
        if p != 0.0 or q != 0.0:
            _scatter(words, x, step, phi, phi_drift, age)
    return clock


@njit(cache=True, nogil=True)
def sweep_shared(
    indptr: Array,
    indices: Array,
    data: Array,
    hot: Array,
    y: Array,
    cost: Array,
    lam: float,
    order: Array,
    anchored: bool,
    most: int,
    tolerance: float,
    phi: Array,
    w: Array,
    v: Array,
    phi_drift: Array,
    w_drift: Array,
    v_drift: Array,
    clock: int,
    tally: Array,
) -> int:
    """Process examples of several classes ``y = 0, 1, ...`` that share one Phi; ``w`` and ``v`` have one row per class.

    The margin is that of the right class r over the best wrong class s. With ``u = w_r - w_s`` and the change split
    evenly, ``|Δw_r|² + |Δw_s|² = |Δu|² / 2``: twice problem (1) is the two-class problem for (u, Phi) with 2 C and 2 lam.
    """
    classes, dimension = w.shape
    f = np.empty(dimension, phi.dtype)
    u = np.empty(dimension, w.dtype)
    step = np.empty(dimension, phi.dtype)
    averaged = w_drift.size > 0 or v_drift.size > 0
    for t in order:
        words = indices[indptr[t] : indptr[t + 1]]
        x = data[indptr[t] : indptr[t + 1]]
        age = float(clock)
        clock += 1
        xx = _gather(words, x, phi, f)
        right, wrong = y[t], -1
        score_right, score_wrong, hot_right, hot_wrong = 0.0, -np.inf, 0.0, 0.0
        for k in range(classes):
            part = hot[t] * _sparse_dot(words, x, v[k]) if hot[t] != 0.0 else 0.0
            score = _dot(w[k], f) + part
            if k == right:
                score_right, hot_right = score, part
            elif score > score_wrong:
                wrong, score_wrong, hot_wrong = k, score, part
        margin = score_right - score_wrong
        if margin <= 0.0:
            tally[MISTAKES] += 1
        if margin >= 1.0 or xx == 0.0:
            continue
        tally[UPDATES] += 1
        tally[SQUARED_LOSS] += (1.0 - margin) * (1.0 - margin)
        for j in range(dimension):
            u[j] = w[right, j] - w[wrong, j]
        vz = hot_right - hot_wrong
        a, b, beta, p, q, steps = inner_loop(
            anchored, 1.0, _dot(u, u), margin - vz, _dot(f, f), vz, hot[t] * hot[t] * xx, xx,
            2.0 * cost[t], 2.0 * lam, most, tolerance,
        )  # fmt: skip
        tally[STEPS] += steps
        for j in range(dimension):
            step[j] = p * u[j] + q * f[j]
            change = 0.5 * ((a - 1.0) * u[j] + b * f[j])
            w[right, j] += change
            w[wrong, j] -= change
            if averaged:
                w_drift[right, j] += age * change
                w_drift[wrong, j] -= age * change
        if hot[t] != 0.0:
            for n in range(words.size):
                change = 0.5 * beta * hot[t] * x[n]
                v[right, words[n]] += change
                v[wrong, words[n]] -= change
                if averaged:
                    v_drift[right, words[n]] += age * change
                    v_drift[wrong, words[n]] -= age * change
        if p != 0.0 or q != 0.0:
            _scatter(words, x, step, phi, phi_drift, age)
    return clock
