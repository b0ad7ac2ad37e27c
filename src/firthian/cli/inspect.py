"""Say what an artifact on disk is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from firthian.disk.artifact import kind_of
from firthian.errors import FirthianError


def describe(path: Path) -> dict[str, Any]:
    """Return the kind, shape and provenance of counts or vectors."""
    from firthian.counts.counts import Counts

    if not path.exists():
        raise FirthianError(f"{path} does not exist", hint="check the path")
    if (path / "counts.json").is_file():
        counts = Counts.load(path)
        return {
            "kind": "counts",
            "shape": list(counts.shape),
            "pairs": counts.pairs,
            "total": counts.total,
            "bytes": _size(path),
            "options": counts.options.as_dict(),
            "provenance": counts.record,
        }
    return _describe_vectors(path)


def _describe_vectors(path: Path) -> dict[str, Any]:
    """Return the facts of vectors, a folder or a file in any format."""
    from firthian.vectors.formats import read_vectors, sniff

    kind = kind_of(path)
    # What was written for other tools may still be vectors.
    if kind not in (None, "vectors", "export"):
        raise FirthianError(
            f"{path} is neither counts nor vectors, but {kind}",
            hint="give a folder of counts, or vectors in any format",
        )
    format = sniff(path)
    vectors = read_vectors(path, format.name)
    return {
        "kind": "vectors",
        "shape": [len(vectors), vectors.vector_size],
        "format": format.name,
        "layout": "dense" if isinstance(vectors.matrix, np.ndarray) else "sparse",
        "contexts": vectors.contexts is not None,
        "extras": {name: list(array.shape) for name, array in vectors.extras.items()},
        "bytes": _size(path),
        "provenance": vectors.provenance.to_dict(),
    }


def _size(path: Path) -> int:
    """Add up the bytes of a file, or of all files below a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(item.stat().st_size for item in files if item.is_file())
