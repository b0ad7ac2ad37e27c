"""``firth train`` and ``firth add``: counts or a corpus to vectors, and new words into trained vectors."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from firthian.cli import options as flags
from firthian.cli.app import app
from firthian.cli.by import By, parts, refuse_by
from firthian.cli.options import counting_flags, find_source, new_output, print_json, read_settings, require_output
from firthian.disk.stopping import Interrupted, catching_signals
from firthian.errors import FirthianError
from firthian.runtime.progress import on_terminal

if TYPE_CHECKING:
    from firthian.learn.bayes.stream import StreamSettings
    from firthian.vectors.vectors import Vectors


@app.command()
@counting_flags
def train(
    source: list[str] = typer.Argument(..., help="Counts folder, or corpus files, folders or -; vectors for sparse."),
    model: str | None = typer.Option(
        None, "-m", "--model", "--recipe", help="Recipe, or word2vec, fasttext, lsi; see firth models. [default: sgns]"
    ),
    output: flags.Output = None,
    by: By = None,
    vector_size: flags.Dimension = None,
    epochs: int | None = typer.Option(None, help="Sweeps over the data, for iterative recipes."),
    negative: float | None = typer.Option(None, help="Negative samples per pair, for recipes that use them."),
    covariance: str | None = typer.Option(None, help="Posterior covariance of bayes: full or diagonal."),
    settings: list[str] | None = typer.Option(None, "--set", help="Set a recipe option; repeatable."),
    stream: str | None = typer.Option(None, help="Train bayes-svi on a stream; keep its state in this folder."),
    subwords: flags.ModelSubwords = None,
    no_contexts: bool = typer.Option(False, "--no-contexts", help="Leave out context vectors."),
    seed: flags.Seed = 1,
    memory: flags.Memory = None,
    workers: flags.Workers = None,
    cluster: flags.Cluster = None,
    dry_run: bool = typer.Option(False, "--dry-run", help="Estimate sizes, memory, disk and time, then stop."),
    checkpoint_every: float | None = typer.Option(None, help="Seconds between checkpoints; 0 saves all. [default: 30]"),
    resume: flags.Resume = False,
    force: flags.Force = False,
    json: flags.Json = False,
    counting: Any = None,
) -> None:
    """Train word vectors on counts or a corpus.

    Each recipe has its own counting defaults (see firth models NAME); counting flags override them.
    """
    from firthian.learn.recipes import find_recipe, meant
    from firthian.learn.train import DEFAULT_RECIPE
    from firthian.learn.train import train as train_vectors
    from firthian.text.readers import Files

    options = read_settings(settings or [], epochs=epochs, negative=negative, covariance=covariance)
    for name in options.keys() & counting.keys():
        flag = f"--{name.replace('_', '-')} {options[name]}"
        raise FirthianError(f"{name} is an option of counting, not of the recipe", hint=f"use {flag}")
    recipe, options = meant(model or DEFAULT_RECIPE, options)
    asked = subwords is not None
    subwords = options.pop("subwords", subwords or ("off" if model else "auto"))
    counting_settings, dimension = counting.settings(), _dimension(vector_size)
    data: Any
    if find_recipe(recipe).source == "vectors":
        if len(source) > 1:
            raise FirthianError(f"{recipe} takes one set of vectors, got {len(source)}", hint="pass only one")
        data = source[0]
    else:
        data = find_source(source, counting_settings)
    if dry_run:
        refuse_by(by, "dry-run")
        from firthian.learn.forecast import forecast

        if isinstance(dimension, str):
            raise FirthianError(f"cannot estimate `vector_size={dimension}`", hint="pass a number, as in --dim 50")
        expected = forecast(
            data, recipe, vector_size=dimension, workers=workers, memory=memory, counting=counting_settings, **options
        )
        print_json(expected.to_dict()) if json else print(expected.describe())
        return
    output = require_output(output)
    if stream is not None:
        refuse_by(by, "stream")
        from firthian.learn.bayes.stream import stream_settings

        idle = {"memory": memory, "cluster": cluster, "checkpoint_every": checkpoint_every, "resume": resume or None}
        idle["contexts"] = False if no_contexts else None
        idle["subwords"] = None if subwords == "off" else subwords
        for name, value in idle.items():
            if value is not None:
                raise FirthianError(f"`{name}` has no effect on a stream, which always resumes", hint="omit it")
        chosen = stream_settings(find_recipe(recipe), options, counting_settings, dimension, seed)
        _follow(data, stream, chosen, workers, Path(output), force, json)
        return
    if by is not None and not isinstance(data, Files):
        raise FirthianError("--by divides a table of texts, not counts or vectors", hint="omit it, or pass the table")
    records = []
    for part, folder in parts(data, by, output, resume) if isinstance(data, Files) else [(data, output)]:
        with catching_signals() as stop, on_terminal() as progress:
            vectors = train_vectors(
                part, recipe, vector_size=dimension, seed=seed, workers=workers, cluster=cluster,
                memory=memory, counting=counting_settings, progress=progress, output=folder, resume=resume, force=force,
                checkpoint_every=checkpoint_every, stop=stop, subwords=subwords, contexts=not no_contexts, **options,
            )  # fmt: skip
        for damaged in vectors.measured.pop("damaged_steps", ()):
            print(f"firth: checkpoint {damaged} was damaged; used an earlier one", file=sys.stderr)
        flags.tell_doubts(part, vectors.provenance.counts)
        records.append({**vectors.provenance.to_dict(), **vectors.measured, "path": str(Path(folder))})
        if not json:
            seconds = vectors.measured["seconds"]
            print(f"{len(vectors):,} words × {vectors.vector_size} dimensions in {folder} ({seconds:.1f} s)")
            if vectors.subwords is not None or (asked and subwords != "off"):
                print(_subwords_line(vectors))
    if json:
        print_json(records if by else records[0])


def _follow(
    corpus: Any, folder: str, settings: StreamSettings, workers: int | None, output: Path, force: bool, json: bool
) -> None:
    """Learn from documents as they arrive."""
    from firthian.learn.bayes.stream import follow
    from firthian.runtime.memory import PeakMemory

    new_output(str(output), force, folder)
    begin = time.perf_counter()
    try:
        with PeakMemory() as peak, catching_signals() as stop, on_terminal() as progress:
            learned = follow(corpus, folder, settings, workers=workers, progress=progress, stop=stop)
    except Interrupted:
        print(f"firth: the model learned so far is saved in {folder}", file=sys.stderr)
        raise
    vectors = learned.vectors(**settings.result)
    vectors.save(output, force=force)
    if json:
        measured = {"seconds": round(time.perf_counter() - begin, 3), "peak_bytes": peak.bytes}
        more = {"undecodable_bytes": learned.undecodable_bytes, "repeated_batches": learned.repeated_batches}
        print_json({**vectors.provenance.to_dict(), **measured, **more, "path": str(output)})
        return
    print(f"{len(vectors):,} words × {vectors.vector_size} dimensions in {output}, {learned.tokens:,} tokens so far")
    if learned.undecodable_bytes:
        print(f"replaced {learned.undecodable_bytes:,} bytes that are not UTF-8 (--strict makes this an error)")
    if learned.repeated_batches:
        print(f"skipped {learned.repeated_batches:,} batches that the stream had already learned")
    if learned.tokens < learned.options["population"]:
        print(
            f"the stream ended after {learned.tokens:,} of {learned.options['population']:,} tokens; intervals are as "
            "narrow as if all had been seen"
        )


def _dimension(text: str | None) -> int | str | None:
    """Convert a number; the recipe decides which words it accepts instead."""
    try:
        return None if text is None else int(text)
    except ValueError:
        return text


def _subwords_line(vectors: Vectors) -> str:
    if vectors.subwords is None:
        return "no subwords: spelling does not predict these vectors"
    notes = vectors.provenance.subwords
    return f"{len(vectors.subwords):,} n-grams, blend {notes['blend']}, cosine with hidden words {notes['agreement']}"


@app.command()
def subwords(
    vectors: flags.Source,
    output: flags.Output = None,
    settings: list[str] | None = typer.Option(
        None, "--set", help="Set min_n, max_n, ridge, kappa, blend or steps; repeatable."
    ),
    seed: flags.Seed = 1,
    workers: flags.Workers = None,
    force: flags.Force = False,
) -> None:
    """Add vectors of character n-grams, so that every word has a vector."""
    from firthian.learn.subwords import add_subwords
    from firthian.vectors.formats import open_vectors

    output = new_output(output, force, vectors)
    with catching_signals():
        fitted = add_subwords(
            open_vectors(vectors, verify=True), seed=seed, workers=workers, **read_settings(settings or [])
        )
        fitted.save(output, force=force)
    print(f"{len(fitted):,} words × {fitted.vector_size} dimensions in {output}")
    print(_subwords_line(fitted))


@app.command()
def add(
    vectors: str = typer.Argument(..., help="Vectors of the recipes psd or psd-blockwise."),
    counts: str = typer.Argument(..., help="Counts of new words together with known ones."),
    output: flags.Output = None,
    ridge: float = typer.Option(1.0, help="Ridge penalty mu on the new vectors."),
    unseen_weight: float = typer.Option(0.15, help="Weight of pairs never seen; 0 is the paper's."),
    workers: flags.Workers = None,
    force: flags.Force = False,
) -> None:
    """Add words from new counts; existing vectors stay unchanged."""
    from firthian.counts.counts import Counts
    from firthian.runtime.run import Run
    from firthian.vectors.formats import open_vectors
    from firthian.vectors.psd import add_words

    output = new_output(output, force, vectors, counts)
    with catching_signals(), on_terminal() as progress:
        run = Run.create(workers=workers, progress=progress)
        added = add_words(open_vectors(vectors, verify=True), Counts.load(counts), ridge, unseen_weight, run)
        added.vectors.save(output, force=force)
    print(f"{len(added.new):,} words added, {len(added.vectors):,} in {output}")
    for words, reason in (
        (added.unrelated, "skipped: they share no pair with the trained ones"),
        (added.uncertain, "share a pair with only one trained word, so their vectors say little"),
    ):
        if words:
            shown = ", ".join(words[:5]) + (" ..." if len(words) > 5 else "")
            print(f"{len(words):,} words {reason}: {shown}")
