"""Slow, obvious passive-aggressive learning: whole matrices, the alternation written as the paper writes it."""

from __future__ import annotations

from typing import Any

import numpy as np

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


def alternate(
    w0: Array, phi0: Array, v0: Array, x: Array, z: Array, y: float, C: float, lam: float,
    anchored: bool, most: int, tolerance: float,
) -> tuple[Array, Array, Array, list[float]]:  # fmt: skip
    """One example: (w, Phi, v) after the inner loop, and the objective after each step; Phi is k × p as in the paper."""
    w, phi, v = w0.copy(), phi0.copy(), v0.copy()
    history = [objective(w, phi, v, w0, phi0, v0, x, z, y, C, lam)]
    if history[0] == 0:
        return w, phi, v, history
    for _ in range(most):
        f = phi @ x
        start_w, start_v = (w0, v0) if anchored else (w, v)
        loss = max(0.0, 1 - y * (start_w @ f + start_v @ z))
        tau = y * loss / (f @ f + z @ z + 1 / (2 * C))  # eq. 11
        w, v = start_w + tau * f, start_v + tau * z
        start_phi = phi0 if anchored else phi
        loss = max(0.0, 1 - y * (w @ start_phi @ x + v @ z))
        tau = y * loss / ((w @ w) * (x @ x) + lam / (2 * C))  # eq. 12
        phi = start_phi + tau * np.outer(w, x)
        history.append(objective(w, phi, v, w0, phi0, v0, x, z, y, C, lam))
        if abs(history[-1] - history[-2]) <= tolerance * max(abs(history[-1]), tolerance):
            break
    return w, phi, v, history


def rpa(
    X: Array, y: Array, phi: Array, C: float, lam: float, hot: float = 0.0,
    anchored: bool = True, most: int = 50, tolerance: float = 1e-10,
) -> dict[str, Array]:  # fmt: skip
    """One pass over dense rows of X from w = 0; the last parameters, and their means over the examples."""
    w, v = np.zeros(phi.shape[0]), np.zeros(X.shape[1])
    seen: dict[str, list[Array]] = {"w": [], "phi": [], "v": []}
    for x, label in zip(X, y, strict=True):
        w, phi, v, _ = alternate(w, phi, v, x, hot * x, label, C, lam, anchored, most, tolerance)
        for name, value in (("w", w), ("phi", phi), ("v", v)):
            seen[name].append(value)
    means = {f"mean_{name}": np.mean(values, axis=0) for name, values in seen.items()}
    return {"w": w, "phi": phi, "v": v, **means}


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
