"""``firth evaluate``: quality of vectors on standard tests and your own."""

from __future__ import annotations

from pathlib import Path

import typer

from firthian.cli.app import app
from firthian.cli.options import Force, Json, Seed, Workers, print_json, read_names
from firthian.errors import FirthianError
from firthian.runtime.progress import on_terminal


@app.command()
def evaluate(
    vectors: list[str] = typer.Argument(..., help="Vectors folders or files; two or more are compared."),
    suite: str | None = typer.Option(
        None, help="Suites, as in similarity,analogy,classification:tasks=trec. [default: similarity,analogy]"
    ),
    sets: str | None = typer.Option(None, help="Test sets, as in men,google. [default: all]"),
    file: list[str] | None = typer.Option(None, "--file", help="Your own file of word pairs or analogies. Repeatable."),
    oov: str = typer.Option("skip", help="Treatment of items with unknown words: skip, zero or subwords."),
    score: str = typer.Option("cosine", help="Similarity: cosine, euclidean or product-kernel."),
    restrict_vocab: int | None = typer.Option(None, help="Use only the N most frequent words.", min=1),
    sections: bool = typer.Option(False, "--sections", help="Show each section of the analogies."),
    seed: Seed = 1,
    workers: Workers = None,
    json: Json = False,
    csv: bool = typer.Option(False, "--csv", help="Print CSV."),
    html: str | None = typer.Option(None, "--html", help="Also write an HTML report."),
    force: Force = False,
) -> None:
    """Evaluate vectors on standard tests and your own."""
    from firthian.disk.artifact import printable
    from firthian.disk.atomic import check_file, write_file
    from firthian.evaluate.run import DEFAULT_SUITES
    from firthian.evaluate.run import evaluate as evaluate_vectors

    if json and csv:
        raise FirthianError("--json and --csv cannot be combined", hint="choose one")
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
