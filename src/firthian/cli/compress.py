"""``firth compress``: vectors of a few bytes per word."""

from __future__ import annotations

from pathlib import Path

import typer

from firthian.cli import options as flags
from firthian.cli.app import app
from firthian.cli.options import new_output, print_json
from firthian.disk.stopping import catching_signals
from firthian.runtime.progress import on_terminal


@app.command()
def compress(
    vectors: flags.Source,
    output: flags.Output = None,
    bytes: int = typer.Option(100, help="Bytes per vector."),
    dim: int | None = typer.Option(None, help="Keep the N leading dimensions after the rotation."),
    words: int | None = typer.Option(None, help="Keep N words; with subwords the others are composed."),
    ngrams: int | None = typer.Option(None, help="Keep the N most useful n-grams."),
    method: str = typer.Option("auto", help="rounded (4 to 8 bits per dimension), product (any size) or auto."),
    seed: flags.Seed = 1,
    workers: flags.Workers = None,
    force: flags.Force = False,
    json: flags.Json = False,
) -> None:
    """Compress vectors to a few bytes per word."""
    from firthian.cli.info import size_on_disk
    from firthian.vectors.compress import compress as compress_vectors
    from firthian.vectors.formats import open_vectors

    output = new_output(output, force, vectors)
    with catching_signals(), on_terminal() as progress:
        small = compress_vectors(
            open_vectors(vectors), bytes, dim=dim, words=words, ngrams=ngrams, method=method, seed=seed,
            workers=workers, progress=progress,
        )  # fmt: skip
        small.save(output, force=force)
    before, after = size_on_disk(Path(vectors)), size_on_disk(Path(output))
    notes = {key: value for key, value in small.provenance.transforms[-1].items() if key != "name"}
    if json:
        print_json(
            {"path": output, "shape": [len(small), small.vector_size], **notes, "size": after, "size_before": before}
        )
        return
    print(f"{len(small):,} words × {small.vector_size:,} dimensions in {output}, {notes['bytes']} bytes per vector")
    print(f"{after / 1e6:,.1f} MB instead of {before / 1e6:,.1f} MB, with the spelling and the count of each word")
    if small.subwords is not None:
        print(f"{len(small.subwords):,} n-grams compose the vectors of other words")
    print(f"mean cosine with the originals {notes['cosine']}; nearest neighbors kept {notes['neighbors_kept']:.1%}")
