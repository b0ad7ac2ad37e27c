"""``--by COLUMN``: a corpus in a table, divided by the values of a column; one result for each."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firthian.disk.atomic import kind_of
from firthian.errors import FirthianError

if TYPE_CHECKING:
    from firthian.text.readers import Files

By = Annotated[str | None, typer.Option(help="One result per value of this column, each in a folder.")]

#: A column with more values is probably not the one that was meant.
_MOST = 200


def parts(corpus: Files, column: str | None, output: str, resume: bool) -> Iterator[tuple[Files, str]]:
    """Yield the rows of each value of a column with their output folder; without a column, all there is.

    Rows without a value are in none of the parts. ``resume`` leaves out the parts that are finished.
    """
    if column is None:
        yield corpus, output
        return
    folders: dict[str, str] = {}
    for value in corpus.values(column, _MOST):
        folder = re.sub(r"[^\w.-]+", "_", value).strip("._") or "_"
        if folder in folders:
            raise FirthianError(
                f"{folders[folder]!r} and {value!r} would have the same folder {folder}", hint="rename one"
            )
        folders[folder] = value
    if not folders:
        raise FirthianError(f"no row with a text has a value of {column}", hint="omit --by")
    try:
        Path(output).mkdir(exist_ok=True)
    except OSError as error:
        raise FirthianError(f"cannot make the folder {output}: {error.strerror}", hint="choose another -o") from error
    for folder, value in folders.items():
        target = Path(output) / folder
        if resume and kind_of(target) is not None:
            print(f"firth: {target} is finished", file=sys.stderr)
        else:
            yield corpus.narrowed(column, value), str(target)


def refuse_by(column: str | None, flag: str) -> None:
    """Raise if --by was given with a flag that concerns a corpus as a whole."""
    if column is not None:
        raise FirthianError(f"--by has no effect with --{flag}", hint="omit one of them")
