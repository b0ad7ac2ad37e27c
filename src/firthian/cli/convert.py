"""``firth convert``: vectors from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from firthian.cli.app import app
from firthian.cli.options import Force, Json, Source, say, show_json

_CARD = "Model card and text, for spacy, model2vec and sentence-transformers"


@app.command()
def convert(
    source: Source,
    target: Annotated[str, typer.Argument(metavar="OUT", help="What to write; no suffix makes a Firthian folder.")],
    to: Annotated[
        str | None,
        typer.Option(
            help="folder, word2vec, word2vec-bin, glove, fasttext-vec, gensim, npz, parquet, spacy, model2vec, "
            "sentence-transformers, projector or atlas. [default: by suffix]"
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Keep only so many words, the most frequent.")] = None,
    replace_spaces: Annotated[
        str | None, typer.Option(help="Put this for spaces in words, where a format cannot hold them.")
    ] = None,
    duplicates: Annotated[
        str, typer.Option(help="A word twice with different vectors: error, or keep the first.")
    ] = "error",
    tokenizer: Annotated[
        str | None,
        typer.Option(help="unicode or whitespace. [default: the corpus's own]", rich_help_panel=_CARD),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Title of the model card.", rich_help_panel=_CARD)] = None,
    language: Annotated[
        str | None, typer.Option(help="Code of the language, such as en.", rich_help_panel=_CARD)
    ] = None,
    license: Annotated[str | None, typer.Option(help="License of the vectors.", rich_help_panel=_CARD)] = None,
    scores: Annotated[
        str | None, typer.Option(help="File that firth evaluate --json printed.", rich_help_panel=_CARD)
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Convert vectors to another format."""
    from firthian.disk.artifact import check_not_source, check_target
    from firthian.disk.stopping import catching_signals
    from firthian.vectors.formats import format_for, read_vectors, write_vectors
    from firthian.vectors.loading import refuse_counts

    chosen = format_for(target, to)
    given = {"tokenizer": tokenizer, "name": name, "language": language, "license": license, "scores": scores}
    options: dict[str, Any] = {option: value for option, value in given.items() if value is not None}
    if scores is not None:
        options["scores"] = _read_scores(Path(scores))
    check_not_source(target, source)
    check_target(target, force)
    refuse_counts(source)
    with catching_signals():
        vectors = read_vectors(source, duplicates=duplicates)
        if limit is not None and limit < len(vectors):
            vectors = vectors.subset(limit)
        write_vectors(vectors, target, chosen.name, force=force, replace_spaces=replace_spaces, **options)
    repaired = vectors.provenance.source.get("repaired", {})
    if json:
        shape = [len(vectors), vectors.vector_size]
        show_json({"path": target, "format": chosen.name, "shape": shape, "repaired": repaired})
        return
    say(f"{len(vectors):,} words × {vectors.vector_size:,} dimensions in {target} ({chosen.name})")
    for what, times in repaired.items():
        say(f"put right in {source}: {what.replace('_', ' ')} ({times:,})")


def _read_scores(path: Path) -> Any:
    import json

    from firthian.errors import FirthianError, from_os_error

    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise from_os_error(error) from error
    except (ValueError, RecursionError):
        raise FirthianError(f"{path} is not JSON", hint="make it with: firth evaluate VECTORS --json") from None
