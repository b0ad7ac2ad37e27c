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
    from firthian.vectors.uncertainty import has_uncertainty

    opened = open_vectors(vectors)
    score = opened.similarity(first, second)
    facts: dict[str, object] = {"a": first, "b": second, "similarity": score}
    shown = f"{score:.4f}"
    if has_uncertainty(opened):
        low, high = opened.similarity_interval(first, second)
        facts |= {"low": low, "high": high}
        shown += f"  [{low:.4f}, {high:.4f}]"
    show_json(facts) if json else say(shown)
