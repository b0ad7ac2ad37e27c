"""One writer at a time: a lock file beside the target, which the system releases when its process ends."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from firthian.errors import FirthianError, from_os_error


@contextmanager
def locked(target: Path, wait: bool = False, kind: str = "") -> Iterator[None]:
    """Hold the lock of a target; where another process has it, say so or wait. Locks of another ``kind`` are others."""
    path = target.absolute().with_name(f".{target.name}{kind}.lock")
    try:
        held = _take(path, target, wait)
    except OSError as error:
        raise from_os_error(error) from error
    if held is None:
        yield
        return
    try:
        yield
    finally:
        # Removed while it is still held: whoever opened it meanwhile sees that it has no name any more.
        path.unlink(missing_ok=True)
        os.close(held)


def _take(path: Path, target: Path, wait: bool) -> int | None:
    """Open and lock the file; None where the system or the file system knows no such locks."""
    try:
        import fcntl
    except ImportError:
        return None
    while True:
        held = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if _is_at(held, path):
                os.ftruncate(held, 0)
                os.write(held, f"{os.getpid()}\n".encode())
                return held
        except BlockingIOError:
            owner = os.read(held, 20).decode(errors="replace").strip()
            os.close(held)
            raise FirthianError(
                f"{target} is being written by another process{f' ({owner})' if owner else ''}",
                hint="wait until it is done, or choose another name",
            ) from None
        except OSError as error:
            os.close(held)
            if error.errno in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
                return None
            raise
        os.close(held)


def _is_at(held: int, path: Path) -> bool:
    """Return whether an open file still has its name."""
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    here = os.fstat(held)
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)
