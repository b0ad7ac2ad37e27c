"""``firth compare``: several recipes on one corpus, in one report."""

from __future__ import annotations

from typing import Any

import typer

from firthian.cli import options as flags
from firthian.cli.app import app
from firthian.cli.options import counting_flags, find_source, print_json, read_names
from firthian.disk.stopping import catching_signals
from firthian.runtime.progress import on_terminal


@app.command()
@counting_flags
def compare(
    source: list[str] = typer.Argument(..., help="Counts folder, or corpus files and folders."),
    model: list[str] = typer.Option(
        ..., "-m", "--model", "--recipe", help="Recipe, or RECIPE:OPTION=VALUE,...; repeatable."
    ),
    output: flags.Output = None,
    vector_size: int | None = typer.Option(None, "--dim", "--vector-size", help="Dimensions of the vectors."),
    suite: str = typer.Option("similarity,analogy", help="Suites to evaluate on; see firth evaluate."),
    sets: str | None = typer.Option(None, help="Test sets or your own files, comma-separated. [default: all]"),
    subwords: flags.Subwords = "off",
    seed: flags.Seed = 1,
    memory: flags.Memory = None,
    workers: flags.Workers = None,
    cluster: flags.Cluster = None,
    force: flags.Force = False,
    json: flags.Json = False,
    counting: Any = None,
) -> None:
    """Train, evaluate and time several recipes; write a report.

    Each recipe has its own counting defaults (see firth models NAME); counting flags override them for all recipes.
    """
    from firthian.compare import compare_recipes
    from firthian.disk.atomic import check_folder

    if output is not None:
        check_folder(output, force)
    if sets is not None:
        read_names(sets, "the set")
    settings = counting.settings()
    with catching_signals(), on_terminal() as progress:
        result = compare_recipes(
            find_source(source, settings), model, output, vector_size=vector_size, counting=settings, suite=suite,
            sets=sets, seed=seed, workers=workers, cluster=cluster, memory=memory, force=force, progress=progress,
            subwords=subwords,
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
