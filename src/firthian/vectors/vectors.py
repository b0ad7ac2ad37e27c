"""Vectors: a matrix with one row a word, and all that is known about it."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from firthian.corpus.vocabulary import Vocabulary
from firthian.errors import FirthianError
from firthian.vectors.store import load_vectors, save_vectors

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
        contexts: Any = None,
        extras: dict[str, Array] | None = None,
        record: dict[str, Any] | None = None,
    ) -> None:
        if matrix.ndim != 2 or matrix.shape[0] != len(vocabulary):
            raise FirthianError(
                f"a matrix of shape {matrix.shape} for {len(vocabulary)} words", hint="give one row a word"
            )
        self.matrix = _single(matrix)
        self.vocabulary = vocabulary
        self.contexts = None if contexts is None else _single(contexts)
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

    def save(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Write a folder; an existing one is replaced only with ``force``. Same vectors, same bytes."""
        save_vectors(path, self.matrix, self.vocabulary, self.contexts, self.extras, self.record, force)

    @classmethod
    def load(cls, path: str | os.PathLike[str], verify: bool = False) -> Vectors:
        """Open a folder that ``save`` wrote, mapped into memory; ``verify`` reads and checks every byte."""
        return cls(**load_vectors(path, verify))


def _single(matrix: Any) -> Any:
    """Give single precision, and compressed rows for what is sparse; nothing is copied that fits already."""
    if isinstance(matrix, np.ndarray):
        return np.asarray(matrix, dtype=np.float32)
    if not hasattr(matrix, "tocsr"):
        return np.asarray(matrix, dtype=np.float32)
    import scipy.sparse

    return scipy.sparse.csr_array(matrix).astype(np.float32, copy=False)
