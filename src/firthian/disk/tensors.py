"""Named arrays in a safetensors file: eight bytes with the length of a JSON header, the header, then the arrays.

We write and read the format ourselves: writing must not copy a large matrix, an array may grow while it is written, and
reading must check every size before it maps a file that anyone may have changed.
"""

from __future__ import annotations

import json
import math
import os
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TypedDict

import numpy as np

from firthian.arrays import Array
from firthian.disk.opening import open_regular
from firthian.errors import FirthianError, from_os_error, os_errors

#: The format's names of the types we store, all little-endian.
_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}

#: Headers end at a multiple of this: arrays are aligned for BLAS, and the header of one array has room for any length.
_ALIGNMENT = 256

#: No header we read comes near this size.
_MAX_HEADER = 4 * 2**20

#: Rows are converted and written in pieces of about this many bytes.
_PIECE = 16 * 2**20


class TableEntry(TypedDict):
    """An array in the table of a file."""

    dtype: str
    shape: list[int]
    crc32: int


#: The table of a file's arrays: type, shape and checksum of each, by name.
Table = dict[str, dict[str, Any]]


def write_tensors(path: Path, arrays: Mapping[str, Array]) -> Table:
    """Write arrays to a file; return its table for the manifest."""
    table: Table = {name: _entry(name, array.dtype, array.shape) for name, array in arrays.items()}
    with path.open("wb") as file:
        file.write(_header(table))
        for name in _order(table):
            table[name]["crc32"] = _append(file, arrays[name])
    return {name: table[name] for name in _order(table)}


def write_described(path: Path, arrays: Mapping[str, Array], table: Table, metadata: Mapping[str, str]) -> None:
    """Write arrays whose table is known to a file, with text in its header."""
    with path.open("wb") as file:
        file.write(_header(table, metadata))
        for name in _order(table):
            for piece in _pieces(arrays[name]):
                file.write(piece)


def table_of(arrays: Mapping[str, Array]) -> Table:
    """Return the table of arrays that are not yet written."""
    return {name: {**_entry(name, array.dtype, array.shape), "crc32": crc32(array)} for name, array in arrays.items()}


class TensorWriter:
    """Writes a one-dimensional array piece by piece, its length known only at the end."""

    def __init__(self, folder: Path, name: str, dtype: str) -> None:
        self.path = folder / f"{name}.safetensors"
        self.name, self.dtype = name, np.dtype(dtype)
        self.size = self._crc = 0
        self._file: BinaryIO = self.path.open("wb")
        self._file.write(_header(self._table()))

    def append(self, piece: Array) -> None:
        """Write the next piece, converted to the array's type."""
        self._crc = _append(self._file, np.ascontiguousarray(piece, dtype=self.dtype), self._crc)
        self.size += piece.size

    def close(self) -> Table:
        """Rewrite the header with the final length; return the file's table for the manifest."""
        table = self._table()
        self._file.seek(0)
        self._file.write(_header(table))
        self._file.close()
        table[self.name]["crc32"] = self._crc
        return table

    def _table(self) -> Table:
        return {self.name: _entry(self.name, self.dtype, (self.size,))}

    def __enter__(self) -> TensorWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def read_tensors(
    path: Path, table: Mapping[str, Any], verify: bool = True, metadata: Mapping[str, str] | None = None
) -> dict[str, Array]:
    """Map the arrays of a file we wrote; its header, its size and, with ``verify``, its bytes must match the table.

    The header is compared, never parsed, so a manipulated file cannot make us read anything else.
    """
    damaged = damage(path)
    try:
        header = _header(table, metadata)
        with open_regular(path) as file:
            if file.read(len(header)) != header:
                raise damaged
            arrays = _map(file, len(header), table, damaged)
        if verify and any(crc32(array) != table[name]["crc32"] for name, array in arrays.items()):
            raise damaged
    except OSError as error:
        raise from_os_error(error) from error
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise damaged from error
    return arrays


def read_foreign_tensors(path: Path) -> dict[str, Array]:
    """Map the arrays of a file that another program may have written."""
    damaged = damage(path)
    header, length = read_header(path)
    try:
        header.pop("__metadata__", None)
        order = sorted(header, key=lambda name: (header[name]["data_offsets"], name))
        for name in order:
            if header[name]["dtype"] not in _DTYPES:
                raise FirthianError(
                    f"{path}: cannot read the array {name!r} of type {str(header[name]['dtype'])[:20]}",
                    hint="save it as float32 (F32)",
                )
        at = 0
        for name in order:
            begin, end = header[name]["data_offsets"]
            if begin != at or end - begin != _bytes(header[name]):
                raise damaged
            at = end
        with os_errors(), open_regular(path) as file:
            return _map(file, length, {name: header[name] for name in order}, damaged, order)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise damaged from error


def read_header(path: Path) -> tuple[dict[str, Any], int]:
    """Parse the header of a file; return it and the offset of the first array."""
    try:
        with open_regular(path) as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= min(_MAX_HEADER, os.fstat(file.fileno()).st_size - 8):
                raise damage(path)
            header = json.loads(file.read(length).decode())
    except OSError as error:
        raise from_os_error(error) from error
    except (ValueError, RecursionError) as error:
        raise damage(path) from error
    if not isinstance(header, dict):
        raise damage(path)
    return header, 8 + length


def damage(path: Path) -> FirthianError:
    """Return the error for a damaged file."""
    return FirthianError(f"{path} is damaged", hint="make it again from its source")


def crc32(array: Array) -> int:
    """Return the checksum of an array's bytes, which need only detect damage, not forgery, and at the speed of memory."""
    return zlib.crc32(memoryview(np.ascontiguousarray(array).data).cast("B")) if array.size else 0


def rows_fit(indptr: Array, indices: Array, rows: int, columns: int) -> bool:
    """Return whether compressed rows are consistent; kernels trust them and would otherwise go beyond their arrays.

    >>> rows_fit(np.array([0, 1, 3]), np.array([2, 0, 1]), 2, 3), rows_fit(np.array([0, 1, 3]), np.array([2, 0, 3]), 2, 3)
    (True, False)
    """
    return (
        indptr.shape == (rows + 1,)
        and indptr.dtype.kind == indices.dtype.kind == "i"
        and indptr[0] == 0
        and indices.shape == (int(indptr[-1]),)
        and bool(np.all(indptr[1:] >= indptr[:-1]))
        and (indices.size == 0 or (int(indices.min()) >= 0 and int(indices.max()) < columns))
    )


def rows_ascend(indptr: Array, indices: Array, step: int = 1 << 22) -> bool:
    """Return whether the columns of each row ascend strictly; ``rows_fit`` must hold.

    >>> rows_ascend(np.array([0, 2, 3]), np.array([0, 2, 1])), rows_ascend(np.array([0, 2, 3]), np.array([2, 2, 1]))
    (True, False)
    """
    for first in range(0, indices.size - 1, step):
        piece = indices[first : first + step + 1]
        # A column may be no larger than the one before only where a row begins.
        falls = np.flatnonzero(piece[1:] <= piece[:-1]) + (first + 1)
        places = np.minimum(np.searchsorted(indptr, falls), indptr.size - 1)
        if not np.array_equal(indptr[places], falls):
            return False
    return True


def _entry(name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> dict[str, Any]:
    try:
        return {"dtype": _NAMES[dtype.newbyteorder("<").str], "shape": list(shape)}
    except KeyError:
        raise FirthianError(f"cannot save the array {name!r} of type {dtype}", hint="convert it to numbers") from None


def _order(table: Mapping[str, Any]) -> list[str]:
    """Return the names, wide types first: every array is then aligned without gaps, which the format forbids."""
    return sorted(table, key=lambda name: (-np.dtype(_DTYPES[table[name]["dtype"]]).itemsize, name))


def _bytes(entry: Mapping[str, Any]) -> int:
    shape = entry["shape"]
    if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError(f"bad shape: {shape}")
    return math.prod(shape) * np.dtype(_DTYPES[entry["dtype"]]).itemsize


def _header(table: Mapping[str, Any], metadata: Mapping[str, str] | None = None) -> bytes:
    """Return the first bytes of a file with these arrays; they are the same for the same table."""
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": dict(metadata)}
    at = 0
    for name in _order(table):
        end = at + _bytes(table[name])
        header[name] = {"dtype": table[name]["dtype"], "shape": table[name]["shape"], "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    return len(text).to_bytes(8, "little") + text


def _map(
    file: BinaryIO, at: int, table: Mapping[str, Any], damaged: FirthianError, order: list[str] | None = None
) -> dict[str, Array]:
    """Map the arrays that begin at a byte; together they must be exactly the rest of the file."""
    if os.fstat(file.fileno()).st_size != at + sum(_bytes(entry) for entry in table.values()):
        raise damaged
    content: Array = np.memmap(file, dtype=np.uint8, mode="r")
    arrays: dict[str, Array] = {}
    for name in order or _order(table):
        end = at + _bytes(table[name])
        data = np.asarray(content[at:end])
        arrays[name] = data.view(np.dtype(_DTYPES[table[name]["dtype"]])).reshape(table[name]["shape"])
        at = end
    return arrays


def _append(file: BinaryIO, array: Array, crc: int = 0) -> int:
    """Write the bytes of an array; return their checksum, continued from ``crc``."""
    for piece in _pieces(array):
        file.write(piece)
        crc = zlib.crc32(piece, crc)
    return crc


def _pieces(array: Array) -> Iterator[memoryview]:
    """Yield the bytes of an array in order, without a second copy of all of it."""
    if array.size == 0:
        return
    rows = array.reshape(1) if array.ndim == 0 else array
    step = max(1, _PIECE // max(1, rows.nbytes // len(rows)))
    for first in range(0, len(rows), step):
        piece = np.ascontiguousarray(rows[first : first + step], dtype=array.dtype.newbyteorder("<"))
        yield piece.reshape(-1).view(np.uint8).data
