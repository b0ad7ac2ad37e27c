"""Open corpus files, plain or compressed, as streams of bytes with errors that name the file."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from firthian.errors import FirthianError, from_os_error, require

#: How much of a file is read at a time.
CHUNK_BYTES = 1 << 20

STDIN = "-"

_COMPRESSED_SUFFIXES = {".gz", ".bz2", ".xz", ".lzma", ".zst"}


def find_files(paths: list[str]) -> list[str]:
    """List the files behind paths; a folder gives all its files that are not hidden, in order of their names."""
    files: list[str] = []
    for path in paths:
        if path == STDIN:
            files.append(path)
        elif os.path.isdir(path):
            found = [
                item
                for item in Path(path).rglob("*")
                if item.is_file() and not any(part.startswith(".") for part in item.relative_to(path).parts)
            ]
            if not found:
                raise FirthianError(f"{path} holds no files", hint="give a folder with text files")
            files.extend(str(item) for item in sorted(found, key=lambda item: item.as_posix()))
        elif os.path.exists(path):
            files.append(path)
        else:
            raise FirthianError(f"{path} does not exist", hint="check the path")
    if files.count(STDIN) > 1:
        raise FirthianError("standard input is named twice", hint="give - once")
    return files


def plain_suffix(path: str) -> str:
    """Give a file's suffix without that of its compression.

    >>> plain_suffix("reviews.tsv.xz"), plain_suffix("notes.txt")
    ('.tsv', '.txt')
    """
    name = Path(path)
    return Path(name.stem).suffix.lower() if name.suffix.lower() in _COMPRESSED_SUFFIXES else name.suffix.lower()


def _decompressed(file: io.BufferedReader[Any]) -> BinaryIO:
    """Look at the first bytes; they say how a file is compressed, whatever its name."""
    head = file.peek(8)[:8]
    if head.startswith(b"\x1f\x8b"):
        return cast(BinaryIO, gzip.GzipFile(fileobj=file))
    if head.startswith(b"BZh"):
        return cast(BinaryIO, bz2.BZ2File(file))
    if head.startswith(b"\xfd7zXZ\x00") or head.startswith(b"\x5d\x00\x00"):
        return cast(BinaryIO, lzma.LZMAFile(file))
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        zstandard = require("zstandard", "zstd")
        reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        return cast(BinaryIO, io.BufferedReader(reader, CHUNK_BYTES))
    return file


@contextmanager
def open_bytes(path: str) -> Iterator[BinaryIO]:
    """Open a file for reading, decompressed; its beginning says how it is compressed, not its name."""
    try:
        if path == STDIN:
            raw = io.BufferedReader(cast(io.RawIOBase, sys.stdin.buffer), CHUNK_BYTES)
            yield _decompressed(raw)
            raw.detach()
        else:
            with open(path, "rb", buffering=CHUNK_BYTES) as file:
                yield _decompressed(cast("io.BufferedReader[Any]", file))
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise FirthianError(
            f"{path} is truncated or damaged ({error or type(error).__name__})",
            hint="fetch or compress it again",
        ) from error
    except OSError as error:
        if error.errno is None:
            raise FirthianError(f"{path} is damaged ({error})", hint="fetch or compress it again") from error
        error.filename = error.filename or path
        raise from_os_error(error) from error
    except Exception as error:
        if type(error).__module__.startswith("zstandard") or type(error).__name__ == "ZstdError":
            raise FirthianError(
                f"{path} is truncated or damaged ({error})", hint="fetch or compress it again"
            ) from error
        raise


def chunks(path: str) -> Iterator[bytes]:
    """Read a file piece by piece, without a byte order mark; binary data are refused."""
    with open_bytes(path) as file:
        first = True
        while data := file.read(CHUNK_BYTES):
            if first:
                first = False
                if b"\0" in data[:8192]:
                    raise FirthianError(
                        f"{path} is not text (it holds NUL bytes)",
                        hint="convert it to UTF-8 text first, e.g. with iconv",
                    )
                data = data.removeprefix(b"\xef\xbb\xbf")
            yield data


def expansion(path: str) -> float:
    """Tell how many bytes of text a byte of a file holds, judged from its beginning; 1 for plain files."""
    with open(path, "rb") as file:
        stream = _decompressed(file)
        if stream is file:
            return 1.0
        try:
            read = len(stream.read(4 * CHUNK_BYTES))
        except (EOFError, OSError, zlib.error, lzma.LZMAError):
            return 1.0
        return read / max(1, file.tell())
