"""``firth merge``: add counts of several corpora."""

from __future__ import annotations

from typing import Annotated

import typer

from firthian.cli.app import app
from firthian.cli.options import Force, Workers, say


@app.command()
def merge(
    counts: Annotated[list[str], typer.Argument(help="Folders of counts made with the same options.")],
    output: Annotated[str, typer.Option("-o", "--output", help="The folder to write.")],
    workers: Workers = None,
    force: Force = False,
) -> None:
    """Add the counts of several corpora."""
    from firthian.counts.merging import merge as merge_counts
    from firthian.counts.merging import same_corpus
    from firthian.disk.artifact import check_not_source
    from firthian.disk.stopping import catching_signals

    for read in counts:
        check_not_source(output, read)
    with catching_signals():
        merged = merge_counts(counts, output, workers=workers, force=force)
    say(f"{len(merged.vocabulary):,} words, {merged.pairs:,} pairs in {output}")
    for one, other in same_corpus(merged.record["merged"]):
        say(f"{counts[one]} and {counts[other]} are counts of the same text: it was counted twice")
