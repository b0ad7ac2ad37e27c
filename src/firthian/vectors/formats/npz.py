"""numpy's ``.npz``: the arrays ``words``, ``matrix`` and ``counts``. Arrays of Python objects (pickles) are refused."""

from __future__ import annotations

import lzma
import math
import sys
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np

from firthian.arrays import Array
from firthian.disk.atomic import new_file
from firthian.errors import FirthianError, from_os_error
from firthian.vectors.formats.base import MAX_EXPANSION, SMALL_BYTES, Format, check_finite, damaged, finish
from firthian.vectors.vectors import Vectors

NAME = "npz"

#: numpy stores every word in the space of the longest; beyond this size it is refused.
_MAX_WORDS_BYTES = 2**30


def read(path: Path, duplicates: str) -> Vectors:
    """Read the arrays; their headers are checked against the archive before memory is allocated."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {item.filename.removesuffix(".npy"): item for item in archive.infolist()}
            if not {"words", "matrix"} <= set(members):
                message = f"{path} has no arrays named words and matrix (it has {', '.join(sorted(members)[:10])})"
                raise FirthianError(message, hint="save it with numpy.savez(file, words=..., matrix=...)")
            arrays = {
                name: _read_member(path, archive, members[name])
                for name in ("words", "matrix", "counts")
                if name in members
            }
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError) as error:
        raise damaged(path, str(error) or type(error).__name__) from error
    except UnicodeDecodeError as error:
        raise damaged(path, "the name of an array is not text") from error
    except OSError as error:
        raise from_os_error(error) from error
    words, matrix, counts = arrays["words"], arrays["matrix"], arrays.get("counts")
    if words.ndim != 1 or words.dtype.kind != "U":
        raise damaged(path, "words is not a list of texts")
    if matrix.ndim != 2 or matrix.dtype.kind != "f" or len(matrix) != len(words):
        raise damaged(path, f"matrix has the shape {matrix.shape} and type {matrix.dtype} for {len(words)} words")
    if counts is not None and (counts.shape != words.shape or counts.dtype.kind not in "iu"):
        raise damaged(path, "counts must be one integer per word")
    if words.size and words.view(np.dtype("u4").newbyteorder(words.dtype.byteorder)).max() > sys.maxunicode:
        raise damaged(path, "a word has a code point beyond Unicode")
    with np.errstate(over="ignore"):
        single = matrix.astype(np.float32, copy=False)
    check_finite(path, single, lambda row: f"row {row + 1}", "remove the row")
    return finish(path, NAME, single, words.tolist(), duplicates, place=lambda row: f"row {row + 1}", counts=counts)


def _read_member(path: Path, archive: zipfile.ZipFile, item: zipfile.ZipInfo) -> Array:
    packed = max(1, item.compress_size)
    if item.file_size > SMALL_BYTES and item.file_size > MAX_EXPANSION * packed:
        raise damaged(path, f"{item.filename} would grow from {packed:,} to {item.file_size:,} bytes")
    with archive.open(item) as file:
        try:
            version = np.lib.format.read_magic(file)
            reader = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
            if version not in reader:
                raise damaged(path, f"{item.filename} has the unknown version {version}")
            shape, fortran, dtype = reader[version](file)
        except (ValueError, SyntaxError, tokenize.TokenError, RecursionError, MemoryError) as error:
            raise damaged(path, f"the header of {item.filename} cannot be read") from error
        if dtype.hasobject:
            message = f"{path}: the array {item.filename} has Python objects, which could run code when read"
            raise FirthianError(message, hint="save plain arrays: words.astype(str), matrix.astype('float32')")
        if any(size < 0 for size in shape) or math.prod(shape) * dtype.itemsize > item.file_size:
            raise damaged(path, f"{item.filename} claims the shape {shape}, more than it contains")
        array = _read_data(file, dtype, math.prod(shape))
    if array.size != math.prod(shape):
        raise damaged(path, f"{item.filename} is truncated")
    return array.reshape(shape, order="F" if fortran else "C")


def _read_data(file: IO[bytes], dtype: np.dtype[Any], number: int) -> Array:
    data = bytearray()
    size = number * dtype.itemsize
    while len(data) < size and (piece := file.read(min(2**24, size - len(data)))):
        data += piece
    return np.frombuffer(data, dtype=dtype, count=len(data) // dtype.itemsize if dtype.itemsize else 0)


def write(vectors: Vectors, path: Path, force: bool) -> None:
    """Write the arrays uncompressed, so that the same vectors give the same bytes."""
    words = vectors.vocabulary.words
    longest = max(map(len, words), default=0)
    if 4 * longest * len(words) > _MAX_WORDS_BYTES:
        raise FirthianError(f"a word of {longest:,} characters is too long for npz", hint="use parquet or a folder")
    if any(word.endswith("\0") for word in words):
        raise FirthianError("npz cannot hold a word that ends with a NUL character", hint="use parquet or a folder")
    with new_file(path, force) as file:
        np.savez(file, words=np.array(words, dtype=np.str_), matrix=vectors.matrix, counts=vectors.vocabulary.counts)


FORMAT = Format(
    NAME, "numpy arrays: words, matrix, counts", (".npz",), read, write,
    lambda path, head: head.startswith(b"PK\x03\x04"),
)  # fmt: skip
