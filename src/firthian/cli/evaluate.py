"""``firth evaluate``: quality of vectors on standard tests and your own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from firthian.cli.app import app
from firthian.cli.options import Force, Json, Seed, Workers, print_json, read_names
from firthian.runtime.progress import on_terminal


@app.command()
def evaluate(
    vectors: Annotated[list[str], typer.Argument(help="Vectors folders or files; two or more are compared.")],
    suite: Annotated[
        str | None,
        typer.Option(help="Suites, as in similarity,analogy,classification:tasks=trec. [default: similarity,analogy]"),
    ] = None,
    sets: Annotated[str | None, typer.Option(help="Test sets, as in men,google. [default: all]")] = None,
    file: Annotated[
        list[str] | None, typer.Option("--file", help="Your own file of word pairs or analogies. Repeatable.")
    ] = None,
    oov: Annotated[str, typer.Option(help="Treatment of items with unknown words: skip or zero.")] = "skip",
    score: Annotated[str, typer.Option(help="Similarity: cosine, euclidean or product-kernel.")] = "cosine",
    restrict_vocab: Annotated[int | None, typer.Option(help="Use only the N most frequent words.", min=1)] = None,
    sections: Annotated[bool, typer.Option("--sections", help="Show each section of the analogies.")] = False,
    seed: Seed = 1,
    workers: Workers = None,
    json: Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    html: Annotated[str | None, typer.Option("--html", help="Also write an HTML report.")] = None,
    force: Force = False,
) -> None:
    """Evaluate vectors on standard tests and your own."""
    from firthian.disk.artifact import printable
    from firthian.disk.atomic import check_file, write_file
    from firthian.errors import FirthianError
    from firthian.evaluate.run import DEFAULT_SUITES
    from firthian.evaluate.run import evaluate as evaluate_vectors

    if json and csv:
        raise FirthianError("--json and --csv exclude each other", hint="choose one")
    if len(set(vectors)) < len(vectors):
        raise FirthianError("the same vectors are named twice", hint="name each once")
    page = None if html is None else check_file(html, force)
    requested: list[str | Path] = [*read_names(sets, "the set")] if sets is not None else []
    requested += map(Path, file or [])
    with on_terminal() as progress:
        result = evaluate_vectors(
            {printable(path): path for path in vectors}, DEFAULT_SUITES if suite is None else suite, requested or None,
            oov=oov, score=score, restrict_vocab=restrict_vocab, seed=seed, workers=workers, progress=progress,
        )  # fmt: skip
    if page is not None:
        write_file(page, printable(result.to_html()).encode())
    if json:
        print_json(result.to_dict())
    elif csv:
        print(result.to_csv(), end="")
    else:
        from rich.console import Console

        Console(highlight=False).print(result.rich(sections))
