"""``firth convert``: vectors from one format to another."""

from __future__ import annotations

from typing import Annotated

import typer

from firthian.cli.app import app
from firthian.cli.options import Force, Json, Source, say, show_json


@app.command()
def convert(
    source: Source,
    target: Annotated[str, typer.Argument(metavar="OUT", help="What to write; no suffix makes a Firthian folder.")],
    to: Annotated[
        str | None,
        typer.Option(
            help="folder, word2vec, word2vec-bin, glove, fasttext-vec, gensim, npz or parquet. [default: by suffix]"
        ),
    ] = None,
    replace_spaces: Annotated[
        str | None, typer.Option(help="Put this for spaces in words, where a format cannot hold them.")
    ] = None,
    duplicates: Annotated[
        str, typer.Option(help="A word twice with different vectors: error, or keep the first.")
    ] = "error",
    force: Force = False,
    json: Json = False,
) -> None:
    """Convert vectors to another format."""
    from firthian.storage import check_target
    from firthian.vectors.formats import find_format, format_for, read_vectors, write_vectors

    chosen = find_format(to) if to else format_for(target)
    check_target(target, force)
    vectors = read_vectors(source, duplicates=duplicates)
    write_vectors(vectors, target, chosen.name, force=force, replace_spaces=replace_spaces)
    repaired = vectors.record.get("source", {}).get("repaired", {})
    if json:
        shape = [len(vectors), vectors.vector_size]
        show_json({"path": target, "format": chosen.name, "shape": shape, "repaired": repaired})
        return
    say(f"{len(vectors):,} words × {vectors.vector_size:,} dimensions in {target} ({chosen.name})")
    for what, times in repaired.items():
        say(f"put right in {source}: {what.replace('_', ' ')} ({times:,})")
