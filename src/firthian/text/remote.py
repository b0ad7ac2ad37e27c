"""Files behind URLs (s3://, gs://, hdfs://, file://, ...), by fsspec."""

from __future__ import annotations

import io
import re
from typing import Any, cast

from firthian.errors import FirthianError, require

_URL = re.compile(r"[a-z][a-z0-9+.-]*(::[a-z][a-z0-9+.-]*)*://[^\s]")


def is_url(path: str) -> bool:
    """Tell a URL from a path.

    >>> is_url("s3://bucket/text.txt"), is_url("texts/a.txt"), is_url("see http: //x")
    (True, False, False)
    """
    return _URL.match(path) is not None


def find_remote(url: str) -> list[str]:
    """List the files behind a URL: itself, or all files below it that are not hidden, in order of their names."""
    system, path = _system(url)
    try:
        if not system.isdir(path):
            if not system.exists(path):
                raise FirthianError(f"{url} does not exist", hint="check the URL")
            return [url]
        found = sorted(system.find(path))
    except (OSError, ValueError) as error:
        raise _unreachable(url, error) from error
    start = len(path.rstrip("/")) + 1
    files = [file for file in found if not any(part.startswith(".") for part in file[start:].split("/"))]
    if not files:
        raise FirthianError(f"{url} holds no files", hint="give a place with text files")
    return [str(system.unstrip_protocol(file)) for file in files]


def remote_size(url: str) -> int:
    """Return the bytes of a file."""
    system, path = _system(url)
    try:
        return int(system.size(path))
    except (OSError, ValueError, TypeError) as error:
        raise _unreachable(url, error) from error


def open_remote(url: str, buffering: int) -> io.BufferedReader[Any]:
    """Open a file for reading."""
    system, path = _system(url)
    return io.BufferedReader(cast(io.RawIOBase, system.open(path, "rb")), buffering)


def _system(url: str) -> tuple[Any, str]:
    fsspec = require("fsspec", "cluster")
    try:
        system, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        raise FirthianError(f"{url} needs another package", hint=str(error)) from None
    except ValueError as error:
        raise FirthianError(f"{url} cannot be read ({error})", hint="check the URL") from None
    return system, path


def _unreachable(url: str, error: Exception) -> FirthianError:
    return FirthianError(
        f"{url} cannot be read ({error or type(error).__name__})", hint="check the URL and your rights"
    )
