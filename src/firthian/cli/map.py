"""``firth map`` and ``firth explore``: a map of words or a cloud of one word's contexts, and a web page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import typer

from firthian.cli.app import app
from firthian.cli.options import Force, Seed, Workers, refuse_idle
from firthian.runtime.progress import on_terminal

#: Flags that affect only one of the two pictures, and when they have no effect.
_CLOUD_FLAGS = ("order", "min_count", "skip_frequent"), "without --cloud"
_MAP_FLAGS = (
    ("method", "limit", "words", "clusters", "perplexity", "labels", "size", "seed", "workers", "no_cache"),
    "with --cloud, which shows the contexts of one word",
)


@app.command("map")
def draw_map(
    context: typer.Context,
    source: str = typer.Argument(..., metavar="VECTORS", help="Vectors in any format; a counts folder with --cloud."),
    output: str = typer.Option(..., "-o", "--output", help="Output file: .html, .png or .svg."),
    method: str = typer.Option("tsne", help="Projection: tsne, umap or pca."),
    limit: int = typer.Option(2000, help="Number of words, the most frequent first.", min=2),
    words: str | None = typer.Option(None, help="Words to draw: comma-separated, or a file with one per line."),
    clusters: int = typer.Option(12, help="Number of colored clusters.", min=1, max=10_000),
    perplexity: float = typer.Option(30.0, help="Perplexity of t-SNE: the effective number of neighbors."),
    labels: int | None = typer.Option(None, help="Largest number of labels in a picture.", min=0),
    size: float = typer.Option(10.0, help="Side of the picture, in inches.", min=2, max=60),
    cloud: str | None = typer.Option(None, help="Draw a cloud of this word's contexts instead."),
    order: str = typer.Option("pmi", help="Rank the contexts of a cloud by pmi or count."),
    min_count: float = typer.Option(5.0, help="Skip contexts of a cloud that co-occur less often.", min=0),
    skip_frequent: int = typer.Option(0, help="Skip contexts among the N most frequent words.", min=0),
    seed: Seed = 1,
    workers: Workers = None,
    no_cache: bool = typer.Option(False, "--no-cache", help="Neither read nor write the cached map."),
    force: Force = False,
) -> None:
    """Draw a map of words, or a cloud of one word's contexts."""
    from firthian.explore.map_plot import SUFFIXES, write_map
    from firthian.explore.projection import ProjectionOptions
    from firthian.explore.word_map import make_map
    from firthian.runtime.figures import check_picture
    from firthian.vectors.formats import open_vectors

    refuse_idle(context, *(_CLOUD_FLAGS if cloud is None else _MAP_FLAGS))
    if cloud is not None:
        _draw_cloud(source, cloud, output, force, order=order, min_count=min_count, skip_frequent=skip_frequent)
        return
    check_picture(output, SUFFIXES, force)
    options = ProjectionOptions(method, perplexity, seed)
    vectors = open_vectors(source)
    with on_terminal() as progress:
        drawn = make_map(
            vectors, limit=limit, words=_read_words(words), options=options, clusters=clusters, folder=source,
            keep=not no_cache, workers=workers, progress=progress,
        )  # fmt: skip
        progress.start("drawing")
        shown = write_map(drawn, output, title=_title(source, method), labels=labels, size=size, force=force)
    print(f"{output}: {len(drawn):,} words, {shown:,} with a label")


def _draw_cloud(source: str, word: str, output: str, force: bool, **choice: Any) -> None:
    from firthian.counts.counts import Counts
    from firthian.explore.contexts import plot_cloud

    picture = plot_cloud(Counts.load(source, verify=False), word, output, force=force, **choice)
    missing = f", {len(picture.left_out)} more did not fit" if picture.left_out else ""
    print(f"{output}: {len(picture.drawn)} contexts of {word}{missing}")


def _title(source: str, method: str) -> str:
    names = {"tsne": "t-SNE", "umap": "UMAP", "pca": "PCA"}
    return f"{Path(source).name} ({names[method]})"


def _read_words(text: str | None) -> list[str] | None:
    """Return the words of a comma-separated list or of a file."""
    from firthian.text.vocabulary import word_lines

    if text is None:
        return None
    if Path(text).is_file():
        return word_lines(text)
    return [word.strip() for word in text.split(",") if word.strip()]


@app.command()
def explore(
    vectors: list[str] = typer.Argument(..., metavar="VECTORS...", help="Vectors folders or files."),
    counts: str | None = typer.Option(None, help="Counts folder; adds the contexts of words with their PMI."),
    host: str = typer.Option("127.0.0.1", help="Address to listen on; other than localhost, it needs --token."),
    port: int = typer.Option(8642, help="Port; 0 picks a free one.", min=0, max=65535),
    token: str | None = typer.Option(None, help="Secret that clients must send. [default: $FIRTHIAN_TOKEN]"),
    root_path: str = typer.Option("", help="Path prefix behind a proxy, such as /words."),
    allow_host: list[str] | None = typer.Option(None, help="Another host name to accept; repeatable."),
    no_browser: bool = typer.Option(False, "--no-browser", help="Do not open the browser."),
) -> None:
    """Explore vectors in the browser. Stop with Ctrl-C."""
    from firthian.explore.server.app import serve

    def ready(url: str) -> None:
        # Flush, also into a pipe: the calling process waits for the address.
        print(f"exploring at {url} (stop with Ctrl-C)", flush=True)
        if not no_browser:
            import webbrowser

            webbrowser.open(url)

    token = token or os.environ.get("FIRTHIAN_TOKEN") or None
    serve(
        vectors, counts=counts, host=host, port=port, token=token, root_path=root_path, allow_hosts=allow_host or (),
        ready=ready,
    )  # fmt: skip
