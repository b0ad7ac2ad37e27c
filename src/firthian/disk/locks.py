"""Locks of targets: one writer at a time, on POSIX systems and on Windows, released by the system when a process ends."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from firthian.errors import FirthianError, os_errors

#: Seconds between two attempts where a system cannot wait for a lock itself.
_PAUSE = 0.05

#: A link under the name of a lock would let others choose the file that is written to.
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)

#: The byte that Windows locks: far beyond the owner's number, since locked bytes cannot be read there.
_BYTE = 1 << 30


def check_name(path: Path) -> None:
    """Raise if a path has no name of its own, such as / or .., or one that no system can have."""
    if path.name in ("", "..") or "\0" in str(path):
        raise FirthianError(f"{path} cannot be an output", hint="name a new file or folder")


@contextmanager
def locked(target: Path, wait: bool = False, kind: str = "") -> Iterator[None]:
    """Hold the lock of a target; if another process has it, raise or wait. Each ``kind`` of lock is independent.

    It is a file beside the target; the system releases it when its process ends.
    """
    check_name(target)
    path = target.absolute().with_name(f".{target.name}{kind}.lock")
    with os_errors():
        handle = _lock(path, target, wait)
    if handle is None:
        yield
        return
    try:
        yield
    finally:
        # Removed while it is still locked: whoever opened it meanwhile sees that it has lost its name.
        if os.name != "nt":
            path.unlink(missing_ok=True)
        os.close(handle)
        if os.name == "nt":
            # An open file cannot be removed; if another process opened it meanwhile, that one will.
            with suppress(OSError):
                path.unlink(missing_ok=True)


def _lock(path: Path, target: Path, wait: bool) -> int | None:
    """Open and lock the file; return None if the system or the file system has no such locks."""
    take = _system_lock()
    if take is None:
        return None
    while True:
        handle = os.open(path, _FLAGS, 0o644)
        try:
            take(handle, wait)
            if _has_name(handle, path):
                os.ftruncate(handle, 0)
                # Who holds it is told to others; on a full disk it is held all the same.
                with suppress(OSError):
                    os.write(handle, f"{os.getpid()}\n".encode())
                return handle
        except BlockingIOError:
            owner = os.read(handle, 20).decode(errors="replace").strip()
            os.close(handle)
            raise FirthianError(
                f"{target} is being written by another process{f' ({owner})' if owner else ''}",
                hint="wait until it is done, or choose another name",
            ) from None
        except OSError as error:
            os.close(handle)
            if error.errno in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
                return None
            raise
        os.close(handle)


def _system_lock() -> Callable[[int, bool], None] | None:
    """Return what locks an open file, or raises ``BlockingIOError`` if another process has it; None if nothing can."""
    try:
        import fcntl
    except ImportError:
        return _windows_lock()
    return lambda handle, wait: fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def _windows_lock() -> Callable[[int, bool], None] | None:
    try:
        import msvcrt
    except ImportError:
        return None
    # The module has these names on Windows only.
    lock, now = getattr(msvcrt, "locking"), getattr(msvcrt, "LK_NBLCK")  # noqa: B009

    def take(handle: int, wait: bool) -> None:
        while True:
            os.lseek(handle, _BYTE, os.SEEK_SET)
            try:
                lock(handle, now, 1)
                break
            except OSError:
                if not wait:
                    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from None
                time.sleep(_PAUSE)
            finally:
                os.lseek(handle, 0, os.SEEK_SET)

    return take


def _has_name(handle: int, path: Path) -> bool:
    """Return whether an open file still has its name."""
    try:
        named = path.stat()
    except FileNotFoundError:
        return False
    opened = os.fstat(handle)
    return (opened.st_dev, opened.st_ino) == (named.st_dev, named.st_ino)
