"""Tables in Python as records: dictionaries of columns, lists of dictionaries, data frames, Arrow data, queries.

No library is imported here: a table is recognized by its methods, so that any version of any library works.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from firthian.errors import FirthianError
from firthian.text.records import Record, Records, show_fields

#: The source of a table without a name, for error messages.
TABLE = "the table"

#: Rows of a lazy frame that are computed at a time.
_LAZY_ROWS = 8192


def records_of(source: Any) -> Records | None:
    """Return an object as records, or None if it is not a table.

    >>> records_of({"text": ["hot tea", "cold tea"], "year": [1850, 1851]}).names
    ['text', 'year']
    >>> [record.values for record in records_of([{"text": "hot tea"}]).read(["text"])]
    [{'text': 'hot tea'}]
    >>> records_of(["hot tea", "cold tea"]) is None
    True
    """
    if isinstance(source, Mapping) or hasattr(source, "iterrows") or _is_polars(source):
        return _columns_in_memory(source)
    if hasattr(source, "collect_schema"):
        return _lazy(source)
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "scanner"):
        from firthian.text.arrow import open_stream

        _refuse_one_shot(source)
        return open_stream(source, TABLE)
    if isinstance(source, str | bytes) or not hasattr(source, "__iter__"):
        return None
    _refuse_one_shot(source)
    if not isinstance(first := next(iter(source), None), Mapping):
        return None
    return _dictionaries(source, first)


def _is_polars(source: Any) -> bool:
    """Return whether an object is a frame in memory; a query of DuckDB also has ``iter_rows``."""
    return hasattr(source, "iter_rows") and not hasattr(source, "sql_query")


def _refuse_one_shot(source: Any) -> None:
    if hasattr(source, "__next__") or hasattr(source, "read_next_batch"):
        raise FirthianError(
            "the corpus is a one-shot iterator, which can be read only once",
            hint="pass a list, or an object whose __iter__ starts over each time",
        )


def _columns_in_memory(frame: Any) -> Records:
    """Open a dictionary of columns, or a data frame of pandas or Polars."""
    labels = list(frame.columns if hasattr(frame, "columns") else frame)
    names = list(map(str, labels))

    def read(columns: Sequence[str] | None) -> Iterator[Record]:
        wanted = names if columns is None else list(columns)
        for name in wanted:
            if names.count(name) > 1:
                raise FirthianError(f"{TABLE} has two columns {show_fields([name])}", hint="rename one of them")
        values = [_values(frame[labels[names.index(name)]], name) for name in wanted]
        try:
            for number, row in zip(count(1), zip(*values, strict=True), strict=False):
                yield Record(number, dict(zip(wanted, row, strict=True)))
        except ValueError:
            raise FirthianError(f"the columns of {TABLE} differ in length", hint="pass one value per row") from None

    return Records(TABLE, names, read)


def _values(column: Any, name: str) -> Iterator[Any]:
    if isinstance(column, str | bytes) or not isinstance(column, Iterable) or hasattr(column, "__next__"):
        raise FirthianError(
            f"expected a list of values in the column {show_fields([name])}, got a {type(column).__name__}",
            hint="pass a dictionary of lists, or a list of dictionaries",
        )
    return iter(column)


def _lazy(frame: Any) -> Records:
    """Open a lazy frame of Polars, which is computed in parts where its release can."""
    names = list(frame.collect_schema().names())

    def read(columns: Sequence[str] | None) -> Iterator[Record]:
        from firthian.text.arrow import errors, unreadable

        chosen = frame if columns is None else frame.select(list(columns))
        numbers = count(1)
        with errors(TABLE, unreadable):
            if hasattr(chosen, "collect_batches"):
                parts = chosen.collect_batches(chunk_size=_LAZY_ROWS, maintain_order=True)
            else:
                parts = [chosen.collect()]
            for part in parts:
                for record in _columns_in_memory(part).read(columns):
                    yield Record(next(numbers), record.values)

    return Records(TABLE, names, read)


def _dictionaries(rows: Any, first: Mapping[str, Any]) -> Records:
    """Open an iterable of dictionaries, such as a list or a data set of Hugging Face's ``datasets``."""

    def read(columns: Sequence[str] | None) -> Iterator[Record]:
        # A data set of many columns need not decode all of them.
        chosen = rows.select_columns(list(columns)) if columns and hasattr(rows, "select_columns") else rows
        for number, row in enumerate(chosen, start=1):
            if not isinstance(row, Mapping):
                raise FirthianError(
                    f"row {number} is a {type(row).__name__}, unlike the first one", hint="pass dictionaries only"
                )
            yield Record(number, row)

    return Records(TABLE, list(map(str, first)), read)
