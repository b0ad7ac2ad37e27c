"""``firth map`` and ``firth explore``: a map of words or a cloud of one word's contexts, and a web page."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import typer

from firthian.cli.app import app
from firthian.cli.options import Force, Seed, Workers, refuse_idle
from firthian.errors import FirthianError
from firthian.runtime.progress import on_terminal

#: Flags that affect only one of the pictures, and when they have no effect.
_CLOUD_FLAGS = ("order", "min_count", "skip_frequent"), "without --cloud"
_MAP_FLAGS = (
    ("method", "limit", "words", "clusters", "perplexity", "labels", "size", "seed", "workers", "no_cache", "title", "dpi",
     "font", "highlight", "groups", "color", "onto"),
    "with --cloud, which shows the contexts of one word",
)  # fmt: skip
_CHANGE_FLAGS = ("limit", "clusters", "groups", "workers", "no_cache"), "with --onto, which draws the words of --words"


@app.command("map")
def draw_map(
    context: typer.Context,
    source: str = typer.Argument(..., metavar="VECTORS", help="Vectors in any format; a counts folder with --cloud."),
    output: str = typer.Option(..., "-o", "--output", help="Output file: .html, .png, .svg, .pdf or .csv."),
    method: str = typer.Option("tsne", help="Projection: tsne, umap or pca."),
    limit: int = typer.Option(2000, help="Number of words, the most frequent first.", min=2),
    words: str | None = typer.Option(None, help="Words to draw: comma-separated, or a file with one per line."),
    onto: str | None = typer.Option(
        None, "--onto", metavar="VECTORS", help="Later vectors: arrows show where --words have moved."
    ),
    clusters: int = typer.Option(12, help="Number of colored clusters.", min=1, max=10_000),
    groups: str | None = typer.Option(
        None, metavar="FILE", help="File of groups to color by: word, tab, group; a word per line."
    ),
    highlight: str | None = typer.Option(None, help="Words in bold: comma-separated, or a file with one per line."),
    color: str | None = typer.Option(None, help="One color for all words, such as steelblue or #4477cc."),
    perplexity: float = typer.Option(30.0, help="Perplexity of t-SNE: the effective number of neighbors."),
    labels: int | None = typer.Option(None, help="Largest number of labels in a picture.", min=0),
    title: str | None = typer.Option(None, help="Title of the picture. [default: the model and the method]"),
    size: float = typer.Option(10.0, help="Side of the picture, in inches.", min=2, max=60),
    dpi: int = typer.Option(150, help="Resolution of .png, in dots per inch.", min=30, max=2400),
    font: str | None = typer.Option(None, help="Font: its name, or a .ttf or .otf file."),
    cloud: str | None = typer.Option(None, help="Draw a cloud of this word's contexts instead."),
    order: str = typer.Option("pmi", help="Rank the contexts of a cloud by pmi, count, llr or log_odds."),
    min_count: float = typer.Option(5.0, help="Skip contexts of a cloud that co-occur less often.", min=0),
    skip_frequent: int = typer.Option(0, help="Skip contexts among the N most frequent words.", min=0),
    seed: Seed = 1,
    workers: Workers = None,
    no_cache: bool = typer.Option(False, "--no-cache", help="Neither read nor write the cached map."),
    force: Force = False,
) -> None:
    """Draw a map of words, or a cloud of one word's contexts."""
    from firthian.explore.map_plot import SUFFIXES, MapStyle, write_map
    from firthian.explore.projection import ProjectionOptions
    from firthian.explore.word_map import grouped, make_map, map_change
    from firthian.runtime.figures import check_picture, find_font
    from firthian.runtime.table import visible
    from firthian.vectors.formats import open_vectors

    refuse_idle(context, *(_CLOUD_FLAGS if cloud is None else _MAP_FLAGS))
    if cloud is not None:
        _draw_cloud(source, cloud, output, force, order=order, min_count=min_count, skip_frequent=skip_frequent)
        return
    if onto is not None:
        refuse_idle(context, *_CHANGE_FLAGS)
        if words is None:
            raise FirthianError("--onto needs words to follow", hint="pass --words gay,broadcast,awful")
    check_picture(output, SUFFIXES, force)
    if font is not None:
        find_font(font)
    colored, listed = _read_groups(groups), _read_words(words)
    if colored and listed is None:
        listed = list(colored)
    options = ProjectionOptions(method, perplexity, seed)
    vectors = open_vectors(source)
    with on_terminal() as progress:
        if onto is not None:
            drawn = map_change(vectors, open_vectors(onto), listed or [], options)
        else:
            drawn = make_map(
                vectors, limit=limit, words=listed, options=options, clusters=clusters, folder=source,
                keep=not no_cache, workers=workers, progress=progress,
            )  # fmt: skip
        if colored:
            drawn = grouped(drawn, colored)
        progress.start("drawing")
        shown = _title(source, method) if title is None else title
        style = MapStyle(shown, labels, size, dpi, font, _read_words(highlight) or (), color)
        result = write_map(drawn, output, style, force=force)
    for script, character in result.missing.items():
        remedy = f"pass --font with a font for {script}"
        print(f"firth: the font has no {script} characters such as {character}: {remedy}", file=sys.stderr)
    print(f"{output}: {len(drawn):,} words, {result.labeled:,} with a label")
    composed = [word for word in drawn.words if word not in vectors.vocabulary] if onto is None else []
    if composed:
        print(f"composed from parts: {', '.join(map(visible, composed[:10]))}{', …' if len(composed) > 10 else ''}")


def _draw_cloud(source: str, word: str, output: str, force: bool, **choice: Any) -> None:
    from firthian.counts.counts import Counts
    from firthian.explore.contexts import plot_cloud

    picture = plot_cloud(Counts.load(source), word, output, force=force, **choice)
    missing = f", {len(picture.left_out)} more did not fit" if picture.left_out else ""
    print(f"{output}: {len(picture.drawn)} contexts of {word}{missing}")


def _read_groups(path: str | None) -> dict[str, str]:
    """Return the group of each word of a file."""
    from firthian.text.vocabulary import list_text

    groups: dict[str, str] = {}
    if path is None:
        return groups
    for number, line in enumerate(list_text(path).split("\n"), 1):
        if line.strip():
            word, tab, group = line.partition("\t")
            if not tab:
                raise FirthianError(f"{path}, line {number}: expected a word, a tab and a group", hint="add the group")
            groups[word.strip()] = group.strip()
    if not groups:
        raise FirthianError(f"{path} contains no words", hint="write a word, a tab and its group on each line")
    return groups


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
    counts: list[str] | None = typer.Option(
        None, help="Counts folder; adds the contexts of words. Repeatable: one per model, in the same order."
    ),
    corpus: list[str] | None = typer.Option(None, help="Text file or folder; adds example lines. Repeatable."),
    index: str | None = typer.Option(None, help="Folder made by firth index; adds a search of its documents."),
    table: str | None = typer.Option(None, help="Table of texts; adds change between slices, and groups of documents."),
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
        vectors, counts=counts, corpus=corpus or (), index=index, table=table, host=host, port=port, token=token,
        root_path=root_path, allow_hosts=allow_host or (), ready=ready,
    )  # fmt: skip
