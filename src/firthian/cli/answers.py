"""Flags and output that ``regress``, ``change`` and ``associate`` share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from firthian.cli.options import print_json
from firthian.errors import FirthianError

if TYPE_CHECKING:
    from firthian.ask.result import Result

Csv = Annotated[bool, typer.Option("--csv", help="Print the main table as CSV.")]
Report = Annotated[str | None, typer.Option("-o", "--output", help="Also write a folder: page, figure, tables, JSON.")]
Permutations = Annotated[int, typer.Option(help="Random permutations for p-values.", min=19)]


def check_output(output: str | None, force: bool, json: bool, csv: bool) -> None:
    """Raise before any work if the answer cannot be printed or written as asked."""
    from firthian.disk.atomic import check_folder

    if json and csv:
        raise FirthianError("--json and --csv cannot be combined", hint="choose one")
    if output is not None:
        check_folder(output, force)


def show_answer(result: Result, output: str | None, force: bool, json: bool, csv: bool) -> None:
    """Print an answer as tables, JSON or CSV; write its folder."""
    if output is not None:
        result.save(output, force=force)
    if json:
        print_json(result.to_dict())
    elif csv:
        print(result.to_csv(), end="")
    else:
        from rich.console import Console

        Console(highlight=False).print(result)
        if output is not None:
            print(f"report: {output}/report.html")
