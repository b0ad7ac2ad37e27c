"""The base of every answer: tables, notes, settings, a figure, and one page with all of them."""

from __future__ import annotations

import base64
import io
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from firthian.disk.artifact import printable, spelled, write_manifest
from firthian.disk.atomic import check_file, check_folder, new_folder, write_file
from firthian.runtime.figures import check_picture, save_figure
from firthian.runtime.page import html_page, html_table
from firthian.runtime.table import Table, as_text, find_table, visible

PICTURES = (".png", ".svg", ".pdf")

#: The most rows of a table on a page, and of one that is named in a session.
_ROWS, _SHOWN = 500, 12

_STYLE = """
img { max-width: 100%; background: white; } td { font-variant-numeric: tabular-nums; }
"""


class Result(ABC):
    """An answer with its evidence.

    ``tables`` are named, the main one first. ``notes`` say by what p-values were permuted, and how many documents were
    left out and why. ``settings`` are everything that is needed to ask again.
    """

    #: What was asked, in one line.
    title: str
    notes: Sequence[str]
    settings: Mapping[str, Any]

    @property
    @abstractmethod
    def tables(self) -> dict[str, Table]:
        """The tables by name, the main one first."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer for JSON."""

    @abstractmethod
    def figure(self, **options: Any) -> Any:
        """Return a matplotlib figure of the answer."""

    @property
    def table(self) -> Table:
        """The main table."""
        return find_table(self.tables, None)

    def to_pandas(self, table: str | None = None) -> Any:
        """Return a table, by default the main one, as a pandas data frame."""
        return find_table(self.tables, table).to_pandas()

    def to_polars(self, table: str | None = None) -> Any:
        """Return a table, by default the main one, as a polars data frame."""
        return find_table(self.tables, table).to_polars()

    def to_csv(self, table: str | None = None) -> str:
        """Return a table, by default the main one, as comma-separated values."""
        return find_table(self.tables, table).to_csv()

    def plot(self, path: str | os.PathLike[str] | None = None, *, force: bool = False, **options: Any) -> Any:
        """Return a matplotlib figure; with a ``path`` (PNG, SVG or PDF), also write it."""
        target = None if path is None else check_picture(path, PICTURES, force)
        figure = self.figure(**options)
        if target is not None:
            save_figure(figure, target, force)
        return figure

    def page(self) -> str:
        """Return one self-contained HTML page: tables, notes, figure and settings."""
        image = io.BytesIO()
        self.figure().savefig(image, format="png", dpi=150)
        data = base64.b64encode(image.getvalue()).decode("ascii")
        parts = [
            self.table.head(_ROWS).to_html(),
            *(f"<p>{escape(visible(note))}</p>" for note in self.notes),
            f'<p><img src="data:image/png;base64,{data}" alt="{escape(self.title, quote=True)}"></p>',
            *(table.head(_ROWS).to_html() for table in list(self.tables.values())[1:]),
            html_table(
                "Settings", ("setting", "value"), [(name, _spell(value)) for name, value in self.settings.items()]
            ),
        ]
        return printable(html_page(self.title, "\n".join(parts), _STYLE))

    def report(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write one self-contained HTML page: tables, notes, figure and settings."""
        target = check_file(path, force)
        write_file(target, self.page().encode())

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write a folder: the page, every table as CSV, the figure as PNG and SVG, and everything as JSON."""
        target = check_folder(folder, force)
        with new_folder(target, force) as place:
            write_file(place / "report.html", self.page().encode())
            record = {"answer": self.to_dict(), "settings": dict(self.settings), "notes": list(self.notes)}
            write_manifest(place / "report.json", "answer", spelled(record))
            for name, table in self.tables.items():
                write_file(place / f"{name}.csv", printable(table.to_csv()).encode())
            figure = self.figure()
            for suffix in (".png", ".svg"):
                save_figure(figure, place / f"plot{suffix}", force)

    def _repr_html_(self) -> str:
        notes = (f"<p>{escape(visible(note))}</p>" for note in self.notes)
        return "\n".join([self.table.head(_ROWS).to_html(), *notes])

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.text import Text

        return Group(*self.shown_tables(), *(Text(visible(note)) for note in self.notes))

    def shown_tables(self) -> list[Table]:
        """Return the tables that a terminal shows."""
        return [self.table.head(50)]

    def __str__(self) -> str:
        return as_text([self])

    def __repr__(self) -> str:
        """Return what fits a screen: the first rows of the main table."""
        return as_text([self.table.head(_SHOWN)]).rstrip()


def _spell(value: Any) -> str:
    return visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))
