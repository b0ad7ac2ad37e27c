"""Read one member of an untrusted zip file, such as a wheel.

Nothing is extracted to a path that the archive names: a member is opened by its exact name and read as a stream.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from firthian.errors import FirthianError

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
