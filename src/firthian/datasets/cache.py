"""The folder where fetched data are kept, and locks so that two processes do not fetch the same thing."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from firthian.errors import from_os_error


def cache_folder(make: bool = False) -> Path:
    """Give the cache: ``$FIRTHIAN_CACHE``, else ``firthian`` in the user's cache folder."""
    named = os.environ.get("FIRTHIAN_CACHE")
    user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(named) if named else Path(user) / "firthian"
    if make:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise from_os_error(error) from error
    return folder


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Let one process at a time do what ``name`` stands for; the others wait.

    The lock belongs to an open file, so the system frees it even when its owner is killed.
    """
    folder = cache_folder(make=True) / "locks"
    try:
        folder.mkdir(exist_ok=True)
        file = (folder / f"{name}.lock").open("w")
    except OSError as error:
        raise from_os_error(error) from error
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
