"""Results that are also tables: lists of records, and objects with a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from firthian.runtime.table import Column, Table

Item = TypeVar("Item")


class Tabular:
    """Something with a ``table``: it converts to data frames and CSV, and shows itself in a notebook."""

    @property
    def table(self) -> Table:
        """The table."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """Return a pandas data frame."""
        return self.table.to_pandas()

    def to_polars(self) -> Any:
        """Return a polars data frame."""
        return self.table.to_polars()

    def to_csv(self) -> str:
        """Return comma-separated values with a header."""
        return self.table.to_csv()

    def _repr_html_(self) -> str:
        return self.table.to_html()


class Listing(list[Item], Tabular):
    """A list of tuples or records that is also a table.

    >>> near = Listing([("cup", 0.7)], "Neighbors", (Column("word"), Column("score", float, ".3f")))
    >>> near == [("cup", 0.7)], near.table["word"]
    (True, ['cup'])
    """

    def __init__(self, items: Iterable[Item] = (), title: str = "", columns: Sequence[Column] = ()) -> None:
        super().__init__(items)
        self.title, self.columns = title, tuple(columns)

    @property
    def table(self) -> Table:
        """The items as rows."""
        names = [column.name for column in self.columns]
        rows = [item if isinstance(item, tuple) else [getattr(item, name) for name in names] for item in self]
        return Table(self.title, self.columns, rows)

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one dictionary per item, for JSON."""
        return self.table.to_dict()
