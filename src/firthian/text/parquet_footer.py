"""The footer of a Parquet file, read by hand: Arrow ends the whole process if a damaged footer contradicts itself.

It is a Thrift structure in the compact protocol: a field is a byte with its type and the distance to the previous field number,
then the value; a byte 0 ends a structure.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

from firthian.disk.opening import open_regular

MAGIC, _TAIL = b"PAR1", 8
_LARGEST = 16 << 20

# Types of the compact protocol.
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)

# Numbers of fields: FileMetaData.row_groups, RowGroup.columns, ColumnChunk.meta_data, ColumnMetaData.num_values.
_ROW_GROUPS, _COLUMNS, _META_DATA, _NUM_VALUES = 4, 1, 3, 5

#: Depth of nested structures; those of Parquet are at most eight deep.
_DEEPEST = 32


def number_of_values(path: Path) -> int:
    """Return the number of values in all columns and row groups; raise ValueError if the footer is damaged."""
    with open_regular(path) as file:
        return values_in(file)


def values_in(file: BinaryIO) -> int:
    """Return the number of values in an open file, as ``number_of_values`` does."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _TAIL))
    tail = file.read(_TAIL)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or not 0 < length <= min(_LARGEST, size - _TAIL):
        raise ValueError("it has no footer")
    file.seek(size - _TAIL - length)
    footer = _Reader(file.read(length)).value(_STRUCT)
    try:
        chunks = [chunk for group in footer[_ROW_GROUPS] for chunk in group[_COLUMNS]]
        return sum(max(0, chunk[_META_DATA][_NUM_VALUES]) for chunk in chunks)
    except (KeyError, TypeError):
        raise ValueError("its footer is incomplete") from None


class _Reader:
    """Reads values of the compact protocol from bytes."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def value(self, kind: int, depth: int = 0) -> Any:
        """Read a number, bytes, a list (also for a set or map), or the fields of a structure by number."""
        if depth > _DEEPEST:
            raise ValueError("its footer is too deep")
        if kind in (_I16, _I32, _I64):
            return self._signed()
        if kind in (_TRUE, _FALSE, _BYTE):
            return self._byte()
        if kind == _DOUBLE:
            return self._take(8)
        if kind == _BINARY:
            return self._take(self._varint())
        if kind in (_LIST, _SET):
            head = self._byte()
            size = self._varint() if head >> 4 == 15 else head >> 4
            return [self.value(head & 15, depth + 1) for _ in range(size)]
        if kind == _MAP:
            size = self._varint()
            kinds = divmod(self._byte(), 16) if size else (0, 0)
            return [[self.value(inside, depth + 1) for inside in kinds] for _ in range(size)]
        if kind == _STRUCT:
            return self._fields(depth)
        raise ValueError(f"its footer has a value of an unknown type ({kind})")

    def _fields(self, depth: int) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            # A boolean is in the type itself, except in a list.
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self.value(kind, depth + 1)
        return fields

    def _take(self, size: int) -> bytes:
        part = self._data[self._at : self._at + size]
        if len(part) < size:
            raise ValueError("its footer ends too early")
        self._at += size
        return part

    def _byte(self) -> int:
        return self._take(1)[0]

    def _varint(self) -> int:
        """Read a number, seven bits per byte, lowest first."""
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise ValueError("its footer has an endless number")

    def _signed(self) -> int:
        """Read a number encoded as 0, -1, 1, -2, ... -> 0, 1, 2, 3, ..."""
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
