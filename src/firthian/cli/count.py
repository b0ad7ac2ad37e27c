"""``firth count`` and ``firth merge``: corpora to counts on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from firthian.cli import options as flags
from firthian.cli.app import app
from firthian.cli.by import By, parts, refuse_by
from firthian.cli.options import counting_flags, new_output, print_json, require_output
from firthian.disk.stopping import catching_signals
from firthian.runtime.progress import on_terminal


@app.command()
@counting_flags
def count(
    corpus: list[str] = typer.Argument(..., help="Files, folders, or - for standard input."),
    output: flags.Output = None,
    by: By = None,
    memory: flags.Memory = None,
    workers: flags.Workers = None,
    cluster: flags.Cluster = None,
    seed: flags.Seed = 1,
    dry_run: bool = typer.Option(False, "--dry-run", help="Estimate tokens, words, pairs, memory and time, then stop."),
    resume: flags.Resume = False,
    force: flags.Force = False,
    json: flags.Json = False,
    counting: Any = None,
) -> None:
    """Count word co-occurrences in a corpus."""
    from firthian.counts.counting import count as count_corpus
    from firthian.counts.estimate import estimate
    from firthian.text.readers import Files, reading_settings

    settings = counting.settings()
    source = Files(corpus, **reading_settings(settings))
    if dry_run:
        refuse_by(by, "dry-run")
        expected = estimate(source, workers=workers, memory=memory, seed=seed, **settings)
        print_json(expected.to_dict()) if json else print(expected.describe())
        return
    output = require_output(output)
    records = []
    for part, folder in parts(source, by, output, resume):
        with catching_signals(), on_terminal() as progress:
            counts = count_corpus(
                part, folder, memory=memory, workers=workers, cluster=cluster, seed=seed, resume=resume,
                force=force, progress=progress, **settings,
            )  # fmt: skip
        flags.tell_doubts(part, counts.record)
        facts = {"path": str(Path(folder)), "words": len(counts.vocabulary), "pairs": counts.pairs}
        records.append({**facts, **counts.record})
        if not json:
            print(_summary(counts, by))
    if json:
        print_json(records if by else records[0])


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _summary(counts: Any, by: str | None) -> str:
    """Describe in a few lines what was counted and what was left out."""
    corpus, vocabulary, settings = (counts.record[part] for part in ("corpus", "vocabulary", "settings"))
    lines = [
        f"{corpus['tokens']:,} tokens in {_many(corpus['documents'], 'document')}, {corpus['types']:,} distinct words",
        f"{vocabulary['words']:,} words kept (min count {settings['min_count']}), "
        f"{corpus['tokens'] - vocabulary['tokens']:,} tokens of other words dropped",
        f"{counts.pairs:,} pairs in {counts.path}",
    ]
    if counts.record["phrases"]:
        lines.insert(1, f"{counts.record['phrases']:,} phrases joined")
    if corpus["undecodable_bytes"]:
        lines.append(
            f"replaced {corpus['undecodable_bytes']:,} bytes that are not UTF-8 (--strict makes this an error)"
        )
    if corpus["rows_excluded"]:
        reason = "excluded by --where" if by is None else "with other values"
        lines.append(f"{_many(corpus['rows_excluded'], 'row')} {reason}")
    if corpus["rows_without_text"]:
        lines.append(f"{_many(corpus['rows_without_text'], 'row')} without text skipped")
    if vocabulary["absent"]:
        limited = settings["min_count"] > 1 or settings["max_vocab"] is not None or settings["stop_words"] is not None
        reason = "do not occur, or were excluded by other limits" if limited else "do not occur"
        lines.append(f"{vocabulary['absent']:,} words of the given list {reason}")
    return "\n".join(lines)


@app.command()
def merge(
    counts: list[str] = typer.Argument(..., help="Counts folders made with the same options."),
    output: flags.Output = None,
    workers: flags.Workers = None,
    force: flags.Force = False,
) -> None:
    """Add up the counts of several corpora."""
    from firthian.counts.merging import merge as merge_counts
    from firthian.counts.merging import same_corpus

    output = new_output(output, force, *counts)
    with catching_signals():
        merged = merge_counts(counts, output, workers=workers, force=force)
    print(f"{len(merged.vocabulary):,} words, {merged.pairs:,} pairs in {output}")
    for first, second in same_corpus(merged.record["merged"]):
        print(f"{counts[first]} and {counts[second]} are counts of the same text, which now counts twice")
