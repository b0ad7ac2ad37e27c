"""The safetensors container: named arrays in one file that can be mapped into memory.

The layout is eight bytes with the length of a JSON header, the header, and the arrays one after the other. We write
and read it ourselves, because writing must not copy a large matrix, and reading must check every size first.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError, from_os_error

#: The format's names of the types we store, all little-endian.
_DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "|u1",
    "BOOL": "|b1",
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}

#: No header of ours comes near this size.
_MAX_HEADER = 4 * 2**20

#: Arrays begin at a multiple of this, so that BLAS finds them aligned in the mapped file.
_ALIGNMENT = 64

#: Rows are converted and written in pieces of about this many bytes.
_PIECE = 16 * 2**20


def write_tensors(path: Path, tensors: Mapping[str, Array]) -> dict[str, Any]:
    """Write arrays; give what a manifest says of each: type, shape and checksum.

    Wide types come first, so that every array is aligned without gaps, which the format forbids.
    """
    names = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    header: dict[str, Any] = {}
    at = 0
    for name in names:
        array = tensors[name]
        header[name] = {
            "dtype": _name_of(name, array),
            "shape": list(array.shape),
            "data_offsets": [at, at + array.nbytes],
        }
        at += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    entries: dict[str, Any] = {}
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in names:
            array, crc = tensors[name], 0
            for piece in _pieces(array):
                file.write(piece)
                crc = zlib.crc32(piece, crc)
            entries[name] = {"dtype": header[name]["dtype"], "shape": list(array.shape), "crc32": crc}
    return entries


def read_tensors(path: Path, entries: Mapping[str, Any] | None = None, verify: bool = False) -> dict[str, Array]:
    """Map the arrays of a file, or of a manifest: then header and sizes must be what it says, and on request the bytes."""
    damaged = FirthianError(f"{path} is damaged", hint="make it again from its source")
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= min(_MAX_HEADER, size - 8):
                raise damaged
            header = json.loads(file.read(length).decode())
        header.pop("__metadata__", None)
        if entries is not None and set(header) != set(entries):
            raise damaged
        everything: Array = np.memmap(path, dtype=np.uint8, mode="r")
        tensors: dict[str, Array] = {}
        at = 0
        for name, entry in sorted(header.items(), key=lambda item: (item[1]["data_offsets"], item[0])):
            if entry["dtype"] not in _DTYPES:
                raise FirthianError(
                    f"{path}: the array {name!r} has the type {str(entry['dtype'])[:20]}, which is not read",
                    hint="save it as float32 (F32)",
                )
            dtype, shape = np.dtype(_DTYPES[entry["dtype"]]), _shape(entry["shape"])
            begin, end = entry["data_offsets"]
            expected = entry if entries is None else entries[name]
            if (
                begin != at
                or end - begin != math.prod(shape) * dtype.itemsize
                or end > size - 8 - length
                or entry["dtype"] != expected["dtype"]
                or list(shape) != expected["shape"]
            ):
                raise damaged
            data = np.asarray(everything[8 + length + begin : 8 + length + end])
            if verify and zlib.crc32(data.data) != expected["crc32"]:
                raise damaged
            tensors[name] = data.view(dtype).reshape(shape)
            at = end
    except OSError as error:
        raise from_os_error(error) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise damaged from error
    if 8 + length + at != size:
        raise damaged
    return tensors


def _name_of(name: str, array: Array) -> str:
    try:
        return _NAMES[array.dtype.newbyteorder("<").str]
    except KeyError:
        raise FirthianError(
            f"the array {name!r} has the type {array.dtype}, which cannot be saved", hint="convert it to numbers"
        ) from None


def _shape(shape: Any) -> tuple[int, ...]:
    if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError
    return tuple(shape)


def _pieces(array: Array) -> Iterator[memoryview]:
    """Return the bytes of an array in order, without a second copy of all of it."""
    if array.size == 0:
        return
    dtype = array.dtype.newbyteorder("<")
    rows = array.reshape(1) if array.ndim == 0 else array
    step = max(1, _PIECE // max(1, rows.nbytes // len(rows)))
    for first in range(0, len(rows), step):
        piece = np.ascontiguousarray(rows[first : first + step], dtype=dtype)
        yield piece.reshape(-1).view(np.uint8).data
