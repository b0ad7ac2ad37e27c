"""``firth encode``: vectors of texts."""

from __future__ import annotations

import sys
from contextlib import ExitStack

import typer

from firthian.cli.app import app
from firthian.cli.options import (
    CorpusFormat,
    Force,
    Json,
    Sql,
    TextColumn,
    Where,
    Workers,
    print_json,
    refuse_idle,
    require_output,
)

_LEARNING = ("method", "smoothing", "fit", "save")


@app.command()
def encode(
    context: typer.Context,
    vectors: str = typer.Argument(..., help="Vectors in any format, or an encoder written with --save."),
    texts: list[str] = typer.Argument(..., help="Texts, one per line; or a table with a column; or -."),
    output: str | None = typer.Option(None, "-o", "--output", help="Output file: .npy, .npz or .parquet."),
    method: str = typer.Option("spans", help="mean, sif, usif, spans or topics."),
    smoothing: float = typer.Option(1e-3, help="a of the weight a / (a + p)."),
    fit: str | None = typer.Option(None, help="Texts to learn from. [default: those to encode]"),
    save: str | None = typer.Option(None, help="Folder for the encoder, to encode more texts in the same way."),
    normalize: bool = typer.Option(False, "--normalize", help="Scale vectors to length 1."),
    empty: str = typer.Option("zero", help="Texts without a known word: zero (a row of zeros) or error."),
    format: CorpusFormat = "auto",
    text_column: TextColumn = None,
    where: Where = None,
    sql: Sql = None,
    workers: Workers = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Encode texts as vectors, one row per text."""
    from firthian.disk.atomic import check_folder
    from firthian.text.readers import Files, readable_again
    from firthian.texts.encoder import Encoder
    from firthian.texts.files import Texts, check_matrix, told, write_matrix
    from firthian.texts.store import is_encoder

    output = require_output(output)
    check_matrix(output, force)
    if save is not None:
        check_folder(save, force)
    if is_encoder(vectors):
        refuse_idle(context, _LEARNING, f"with {vectors}, which is an encoder")
        encoder = Encoder.load(vectors, normalize=normalize or None, empty=empty, workers=workers)
    else:
        encoder = Encoder(vectors, method, smoothing=smoothing, normalize=normalize, empty=empty, workers=workers)
    with ExitStack() as stack:
        corpus, *other = [
            Texts(stack.enter_context(readable_again(Files(paths, format, text_column, where, sql))))
            for paths in (texts, *([[fit]] if fit is not None else []))
        ]
        if not encoder.fitted:
            encoder.fit(other[0] if other else corpus)
        matrix = encoder.encode(corpus)
    if save is not None:
        encoder.save(save, force)
    write_matrix(output, matrix, force)
    facts = vars(encoder.coverage) | corpus.facts()
    if json:
        print_json({"dimension": encoder.dimension, "method": encoder.options["method"], **facts, "path": output})
        return
    print(f"{facts['texts']:,} texts × {encoder.dimension} dimensions in {output}")
    if facts["unknown"] or facts["composed"]:
        composed = f", {facts['composed']:,} composed of n-grams" if facts["composed"] else ""
        print(f"{facts['tokens']:,} words: {facts['unknown']:,} without a vector{composed}")
    if facts["empty"]:
        print(f"{facts['empty']:,} texts contain no known word: their rows are zeros", file=sys.stderr)
    for line in told(corpus.facts()):
        print(line, file=sys.stderr)
