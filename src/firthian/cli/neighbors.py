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
    """Show the words nearest to each word. With intervals, where the vectors are distributions."""
    from firthian.vectors.loading import open_vectors
    from firthian.vectors.uncertainty import has_uncertainty

    opened = open_vectors(vectors)
    if has_uncertainty(opened):
        near = [opened.most_similar_with_intervals(word, topn) for word in words]
        rows = [
            [{"word": item.word, "score": item.score, "low": item.low, "high": item.high} for item in items]
            for items in near
        ]
    else:
        found = opened.most_similar_many(words, topn)
        rows = [[{"word": other, "score": score} for other, score in items] for items in found]
    if json:
        show_json([{"word": word, "neighbors": items} for word, items in zip(words, rows, strict=True)])
        return
    for word, items in zip(words, rows, strict=True):
        say(word if items else f"{word} has no neighbors (its vector is zero)")
        for item in items:
            interval = f"  [{item['low']:.3f}, {item['high']:.3f}]" if "low" in item else ""
            say(f"  {item['score']:7.4f}{interval}  {item['word']}")
