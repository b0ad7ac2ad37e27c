"""gensim's KeyedVectors: both ways in memory; written through gensim, never read, because its files are pickles."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from firthian.corpus.vocabulary import Vocabulary
from firthian.errors import FirthianError, from_os_error, require
from firthian.storage import check_target
from firthian.vectors.formats.base import Format
from firthian.vectors.vectors import Vectors

NAME = "gensim"


def to_gensim(vectors: Vectors) -> Any:
    """Give a ``gensim.models.KeyedVectors`` with the same words, vectors and counts."""
    models = require("gensim.models", "export")
    if not isinstance(vectors.matrix, np.ndarray):
        raise FirthianError("gensim holds no sparse vectors", hint="reduce their dimensions first, e.g. by svd")
    keyed = models.KeyedVectors(vectors.vector_size, count=0, dtype=np.float32)
    keyed.add_vectors(vectors.vocabulary.words, np.array(vectors.matrix))
    counts = vectors.vocabulary.counts
    if counts.any():
        for word, count in zip(vectors.vocabulary.words, counts.tolist(), strict=True):
            keyed.set_vecattr(word, "count", count)
    return keyed


def from_gensim(keyed: Any) -> Vectors:
    """Take the vectors of a ``KeyedVectors``, or of a model that has one as ``wv``."""
    keyed = getattr(keyed, "wv", keyed)
    words = [str(word) for word in keyed.index_to_key]
    matrix = np.array(keyed.vectors[: len(words)], dtype=np.float32)
    counts = None
    if "count" in getattr(keyed, "expandos", {}):
        counts = np.asarray(keyed.expandos["count"][: len(words)], dtype=np.int64)
    return Vectors(matrix, Vocabulary(words, counts), record={"source": {"format": NAME}})


def write(vectors: Vectors, path: Path, force: bool) -> None:
    """Save through gensim; large arrays become files beside the first, and all appear together at the end."""
    check_target(path, force)
    keyed = to_gensim(vectors)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.new-", dir=path.absolute().parent) as folder:
            keyed.save(str(Path(folder) / path.name))
            for file in sorted(Path(folder).iterdir(), reverse=True):
                shutil.move(file, path.with_name(file.name))
    except OSError as error:
        raise from_os_error(error) from error


FORMAT = Format(NAME, "gensim KeyedVectors (written only)", (".kv", ".model"), None, write)
