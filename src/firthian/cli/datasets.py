"""``firth datasets``: list, fetch and verify the data sets that Firthian knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from firthian.cli.app import app
from firthian.cli.help import Verbs
from firthian.cli.options import Json, say, show_json
from firthian.runtime.progress import on_terminal

if TYPE_CHECKING:
    from firthian.datasets.store import Status

datasets = typer.Typer(
    cls=Verbs, help="List, fetch and verify corpora and evaluation sets.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(datasets, name="datasets")

Names = Annotated[list[str] | None, typer.Argument(help="Names of data sets. [default: all]", show_default=False)]


@datasets.command("list")
def list_datasets(json: Json = False) -> None:
    """List the data sets: what each is, its size, its license, where it is now."""
    from firthian.datasets import dataset_names, status
    from firthian.runtime.memory import show_size

    found = [status(name) for name in dataset_names()]
    if json:
        show_json([item.to_dict() for item in found])
        return
    kind = ""
    for item in found:
        dataset = item.dataset
        if dataset.kind != kind:
            say(f"{dataset.kind}" if not kind else f"\n{dataset.kind}")
            kind = dataset.kind
        say(f"  {dataset.name:<18} {show_size(dataset.size):>7}  {dataset.what}; license: {dataset.license}")
        say(f"  {'':<18} {'':>7}  {_where(item)}")


def _where(item: Status) -> str:
    if item.path is not None:
        return str(item.path)
    return f"not here; can be made from {item.sources[0]}" if item.sources else "not here; set FIRTHIAN_DATA"


@datasets.command()
def fetch(
    names: Annotated[list[str], typer.Argument(help="Names of data sets; see firth datasets list.")],
    json: Json = False,
) -> None:
    """Fetch data sets and print where each is."""
    from firthian.datasets import find_dataset, locate

    wanted = [find_dataset(name).name for name in names]
    with on_terminal() as progress:
        paths = {name: str(locate(name, progress)) for name in wanted}
    show_json(paths) if json else say("\n".join(paths.values()))


@datasets.command()
def verify(names: Names = None, json: Json = False) -> None:
    """Compare the checksums of the data sets that are here."""
    from firthian.datasets import dataset_names
    from firthian.datasets import verify as check
    from firthian.errors import FirthianError

    damaged = []
    found = []
    for name in names or dataset_names():
        item = check(name)
        found.append(item.to_dict())
        if item.state == "damaged":
            damaged.append(str(item.path))
        if not json and (item.path is not None or names):
            say(f"{name:<18} {item.state or 'not here'}  {item.path or ''}".rstrip())
    if json:
        show_json(found)
    if damaged:
        raise FirthianError(
            f"{', '.join(damaged)} {'is' if len(damaged) == 1 else 'are'} damaged",
            hint="remove what is damaged and fetch it again with firth datasets fetch",
        )
