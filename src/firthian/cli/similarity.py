"""``firth similarity``: the cosine of two words."""

from __future__ import annotations

from typing import Annotated

import typer

from firthian.cli.app import app
from firthian.cli.options import Json, Source, say, show_json


@app.command()
def similarity(
    vectors: Source,
    first: Annotated[str, typer.Argument(metavar="W1", help="A word.")],
    second: Annotated[str, typer.Argument(metavar="W2", help="Another.")],
    json: Json = False,
) -> None:
    """Show how similar two words are, from -1 to 1."""
    from firthian.vectors.loading import open_vectors

    score = open_vectors(vectors).similarity(first, second)
    show_json({"a": first, "b": second, "similarity": score}) if json else say(f"{score:.4f}")
