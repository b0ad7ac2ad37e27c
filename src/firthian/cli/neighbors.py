"""``firth neighbors``: the words nearest to some words."""

from __future__ import annotations

from typing import Annotated

import typer

from firthian.cli.app import app
from firthian.cli.options import Json, Source, Topn, say, show_json


@app.command()
def neighbors(
    vectors: Source,
    words: Annotated[list[str], typer.Argument(help="Words, each asked about on its own.")],
    topn: Topn = 10,
    json: Json = False,
) -> None:
    """Show the words nearest to each word."""
    from firthian.vectors.loading import open_vectors

    found = open_vectors(vectors).most_similar_many(words, topn)
    if json:
        show_json(
            [
                {"word": word, "neighbors": [{"word": other, "score": score} for other, score in near]}
                for word, near in zip(words, found, strict=True)
            ]
        )
        return
    for word, near in zip(words, found, strict=True):
        say(word if near else f"{word} has no neighbours (its vector is zero)")
        for other, score in near:
            say(f"  {score:7.4f}  {other}")
