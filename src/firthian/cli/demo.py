"""``firth demo``: the whole flow on a small real corpus.

A step is a function of the :class:`Demo` so far; ``STEPS`` lists them in order.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from firthian.cli.app import app
from firthian.cli.options import Workers
from firthian.errors import FirthianError, from_os_error
from firthian.runtime.progress import on_terminal

if TYPE_CHECKING:
    from firthian.counts.counts import Counts

#: The data set to count.
CORPUS = "20newsgroups-text"

#: The recipes to train: the default, whose neighbors are shown, and the fastest.
RECIPES = ("sgns", "svd")

#: The test sets; None means every standard set available.
SETS: list[str] | None = None


#: Words whose neighbors are shown, and how often the strongest pairs co-occur at least.
WORDS, MIN_TOGETHER = ("hockey", "windows", "space", "god", "car", "doctor"), 300.0


@dataclass
class Demo:
    """The results of the steps so far."""

    folder: Path
    workers: int | None = None
    corpus: Path | None = None
    counts: Counts | None = None


def fetch_corpus(demo: Demo) -> None:
    """Fetch the corpus: 18,821 Usenet postings from 1993."""
    from firthian.datasets import locate
    from firthian.runtime.memory import show_size

    with on_terminal() as progress:
        demo.corpus = locate(CORPUS, progress)
    print(f"{demo.corpus} ({show_size(demo.corpus.stat().st_size)})")


def count_corpus(demo: Demo) -> None:
    """Count word co-occurrences."""
    from firthian.counts.counting import count

    assert demo.corpus is not None
    target = demo.folder / "counts"
    with on_terminal() as progress:
        demo.counts = count(demo.corpus, target, min_count=10, workers=demo.workers, force=True, progress=progress)
    corpus, kept = demo.counts.record["corpus"], demo.counts.record["vocabulary"]
    print(f"{corpus['tokens']:,} tokens, {corpus['types']:,} distinct words; {kept['words']:,} occur at least 10 times")
    print(f"{demo.counts.pairs:,} pairs in {target}")


def show_pairs(demo: Demo) -> None:
    """Show the most strongly associated pairs."""
    assert demo.counts is not None
    # PMI favors rare pairs: with a low threshold, signatures and addresses would fill the list.
    pairs = demo.counts.strongest_pairs(topn=20, min_count=MIN_TOGETHER)
    width = max((len(f"{word} {context}") for word, context, _, _ in pairs), default=0)
    print(f"{'pair':<{width}}  {'together':>9}  {'PMI':>5}")
    for word, context, together, pmi in pairs:
        print(f"{word + ' ' + context:<{width}}  {together:>9,.1f}  {pmi:>5.2f}")


def train_recipes(demo: Demo) -> None:
    """Train and evaluate two recipes, and write a report."""
    from firthian.compare import compare_recipes

    assert demo.counts is not None
    report = demo.folder / "report"
    with on_terminal() as progress:
        size = min(100, len(demo.counts.vocabulary) // 2)
        result = compare_recipes(
            demo.counts, RECIPES, report, vector_size=size, sets=SETS, workers=demo.workers, force=True, progress=progress
        )  # fmt: skip
    for entry in result.entries:
        print(f"{entry.name}: {entry.words:,} words × {entry.vector_size} dimensions in {entry.training_seconds:.1f} s")
    print(str(result.evaluation))
    print(f"open {report / 'report.html'} in a browser")


def show_neighbors(demo: Demo) -> None:
    """Show the nearest neighbors of some words."""
    from firthian.vectors.vectors import Vectors

    vectors = Vectors.load(demo.folder / "report" / "vectors" / RECIPES[0])
    for word in WORDS:
        if word in vectors:
            near = ", ".join(f"{neighbor} {score:.2f}" for neighbor, score in vectors.most_similar(word, topn=6))
            print(f"{word:<10} {near}")


#: The steps, in order; the first line of each one's docstring is its title.
STEPS: tuple[Callable[[Demo], None], ...] = (fetch_corpus, count_corpus, show_pairs, train_recipes, show_neighbors)


@app.command()
def demo(output: str = typer.Option("demo", "-o", "--output", help="Output folder."), workers: Workers = None) -> None:
    """Run the whole flow on a small corpus."""
    run(output, workers=workers)


def run(output: str | os.PathLike[str] = "demo", *, workers: int | None = None) -> Demo:
    """Run every step into the folder ``output``; replace the results of an earlier demo there."""
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise FirthianError(f"{folder} is not a folder", hint="choose another name with -o")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise from_os_error(error) from error
    demo = Demo(folder, workers)
    for number, step in enumerate(STEPS, start=1):
        title = (step.__doc__ or step.__name__).splitlines()[0]
        print(f"[{number}/{len(STEPS)}] {title}")
        begin = time.perf_counter()
        step(demo)
        print(f"      {time.perf_counter() - begin:.1f} s\n")
    return demo
