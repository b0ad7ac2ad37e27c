"""What the likelihood cannot see: a common change of basis of words and contexts, and which dimensions are in use.

u -> R u and c -> R^-T c leave u·c as it is (docs/derivations/bayes.md, sections 6 and 7).
"""

from __future__ import annotations

import numpy as np

from firthian.arrays import Array
from firthian.kernels.packing import unpack
from firthian.learn.bayes.posterior import Gaussians, State
from firthian.runtime.run import Run, one_blas_thread

#: A dimension counts as live when at least this share of its second moment comes from the means.
LIVE_SHARE = 0.5


def second_moments(side: Gaussians, dimension: int) -> Array:
    """Return sum_i E[w_i w_iᵀ] of the first ``dimension`` coordinates, in float64."""
    total = side.moments.sum(axis=0, dtype=np.float64, keepdims=True)
    return np.asarray(unpack(total, side.size)[0, :dimension, :dimension])


@one_blas_thread()
def rotate(state: State, run: Run) -> None:
    """Change the basis of words and contexts together, where that raises the bound (docs/derivations/bayes.md, section 6).

    u -> R u and c -> R^-T c leave u·c as it is. The priors like best a basis in which E[u uᵀ] averages to the
    identity and E[c cᵀ] to a diagonal matrix.
    """
    d, words, contexts = state.dimension, state.words, state.contexts
    phi_words, phi_contexts = second_moments(words, d), second_moments(contexts, d)
    values, basis = np.linalg.eigh(phi_words / words.rows)
    if values[0] <= 1e-12 * values[-1]:
        return
    whiten = basis / np.sqrt(values) @ basis.T
    undo = basis * np.sqrt(values) @ basis.T
    strengths, turn = np.linalg.eigh(undo @ phi_contexts @ undo)
    # Columns of `turn` in order of falling strength; signs so that the largest entry is positive, for the same bytes.
    turn = turn[:, np.argsort(-strengths, kind="stable")]
    turn *= np.sign(turn[np.abs(turn).argmax(axis=0), np.arange(d)])
    matrix, inverse = turn.T @ whiten, turn.T @ undo
    shape, rate = state.relevance.shape0 + contexts.rows / 2, state.relevance.rate0
    log_scale = np.linalg.slogdet(matrix)[1]

    def value(diagonal_words: Array, diagonal_contexts: Array, log_determinant: float) -> float:
        kept = -0.5 * diagonal_words.sum() - shape * np.log(rate + diagonal_contexts / 2).sum()
        return float(kept + (words.rows - contexts.rows) * log_determinant)

    now = value(np.diag(phi_words), np.diag(phi_contexts), 0.0)
    new = value(np.diag(matrix @ phi_words @ matrix.T), np.diag(inverse @ phi_contexts @ inverse.T), log_scale)
    if new <= now:
        return
    _transform(state, matrix, inverse, run)
    state.relevance = state.relevance.update(contexts.rows, contexts.squares()[:d])


def signal_shares(state: State) -> Array:
    """Say how much of E[c_k²] comes from the means, for each dimension: near 1 in use, near 0 switched off by ARD."""
    means = state.contexts.means[:, : state.dimension].astype(np.float64)
    return np.asarray(np.sum(means**2, axis=0) / state.contexts.squares()[: state.dimension])


def balance(state: State, power: float, run: Run) -> None:
    """Share the strength of each dimension between words and contexts: 0 gives it all to the contexts, 1 to the words."""
    d = state.dimension
    if not state.words.diagonal:
        rotate(state, run)
    words, contexts = state.words.squares()[:d] / state.words.rows, state.contexts.squares()[:d] / state.contexts.rows
    scale = words**-0.5 * np.maximum(words * contexts, 1e-30) ** (power / 2)
    _transform(state, np.diag(scale), np.diag(1 / scale), run)
    state.relevance = state.relevance.update(state.contexts.rows, state.contexts.squares()[:d])


def _transform(state: State, matrix: Array, inverse_transposed: Array, run: Run) -> None:
    for side, part in ((state.words, matrix), (state.contexts, inverse_transposed)):
        whole = np.eye(side.size)
        whole[: state.dimension, : state.dimension] = part
        side.transform(whole, run)
