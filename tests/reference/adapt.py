"""Slow, obvious passive-aggressive learning: whole matrices, equations as the paper prints them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq

Array = np.ndarray[Any, np.dtype[Any]]


def objective(
    w: Array,
    phi: Array,
    v: Array,
    w0: Array,
    phi0: Array,
    v0: Array,
    x: Array,
    z: Array,
    y: float,
    C: float,
    lam: float,
) -> float:
    """Problem (1a) with the slack put in, and the one-hot weights beside w."""
    loss = max(0.0, 1 - y * (w @ phi @ x + v @ z))
    moved = np.sum((w - w0) ** 2) + np.sum((v - v0) ** 2)
    return float(0.5 * moved + 0.5 * lam * np.sum((phi - phi0) ** 2) + C * loss**2)


def minimize(
    w0: Array, phi0: Array, v0: Array, x: Array, z: Array, y: float, C: float, lam: float
) -> tuple[Array, Array, Array]:
    """Return the minimum of problem (1): w = w0 + tau f, f = f0 + tau |x|²/lam w, v = v0 + tau z, y tau = 2 C loss."""
    if objective(w0, phi0, v0, w0, phi0, v0, x, z, y, C, lam) == 0:
        return w0, phi0, v0
    kappa = (x @ x) / lam

    def point(s: float) -> tuple[Array, Array, Array]:
        w = (w0 + y * s * (phi0 @ x)) / (1 - kappa * s * s)
        return w, phi0 + y * s / lam * np.outer(w, x), v0 + y * s * z

    def excess(s: float) -> float:
        w, phi, v = point(s)
        return float(1 - y * (w @ phi @ x + v @ z) - s / (2 * C))

    most = 2 * C * excess(0)
    if kappa > 0:
        most = min(most, (1 - 1e-15) / np.sqrt(kappa))
    return point(brentq(excess, 0, most, xtol=1e-16, rtol=1e-15) if excess(most) < 0 else most)


def alternate(
    w0: Array, phi0: Array, v0: Array, x: Array, z: Array, y: float, C: float, lam: float,
    phi_first: bool, most: int, tolerance: float,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """One example of Algorithm 1 as printed: (w, Phi, v) after the inner loop; Phi is k × p as in the paper."""
    w, phi, v = w0.copy(), phi0.copy(), v0.copy()
    before = objective(w, phi, v, w0, phi0, v0, x, z, y, C, lam)
    if before == 0:
        return w, phi, v
    for _ in range(most):
        for block in ("phi", "w") if phi_first else ("w", "phi"):
            f = phi @ x
            loss = max(0.0, 1 - y * (w @ f + v @ z))
            if block == "w":
                tau = y * loss / (f @ f + z @ z + 1 / (2 * C))  # eq. 11
                w, v = w + tau * f, v + tau * z
            else:
                tau = y * loss / ((w @ w) * (x @ x) + lam / (2 * C))  # eq. 12
                phi = phi + tau * np.outer(w, x)
        now = objective(w, phi, v, w0, phi0, v0, x, z, y, C, lam)
        if abs(now - before) <= tolerance * max(abs(now), tolerance):
            break
        before = now
    return w, phi, v


def rpa(
    X: Array, y: Array, phi: Array, C: float, lam: float, hot: float = 0.0,
    inner: str = "anchored", most: int = 50, tolerance: float = 1e-10,
) -> dict[str, Array]:  # fmt: skip
    """One pass over dense rows of X from w = 0; the last parameters, and their means over the examples."""
    w, v = np.zeros(phi.shape[0]), np.zeros(X.shape[1])
    seen: dict[str, list[Array]] = {"w": [], "phi": [], "v": []}
    for x, label in zip(X, y, strict=True):
        example = (w, phi, v, x, hot * x, label, C, lam)
        if inner == "anchored":
            w, phi, v = minimize(*example)
        else:
            w, phi, v = alternate(*example, inner == "phi-first", most, tolerance)
        for name, value in (("w", w), ("phi", phi), ("v", v)):
            seen[name].append(value)
    means = {f"mean_{name}": np.mean(values, axis=0) for name, values in seen.items()}
    return {"w": w, "phi": phi, "v": v, **means}


def lowest_objectives(
    w0: Array, f0: Array, vz: Array, zz: Array, xx: Array, C: Array, lam: Array, starts: int, rng: np.random.Generator
) -> Array:
    """Return the minimum of problem (1) with y = 1 of many examples, by Levenberg-Marquardt from several starts each.

    The unknowns are w, g = f sqrt(lam / |x|²) and v along z; the objective is half the sum of their squared changes and of
    2 C loss².
    """
    n, k = w0.shape
    stiff, long, hard = (np.repeat(np.sqrt(array), starts) for array in (lam / xx, zz, 2 * C))
    known = np.repeat(1 - vz, starts)
    first = np.concatenate([w0, f0 * np.sqrt(lam / xx)[:, None], np.zeros((n, 1))], axis=1).repeat(starts, axis=0)
    size = 2 * k + 1

    def residuals(u: Array) -> tuple[Array, Array]:
        loss = known - np.sum(u[:, :k] * u[:, k : 2 * k], axis=1) / stiff - long * u[:, 2 * k]
        return np.concatenate([u - first, (hard * np.maximum(0, loss))[:, None]], axis=1), loss > 0

    unknown = first + rng.standard_normal(first.shape) * rng.choice([0.0, 0.3, 1.0, 3.0], (n * starts, 1))
    here, active = residuals(unknown)
    damping = np.full(n * starts, 1e-2)
    for _ in range(200):
        J = np.zeros((n * starts, size + 1, size))
        J[:, :size] = np.eye(size)
        crossed = np.concatenate([unknown[:, k : 2 * k], unknown[:, :k]], axis=1) / stiff[:, None]
        J[:, size] = -(hard * active)[:, None] * np.concatenate([crossed, long[:, None]], axis=1)
        H = np.swapaxes(J, 1, 2) @ J + damping[:, None, None] * np.eye(size)
        trial = unknown - np.linalg.solve(H, np.swapaxes(J, 1, 2) @ here[:, :, None])[:, :, 0]
        there, trial_active = residuals(trial)
        better = np.sum(there**2, axis=1) < np.sum(here**2, axis=1)
        unknown, here = np.where(better[:, None], trial, unknown), np.where(better[:, None], there, here)
        active = np.where(better, trial_active, active)
        damping = np.clip(np.where(better, damping / 5, damping * 3), 1e-10, 1e15)
    lowest: Array = (0.5 * np.sum(here**2, axis=1)).reshape(n, starts).min(axis=1)
    return lowest


def pa(V: Array, y: Array, C: float, u: Array | None = None) -> tuple[Array, list[float]]:
    """PA-II of Crammer et al. (2006) on rows of V: the weights at the end and the loss before each update."""
    u = np.zeros(V.shape[1]) if u is None else u.copy()
    losses = []
    for row, label in zip(V, y, strict=True):
        losses.append(max(0.0, 1 - label * (u @ row)))
        u += label * losses[-1] / (row @ row + 1 / (2 * C)) * row
    return u, losses


def pa_multiclass(V: Array, y: Array, classes: int, C: float) -> Array:
    """PA-II with the margin over the best wrong class: minimizes ½|ΔW|² + C ξ² (Crammer et al., section 8)."""
    W = np.zeros((classes, V.shape[1]))
    for row, right in zip(V, y, strict=True):
        scores = W @ row
        wrong = max((k for k in range(classes) if k != right), key=lambda k: scores[k])
        loss = max(0.0, 1 - scores[right] + scores[wrong])
        tau = loss / (2 * row @ row + 1 / (2 * C))
        W[right] += tau * row
        W[wrong] -= tau * row
    return W
