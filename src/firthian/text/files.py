"""Open corpus files, plain or compressed, as streams of bytes with errors that name the file."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from firthian.disk.atomic import kind_of
from firthian.errors import FirthianError, from_os_error, require
from firthian.text.remote import find_remote, is_url, open_remote, remote_size
from firthian.text.shards import FileState

#: How much of a file is read at a time.
CHUNK_BYTES = 1 << 20

STDIN = "-"

#: How the names of compressed files end.
COMPRESSED_SUFFIXES = {".gz", ".bz2", ".xz", ".lzma", ".zst"}


def find_files(paths: list[str]) -> list[str]:
    """List the files behind paths; a folder gives all its files that are not hidden, in order of their names."""
    files: list[str] = []
    for path in paths:
        if path == STDIN:
            files.append(path)
        elif is_url(path):
            files.extend(find_remote(path))
        elif os.path.isdir(path):
            kind = kind_of(Path(path))
            if kind is not None:
                raise FirthianError(
                    f"{path} is a folder that Firthian wrote ({kind}), not text",
                    hint="give the corpus; one folder of counts may be trained on, firth merge makes one of several",
                )
            found = sorted(_files_below(path), key=lambda item: item.as_posix())
            if not found:
                raise FirthianError(f"{path} holds no files", hint="give a folder with text files")
            files.extend(map(str, found))
        elif os.path.exists(path):
            files.append(path)
        else:
            raise FirthianError(f"{path} does not exist", hint="check the path")
    if files.count(STDIN) > 1:
        raise FirthianError("standard input is named twice", hint="give - once")
    return files


def _files_below(path: str) -> Iterator[Path]:
    """Find the files of a folder and of all folders in it, linked ones too, each once.

    One that may not be read is an error, not left out.
    """

    def refuse(error: OSError) -> None:
        raise from_os_error(error) from error

    seen: set[str] = set()
    for folder, folders, names in os.walk(path, onerror=refuse, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:
            # A link to a folder above, or a second one to the same.
            folders.clear()
            continue
        seen.add(real)
        # In order, so that of two ways to a folder it is always the same one that is taken.
        folders[:] = sorted(name for name in folders if not _is_not_text(name))
        for name in names:
            item = Path(folder, name)
            if not _is_not_text(name) and item.is_file():
                yield item


def _is_not_text(name: str) -> bool:
    """Hidden files, and our own unfinished runs, are no part of a corpus."""
    return name.startswith(".") or name.endswith(".partial")


def can_be_read_again(path: str) -> bool:
    """Tell files from standard input, pipes and the like."""
    return path != STDIN and (is_url(path) or os.path.isfile(path))


def plain_suffix(path: str) -> str:
    """Return a file's suffix without that of its compression.

    >>> plain_suffix("reviews.tsv.xz"), plain_suffix("notes.txt")
    ('.tsv', '.txt')
    """
    name = Path(path)
    return Path(name.stem).suffix.lower() if name.suffix.lower() in COMPRESSED_SUFFIXES else name.suffix.lower()


#: What a decompressor may hold: the largest window and dictionary that the usual levels of xz and zstd write are half of it.
_DECOMPRESSOR_BYTES = 256 << 20


class _Frames(io.RawIOBase):
    """Frames one after another, each by a decompressor of its own that gives at most so much at a time.

    Unlike the libraries' own readers this notices a file that was cut off, and no file can ask for more memory than we grant.
    """

    #: How many bytes of the file a frame is given at a time.
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

    def _more(self, data: bytes) -> bytes:
        """Hand data to the frame; give what comes out, and keep what the frame has not taken."""
        raise NotImplementedError

    def readinto(self, buffer: Any) -> int:
        while not self._text:
            data = self._unread or self._file.read(self.step)
            if not data and self._frame is None:
                return 0
            self._frame = self._frame or self._new_frame()
            self._text = self._more(data)
            if self._frame.eof:
                self._frame = None
            elif not data and not self._text:
                raise EOFError("it ends inside a frame")
        size = min(len(buffer), len(self._text))
        buffer[:size], self._text = self._text[:size], self._text[size:]
        return size


class _Zstandard(_Frames):
    """Zstandard takes a little at a time, because what it takes it gives back whole: one byte may become thirty thousand."""

    step = 512

    def __init__(self, file: io.BufferedReader[Any]) -> None:
        super().__init__(file)
        self._library = require("zstandard", "zstd").ZstdDecompressor(max_window_size=_DECOMPRESSOR_BYTES // 2)

    def _new_frame(self) -> Any:
        return self._library.decompressobj()

    def _more(self, data: bytes) -> bytes:
        text: bytes = self._frame.decompress(data)
        self._unread = self._frame.unused_data
        return text


class _LZMA(_Frames):
    """xz and its forerunner; a header that asks for gigabytes is refused."""

    def _new_frame(self) -> Any:
        return lzma.LZMADecompressor(memlimit=_DECOMPRESSOR_BYTES)

    def _more(self, data: bytes) -> bytes:
        text: bytes = self._frame.decompress(data, CHUNK_BYTES)
        if self._frame.eof:
            # Zeros may fill a file up between frames and at its end.
            self._unread = self._frame.unused_data.lstrip(b"\0")
        else:
            self._unread = b""
        return text


#: The first bytes of compressed files, and what opens them.
_COMPRESSED: tuple[tuple[bytes, Callable[[io.BufferedReader[Any]], Any]], ...] = (
    (b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file)),
    (b"BZh", bz2.BZ2File),
    (b"\xfd7zXZ\x00", lambda file: io.BufferedReader(_LZMA(file), CHUNK_BYTES)),
    (b"\x5d\x00\x00", lambda file: io.BufferedReader(_LZMA(file), CHUNK_BYTES)),
    (b"\x28\xb5\x2f\xfd", lambda file: io.BufferedReader(_Zstandard(file), CHUNK_BYTES)),
)
_HEAD_BYTES = 8


def _decompressed(file: io.BufferedReader[Any]) -> BinaryIO:
    """Look at the first bytes; they say how a file is compressed, whatever its name."""
    head = file.peek(_HEAD_BYTES)[:_HEAD_BYTES]
    for magic, opened in _COMPRESSED:
        if head.startswith(magic):
            return cast(BinaryIO, opened(file))
    return file


@contextmanager
def open_bytes(path: str) -> Iterator[BinaryIO]:
    """Open a file for reading, decompressed; its beginning says how it is compressed, not its name."""
    try:
        if path == STDIN:
            raw = io.BufferedReader(cast(io.RawIOBase, sys.stdin.buffer), CHUNK_BYTES)
            yield _decompressed(raw)
            raw.detach()
        elif is_url(path):
            with open_remote(path, CHUNK_BYTES) as remote:
                yield _decompressed(remote)
        else:
            with open(path, "rb", buffering=CHUNK_BYTES) as file:
                before = os.fstat(file.fileno())
                yield _decompressed(cast("io.BufferedReader[Any]", file))
                if stat.S_ISREG(before.st_mode):
                    _check_unchanged(path, _state(before), _state(os.fstat(file.fileno())))
    except Exception as error:
        if _is_damage(error):
            raise FirthianError(
                f"{path} is truncated or damaged ({error or type(error).__name__})",
                hint="fetch or compress it again",
            ) from error
        if isinstance(error, OSError):
            error.filename = error.filename or path
            raise from_os_error(error) from error
        raise


def _is_damage(error: Exception) -> bool:
    """Tell what the libraries say of damaged files from trouble with the system, which has a number."""
    if isinstance(error, OSError):
        return error.errno is None
    return isinstance(error, EOFError | zlib.error | lzma.LZMAError) or type(error).__name__ == "ZstdError"


def _check_unchanged(path: str, before: FileState, after: FileState) -> None:
    """Say so when a file was written to while it was read: half of it would be of another text."""
    if before.size != after.size or (None not in (before.modified, after.modified) and before != after):
        raise FirthianError(f"{path} changed while it was read", hint="run again when nothing writes to it any more")


def chunks(path: str) -> Iterator[bytes]:
    """Read a file piece by piece, without a byte order mark; binary data are refused."""
    with open_bytes(path) as file:
        first = True
        while data := file.read(CHUNK_BYTES):
            _check_text(path, data)
            if first:
                first = False
                data = data.removeprefix(b"\xef\xbb\xbf")
            yield data


def _check_text(path: str, data: bytes) -> None:
    if b"\0" in data:
        raise FirthianError(
            f"{path} is not text (it holds NUL bytes)", hint="convert it to UTF-8 text first, e.g. with iconv"
        )


def is_plain(path: str) -> bool:
    """Return whether a file's bytes are its text: it is not compressed, and has no byte order mark."""
    with _open(path) as file:
        return _decompressed(file) is file and not file.peek(3).startswith(b"\xef\xbb\xbf")


def chunks_between(path: str, begin: int, end: int | None, state: FileState | None = None) -> Iterator[bytes]:
    """Read those lines of a plain file that begin in a range of its bytes, piece by piece; it must be as ``state`` says."""
    try:
        with _open(path) as file:
            at, stop = _line_start(file, begin), _line_start(file, end) if end is not None else None
            file.seek(at)
            while data := file.read(CHUNK_BYTES if stop is None else min(CHUNK_BYTES, stop - at)):
                _check_text(path, data)
                yield data
                at += len(data)
            if state is not None and not is_url(path):
                _check_unchanged(path, state, _state(os.fstat(file.fileno())))
    except OSError as error:
        error.filename = error.filename or path
        raise from_os_error(error) from error


def _line_start(file: io.BufferedReader[Any], at: int) -> int:
    """Find where the first line begins that begins at a byte or later."""
    if at == 0:
        return 0
    file.seek(at - 1)
    while line := file.readline(CHUNK_BYTES):
        if line.endswith(b"\n"):
            break
    return file.tell()


def lines_before(path: str, begin: int) -> int:
    """Count the lines of a plain file that begin before a byte: for error messages."""
    found = at = 0
    with _open(path) as file:
        stop = _line_start(file, begin)
        file.seek(0)
        while at < stop and (data := file.read(min(CHUNK_BYTES, stop - at))):
            found += data.count(b"\n")
            at += len(data)
    return found


def _open(path: str) -> io.BufferedReader[Any]:
    if is_url(path):
        return open_remote(path, CHUNK_BYTES)
    return cast("io.BufferedReader[Any]", open(path, "rb", buffering=CHUNK_BYTES))


def file_size(path: str) -> int:
    """Return the bytes of a file as it lies there."""
    return file_state(path).size


def file_state(path: str) -> FileState:
    """Return the size of a file and, where it is not elsewhere, the time of its last change."""
    return FileState(remote_size(path), None) if is_url(path) else _state(os.stat(path))


def _state(found: os.stat_result) -> FileState:
    return FileState(found.st_size, found.st_mtime_ns)


def whole_text(path: str, limit: int) -> bytes:
    """Read a file at once, decompressed; one of more than ``limit`` bytes is refused before it fills the memory."""
    data = bytearray()
    for piece in chunks(path):
        data += piece
        if len(data) > limit:
            raise FirthianError(f"{path} is too large", hint=f"at most {limit:,} bytes are read")
    return bytes(data)


#: So many compressed files are opened to judge how far the others expand.
_FILES_TO_JUDGE_BY = 4


def text_bytes(files: list[str]) -> int:
    """Tell about how many bytes of text some files hold; compressed ones are judged by the beginnings of a few."""
    sizes = [file_size(file) for file in files]
    packed = [number for number, file in enumerate(files) if _is_packed(file)]
    sample = [_expansion(files[number]) for number in packed[:_FILES_TO_JUDGE_BY]]
    growth = sum(sample) / len(sample) if sample else 1.0
    return round(sum(sizes) + (growth - 1) * sum(sizes[number] for number in packed))


def _is_packed(path: str) -> bool:
    """Tell by its first bytes whether a file is compressed; by its name where asking for them takes a request."""
    if is_url(path):
        return Path(path).suffix.lower() in COMPRESSED_SUFFIXES
    with open(path, "rb", buffering=0) as file:
        return file.read(_HEAD_BYTES).startswith(tuple(magic for magic, _ in _COMPRESSED))


def _expansion(path: str) -> float:
    """Return how many bytes of text a byte of a file holds, judged from its beginning."""
    with _open(path) as file:
        stream = _decompressed(file)
        try:
            read = len(stream.read(4 * CHUNK_BYTES))
        except Exception as error:
            if not _is_damage(error):
                raise
            # The file is damaged: whoever reads it will say so.
            return 1.0
        return read / max(1, file.tell())
