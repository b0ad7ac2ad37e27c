"""Say what an artefact on disk is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from firthian.errors import FirthianError


def describe(path: Path) -> dict[str, Any]:
    """Give the kind, shape and provenance of counts or vectors."""
    from firthian.cooccurrence.counts import Counts

    if not path.exists():
        raise FirthianError(f"{path} does not exist", hint="check the path")
    if (path / "counts.json").is_file():
        counts = Counts.load(path)
        return {
            "kind": "counts",
            "shape": list(counts.shape),
            "pairs": counts.pairs,
            "total": counts.total,
            "bytes": sum(item.stat().st_size for item in path.iterdir()),
            "options": counts.options.as_dict(),
            "provenance": counts.record,
        }
    raise FirthianError(f"{path} is not something Firthian wrote", hint="give a folder of counts")
