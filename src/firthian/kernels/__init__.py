"""Numba kernels: arrays in, arrays out; no classes, no files, no Python objects.

Each kernel has a slow, obvious numpy twin in ``tests/reference``.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path


def _ensure_cache() -> None:
    """Set a cache folder for numba, which refuses to load without one, as on a read-only disk without a home."""
    if os.environ.get("NUMBA_CACHE_DIR") or _is_writable(Path(__file__).parent / "__pycache__"):
        return
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if _is_writable(Path(home) / "numba"):
        return
    folder = tempfile.mkdtemp(prefix="firthian-compiled-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = folder
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = folder


def _is_writable(folder: Path) -> bool:
    """Return whether a folder can be written to, or made."""
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    return os.access(folder, os.W_OK | os.X_OK)


_ensure_cache()
