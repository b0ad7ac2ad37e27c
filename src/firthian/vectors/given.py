"""What users give to vectors: words, vectors and matrices in many guises, as one kind of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError


def as_list(items: Any) -> list[Any]:
    """Return the words or vectors of a request: one word and one vector are lists of one."""
    if isinstance(items, str):
        return [items]
    if isinstance(items, np.ndarray) and items.dtype.kind not in "OU":
        return [items] if items.ndim < 2 else list(items)
    try:
        return list(items)
    except TypeError:
        raise FirthianError(f"{str(items)[:40]!r} is no word", hint="give a word, or a list of words") from None


def read_numbers(vectors: Any) -> Array:
    """Read what a user gave for a vector or a matrix."""
    try:
        return np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError):
        raise FirthianError(
            f"{str(vectors)[:40]!r} is no vector", hint="give numbers; most_similar takes words"
        ) from None


def unit(rows: Array) -> Array:
    """Scale rows to length 1; rows of zeros stay."""
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return np.asarray(np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0))


def single(matrix: Any) -> Any:
    """Return single precision, and compressed rows for what is sparse; nothing is copied that fits already."""
    if not hasattr(matrix, "tocsr"):
        return np.asarray(matrix, dtype=np.float32)
    import scipy.sparse

    return scipy.sparse.csr_array(matrix).astype(np.float32, copy=False)
