"""The data folder of a developer's machine, for tests, benchmarks and studies; the package itself never guesses one."""

from __future__ import annotations

import os
from pathlib import Path


def use_local_data() -> None:
    """Set ``$FIRTHIAN_DATA`` to ``../shared/data`` beside the repository, if that exists and the variable is unset."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if folder.is_dir():
        os.environ.setdefault("FIRTHIAN_DATA", str(folder))
