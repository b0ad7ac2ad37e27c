"""``firth add``: fold new words into trained vectors."""

from __future__ import annotations

from typing import Annotated

import typer

from firthian.cli.app import app
from firthian.cli.options import Force, Workers, say
from firthian.runtime.progress import on_terminal


@app.command()
def add(
    vectors: Annotated[str, typer.Argument(help="Vectors of the recipes psd or psd-blockwise.")],
    counts: Annotated[str, typer.Argument(help="Counts that hold the new words together with known ones.")],
    output: Annotated[str, typer.Option("-o", "--output", help="The folder to write.")],
    ridge: Annotated[float, typer.Option(help="Regularization mu of the new words.")] = 4.0,
    workers: Workers = None,
    force: Force = False,
) -> None:
    """Add words from new counts; old vectors do not change."""
    from firthian.counts.counts import Counts
    from firthian.disk.artifact import check_folder, check_not_source
    from firthian.disk.stopping import catching_signals
    from firthian.runtime.run import Run
    from firthian.vectors.added import add_words
    from firthian.vectors.vectors import Vectors

    for read in (vectors, counts):
        check_not_source(output, read)
    check_folder(output, force)
    with catching_signals(), on_terminal() as progress:
        run = Run.create(workers=workers, progress=progress)
        added = add_words(Vectors.load(vectors), Counts.load(counts), ridge, run)
        added.vectors.save(output, force=force)
    say(f"{len(added.new):,} words added, {len(added.vectors):,} in {output}")
    if added.unrelated:
        shown = ", ".join(added.unrelated[:5])
        say(f"{len(added.unrelated):,} words share no pair with the trained ones and were left out: {shown} ...")
