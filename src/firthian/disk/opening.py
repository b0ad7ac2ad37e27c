"""Opening files of folders that anyone may have written: regular files only, and no larger than they can be.

A named pipe would block for ever, and a device has no end. Links to regular files are followed: data managers make them.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import tokenize
from pathlib import Path
from typing import Any

from firthian.errors import FirthianError

#: The maximum bytes of a file of JSON: a stream's words are the most.
LARGEST_JSON = 1 << 29

#: Opening a pipe must not wait for its other end. Windows has no such flags, and needs one for bytes as they are.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def open_regular(path: Path, limit: int | None = None) -> io.BufferedReader:
    """Open a regular file to read bytes; raise if it is anything else, or larger than ``limit``.

    >>> open_regular(Path("/dev/null"))
    Traceback (most recent call last):
    ...
    firthian.errors.FirthianError: /dev/null is not a regular file: choose a file
    """
    handle = os.open(path, _FLAGS)
    status = os.fstat(handle)
    if stat.S_ISREG(status.st_mode) and (limit is None or status.st_size <= limit):
        return os.fdopen(handle, "rb")
    os.close(handle)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise FirthianError(f"{path} is not a regular file", hint="choose a file")
    raise FirthianError(f"{path} has {status.st_size:,} bytes, at most {limit:,} are expected", hint="make it again")


def read_regular(path: Path, limit: int = LARGEST_JSON) -> bytes:
    """Return the content of a regular file of at most ``limit`` bytes; errors of the system stay what they are."""
    with open_regular(path, limit) as file:
        return file.read()


def map_npy(path: Path) -> Any:
    """Map an array that numpy wrote, without its pickles; return None if the file is not one."""
    import numpy as np

    open_regular(path).close()
    try:
        # Mapped: the length of the file is checked against its header before memory is allocated.
        return np.lib.format.open_memmap(path, mode="r")
    except (ValueError, EOFError, SyntaxError, tokenize.TokenError, RecursionError, MemoryError, OverflowError):
        return None
