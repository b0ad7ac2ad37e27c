"""``firth train``: counts or a corpus -> vectors."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from firthian.cli.app import app
from firthian.cli.options import (
    Cluster,
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
from firthian.runtime.progress import on_terminal

if TYPE_CHECKING:
    from firthian.learn.bayes.stream_training import StreamSettings


@app.command()
@counting_flags
def train(
    source: Annotated[
        list[str], typer.Argument(help="A folder of counts, or corpus files and folders, or -; for sparse, vectors.")
    ],
    model: Annotated[
        str | None, typer.Option("-m", "--model", help="The recipe; see firth models. [default: sgns]")
    ] = None,
    output: Output = None,
    vector_size: Annotated[
        str | None, typer.Option("--dim", "--vector-size", help="Dimensions of the vectors; auto for bayes.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Sweeps or passes, where the recipe has them.")] = None,
    negative: Annotated[float | None, typer.Option(help="Negative samples k, where the recipe has them.")] = None,
    covariance: Annotated[str | None, typer.Option(help="full or diagonal, for bayes.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="An option of the recipe: name=value.")] = None,
    stream: Annotated[
        str | None,
        typer.Option(
            help="Of bayes-svi: learn as documents come, keep the state in this folder, go on if it is there."
        ),
    ] = None,
    seed: Seed = 1,
    memory: Memory = None,
    workers: Workers = None,
    cluster: Cluster = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only estimate sizes, memory, disk and time.")] = False,
    checkpoint_every: Annotated[
        float | None, typer.Option(help="Seconds between two saved steps; 0 saves every step. [default: 30]")
    ] = None,
    resume: Resume = False,
    force: Force = False,
    json: Json = False,
    counting: Any = None,
) -> None:
    """Learn word vectors from counts or a corpus.

    A corpus is counted as the recipe likes best (firth models NAME says how); flags of counting change that.
    """
    from firthian.disk.stopping import catching_signals
    from firthian.errors import FirthianError
    from firthian.learn.recipes import find_recipe
    from firthian.learn.train import DEFAULT_RECIPE
    from firthian.learn.train import train as train_vectors

    options = read_settings(settings or [], epochs=epochs, negative=negative, covariance=covariance)
    counting_settings, recipe, dimension = counting.settings(), model or DEFAULT_RECIPE, _dimension(vector_size)
    data: Any
    if find_recipe(recipe).source == "vectors":
        if len(source) > 1:
            raise FirthianError(f"the recipe {recipe} learns from one folder or file of vectors", hint="name only one")
        data = source[0]
    else:
        data = find_source(source, counting_settings)
    if dry_run:
        from firthian.learn.forecast import forecast

        if isinstance(dimension, str):
            raise FirthianError(f"a dry run cannot judge --dim {dimension}", hint="give a number, such as --dim 50")
        expected = forecast(
            data, recipe, vector_size=dimension, workers=workers, memory=memory, counting=counting_settings, **options
        )
        show_json(expected.to_dict()) if json else say(expected.describe())
        return
    if output is None:
        raise FirthianError("there is no place for the vectors", hint="name a folder with -o")
    if stream is not None:
        from firthian.learn.bayes.stream_training import stream_settings

        idle = {
            "--memory": memory, "--cluster": cluster, "--checkpoint-every": checkpoint_every, "--resume": resume or None,
        }  # fmt: skip
        given = [flag for flag, value in idle.items() if value is not None]
        if given:
            raise FirthianError(f"{given[0]} has no meaning for a stream, which always goes on", hint="leave it out")
        chosen = stream_settings(find_recipe(recipe), options, counting_settings, dimension, seed)
        _follow(data, stream, chosen, workers, Path(output), force, json)
        return
    with catching_signals() as stop, on_terminal() as progress:
        vectors = train_vectors(
            data, recipe, vector_size=dimension, seed=seed, workers=workers, cluster=cluster,
            memory=memory, counting=counting_settings, progress=progress, output=output, resume=resume, force=force,
            checkpoint_every=checkpoint_every, stop=stop, **options,
        )  # fmt: skip
    for damaged in vectors.measured.pop("damaged_steps", ()):
        print(f"firth: the saved step {damaged} was damaged; an earlier one was used", file=sys.stderr)
    if json:
        show_json({**vectors.provenance.to_dict(), **vectors.measured, "path": str(Path(output))})
        return
    took = vectors.measured
    say(f"{len(vectors):,} words × {vectors.vector_size} dimensions in {output} ({took['seconds']:.1f} s)")


def _follow(
    corpus: Any, folder: str, settings: StreamSettings, workers: int | None, output: Path, force: bool, json: bool
) -> None:
    """Learn from documents as they come."""
    from firthian.disk.artifact import check_folder, check_not_source
    from firthian.disk.stopping import Interrupted, catching_signals
    from firthian.learn.bayes.stream_training import follow
    from firthian.runtime.memory import PeakMemory

    check_not_source(output, folder)
    check_folder(output, force)
    begin = time.perf_counter()
    try:
        with PeakMemory() as peak, catching_signals() as stop, on_terminal() as progress:
            learned = follow(corpus, folder, settings, workers=workers, progress=progress, stop=stop)
    except Interrupted:
        print(f"firth: what was learned so far is kept in {folder}", file=sys.stderr)
        raise
    vectors = learned.vectors(**settings.result)
    vectors.save(output, force=force)
    if json:
        took = {"seconds": round(time.perf_counter() - begin, 3), "peak_bytes": peak.bytes}
        show_json(
            {
                **vectors.provenance.to_dict(),
                **took,
                "undecodable_bytes": learned.undecodable_bytes,
                "path": str(output),
            }
        )
        return
    say(f"{len(vectors):,} words × {vectors.vector_size} dimensions in {output}, {learned.tokens:,} tokens so far")
    if learned.undecodable_bytes:
        say(f"{learned.undecodable_bytes:,} bytes were not UTF-8 and were replaced (--strict makes them an error)")
    if learned.tokens < learned.options["population"]:
        say(
            f"the stream ended after {learned.tokens:,} of {learned.options['population']:,} tokens: intervals are as "
            "narrow as if all had come"
        )


def _dimension(given: str | None) -> int | str | None:
    """Read a number where it is one; what else is allowed depends on the recipe."""
    try:
        return None if given is None else int(given)
    except ValueError:
        return given
