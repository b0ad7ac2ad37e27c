"""Vectors: a matrix with one row a word, and all that is known about it."""

from __future__ import annotations

from typing import Any

import numpy as np

from firthian.corpus.vocabulary import Vocabulary
from firthian.errors import FirthianError

Array = np.ndarray[Any, np.dtype[Any]]


class Vectors:
    """Word vectors: ``matrix`` (dense float32, or a SciPy CSR array), ``vocabulary``, and optionally more.

    ``contexts`` are the vectors of the words as contexts; ``extras`` further arrays by name (biases, covariances);
    ``record`` says how the vectors were made.
    """

    def __init__(
        self,
        matrix: Any,
        vocabulary: Vocabulary,
        *,
        contexts: Array | None = None,
        extras: dict[str, Array] | None = None,
        record: dict[str, Any] | None = None,
    ) -> None:
        if matrix.ndim != 2 or matrix.shape[0] != len(vocabulary):
            raise FirthianError(
                f"a matrix of shape {matrix.shape} for {len(vocabulary)} words", hint="give one row a word"
            )
        self.matrix = matrix
        self.vocabulary = vocabulary
        self.contexts = contexts
        self.extras = dict(extras or {})
        self.record = dict(record or {})
        #: Seconds and memory of the training, known only in the process that trained; never saved.
        self.measured: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self.vocabulary)

    @property
    def vector_size(self) -> int:
        """The number of dimensions."""
        return int(self.matrix.shape[1])
