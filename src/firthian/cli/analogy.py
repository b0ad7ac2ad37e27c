"""``firth analogy``: a is to b as c is to what?"""

from __future__ import annotations

from typing import Annotated

import typer

from firthian.cli.app import app
from firthian.cli.options import Json, Source, Topn, say, show_json


@app.command()
def analogy(
    vectors: Source,
    a: Annotated[str, typer.Argument(help="A is to B ...")],
    b: Annotated[str, typer.Argument(help="... as ...")],
    c: Annotated[str, typer.Argument(help="... C is to the answer.")],
    topn: Topn = 10,
    method: Annotated[str, typer.Option(help="3cosadd or 3cosmul.")] = "3cosadd",
    json: Json = False,
) -> None:
    """Answer an analogy: A is to B as C is to what?"""
    from firthian.vectors.loading import open_vectors

    found = open_vectors(vectors).analogy(a, b, c, topn, method)
    if json:
        answers = [{"word": word, "score": score} for word, score in found]
        show_json({"a": a, "b": b, "c": c, "method": method, "answers": answers})
        return
    say(f"{a} is to {b} as {c} is to")
    for word, score in found:
        say(f"  {score:7.4f}  {word}")
