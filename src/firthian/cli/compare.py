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
    read_names,
    say,
    show_json,
)
from firthian.runtime.progress import on_terminal


@app.command()
@counting_flags
def compare(
    source: Annotated[list[str], typer.Argument(help="A folder of counts, or corpus files and folders.")],
    model: Annotated[list[str], typer.Option("-m", "--model", help="A recipe, or recipe:option=value,... (repeat).")],
    output: Output = None,
    vector_size: Annotated[
        int | None, typer.Option("--dim", "--vector-size", help="Dimensions of the vectors.")
    ] = None,
    suite: Annotated[str, typer.Option(help="Suites to evaluate on, see firth evaluate.")] = "similarity,analogy",
    sets: Annotated[str | None, typer.Option(help="Only these sets, or files of yours, with commas between.")] = None,
    seed: Seed = 1,
    memory: Memory = None,
    workers: Workers = None,
    cluster: Cluster = None,
    force: Force = False,
    json: Json = False,
    counting: Any = None,
) -> None:
    """Train, evaluate and time several recipes; write a report.

    Each recipe counts a corpus as it likes best (firth models NAME says how); flags of counting change that for all.
    """
    from firthian.compare import compare_recipes
    from firthian.disk.artifact import check_folder
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
        show_json(result.to_dict())
        return
    for entry in result.entries:
        say(
            f"{entry.name:<24} {entry.words:>8,} × {entry.vector_size:<6,} "
            f"counting {entry.counting_seconds:6.1f} s, training {entry.training_seconds:6.1f} s"
        )
    say(str(result.evaluation))
    if output is not None:
        say(f"the report is {output}/report.html")
