"""Apache Parquet, Arrow (Feather) files and streams of Arrow batches, a batch of bounded size at a time."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from firthian.errors import FirthianError, require
from firthian.text.files import is_url, open_random
from firthian.text.parquet_footer import values_in
from firthian.text.records import Record, Records, show_fields

#: Target bytes of a batch, and the bounds of its rows, since the sizes that files state may be wrong.
BATCH_BYTES, FEWEST_ROWS, MOST_ROWS = 8 << 20, 16, 8192

#: More values per byte of a Parquet file than texts can have, above a number that fits memory anyway.
_VALUES_PER_BYTE, _FEW_VALUES = 25, 1 << 24


def open_parquet(path: str, header: bool = True) -> Records:
    """Open a Parquet file."""
    with _parquet(path) as file:
        names = list(file.schema_arrow.names)
    return _records(path, names, functools.partial(_parquet_batches, path))


@contextmanager
def _parquet(path: str, **options: Any) -> Iterator[Any]:
    """Open a Parquet file; raise if its footer is damaged, or states more values than the file can hold."""
    parquet = require("pyarrow.parquet", "tables")
    with errors(path), open_random(path) as file:
        try:
            values = values_in(file)
        except ValueError as error:
            raise _damaged(path, str(error)) from None
        size = file.seek(0, 2)
        if values > max(_FEW_VALUES, _VALUES_PER_BYTE * size):
            raise _damaged(path, f"it claims {values:,} values in {size:,} bytes")
        with parquet.ParquetFile(file, buffer_size=1 << 20, **options) as opened:
            yield opened


def _parquet_batches(path: str, columns: Sequence[str] | None) -> Iterator[Any]:
    arrow = require("pyarrow", "tables")
    with _parquet(path) as file:
        schema = file.schema_arrow
        # A text that many rows share is stored once, in a dictionary, and must not be copied for each.
        shared = [name for name in columns or () if arrow.types.is_string(schema.field(name).type)]
        facts = file.metadata
        stated = sum(max(0, facts.row_group(group).total_byte_size) for group in range(facts.num_row_groups))
    with _parquet(path, read_dictionary=shared) as file:
        yield from file.iter_batches(_rows(stated, facts.num_rows), columns=columns, use_threads=False)


def open_arrow(path: str, header: bool = True) -> Records:
    """Open an Arrow IPC file, also called Feather, or stream."""
    with _ipc(path) as (file, _):
        names = list(file.schema.names)
    return _records(path, names, functools.partial(_ipc_batches, path))


@contextmanager
def _ipc(path: str, columns: Sequence[str] | None = None) -> Iterator[tuple[Any, bool]]:
    """Open an IPC file or stream; also return which."""
    arrow, ipc = require("pyarrow", "tables"), require("pyarrow.ipc", "tables")
    with errors(path), open_random(path) as raw:
        head = raw.read(8)
        raw.seek(0)
        if head.startswith(b"FEA1"):
            raise FirthianError(f"{path} is a file of Feather version 1", hint="write it again with version 2")
        # Mapped, so that a batch of any size takes no memory of its own.
        source = raw if is_url(path) else arrow.memory_map(path)
        with source:
            is_file = head.startswith(b"ARROW1")
            kind = ipc.open_file if is_file else ipc.open_stream
            if columns is not None:
                with kind(source) as file:
                    places = [file.schema.names.index(name) for name in columns]
                source.seek(0)
            options = ipc.IpcReadOptions(use_threads=False, included_fields=None if columns is None else places)
            with kind(source, options=options) as file:
                yield file, is_file


def _ipc_batches(path: str, columns: Sequence[str] | None) -> Iterator[Any]:
    with _ipc(path, columns) as (file, is_file):
        for batch in map(file.get_batch, range(file.num_record_batches)) if is_file else file:
            # A damaged offset would be read without a check.
            batch.validate(full=True)
            yield batch


def open_stream(source: Any, name: str) -> Records:
    """Open an object with Arrow data, such as a table, a data set or the result of a query."""

    def batches(columns: Sequence[str] | None) -> Iterator[Any]:
        with errors(name, unreadable):
            for batch in _reader(source, columns):
                batch.validate(full=True)
                yield batch

    with errors(name, unreadable):
        names = list(source.columns if hasattr(source, "sql_query") else _reader(source, None).schema.names)
    return _records(name, names, batches)


def _reader(source: Any, columns: Sequence[str] | None) -> Any:
    """Return a reader of batches; queries of DuckDB select columns and produce batches of the size they are asked for."""
    if hasattr(source, "scanner"):
        return source.scanner(columns=None if columns is None else list(columns), batch_size=MOST_ROWS).to_reader()
    if columns is not None and hasattr(source, "project"):
        source = source.project(", ".join('"' + name.replace('"', '""') + '"' for name in columns))
    elif columns is not None and hasattr(source, "select"):
        source = source.select(list(columns))
    for method in ("to_arrow_reader", "fetch_record_batch"):
        if hasattr(source, method):
            return getattr(source, method)(MOST_ROWS)
    return require("pyarrow", "tables").RecordBatchReader.from_stream(source)


def _records(source: str, names: list[str], batches: Callable[[Sequence[str] | None], Iterator[Any]]) -> Records:
    def read(columns: Sequence[str] | None) -> Iterator[Record]:
        for name in names if columns is None else columns:
            if names.count(name) > 1:
                raise FirthianError(f"{source} has two columns {show_fields([name])}", hint="rename one of them")
        wanted = names if columns is None else list(columns)
        number = 0
        for batch in batches(columns):
            step = _rows(batch.nbytes, batch.num_rows)
            for first in range(0, batch.num_rows, step):
                part = batch.slice(first, step)
                with errors(source):
                    values = [_values(part.column(name)) for name in wanted]
                for row in zip(*values, strict=True):
                    number += 1
                    yield Record(number, dict(zip(wanted, row, strict=True)))

    return Records(source, names, read)


def _rows(size: int, rows: int) -> int:
    """Return the number of rows of a batch, from the bytes of a table and its rows."""
    return max(FEWEST_ROWS, min(MOST_ROWS, BATCH_BYTES * max(rows, 1) // max(size, 1)))


def _values(column: Any) -> list[Any]:
    """Return the values of a column; equal texts of a dictionary share one string, and bytes are decoded as text."""
    types = require("pyarrow", "tables").types
    kind = column.type
    if types.is_dictionary(kind):
        known = [*_values(column.dictionary), None]
        places = column.indices.fill_null(len(known) - 1).to_pylist() if len(known) > 1 else [0] * len(column)
        return [known[place] for place in places]
    if types.is_string(kind) or types.is_large_string(kind):
        column = column.cast("large_binary" if types.is_large_string(kind) else "binary")
        kind = column.type
    values: list[Any] = column.to_pylist()
    if types.is_binary(kind) or types.is_large_binary(kind):
        return [None if value is None else value.decode("utf-8", "surrogateescape") for value in values]
    return values


def _damaged(path: str, what: str) -> FirthianError:
    return FirthianError(f"{path} is truncated or damaged ({what})", hint="download it or write it again")


def unreadable(source: str, what: str) -> FirthianError:
    """Return the error of a table in Python, or of a query, that cannot be read."""
    return FirthianError(f"{source} cannot be read ({what})", hint="check the query or the table")


@contextmanager
def errors(source: str, as_error: Callable[[str, str], FirthianError] = _damaged) -> Iterator[None]:
    """Raise errors of the libraries that read tables as one line, made by ``as_error``."""
    try:
        yield
    except FirthianError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        library = type(error).__module__.partition(".")[0]
        known = isinstance(error, OSError | UnicodeDecodeError | MemoryError | OverflowError)
        if not known and library not in ("pyarrow", "duckdb", "_duckdb", "polars"):
            raise
        raise as_error(source, (str(error).strip() or type(error).__name__).partition("\n")[0]) from error
