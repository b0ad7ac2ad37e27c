"""Where a factorization begins: a spectral decomposition of positive PMI, or noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.runtime.run import Run, one_blas_thread

#: Random vectors beyond the wanted dimension, and products with the matrix: enough for a start.
_EXTRA, _STEPS = 16, 4


def noise_start(model: Any, dimension: int, run: Run) -> tuple[Array, Array]:
    """Return small random vectors of words and contexts."""
    words, contexts = model.shape
    random = run.generator(7)
    return 0.1 * random.standard_normal((words, dimension)), 0.1 * random.standard_normal((contexts, dimension))


def spectral_start(model: Any, dimension: int, run: Run) -> tuple[Array, Array]:
    """Return U = P·sqrt(s) and C = Q·sqrt(s), from the singular values of positive PMI; noise where there are no counts."""
    if not hasattr(model, "counts"):
        return noise_start(model, dimension, run)
    from firthian.learn.linalg.operators import SparseOperator
    from firthian.learn.spectral.association import PMI

    counts = model.counts
    operator = SparseOperator.of(
        PMI(counts, run, ns_exponent=1.0, shift=1.0).matrix(), symmetric=counts.options.context == "both"
    )
    width = min(dimension + _EXTRA, min(model.shape))
    with one_blas_thread():
        basis = run.generator(8).standard_normal((model.shape[1], width))
        for _ in range(_STEPS):
            basis = np.linalg.qr(operator.times(basis, run))[0]
            basis = np.linalg.qr(operator.transposed_times(basis, run))[0]
        # A Q = P diag(s) Rᵀ, so A ≈ P diag(s) (Q R)ᵀ.
        left, values, right = np.linalg.svd(operator.times(basis, run).astype(np.float64), full_matrices=False)
        right = basis @ right.T
    # Signs so that the largest entry of each word dimension is positive: the same on every machine.
    signs = np.sign(left[np.abs(left).argmax(axis=0), np.arange(width)])
    scale = np.sqrt(values[:dimension])
    return left[:, :dimension] * signs[:dimension] * scale, right[:, :dimension] * signs[:dimension] * scale
