"""``firth push``: vectors to the Hugging Face hub."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from firthian.cli.app import app
from firthian.cli.convert import read_scores
from firthian.cli.options import Force, Json, Source, print_json


@app.command()
def push(
    source: Source,
    repository: str = typer.Argument(..., metavar="OWNER/NAME", help="Repository on the hub; created if missing."),
    private: bool = typer.Option(False, "--private", help="Create a private repository."),
    name: str | None = typer.Option(None, help="Title of the model card."),
    language: str | None = typer.Option(None, help="Language code, such as en."),
    license: str | None = typer.Option(None, help="License of the vectors."),
    scores: str | None = typer.Option(None, help="Output file of firth evaluate --json."),
    force: Force = False,
    json: Json = False,
) -> None:
    """Upload vectors and their model card to the Hugging Face hub."""
    from firthian.vectors.formats import open_vectors
    from firthian.vectors.hub import push as push_vectors

    card: dict[str, Any] = {"name": name, "language": language, "license": license}
    if scores is not None:
        card["scores"] = read_scores(Path(scores))
    vectors = open_vectors(source, verify=True)
    address = push_vectors(vectors, repository, private=private, force=force, **card)
    if json:
        print_json({"address": address, "shape": [len(vectors), vectors.vector_size]})
        return
    print(f"{len(vectors):,} words × {vectors.vector_size:,} dimensions at {address}")
