"""The folder where fetched data are kept."""

from __future__ import annotations

import os
from pathlib import Path

from firthian.errors import from_os_error


def cache_folder(make: bool = False) -> Path:
    """Return the cache: ``$FIRTHIAN_CACHE``, else ``firthian`` in the user's cache folder."""
    named = os.environ.get("FIRTHIAN_CACHE")
    user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(named) if named else Path(user) / "firthian"
    if make:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise from_os_error(error) from error
    return folder
