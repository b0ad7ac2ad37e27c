"""Apache Parquet: the columns ``word``, ``vector`` (a list of floats) and ``count``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.disk.atomic import new_file
from firthian.errors import FirthianError, require
from firthian.text.parquet_footer import MAGIC, number_of_values
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


FORMAT = base.Format(
    NAME, "Apache Parquet: word, vector, count", (".parquet", ".pq"), read, write,
    lambda path, head: head.startswith(MAGIC),
)  # fmt: skip
