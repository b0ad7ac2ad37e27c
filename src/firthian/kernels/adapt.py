"""Passive-aggressive learning of a classifier jointly with its word vectors (Denis and Ralaivola, 2017).

A document is a row ``x`` of a CSR matrix; its vector is ``f = Phi x``. It may also have one-hot features
``z = hot x`` with weights ``v``. The margin is ``y (w.f + v.z)``. With a ``phi`` of zero dimensions and ``hot = 1``
this is plain PA-II on ``x``.

An update stays in the plane of ``w`` and ``f``, so the problem of one example needs only ``products``, the inner
products ``(ww, wf, ff, vz, zz, xx)`` of ``w``, ``f``, ``v``, ``z`` and ``x``. Its solution ``(a, b, beta, p, q)`` means

    w <- a w + b f,    v <- v + beta z,    Phi <- Phi + (p w + q f) x'
"""

from __future__ import annotations

import numpy as np
from numba import njit

from firthian.arrays import Array

#: Entries of ``tally``: misclassified examples, updates, inner steps, squared loss.
MISTAKES, UPDATES, STEPS, SQUARED_LOSS = 0, 1, 2, 3

#: How the problem of one example is solved: exactly, or by Algorithm 1 of the paper with the step of w or of Phi first.
ANCHORED, WALKING, PHI_FIRST = 0, 1, 2

Products = tuple[float, float, float, float, float, float]
Update = tuple[float, float, float, float, float, int]

#: Enough for Newton's method guarded by bisection to reach the precision of a float.
_NEWTON = 100


@njit(cache=True, nogil=True)
def solve_exactly(y: float, products: Products, cost: float, lam: float) -> Update:
    """Minimize problem (1) of one example; return ``(a, b, beta, p, q, steps)``.

    With ``kappa = |x|²/lam``, a stationary point has ``w = w0 + tau f``, ``f = f0 + kappa tau w`` and ``v = v0 + tau z``:

        w = (w0 + tau f0) / (1 - kappa tau²),    f = (f0 + kappa tau w0) / (1 - kappa tau²),    y tau = 2 C loss

    One quadratic constraint leaves no duality gap, so the minimum has ``t = sqrt(kappa) |tau| < 1``. The dual is concave
    there, and its derivative (the loss minus ``|tau| / 2C``) has one root.
    """
    ww, wf, ff, vz, zz, xx = products
    soft = 1.0 / (2.0 * cost)
    loss = 1.0 - y * (wf + vz)
    root = np.sqrt(xx / lam)
    if loss <= 0.0 or ff + zz + root * ww == 0.0:
        return 1.0, 0.0, 0.0, 0.0, 0.0, 0
    if root == 0.0 or ff + ww == 0.0:
        # Phi is fixed, or w and f are both zero and have no direction to move in: a linear equation.
        tau = y * loss / (ff + zz + soft)
        return 1.0, tau, tau, 0.0, 0.0, 1
    linear, plain, known, wf = ff / root + root * ww, (zz + soft) / root, 1.0 - y * vz, y * wf
    low, high, t, steps = 0.0, 1.0 - 2.0**-53, 0.0, 0
    while steps < _NEWTON:
        steps += 1
        square = 1.0 + t * t
        rest = 1.0 - t * t
        # y w.f = (y wf (1 + t²) + t (ff + kappa ww) / sqrt(kappa)) / (1 - t²)²
        top = wf * square + t * linear
        value = known - top / (rest * rest) - t * plain
        slope = -(linear + 2.0 * t * wf + 4.0 * t * top / rest) / (rest * rest) - plain
        if value > 0.0:
            low = t
        else:
            high = t
        after = t - value / slope if slope < 0.0 else low
        if not low < after < high:
            after = 0.5 * (low + high)
        step = abs(after - t)
        t = after
        # Newton's method doubles the digits, so that the next step would be lost in rounding.
        if step <= 1e-8 * min(t, 1.0 - t):
            break
    rest = 1.0 - t * t
    tau = y * t / root
    a, b = 1.0 / rest, tau / rest
    # Phi = Phi_0 + tau w x' / lam
    return a, b, tau, tau / lam * a, tau / lam * b, steps


@njit(cache=True, nogil=True)
def walk(y: float, products: Products, cost: float, lam: float, phi_first: bool, most: int, tolerance: float) -> Update:
    """Run Algorithm 1 as printed for one example; return ``(a, b, beta, p, q, steps)``.

    Each step starts from the latest values, so it is no minimization of problem (1) in one block. It stops when objective
    (1a) converges.
    """
    ww, wf, ff, vz, zz, xx = products
    soft, stiff = 1.0 / (2.0 * cost), lam / (2.0 * cost)
    frozen = np.isinf(lam)
    a, b, beta, p, q = 1.0, 0.0, 0.0, 0.0, 0.0
    # f = c w0 + d f0, since Phi has moved by (p w0 + q f0) x'.
    c, d = 0.0, 1.0
    loss = max(0.0, 1.0 - y * (wf + vz))
    objective = cost * loss * loss
    steps = 0
    while steps < most:
        steps += 1
        for turn in range(2):
            if (turn == 0) != phi_first:
                # eq. 11. No step moves w if the document has no vector, nor Phi if w is 0; a huge C would make it huge.
                size = c * c * ww + 2.0 * c * d * wf + d * d * ff + zz
                tau = y * loss / (size + soft) if size > 0.0 else 0.0
                a, b, beta = a + tau * c, b + tau * d, beta + tau
            elif not frozen:
                # eq. 12
                size = xx * (a * a * ww + 2.0 * a * b * wf + b * b * ff)
                tau = y * loss / (size + stiff) if size > 0.0 else 0.0
                p, q = p + tau * a, q + tau * b
                c, d = xx * p, 1.0 + xx * q
            margin = a * c * ww + (a * d + b * c) * wf + b * d * ff + vz + beta * zz
            loss = max(0.0, 1.0 - y * margin)
        if frozen:
            break
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
    examples: tuple[Array, Array, Array, Array, Array, Array],
    order: Array,
    rule: tuple[int, float, int, float],
    model: tuple[Array, Array, Array],
    drifts: tuple[Array, Array, Array],
    clock: int,
    tally: Array,
) -> int:
    """Process the examples in ``order``; return the clock afterwards.

    ``examples`` are ``(indptr, indices, data, hot, y, cost)``, with the class number ``y`` and C per example; ``rule`` is
    ``(inner, lam, most, tolerance)``, where an infinite ``lam`` keeps Phi fixed; ``model`` is ``(phi, w, v)``. With one row,
    ``w`` and ``v`` separate class 1 from class 0. With one row per class, the margin is that of the right class r over the
    best wrong class s: for ``u = w_r - w_s`` and the change split evenly, ``|Δw_r|² + |Δw_s|² = |Δu|² / 2``, so twice
    problem (1) is the two-class problem for (u, Phi) with 2 C and 2 lam.

    ``clock`` counts the examples seen so far. The ``drifts`` hold the sum of (clock × change), so the average of a parameter
    over all examples is ``parameter - drift / clock``; drifts of size 0 are not kept.
    """
    indptr, indices, data, hot, labels, costs = examples
    inner, lam, most, tolerance = rule
    phi, w, v = model
    phi_drift, w_drift, v_drift = drifts
    classes, dimension = w.shape
    f = np.empty(dimension, phi.dtype)
    u = np.empty(dimension, w.dtype)
    step = np.empty(dimension, phi.dtype)
    averaged = w_drift.size > 0 or v_drift.size > 0
    share = 1.0 if classes == 1 else 0.5
    for t in order:
        words = indices[indptr[t] : indptr[t + 1]]
        x = data[indptr[t] : indptr[t + 1]]
        age = float(clock)
        clock += 1
        xx = _gather(words, x, phi, f)
        right, wrong = (0, -1) if classes == 1 else (labels[t], -1)
        y = -1.0 if classes == 1 and labels[t] == 0 else 1.0
        wf, vz, other, other_vz = 0.0, 0.0, -np.inf, 0.0
        for k in range(classes):
            part = hot[t] * _sparse_dot(words, x, v[k]) if hot[t] != 0.0 else 0.0
            score = _dot(w[k], f)
            if k == right:
                wf, vz = score, part
            elif score + part > other + other_vz:
                wrong, other, other_vz = k, score, part
        if wrong >= 0:
            wf, vz = wf - other, vz - other_vz
        margin = y * (wf + vz)
        if margin <= 0.0:
            tally[MISTAKES] += 1
        if margin >= 1.0 or xx == 0.0:
            continue
        tally[UPDATES] += 1
        tally[SQUARED_LOSS] += (1.0 - margin) * (1.0 - margin)
        for j in range(dimension):
            u[j] = w[right, j] - w[wrong, j] if wrong >= 0 else w[right, j]
        products = (_dot(u, u), wf, _dot(f, f), vz, hot[t] * hot[t] * xx, xx)
        if inner == ANCHORED:
            a, b, beta, p, q, steps = solve_exactly(y, products, costs[t] / share, lam / share)
        else:
            a, b, beta, p, q, steps = walk(
                y, products, costs[t] / share, lam / share, inner == PHI_FIRST, most, tolerance
            )
        tally[STEPS] += steps
        for side in range(classes if classes == 1 else 2):
            row, part = (right, share) if side == 0 else (wrong, -share)
            for j in range(dimension):
                change = part * ((a - 1.0) * u[j] + b * f[j])
                w[row, j] += change
                if averaged:
                    w_drift[row, j] += age * change
            if hot[t] != 0.0:
                for n in range(words.size):
                    change = part * beta * hot[t] * x[n]
                    v[row, words[n]] += change
                    if averaged:
                        v_drift[row, words[n]] += age * change
        if p != 0.0 or q != 0.0:
            for j in range(dimension):
                step[j] = p * u[j] + q * f[j]
            _scatter(words, x, step, phi, phi_drift, age)
    return clock
