"""Vectors on disk: a folder with ``vectors.json``, ``vectors.safetensors`` and ``words.txt``.

The manifest has checksums of everything. Opening checks the manifest, the words and all sizes, and memory-maps the arrays;
their bytes are checked only on request, so that a large folder opens instantly.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from firthian.arrays import Array
from firthian.disk.artifact import ArtifactKind
from firthian.disk.atomic import new_folder
from firthian.disk.tensors import damage, rows_fit
from firthian.errors import FirthianError
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.codes import Codes
from firthian.vectors.provenance import Provenance, check_state
from firthian.vectors.subwords import Subwords

if TYPE_CHECKING:
    from firthian.vectors.vectors import Vectors

VECTORS = ArtifactKind("vectors", "vectors.json")

_EXTRA = "extras."
_SUBWORDS = "subwords."

#: More columns than any vocabulary has contexts; a query of sparse vectors takes a number for each.
_MOST_COLUMNS = 2**25


def save_vectors(target: str | os.PathLike[str], vectors: Vectors, force: bool = False) -> None:
    """Write vectors as a folder, which appears only when it is complete."""
    with new_folder(target, force) as folder:
        write_vectors(vectors, folder)


def write_vectors(vectors: Vectors, folder: Path) -> None:
    """Write vectors into an empty folder."""
    vocabulary = vectors.vocabulary
    tensors: dict[str, Array] = {"word_counts": vocabulary.counts}
    shapes = {"matrix": _put(tensors, "matrix", vectors.stored)}
    if vectors.contexts is not None:
        shapes["contexts"] = _put(tensors, "contexts", vectors.contexts)
    for name, array in vectors.extras.items():
        tensors[_EXTRA + name] = np.asarray(array)
    body = {"shapes": shapes, "words": vocabulary.save(folder), "provenance": vectors.provenance.to_dict()}
    body["state"] = vectors.state
    if vectors.subwords is not None:
        body["subwords"] = vectors.subwords.record()
        for name, array in vectors.subwords.arrays().items():
            if isinstance(array, Codes):
                shapes[_SUBWORDS + name] = _put(tensors, _SUBWORDS + name, array)
            else:
                tensors[_SUBWORDS + name] = array
    VECTORS.write(folder, body, tensors)


def load_vectors(source: str | os.PathLike[str], verify: bool = False) -> dict[str, Any]:
    """Open a folder; return the arguments of ``Vectors``."""
    folder = Path(source)
    artifact = VECTORS.read(folder, verify)
    manifest, tensors = artifact.record, artifact.arrays
    damaged = damage(folder / VECTORS.manifest)
    try:
        vocabulary = Vocabulary.load(folder, manifest["words"], tensors.pop("word_counts"))
        whole = {name: _take(tensors, name, shape, damaged) for name, shape in manifest["shapes"].items()}
        provenance = Provenance.from_dict(manifest["provenance"])
        state = check_state(manifest["state"])
        subwords = None
        if "subwords" in manifest:
            parts: dict[str, Any] = {}
            for found in (tensors, whole):
                named = [name for name in found if name.startswith(_SUBWORDS)]
                parts |= {name.removeprefix(_SUBWORDS): found.pop(name) for name in named}
            subwords = Subwords.from_record(manifest["subwords"], parts, whole["matrix"].shape[1])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise damaged from error
    if "matrix" not in whole or not all(name.startswith(_EXTRA) for name in tensors):
        raise damaged
    return {
        "matrix": whole["matrix"], "contexts": whole.get("contexts"), "vocabulary": vocabulary, "state": state,
        "extras": {name.removeprefix(_EXTRA): array for name, array in tensors.items()}, "provenance": provenance,
        "subwords": subwords,
    }  # fmt: skip


def _put(tensors: dict[str, Array], name: str, matrix: Any) -> dict[str, Any]:
    """Add a matrix to the arrays to write, a sparse one as its three parts; return its shape and layout."""
    layout = {"shape": [int(size) for size in matrix.shape]}
    if isinstance(matrix, np.ndarray):
        tensors[name] = matrix
        return {**layout, "layout": "dense"}
    if isinstance(matrix, Codes):
        tensors |= {f"{name}.{part}": array for part, array in matrix.arrays().items()}
        return {**layout, "layout": "codes", "scale": matrix.scale}
    tensors |= {f"{name}.indptr": matrix.indptr, f"{name}.indices": matrix.indices, f"{name}.values": matrix.data}
    return {**layout, "layout": "rows"}


def _take(tensors: dict[str, Array], name: str, entry: dict[str, Any], damaged: FirthianError) -> Any:
    """Rebuild a matrix; raise if the parts of a sparse one do not fit each other."""
    rows, columns = entry["shape"]
    if entry["layout"] == "dense":
        matrix = tensors.pop(name)
        if matrix.shape != (rows, columns):
            raise damaged
        return matrix
    if entry["layout"] == "codes":
        parts = [part for part in tensors if part.startswith(f"{name}.")]
        arrays = {part.removeprefix(f"{name}."): tensors.pop(part) for part in parts}
        return Codes.from_arrays(arrays, entry["scale"], (rows, columns))
    import scipy.sparse

    indptr, indices, values = (tensors.pop(f"{name}.{part}") for part in ("indptr", "indices", "values"))
    if values.shape != indices.shape or columns > _MOST_COLUMNS or not rows_fit(indptr, indices, rows, columns):
        raise damaged
    return scipy.sparse.csr_array((values, indices, indptr), shape=(rows, columns))
