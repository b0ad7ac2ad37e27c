"""``firth train``: counts or a corpus -> vectors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from firthian.cli.app import app
from firthian.cli.options import (
    Force,
    Json,
    Memory,
    Output,
    Resume,
    Seed,
    Workers,
    counting_flags,
    find_source,
    read_settings,
    say,
    show_json,
)
from firthian.progress import on_terminal


@app.command()
@counting_flags
def train(
    source: Annotated[
        list[str], typer.Argument(help="A folder of counts, or corpus files and folders, or -; for sparse, vectors.")
    ],
    model: Annotated[str | None, typer.Option("-m", "--model", help="The recipe; see firth models.")] = None,
    output: Output = None,
    vector_size: Annotated[
        int | None, typer.Option("--dim", "--vector-size", help="Dimensions of the vectors.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Sweeps or passes, where the recipe has them.")] = None,
    negative: Annotated[float | None, typer.Option(help="Negative samples k, where the recipe has them.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="An option of the recipe: name=value.")] = None,
    seed: Seed = 1,
    memory: Memory = None,
    workers: Workers = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only estimate sizes, memory, disk and time.")] = False,
    checkpoint_every: Annotated[
        float | None, typer.Option(help="Seconds between two saved steps; 0 saves every step. [default: 30]")
    ] = None,
    resume: Resume = False,
    force: Force = False,
    json: Json = False,
    counting: Any = None,
) -> None:
    """Learn word vectors from counts or a corpus."""
    from firthian.errors import FirthianError
    from firthian.recipes import find_recipe
    from firthian.stopping import catching_signals
    from firthian.training import DEFAULT_RECIPE
    from firthian.training import train as train_vectors

    options = read_settings(settings or [])
    options |= {name: value for name, value in (("epochs", epochs), ("negative", negative)) if value is not None}
    counting_settings, recipe = counting.settings(), model or DEFAULT_RECIPE
    data: Any = source[0] if find_recipe(recipe).source == "vectors" else find_source(source, counting_settings)
    if dry_run:
        from firthian.forecast import forecast

        expected = forecast(
            data, recipe, vector_size=vector_size, workers=workers, counting=counting_settings, **options
        )
        show_json(expected.to_dict()) if json else say(expected.describe())
        return
    if output is None:
        raise FirthianError("there is no place for the vectors", hint="name a folder with -o")
    with catching_signals() as stop, on_terminal() as progress:
        vectors = train_vectors(
            data, recipe, vector_size=vector_size, seed=seed, workers=workers, memory=memory,
            counting=counting_settings, progress=progress, output=output, resume=resume, force=force,
            checkpoint_every=checkpoint_every, stop=stop, **options,
        )  # fmt: skip
    for damaged in vectors.measured.pop("damaged_steps", ()):
        print(f"firth: the saved step {damaged} was damaged; an earlier one was used", file=sys.stderr)
    if json:
        show_json({**vectors.record, **vectors.measured, "path": str(Path(output))})
        return
    took = vectors.measured
    say(f"{len(vectors):,} words × {vectors.vector_size} dimensions in {output} ({took['seconds']:.1f} s)")
