"""Changes of basis that leave the likelihood alone: u -> R u and c -> R^-T c keep u·c (docs/derivations/bayes.md, 6 and 7)."""

from __future__ import annotations

import numpy as np

from firthian.arrays import Array
from firthian.kernels.packing import unpack
from firthian.learn.bayes.posterior import Gaussians, VariationalState
from firthian.runtime.run import Run, one_blas_thread

#: A dimension is live if at least this share of its second moment comes from the means.
LIVE_SHARE = 0.5


def second_moments(side: Gaussians, dimension: int) -> Array:
    """Return sum_i E[w_i w_iᵀ] of the first ``dimension`` coordinates, in float64."""
    total = side.moments.sum(axis=0, dtype=np.float64, keepdims=True)
    return np.asarray(unpack(total, side.size)[0, :dimension, :dimension])


@one_blas_thread()
def rotate(state: VariationalState, run: Run) -> None:
    """Change to the basis that the priors prefer, if that raises the bound: E[u uᵀ] white, E[c cᵀ] diagonal on average."""
    d, words, contexts = state.dimension, state.words, state.contexts
    phi_words, phi_contexts = second_moments(words, d), second_moments(contexts, d)
    values, basis = np.linalg.eigh(phi_words / words.rows)
    if values[0] <= 1e-12 * values[-1]:
        return
    whiten = basis / np.sqrt(values) @ basis.T
    undo = basis * np.sqrt(values) @ basis.T
    strengths, turn = np.linalg.eigh(undo @ phi_contexts @ undo)
    # Columns of `turn` by decreasing strength, the largest entry of each positive: the same on every machine.
    turn = turn[:, np.argsort(-strengths, kind="stable")]
    turn *= np.sign(turn[np.abs(turn).argmax(axis=0), np.arange(d)])
    matrix, inverse = turn.T @ whiten, turn.T @ undo
    shape, rate = state.relevance.shape0 + contexts.rows / 2, state.relevance.rate0
    log_scale = np.linalg.slogdet(matrix)[1]

    def value(diagonal_words: Array, diagonal_contexts: Array, log_determinant: float) -> float:
        fixed_scale = -0.5 * diagonal_words.sum() - shape * np.log(rate + diagonal_contexts / 2).sum()
        return float(fixed_scale + (words.rows - contexts.rows) * log_determinant)

    now = value(np.diag(phi_words), np.diag(phi_contexts), 0.0)
    new = value(np.diag(matrix @ phi_words @ matrix.T), np.diag(inverse @ phi_contexts @ inverse.T), log_scale)
    if new <= now:
        return
    _transform(state, matrix, inverse, run)
    state.relevance = state.relevance.update(contexts.rows, contexts.squares()[:d])


def signal_shares(state: VariationalState) -> Array:
    """Return the share of E[c_k²] that comes from the means: near 1 in live dimensions, near 0 if ARD switched it off."""
    means = state.contexts.means[:, : state.dimension].astype(np.float64)
    return np.asarray(np.sum(means**2, axis=0) / state.contexts.squares()[: state.dimension])


def balance(state: VariationalState, power: float, run: Run) -> None:
    """Split the strength of each dimension between words and contexts: all to the contexts with power 0, to words with 1."""
    d = state.dimension
    if not state.words.diagonal:
        rotate(state, run)
    words, contexts = state.words.squares()[:d] / state.words.rows, state.contexts.squares()[:d] / state.contexts.rows
    scale = words**-0.5 * np.maximum(words * contexts, 1e-30) ** (power / 2)
    _transform(state, np.diag(scale), np.diag(1 / scale), run)
    state.relevance = state.relevance.update(state.contexts.rows, state.contexts.squares()[:d])


def _transform(state: VariationalState, matrix: Array, inverse_transposed: Array, run: Run) -> None:
    for side, part in ((state.words, matrix), (state.contexts, inverse_transposed)):
        whole = np.eye(side.size)
        whole[: state.dimension, : state.dimension] = part
        side.transform(whole, run)
