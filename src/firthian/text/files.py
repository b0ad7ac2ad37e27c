"""The files of a corpus, local or behind URLs: find, divide into shards, and read them, with errors that name the file."""

from __future__ import annotations

import hashlib
import io
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

from firthian.disk.atomic import kind_of
from firthian.errors import FirthianError, from_os_error, os_errors, require
from firthian.text.compression import (
    CHUNK_BYTES,
    COMPRESSED_SUFFIXES,
    HEAD_BYTES,
    decompressed,
    expansion,
    is_compressed,
    is_damage,
)

STDIN = "-"

#: Maximum bytes of a line of a table: a file without line breaks would fill the memory.
LARGEST_LINE = 64 << 20

_URL = re.compile(r"[a-z][a-z0-9+.-]*(::[a-z][a-z0-9+.-]*)*://[^\s]")

#: Target size of a shard in bytes of its files. The checksum of a corpus depends on it: never change it.
SHARD_BYTES = 16 << 20


@dataclass(frozen=True)
class FileState:
    """Size and modification time of a file; copies on several machines agree only on the size."""

    size: int
    modified: int | None


@dataclass(frozen=True)
class Shard:
    """A part of a corpus that can be read alone: whole files, or the lines of one that start from ``begin`` to ``end``.

    How a corpus is divided depends only on its files. ``state`` of a divided file guards against changes to it.
    """

    files: tuple[str, ...]
    begin: int = 0
    end: int | None = None
    state: FileState | None = field(default=None, repr=False)

    @property
    def is_range(self) -> bool:
        """Whether this is a part of one file."""
        return self.begin > 0 or self.end is not None

    def without_time(self) -> Shard:
        """Return the shard for another machine, whose copy of the file may have another modification time."""
        return self if self.state is None else replace(self, state=replace(self.state, modified=None))


def find_files(paths: list[str]) -> list[str]:
    """Return the files of paths; a folder stands for all its files that are not hidden, sorted by name."""
    files: list[str] = []
    for path in paths:
        if path == STDIN:
            files.append(path)
        elif is_url(path):
            files.extend(_find_remote(path))
        elif os.path.isdir(path):
            kind = kind_of(Path(path))
            if kind is not None:
                raise FirthianError(
                    f"{path} is a folder that Firthian wrote ({kind}), not text",
                    hint="pass the corpus itself; to train on several counts, join them with firth merge",
                )
            below = sorted(_files_below(path), key=lambda item: item.as_posix())
            if not below:
                raise FirthianError(f"{path} contains no files", hint="pass a folder with text files")
            files.extend(map(str, below))
        elif os.path.exists(path):
            files.append(path)
        else:
            raise FirthianError(f"{path} does not exist", hint="check the path")
    if files.count(STDIN) > 1:
        raise FirthianError("standard input is named twice", hint="pass - once")
    return files


def _files_below(path: str) -> Iterator[Path]:
    """Yield the files of a folder and its subfolders, linked ones too, each once; raise if one cannot be read."""

    def refuse(error: OSError) -> None:
        raise from_os_error(error) from error

    seen: set[str] = set()
    for folder, folders, names in os.walk(path, onerror=refuse, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:
            # A link to a parent folder, or a second link to the same folder.
            folders.clear()
            continue
        seen.add(real)
        # Sorted, so that of two paths to a folder the same one is always used.
        folders[:] = sorted(name for name in folders if not _is_not_text(name))
        for name in names:
            item = Path(folder, name)
            if _is_not_text(name):
                continue
            if not item.is_file():
                what = "is neither a file nor a folder" if item.exists() else "is a broken link"
                raise FirthianError(f"{item} {what}", hint="remove it from the corpus, or name the files to read")
            yield item


def _is_not_text(name: str) -> bool:
    """Return whether a file is hidden, or belongs to an unfinished run of ours."""
    return name.startswith(".") or name.endswith(".partial")


def can_be_read_again(path: str) -> bool:
    """Return whether a path is a file, not standard input or a pipe."""
    return path != STDIN and (is_url(path) or os.path.isfile(path))


@contextmanager
def open_bytes(path: str) -> Iterator[BinaryIO]:
    """Open a file for reading, decompressed according to its first bytes, whatever its name."""
    try:
        if path == STDIN:
            raw = io.BufferedReader(cast(io.RawIOBase, sys.stdin.buffer), CHUNK_BYTES)
            yield decompressed(raw)
            raw.detach()
        elif is_url(path):
            with _open_remote(path) as remote:
                yield decompressed(remote)
        else:
            with open(path, "rb", buffering=CHUNK_BYTES) as file:
                before = os.fstat(file.fileno())
                yield decompressed(cast("io.BufferedReader[Any]", file))
                if stat.S_ISREG(before.st_mode):
                    _check_unchanged(path, _state(before), _state(os.fstat(file.fileno())))
    except Exception as error:
        if is_damage(error):
            raise FirthianError(
                f"{path} is truncated or damaged ({error or type(error).__name__})",
                hint="download or compress it again",
            ) from error
        if isinstance(error, OSError):
            error.filename = error.filename or path
            raise from_os_error(error) from error
        raise


@contextmanager
def open_random(path: str) -> Iterator[BinaryIO]:
    """Open a file for reading at any place, as it is; raise if it cannot be, or if it changes meanwhile."""
    if path == STDIN or not (is_url(path) or os.path.isfile(path)):
        raise FirthianError(f"{path} is not a file, which this format needs", hint="save it to a file first")
    with os_errors(path), _open(path) as file:
        before = None if is_url(path) else _state(os.fstat(file.fileno()))
        yield cast(BinaryIO, file)
        if before is not None:
            _check_unchanged(path, before, _state(os.fstat(file.fileno())))


def _check_unchanged(path: str, before: FileState, after: FileState) -> None:
    """Raise if a file was written to while it was read."""
    if before.size != after.size or (None not in (before.modified, after.modified) and before != after):
        raise FirthianError(f"{path} changed while it was read", hint="run again when nothing writes to it")


def chunks(path: str, limit: int | None = None) -> Iterator[bytes]:
    """Yield a text file without its byte order mark; raise if it is binary, or exceeds ``limit`` bytes."""
    with open_bytes(path) as file:
        size = 0
        while data := file.read(CHUNK_BYTES):
            _check_text(path, data)
            if size == 0:
                data = data.removeprefix(b"\xef\xbb\xbf")
            size += max(1, len(data))
            if limit is not None and size > limit:
                raise FirthianError(f"{path} is too large", hint=f"the limit is {limit:,} bytes")
            yield data


def split_lines(path: str, limit: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield (number, line without its end) of a text file; raise if it exceeds ``limit`` bytes."""
    unfinished: list[bytes] = []
    number, waiting = 1, 0
    for data in chunks(path, limit):
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = b"".join([*unfinished, lines[0]])
            unfinished.clear()
            yield from enumerate(lines, start=number)
            number, waiting = number + len(lines), 0
        unfinished.append(rest)
        waiting += len(rest)
        if waiting > LARGEST_LINE:
            raise FirthianError(
                f"{path}, line {number} is longer than {LARGEST_LINE >> 20} MB", hint="set `format=lines`"
            )
    if any(unfinished):
        yield number, b"".join(unfinished)


def _check_text(path: str, data: bytes) -> None:
    if b"\0" in data:
        raise FirthianError(
            f"{path} is not text (it contains NUL bytes)", hint="convert it to UTF-8 text first, e.g. with iconv"
        )


def is_plain(path: str) -> bool:
    """Return whether a file is neither compressed nor starts with a byte order mark."""
    with _open(path) as file:
        return decompressed(file) is file and not file.peek(3).startswith(b"\xef\xbb\xbf")


def chunks_between(path: str, begin: int, end: int | None, state: FileState | None = None) -> Iterator[bytes]:
    """Yield the lines of a plain file that start in a range of its bytes; raise if its state has changed."""
    with os_errors(path), _open(path) as file:
        at, stop = _line_start(path, file, begin), _line_start(path, file, end) if end is not None else None
        file.seek(at)
        while data := file.read(CHUNK_BYTES if stop is None else min(CHUNK_BYTES, stop - at)):
            _check_text(path, data)
            yield data
            at += len(data)
        if state is not None and not is_url(path):
            _check_unchanged(path, state, _state(os.fstat(file.fileno())))


def _line_start(path: str, file: io.BufferedReader[Any], at: int) -> int:
    """Return the offset of the first line that starts at a byte or later."""
    if at == 0:
        return 0
    file.seek(at - 1)
    while line := file.readline(CHUNK_BYTES):
        # Or the search would go through terabytes of a file with holes.
        _check_text(path, line)
        if line.endswith(b"\n"):
            break
    return file.tell()


def lines_before(path: str, begin: int) -> int:
    """Return the number of lines of a plain file that start before a byte, for error messages."""
    lines = at = 0
    with _open(path) as file:
        stop = _line_start(path, file, begin)
        file.seek(0)
        while at < stop and (data := file.read(min(CHUNK_BYTES, stop - at))):
            lines += data.count(b"\n")
            at += len(data)
    return lines


def _open(path: str) -> io.BufferedReader[Any]:
    if is_url(path):
        return _open_remote(path)
    return cast("io.BufferedReader[Any]", open(path, "rb", buffering=CHUNK_BYTES))


def file_state(path: str) -> FileState:
    """Return the size of a file and, if it is local, its modification time."""
    return FileState(_remote_size(path), None) if is_url(path) else _state(os.stat(path))


def _state(status: os.stat_result) -> FileState:
    return FileState(status.st_size, status.st_mtime_ns)


def whole_text(path: str, limit: int) -> bytes:
    """Return the contents of a text file, decompressed; raise if they exceed ``limit`` bytes."""
    return b"".join(chunks(path, limit))


#: Number of compressed files opened to estimate the size of all others.
_SAMPLED_FILES = 4


def text_bytes(files: list[str]) -> int:
    """Estimate the bytes of text in files, for compressed ones from the beginnings of a few."""
    sizes = [file_state(file).size for file in files]
    compressed = [number for number, file in enumerate(files) if _is_compressed(file)]
    ratios = []
    for number in compressed[:_SAMPLED_FILES]:
        with _open(files[number]) as file:
            ratios.append(expansion(file))
    growth = sum(ratios) / len(ratios) if ratios else 1.0
    return round(sum(sizes) + (growth - 1) * sum(sizes[number] for number in compressed))


def _is_compressed(path: str) -> bool:
    """Return whether a file is compressed, by its first bytes, or its name if reading them takes a request."""
    if is_url(path):
        return Path(path).suffix.lower() in COMPRESSED_SUFFIXES
    with open(path, "rb", buffering=0) as file:
        return is_compressed(file.read(HEAD_BYTES))


def is_url(path: str) -> bool:
    """Return whether a string is a URL, not a path.

    >>> is_url("s3://bucket/text.txt"), is_url("texts/a.txt"), is_url("see http: //x")
    (True, False, False)
    """
    return _URL.match(path) is not None


def _find_remote(url: str) -> list[str]:
    """Return the files of a URL: itself, or all files below it that are not hidden, sorted by name."""
    system, path = _system(url)
    try:
        if not system.isdir(path):
            if not system.exists(path):
                raise FirthianError(f"{url} does not exist", hint="check the URL")
            return [url]
        below = sorted(system.find(path))
    except (OSError, ValueError) as error:
        raise _unreachable(url, error) from error
    start = len(path.rstrip("/")) + 1
    files = [file for file in below if not any(part.startswith(".") for part in file[start:].split("/"))]
    if not files:
        raise FirthianError(f"{url} contains no files", hint="pass a URL with text files")
    return [str(system.unstrip_protocol(file)) for file in files]


def _remote_size(url: str) -> int:
    system, path = _system(url)
    try:
        return int(system.size(path))
    except (OSError, ValueError, TypeError) as error:
        raise _unreachable(url, error) from error


def _open_remote(url: str) -> io.BufferedReader[Any]:
    system, path = _system(url)
    return io.BufferedReader(cast(io.RawIOBase, system.open(path, "rb")), CHUNK_BYTES)


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
        f"{url} cannot be read ({error or type(error).__name__})", hint="check the URL and your permissions"
    )


def divide_files(files: Iterable[tuple[str, int, bool]]) -> list[Shard]:
    """Divide files, given as (name, bytes, whether ranges of it can be read), into shards.

    >>> divide_files([("a", 10, True), ("b", 20, False), ("c", (16 << 20) + 1, True)])
    [Shard(files=('a', 'b'), begin=0, end=None), Shard(files=('c',), begin=0, end=16777216),
     Shard(files=('c',), begin=16777216, end=None)]
    """
    shards: list[Shard] = []
    waiting: list[str] = []
    size = 0
    for name, length, divisible in files:
        if waiting and size + length > SHARD_BYTES:
            shards.append(Shard(tuple(waiting)))
            waiting, size = [], 0
        if divisible and length > SHARD_BYTES:
            bounds = list(range(0, length, SHARD_BYTES))
            shards += [Shard((name,), a, b) for a, b in zip(bounds, [*bounds[1:], None], strict=True)]
        else:
            waiting.append(name)
            size += length
    return [*shards, Shard(tuple(waiting))] if waiting else shards


def corpus_checksum(shards: Sequence[bytes]) -> str:
    """Return the checksum of a corpus from the SHA-256 of each shard; a single shard's is its own."""
    return (shards[0] if len(shards) == 1 else hashlib.sha256(b"".join(shards)).digest()).hex()
