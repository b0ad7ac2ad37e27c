"""Compressed files as streams of bytes, with bounded memory and errors that name the file."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, cast

from firthian.errors import require

#: How much of a file is read at a time.
CHUNK_BYTES = 1 << 20

#: Suffixes of compressed files.
COMPRESSED_SUFFIXES = {".gz", ".bz2", ".xz", ".lzma", ".zst"}

#: Memory limit of a decompressor: twice the largest window or dictionary of the usual levels of xz and zstd.
_DECOMPRESSOR_BYTES = 256 << 20


def plain_suffix(path: str) -> str:
    """Return a file's suffix without that of its compression.

    >>> plain_suffix("reviews.tsv.xz"), plain_suffix("notes.txt")
    ('.tsv', '.txt')
    """
    name = Path(path)
    return Path(name.stem).suffix.lower() if name.suffix.lower() in COMPRESSED_SUFFIXES else name.suffix.lower()


class _Frames(io.RawIOBase):
    """Consecutive frames, each read by a new decompressor with bounded output.

    Unlike the libraries' own readers, this detects truncated files, and no file can request more memory than the limit.
    """

    #: Bytes of the file passed to a decompressor at a time.
    step = CHUNK_BYTES // 8

    def __init__(self, file: io.BufferedReader[Any]) -> None:
        self._file = file
        self._frame: Any = None
        self._unread = b""
        self._text = b""

    def readable(self) -> bool:
        return True

    def _new_frame(self) -> Any:
        raise NotImplementedError

    def _decompress(self, data: bytes) -> bytes:
        """Pass data to the decompressor, return its output, and save the input it has not consumed."""
        raise NotImplementedError

    def readinto(self, buffer: Any) -> int:
        while not self._text:
            data = self._unread or self._file.read(self.step)
            if not data and self._frame is None:
                return 0
            self._frame = self._frame or self._new_frame()
            self._text = self._decompress(data)
            if self._frame.eof:
                self._frame = None
            elif not data and not self._text:
                raise EOFError("it ends inside a frame")
        size = min(len(buffer), len(self._text))
        buffer[:size], self._text = self._text[:size], self._text[size:]
        return size


class _Zstandard(_Frames):
    """Zstandard reads little at a time, because it returns all output at once: one byte may become thirty thousand."""

    step = 512

    def __init__(self, file: io.BufferedReader[Any]) -> None:
        super().__init__(file)
        self._library = require("zstandard", "zstd").ZstdDecompressor(max_window_size=_DECOMPRESSOR_BYTES // 2)

    def _new_frame(self) -> Any:
        return self._library.decompressobj()

    def _decompress(self, data: bytes) -> bytes:
        text: bytes = self._frame.decompress(data)
        self._unread = self._frame.unused_data
        return text


class _LZMA(_Frames):
    """xz and its predecessor; a header that requests gigabytes is an error."""

    def _new_frame(self) -> Any:
        return lzma.LZMADecompressor(memlimit=_DECOMPRESSOR_BYTES)

    def _decompress(self, data: bytes) -> bytes:
        text: bytes = self._frame.decompress(data, CHUNK_BYTES)
        # Files may be padded with zeros between frames and at the end.
        self._unread = self._frame.unused_data.lstrip(b"\0") if self._frame.eof else b""
        return text


#: The first bytes of compressed files, and what opens them.
_OPENERS: tuple[tuple[bytes, Callable[[io.BufferedReader[Any]], Any]], ...] = (
    (b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file)),
    (b"BZh", bz2.BZ2File),
    (b"\xfd7zXZ\x00", lambda file: io.BufferedReader(_LZMA(file), CHUNK_BYTES)),
    (b"\x5d\x00\x00", lambda file: io.BufferedReader(_LZMA(file), CHUNK_BYTES)),
    (b"\x28\xb5\x2f\xfd", lambda file: io.BufferedReader(_Zstandard(file), CHUNK_BYTES)),
)
HEAD_BYTES = 8


def is_compressed(head: bytes) -> bool:
    """Return whether the first bytes of a file are those of a compressed one."""
    return head.startswith(tuple(magic for magic, _ in _OPENERS))


def decompressed(file: io.BufferedReader[Any]) -> BinaryIO:
    """Return a file decompressed according to its first bytes, whatever its name."""
    head = file.peek(HEAD_BYTES)[:HEAD_BYTES]
    for magic, opener in _OPENERS:
        if head.startswith(magic):
            return cast(BinaryIO, opener(file))
    return file


def is_damage(error: Exception) -> bool:
    """Return whether an error of these libraries means a damaged file; errors of the system have a number."""
    if isinstance(error, OSError):
        return error.errno is None
    return isinstance(error, EOFError | zlib.error | lzma.LZMAError) or type(error).__name__ == "ZstdError"


def expansion(file: io.BufferedReader[Any]) -> float:
    """Return the ratio of text bytes to compressed bytes, estimated from the beginning of a file."""
    stream = decompressed(file)
    try:
        read = len(stream.read(4 * CHUNK_BYTES))
    except Exception as error:
        if not is_damage(error):
            raise
        # Reading the file will report the damage.
        return 1.0
    return read / max(1, file.tell())
