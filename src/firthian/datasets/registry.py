"""Where data sets are. Nothing of them is part of the project."""

from __future__ import annotations

import os
from pathlib import Path

from firthian.errors import FirthianError


def data_folder() -> Path | None:
    """Give the folder of local data: ``$FIRTHIAN_DATA``, else ``../shared/data`` when it is there."""
    named = os.environ.get("FIRTHIAN_DATA")
    if named:
        return Path(named)
    beside = Path("../shared/data")
    return beside if beside.is_dir() else None


def locate(name: str) -> Path:
    """Give the file of a data set, fetched when it must be."""
    folder = data_folder()
    for kind in ("eval/similarity", "eval/analogy"):
        if folder is not None and (folder / kind / f"{name}.txt").is_file():
            return folder / kind / f"{name}.txt"
    raise FirthianError(f"the data set {name} is not here", hint="set FIRTHIAN_DATA, or run: firth datasets fetch")
