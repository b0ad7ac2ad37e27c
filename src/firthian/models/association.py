"""Association between words and contexts: pointwise mutual information and its relatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from firthian.cooccurrence.counts import Counts
from firthian.run import Run

Array = np.ndarray[Any, np.dtype[Any]]


class PMI:
    """Positive PMI, shifted by log k: ``max(0, log(X·x / (x_i·x_j)) - log k)`` on the pairs that were seen.

    ``ns_exponent`` a smooths the contexts: ``x_j`` becomes ``x_j^a``, scaled to the same sum (Levy et al. 2015).
    """

    def __init__(self, counts: Counts, run: Run, ns_exponent: float = 0.75, shift: float = 1.0) -> None:
        self.counts = counts
        self.run = run
        self.ns_exponent = ns_exponent
        self.shift = shift

    def matrix(self) -> Any:
        """Give the positive values, as a SciPy CSR array."""
        import scipy.sparse

        counts = self.counts
        context = np.asarray(counts.column_sums, dtype=np.float64) ** self.ns_exponent
        context_log = np.log(context / context.sum(), where=context > 0, out=np.zeros_like(context))
        row_log = np.log(counts.row_sums, where=counts.row_sums > 0, out=np.zeros(len(counts.vocabulary)))
        values = np.empty(counts.pairs, dtype=np.float32)

        def fill(first: int, last: int) -> None:
            low, high = int(counts.indptr[first]), int(counts.indptr[last])
            rows, columns = counts.rows_of(first, last), counts.indices[low:high]
            # PMI = log X - log x_i - log P(j), shifted by log k
            pmi = (
                np.log(counts.values[low:high], dtype=np.float64)
                - row_log[rows]
                - context_log[columns]
                - np.log(self.shift)
            )
            values[low:high] = np.maximum(pmi, 0)

        self.run.over_rows(fill, len(counts.vocabulary))
        # Copies, because dropping the zeros changes the arrays, and those of the counts are not ours to change.
        matrix = scipy.sparse.csr_array((values, counts.indices.copy(), counts.indptr.copy()), shape=counts.shape)
        matrix.eliminate_zeros()
        return matrix
