"""``firth convert``: vectors from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from firthian.cli.app import app
from firthian.cli.options import Force, Json, Source, print_json

_CARD = "Model card and tokenizer (spacy, model2vec, sentence-transformers)"


@app.command()
def convert(
    source: Source,
    target: Annotated[str, typer.Argument(metavar="OUT", help="Output; without a suffix, a Firthian folder.")],
    to: Annotated[
        str | None,
        typer.Option(
            help="Format: folder, word2vec, word2vec-bin, glove, fasttext-vec, gensim, npz, parquet, spacy, model2vec, "
            "sentence-transformers, projector or atlas. [default: by suffix]"
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Keep only the N most frequent words.")] = None,
    replace_spaces: Annotated[
        str | None, typer.Option(help="Replacement for spaces in words, if the format forbids them.")
    ] = None,
    duplicates: Annotated[str, typer.Option(help="Words with two different vectors: error or first.")] = "error",
    tokenizer: Annotated[
        str | None,
        typer.Option(help="Tokenizer: unicode or whitespace. [default: the corpus's own]", rich_help_panel=_CARD),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Title of the model card.", rich_help_panel=_CARD)] = None,
    language: Annotated[str | None, typer.Option(help="Language code, such as en.", rich_help_panel=_CARD)] = None,
    license: Annotated[str | None, typer.Option(help="License of the vectors.", rich_help_panel=_CARD)] = None,
    scores: Annotated[
        str | None, typer.Option(help="File with the output of firth evaluate --json.", rich_help_panel=_CARD)
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Convert vectors to another format."""
    from firthian.disk.atomic import check_not_source, check_target
    from firthian.disk.stopping import catching_signals
    from firthian.vectors.formats import format_for, read_vectors, refuse_counts, write_vectors

    chosen = format_for(target, to)
    card = {"tokenizer": tokenizer, "name": name, "language": language, "license": license, "scores": scores}
    options: dict[str, Any] = {option: value for option, value in card.items() if value is not None}
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
        print_json({"path": target, "format": chosen.name, "shape": shape, "repaired": repaired})
        return
    print(f"{len(vectors):,} words × {vectors.vector_size:,} dimensions in {target} ({chosen.name})")
    for what, times in repaired.items():
        print(f"repaired in {source}: {what.replace('_', ' ')} ({times:,})")


def _read_scores(path: Path) -> Any:
    import json

    from firthian.errors import FirthianError, from_os_error

    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise from_os_error(error) from error
    except (ValueError, RecursionError):
        raise FirthianError(f"{path} is not JSON", hint="make it with: firth evaluate VECTORS --json") from None
