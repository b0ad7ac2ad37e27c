"""DuckDB: a table of a database, or the result of a query of a database or of a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from firthian.errors import FirthianError, require
from firthian.text.arrow import errors, open_stream, unreadable
from firthian.text.files import open_random
from firthian.text.records import Record, Records, show_fields

#: Functions of DuckDB that read files, by format.
_READERS = {"csv": "read_csv", "tsv": "read_csv", "jsonl": "read_json", "parquet": "read_parquet"}

#: The name of a file in a query.
CORPUS = "corpus"

#: Without these, a view or macro of a database could read any file.
_ALONE = {"enable_external_access": False, "autoinstall_known_extensions": False, "autoload_known_extensions": False}


def open_database(path: str, header: bool = True) -> Records:
    """Open the only table of a database."""
    connection = _connect(path)
    with _closed_on_failure(connection), errors(path):
        tables = [name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        if len(tables) != 1:
            holds = f"{len(tables)} tables ({show_fields(tables)})" if tables else "no tables"
            raise FirthianError(f"{path} has {holds}", hint="choose text with `sql`, as in SELECT text FROM name")
    return _result(connection, 'SELECT * FROM "' + tables[0].replace('"', '""') + '"', path)


def query_file(path: str, format: str, sql: str) -> Records:
    """Query a database, or a file of another format, which is called corpus in the query."""
    if format == "duckdb":
        return _result(_connect(path), sql, path)
    if format not in _READERS:
        raise FirthianError(f"{path} is {format}, which DuckDB cannot read", hint="omit `sql`")
    connection = require("duckdb", "tables").connect(":memory:")
    reader = getattr(connection, _READERS[format])
    options: dict[str, Any] = {"delimiter": "\t", "quotechar": ""} if format == "tsv" else {}
    with open_random(path), errors(path):
        reader(path, **options).create_view(CORPUS)
    return _result(connection, sql, path)


def _connect(path: str) -> Any:
    duckdb = require("duckdb", "tables")
    with open_random(path), errors(path):
        return duckdb.connect(path, read_only=True, config=_ALONE)


@contextmanager
def _closed_on_failure(connection: Any) -> Iterator[None]:
    """Close a connection if something fails: the error would keep it, and with it the lock of its database."""
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _result(connection: Any, sql: str, path: str) -> Records:
    with _closed_on_failure(connection):
        with errors(path, unreadable):
            result = connection.sql(sql)
        if result is None:
            raise FirthianError(f"{path}: the query has no result", hint="write SELECT ... in `sql`")
        table = open_stream(result, path)

    def read(columns: Sequence[str] | None, kept: Any = connection) -> Iterator[Record]:
        # Some releases close the database with its connection, though the result is still in use.
        return table.read(columns)

    return replace(table, source=path, read=read)
