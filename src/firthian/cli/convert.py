"""``firth convert`` and ``firth push``: vectors from one format to another, and to the Hugging Face hub."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from firthian.cli.app import app
from firthian.cli.options import Force, Json, Source, print_json
from firthian.disk.stopping import catching_signals

_CARD = "Model card and tokenizer (spacy, model2vec, sentence-transformers)"


@app.command()
def convert(
    source: Source,
    target: str = typer.Argument(..., metavar="OUT", help="Output; without a suffix, a Firthian folder."),
    to: str | None = typer.Option(
        None,
        help="Format: folder, word2vec, word2vec-bin, glove, fasttext-vec, fasttext-bin, gensim, npz, "
        "parquet, spacy, floret, model2vec, sentence-transformers, projector or atlas. [default: by suffix]",
    ),
    limit: int | None = typer.Option(None, min=1, help="Keep only the N most frequent words."),
    replace_spaces: str | None = typer.Option(None, help="Replace spaces in words, for formats without them."),
    duplicates: str = typer.Option("error", help="Words with two different vectors: error or first."),
    tokenizer: str | None = typer.Option(
        None, help="unicode or whitespace. [default: the corpus's]", rich_help_panel=_CARD
    ),
    name: str | None = typer.Option(None, help="Title of the model card.", rich_help_panel=_CARD),
    language: str | None = typer.Option(None, help="Language code, such as en.", rich_help_panel=_CARD),
    license: str | None = typer.Option(None, help="License of the vectors.", rich_help_panel=_CARD),
    scores: str | None = typer.Option(None, help="Output file of firth evaluate --json.", rich_help_panel=_CARD),
    force: Force = False,
    json: Json = False,
) -> None:
    """Convert vectors to another format."""
    from firthian.disk.atomic import check_not_source, check_target
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
        vectors = read_vectors(source, duplicates=duplicates, verify=True)
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


@app.command()
def push(
    source: Source,
    repository: str = typer.Argument(..., metavar="OWNER/NAME", help="Repository on the hub; created if missing."),
    private: bool = typer.Option(False, "--private", help="Create a private repository."),
    name: str | None = typer.Option(None, help="Title of the model card."),
    language: str | None = typer.Option(None, help="Language code, such as en."),
    license: str | None = typer.Option(None, help="License of the vectors."),
    scores: str | None = typer.Option(None, help="Output file of firth evaluate --json."),
    force: bool = typer.Option(False, "--force", help="Replace the files of an existing repository."),
    json: Json = False,
) -> None:
    """Upload vectors and their model card to the Hugging Face hub."""
    from firthian.vectors.formats import open_vectors
    from firthian.vectors.hub import push as push_vectors

    card: dict[str, Any] = {"name": name, "language": language, "license": license}
    if scores is not None:
        card["scores"] = _read_scores(Path(scores))
    vectors = open_vectors(source, verify=True)
    address = push_vectors(vectors, repository, private=private, force=force, **card)
    if json:
        print_json({"address": address, "shape": [len(vectors), vectors.vector_size]})
        return
    print(f"{len(vectors):,} words × {vectors.vector_size:,} dimensions at {address}")


def _read_scores(path: Path) -> Any:
    import json

    from firthian.disk.opening import read_regular
    from firthian.errors import FirthianError, from_os_error

    try:
        return json.loads(read_regular(path))
    except OSError as error:
        raise from_os_error(error) from error
    except (ValueError, RecursionError):
        raise FirthianError(f"{path} is not JSON", hint="make it with: firth evaluate VECTORS --json") from None
