"""``firth count``: a corpus -> counts on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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
    say,
    show_json,
)
from firthian.runtime.progress import on_terminal


@app.command()
@counting_flags
def count(
    corpus: Annotated[list[str], typer.Argument(help="Files, folders, or - for standard input.")],
    output: Output = None,
    memory: Memory = None,
    workers: Workers = None,
    cluster: Cluster = None,
    seed: Seed = 1,
    dtype: Annotated[str, typer.Option(help="Stored type: float32 or float64.")] = "float32",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only estimate tokens, words, pairs, memory and time.")
    ] = False,
    resume: Resume = False,
    force: Force = False,
    json: Json = False,
    counting: Any = None,
) -> None:
    """Count which words occur near which."""
    from firthian.counts.counting import count as count_corpus
    from firthian.counts.estimate import estimate
    from firthian.disk.stopping import catching_signals
    from firthian.errors import FirthianError
    from firthian.text.readers import Files

    settings = counting.settings()
    source = Files(corpus, settings.pop("format", "auto"), settings.pop("text_column", None))
    if dry_run:
        result = estimate(source, workers=workers, memory=memory, seed=seed, dtype=dtype, **settings)
        show_json(result.to_dict()) if json else say(result.describe())
        return
    if output is None:
        raise FirthianError("there is no place for the counts", hint="name a folder with -o")
    with catching_signals(), on_terminal() as progress:
        counts = count_corpus(
            source, output, memory=memory, workers=workers, cluster=cluster, seed=seed, dtype=dtype, resume=resume,
            force=force, progress=progress, **settings,
        )  # fmt: skip
    if json:
        show_json(
            {
                "path": str(Path(output)),
                "words": len(counts.vocabulary),
                "pairs": counts.pairs,
                **counts.record,
            }
        )
        return
    say(summary(counts))


def summary(counts: Any) -> str:
    """Say in a few lines what was counted, and what was left out."""
    found, kept = counts.record["corpus"], counts.record["vocabulary"]
    lines = [
        f"{found['tokens']:,} tokens in {found['documents']:,} documents, {found['types']:,} different words",
        f"{kept['words']:,} words kept (min count {counts.record['settings']['min_count']}), "
        f"{found['tokens'] - kept['tokens']:,} tokens of other words left out",
        f"{counts.pairs:,} pairs in {counts.path}",
    ]
    if counts.record["phrases"]:
        lines.insert(1, f"{counts.record['phrases']:,} phrases joined")
    if found["undecodable_bytes"]:
        lines.append(
            f"{found['undecodable_bytes']:,} bytes were not UTF-8 and were replaced (--strict makes them an error)"
        )
    if kept["absent"]:
        limits = counts.record["settings"]
        others = limits["min_count"] > 1 or limits["max_vocab"] is not None or limits["stop_words"] is not None
        why = "do not occur, or were left out by other limits" if others else "do not occur"
        lines.append(f"{kept['absent']:,} words of the given list {why}")
    return "\n".join(lines)
