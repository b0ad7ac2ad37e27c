"""``firth compare``: several recipes on one corpus, in one report."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from firthian.cli.app import app
from firthian.cli.options import (
    Cluster,
    Force,
    Json,
    Memory,
    Output,
    Seed,
    Workers,
    counting_flags,
    find_source,
    print_json,
    read_names,
)
from firthian.runtime.progress import on_terminal


@app.command()
@counting_flags
def compare(
    source: Annotated[list[str], typer.Argument(help="Counts folder, or corpus files and folders.")],
    model: Annotated[list[str], typer.Option("-m", "--model", help="Recipe, or recipe:option=value,... Repeatable.")],
    output: Output = None,
    vector_size: Annotated[
        int | None, typer.Option("--dim", "--vector-size", help="Dimensions of the vectors.")
    ] = None,
    suite: Annotated[str, typer.Option(help="Suites to evaluate on; see firth evaluate.")] = "similarity,analogy",
    sets: Annotated[
        str | None, typer.Option(help="Test sets or your own files, comma-separated. [default: all]")
    ] = None,
    seed: Seed = 1,
    memory: Memory = None,
    workers: Workers = None,
    cluster: Cluster = None,
    force: Force = False,
    json: Json = False,
    counting: Any = None,
) -> None:
    """Train, evaluate and time several recipes; write a report.

    Each recipe has its own counting defaults (see firth models NAME); counting flags override them for all recipes.
    """
    from firthian.compare import compare_recipes
    from firthian.disk.atomic import check_folder
    from firthian.disk.stopping import catching_signals

    if output is not None:
        check_folder(output, force)
    if sets is not None:
        read_names(sets, "the set")
    settings = counting.settings()
    with catching_signals(), on_terminal() as progress:
        result = compare_recipes(
            find_source(source, settings), model, output, vector_size=vector_size, counting=settings, suite=suite,
            sets=sets, seed=seed, workers=workers, cluster=cluster, memory=memory, force=force, progress=progress,
        )  # fmt: skip
    if json:
        print_json(result.to_dict())
        return
    for entry in result.entries:
        print(
            f"{entry.name:<24} {entry.words:>8,} × {entry.vector_size:<6,} "
            f"counting {entry.counting_seconds:6.1f} s, training {entry.training_seconds:6.1f} s"
        )
    print(str(result.evaluation))
    if output is not None:
        print(f"report: {output}/report.html")
