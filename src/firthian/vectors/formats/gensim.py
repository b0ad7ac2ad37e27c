"""gensim's KeyedVectors: converted in memory both ways; files are written by gensim, never read: they are pickles."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from firthian.disk.atomic import check_target, replace
from firthian.errors import FirthianError, from_os_error, require
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.formats.base import Format
from firthian.vectors.provenance import Provenance
from firthian.vectors.uncertainty import has_uncertainty, uncertainties, variances
from firthian.vectors.vectors import Vectors

NAME = "gensim"

#: The attribute of gensim, and our extra array, with the variances of each word.
VARIANCES = "variances"


def to_gensim(vectors: Vectors) -> Any:
    """Return a ``gensim.models.KeyedVectors`` with the same words, vectors and counts.

    Vectors with uncertainty get attributes for ``get_vecattr``: ``trace``, ``log_determinant``, ``effective_dimensions``,
    ``relative`` (see ``WordUncertainty``) and ``variances``, one number per dimension.
    """
    models = require("gensim.models", "export")
    if not isinstance(vectors.matrix, np.ndarray):
        raise FirthianError("gensim cannot hold sparse vectors", hint="reduce their dimensions by svd first")
    keyed = models.KeyedVectors(vectors.vector_size, count=0, dtype=np.float32)
    keyed.add_vectors(vectors.vocabulary.words, np.array(vectors.matrix))
    counts = vectors.vocabulary.counts
    if counts.any():
        for word, count in zip(vectors.vocabulary.words, counts.tolist(), strict=True):
            keyed.set_vecattr(word, "count", count)
    if has_uncertainty(vectors):
        attributes = {**uncertainties(vectors), VARIANCES: variances(vectors, slice(None))}
        # An attribute of several numbers per word needs a subarray type, which only the allocation accepts.
        types = [np.dtype((np.float32, values.shape[1:])) for values in attributes.values()]
        keyed.allocate_vecattrs(list(attributes), types)
        for name, values in attributes.items():
            keyed.expandos[name][: len(vectors)] = values
    return keyed


def from_gensim(keyed: Any) -> Vectors:
    """Return the vectors of a ``KeyedVectors``, or of a model with one as ``wv``, with their variances if present."""
    keyed = getattr(keyed, "wv", keyed)
    words = [str(word) for word in keyed.index_to_key]
    matrix = np.array(keyed.vectors[: len(words)], dtype=np.float32)
    attributes = getattr(keyed, "expandos", {})
    counts, extras = None, {}
    if "count" in attributes:
        counts = np.asarray(attributes["count"][: len(words)], dtype=np.int64)
    if np.shape(attributes.get(VARIANCES, ())) == keyed.vectors.shape:
        extras[VARIANCES] = np.array(attributes[VARIANCES][: len(words)], dtype=np.float32)
    return Vectors(matrix, Vocabulary(words, counts), extras=extras, provenance=Provenance(source={"format": NAME}))


def write(vectors: Vectors, path: Path, force: bool) -> None:
    """Save by gensim; large arrays get files beside the first, and all appear when they are complete."""
    check_target(path, force)
    keyed = to_gensim(vectors)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.new-", dir=path.absolute().parent) as folder:
            keyed.save(str(Path(folder) / path.name))
            # A file of a large array may belong to another model: all are checked before any is replaced.
            files = sorted(Path(folder).iterdir(), reverse=True)
            for file in files:
                check_target(path.with_name(file.name), force)
            for file in files:
                replace(file, path.with_name(file.name), force)
    except OSError as error:
        raise from_os_error(error) from error


FORMAT = Format(NAME, "gensim KeyedVectors (written only)", (".kv", ".model"), None, write)
