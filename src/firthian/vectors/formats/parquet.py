"""Apache Parquet: the columns ``word``, ``vector`` (a list of floats) and ``count``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.disk.atomic import new_file
from firthian.errors import FirthianError, require
from firthian.vectors.formats import base
from firthian.vectors.vectors import Vectors

NAME = "parquet"

_ROWS = 16384


def read(path: Path, duplicates: str) -> Vectors:
    """Read in batches of rows."""
    arrow, parquet = require("pyarrow", "export"), require("pyarrow.parquet", "export")
    blocks: list[Array | None] = []
    words: list[str] = []
    counts: list[Array] = []
    columns, uncounted = -1, 0
    try:
        with parquet.ParquetFile(path) as file:
            facts = file.metadata
        plain = any(facts.schema.column(place).path == "word" for place in range(facts.num_columns))
        # A long word that many rows share is stored once, in a dictionary, and must not be copied for each.
        with parquet.ParquetFile(path, metadata=facts, read_dictionary=["word"] if plain else None) as file:
            names = set(file.schema_arrow.names)
            if not {"word", "vector"} <= names:
                message = f"{path} has no columns named word and vector (it has {', '.join(sorted(names)[:10])})"
                raise FirthianError(message, hint="name the columns word and vector")
            _check_growth(path)
            present = [name for name in ("word", "vector", "count") if name in names]
            if not facts.num_rows:
                columns = max(0, getattr(file.schema_arrow.field("vector").type, "list_size", 0))
            for batch in file.iter_batches(_ROWS, columns=present):
                words += _words(path, batch.column("word"), len(words))
                block = _rows(path, arrow, batch.column("vector"), columns, len(words) - batch.num_rows)
                columns = block.shape[1]
                blocks.append(block)
                if "count" in present:
                    column = batch.column("count").cast(arrow.int64())
                    uncounted += column.null_count
                    counts.append(column.fill_null(0).to_numpy())
    except (arrow.ArrowException, OSError) as error:
        raise base.damaged(path, str(error).partition("\n")[0]) from error
    except UnicodeDecodeError as error:
        raise base.damaged(path, "the name of a column is not UTF-8") from error
    matrix = base.join_blocks(blocks, len(words), max(columns, 0))
    known = np.concatenate(counts) if counts else None
    return base.finish(
        path, NAME, matrix, words, duplicates, place=lambda row: f"row {row + 1}", counts=known,
        repaired={"words_without_a_count": uncounted},
    )  # fmt: skip


def _check_growth(path: Path) -> None:
    """Raise if the file would fill memory: repeated values take no space in a file."""
    try:
        values = number_of_values(path)
    except ValueError as error:
        raise base.damaged(path, str(error)) from None
    if 4 * values > max(base.SMALL_BYTES, base.MAX_EXPANSION * path.stat().st_size):
        raise base.damaged(path, f"it would grow to {values:,} numbers")


def _words(path: Path, column: Any, before: int) -> list[str]:
    """Return the words of a batch; equal words share one string in memory."""
    try:
        if hasattr(column, "dictionary"):
            known = [*column.dictionary.to_pylist(), None]
            places = column.indices.fill_null(len(known) - 1).to_pylist()
            if places and not 0 <= min(places) <= max(places) < len(known):
                raise base.damaged(path, "a word is not in the dictionary")
            words = [known[place] for place in places]
        else:
            words = column.to_pylist()
    except UnicodeDecodeError:
        where = f"{path}, from row {before + 1} on"
        raise FirthianError(f"{where}: a word is not UTF-8", hint="store words as UTF-8 text") from None
    for row, word in enumerate(words):
        if not isinstance(word, str):
            raise FirthianError(f"{path}, row {before + row + 1}: the word is not text", hint="fix or remove the row")
    return words


def _rows(path: Path, arrow: Any, column: Any, columns: int, before: int) -> Array:
    """Return a batch of lists as a matrix; raise unless all have the same length and finite numbers."""
    kind = column.type
    if not (arrow.types.is_list(kind) or arrow.types.is_large_list(kind) or arrow.types.is_fixed_size_list(kind)):
        raise base.damaged(path, f"the column vector holds {kind}, not lists of numbers")
    lengths = arrow.compute.list_value_length(column).to_numpy(zero_copy_only=False)
    width = columns if columns >= 0 else (0 if not len(lengths) else int(np.nan_to_num(lengths[0], nan=0)))
    odd = np.flatnonzero(~(lengths == width))
    if odd.size:
        where = f"{path}, row {before + int(odd[0]) + 1}"
        raise FirthianError(f"{where}: its vector does not have {width} numbers", hint="fix or remove the row")
    flat = arrow.compute.list_flatten(column).cast(arrow.float32(), safe=False).to_numpy(zero_copy_only=False)
    rows: Array = flat.reshape(len(lengths), width)
    base.check_finite(path, rows, lambda row: f"row {before + row + 1}", "fix or remove the row")
    return rows


def write(vectors: Vectors, path: Path, force: bool, *, columns: Mapping[str, Array] | None = None) -> None:
    """Write in groups of rows, with further ``columns`` by name, and ``uncertainty`` if the vectors have it."""
    arrow, parquet = require("pyarrow", "export"), require("pyarrow.parquet", "export")
    if vectors.vector_size == 0:
        raise FirthianError("parquet cannot hold vectors of 0 dimensions", hint="use npz or a folder")
    more = {**base.uncertainty_column(vectors), **(columns or {})}
    schema = arrow.schema(
        [
            ("word", arrow.string()),
            ("vector", arrow.list_(arrow.float32(), vectors.vector_size)),
            ("count", arrow.int64()),
            *((name, arrow.from_numpy_dtype(column.dtype)) for name, column in more.items()),
        ]
    )
    with new_file(path, force) as file, parquet.ParquetWriter(file, schema) as writer:
        for first in range(0, len(vectors), _ROWS):
            some = slice(first, first + _ROWS)
            flat = arrow.array(np.ascontiguousarray(vectors.matrix[some]).reshape(-1), type=arrow.float32())
            lists = arrow.FixedSizeListArray.from_arrays(flat, vectors.vector_size)
            words = arrow.array(vectors.vocabulary.words[some], type=arrow.string())
            counts = arrow.array(np.ascontiguousarray(vectors.vocabulary.counts[some]))
            others = [arrow.array(np.ascontiguousarray(column[some])) for column in more.values()]
            writer.write_batch(arrow.record_batch([words, lists, counts, *others], schema=schema))


# The footer of a file. Arrow reads it too, but ends the whole process if a damaged footer contradicts itself. It is a Thrift
# structure in the compact protocol: a field is a byte with its type and the distance to the previous field number, then the
# value; a byte 0 ends a structure.

_MAGIC, _TAIL = b"PAR1", 8
_LARGEST = 16 << 20

# Types of the compact protocol.
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)

# Numbers of fields: FileMetaData.row_groups, RowGroup.columns, ColumnChunk.meta_data, ColumnMetaData.num_values.
_ROW_GROUPS, _COLUMNS, _META_DATA, _NUM_VALUES = 4, 1, 3, 5

#: Depth of nested structures; those of Parquet are at most eight deep.
_DEEPEST = 32


def number_of_values(path: Path) -> int:
    """Return the number of values in all columns and row groups; raise ValueError if the footer is damaged."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _TAIL))
        tail = file.read(_TAIL)
        length = int.from_bytes(tail[:4], "little")
        if tail[4:] != _MAGIC or not 0 < length <= min(_LARGEST, size - _TAIL):
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


FORMAT = base.Format(
    NAME, "Apache Parquet: word, vector, count", (".parquet", ".pq"), read, write,
    lambda path, head: head.startswith(_MAGIC),
)  # fmt: skip
