"""``firth datasets``: list, fetch and verify data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from firthian.cli.app import app
from firthian.cli.help import Verbs
from firthian.cli.options import Json, print_json
from firthian.errors import FirthianError
from firthian.runtime.progress import on_terminal

if TYPE_CHECKING:
    from firthian.datasets.store import Status

datasets = typer.Typer(
    cls=Verbs, help="List, fetch and verify corpora and evaluation sets.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(datasets, name="datasets")


@datasets.command("list")
def list_datasets(json: Json = False) -> None:
    """List the data sets with size, license and location."""
    from firthian.datasets import dataset_names, status
    from firthian.runtime.memory import show_size

    items = [status(name) for name in dataset_names()]
    if json:
        print_json([item.to_dict() for item in items])
        return
    kind = ""
    for item in items:
        dataset = item.dataset
        if dataset.kind != kind:
            print(f"{dataset.kind}" if not kind else f"\n{dataset.kind}")
            kind = dataset.kind
        print(f"  {dataset.name:<18} {show_size(dataset.size):>7}  {dataset.what}; license: {dataset.license}")
        print(f"  {'':<18} {'':>7}  {_where(item)}")


def _where(item: Status) -> str:
    if item.path is not None:
        return str(item.path)
    return f"missing; can be built from {item.sources[0]}" if item.sources else "missing; set FIRTHIAN_DATA"


@datasets.command()
def fetch(names: list[str] = typer.Argument(..., help="Names; see firth datasets list."), json: Json = False) -> None:
    """Fetch data sets and print their paths."""
    from firthian.datasets import find_dataset, locate

    requested = [find_dataset(name).name for name in names]
    with on_terminal() as progress:
        paths = {name: str(locate(name, progress)) for name in requested}
    print_json(paths) if json else print("\n".join(paths.values()))


@datasets.command()
def verify(
    names: list[str] | None = typer.Argument(None, help="Data sets. [default: all]"), json: Json = False
) -> None:
    """Verify the checksums of the data sets on this machine."""
    from firthian.datasets import dataset_names
    from firthian.datasets import verify as check

    damaged = []
    items = []
    for name in names or dataset_names():
        item = check(name)
        items.append(item.to_dict())
        if item.state == "damaged":
            damaged.append(str(item.path))
        if not json and (item.path is not None or names):
            print(f"{name:<18} {item.state or 'missing'}  {item.path or ''}".rstrip())
    if json:
        print_json(items)
    if damaged:
        are = "is" if len(damaged) == 1 else "are"
        remedy = "delete the damaged files, then run firth datasets fetch"
        raise FirthianError(f"{', '.join(damaged)} {are} damaged", hint=remedy)
