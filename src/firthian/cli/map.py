"""``firth map``: words on a plane, as a picture or a page; or a cloud of a word's contexts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from firthian.cli.app import app
from firthian.cli.options import Force, Seed, Workers, refuse_idle, say
from firthian.runtime.progress import on_terminal

#: Flags that only one of the two pictures heeds, and what to say to whom draws the other.
_OF_CLOUDS = ("order", "min_count", "skip_frequent"), "without --cloud"
_OF_MAPS = (
    ("method", "limit", "words", "clusters", "perplexity", "labels", "size", "seed", "workers", "no_cache"),
    "of a --cloud, which shows the contexts of one word",
)


@app.command("map")
def draw_map(
    context: typer.Context,
    source: Annotated[
        str, typer.Argument(metavar="VECTORS", help="Vectors in any form; with --cloud, a folder of counts.")
    ],
    output: Annotated[str, typer.Option("-o", "--output", help="The file to write: .html, .png or .svg.")],
    method: Annotated[str, typer.Option(help="tsne, umap or pca.")] = "tsne",
    limit: Annotated[int, typer.Option(help="So many words, the most frequent.", min=2)] = 2000,
    words: Annotated[
        str | None, typer.Option(help="Only these words, with commas between, or a file with one a line.")
    ] = None,
    clusters: Annotated[int, typer.Option(help="Groups to color.", min=1, max=100)] = 12,
    perplexity: Annotated[float, typer.Option(help="Of t-SNE: about how many neighbors matter.")] = 30.0,
    labels: Annotated[int | None, typer.Option(help="At most so many labels in a picture.", min=0)] = None,
    size: Annotated[float, typer.Option(help="Inches of a picture's side.", min=2, max=60)] = 10.0,
    cloud: Annotated[str | None, typer.Option(help="Draw a cloud of this word's contexts, from counts.")] = None,
    order: Annotated[str, typer.Option(help="Choose a cloud's contexts by pmi or count.")] = "pmi",
    min_count: Annotated[float, typer.Option(help="Leave out a cloud's contexts counted less often.", min=0)] = 5.0,
    skip_frequent: Annotated[
        int, typer.Option(help="Leave out a cloud's contexts that are among the so many most frequent words.", min=0)
    ] = 0,
    seed: Seed = 1,
    workers: Workers = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Compute anew, and keep nothing.")] = False,
    force: Force = False,
) -> None:
    """Draw a map of words, or a cloud of the company a word keeps."""
    from firthian.disk.figures import check_picture
    from firthian.explore.map_plot import SUFFIXES, write_map
    from firthian.explore.projection import ProjectionOptions
    from firthian.explore.word_map import make_map
    from firthian.vectors.loading import open_vectors

    refuse_idle(context, *(_OF_CLOUDS if cloud is None else _OF_MAPS))
    if cloud is not None:
        _draw_cloud(source, cloud, output, force, order=order, min_count=min_count, skip_frequent=skip_frequent)
        return
    check_picture(output, SUFFIXES, force)
    options = ProjectionOptions(method, perplexity, seed)
    vectors = open_vectors(source)
    with on_terminal() as progress:
        made = make_map(
            vectors, limit=limit, words=_read_words(words), options=options, clusters=clusters, folder=source,
            keep=not no_cache, workers=workers, progress=progress,
        )  # fmt: skip
        progress.start("drawing")
        shown = write_map(made, output, title=_title(source, method), labels=labels, size=size, force=force)
    say(f"{output}: {len(made):,} words, {shown:,} with a label")


def _draw_cloud(source: str, word: str, output: str, force: bool, **choice: Any) -> None:
    from firthian.counts.counts import Counts
    from firthian.explore.contexts import plot_cloud

    made = plot_cloud(Counts.load(source, verify=False), word, output, force=force, **choice)
    missing = f", {len(made.left_out)} more found no place" if made.left_out else ""
    say(f"{output}: {len(made.drawn)} contexts of {word}{missing}")


def _title(source: str, method: str) -> str:
    names = {"tsne": "t-SNE", "umap": "UMAP", "pca": "PCA"}
    return f"{Path(source).name} ({names[method]})"


def _read_words(given: str | None) -> list[str] | None:
    """Return the words of a list or of a file."""
    from firthian.text.word_lists import word_lines

    if given is None:
        return None
    if Path(given).is_file():
        return word_lines(given)
    return [word.strip() for word in given.split(",") if word.strip()]
