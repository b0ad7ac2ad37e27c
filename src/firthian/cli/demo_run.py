"""The demonstration: a small real corpus through the flow, one step after another, each said in a line.

A step is a function of the :class:`Demo` so far. Adding one is adding it to ``STEPS``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from firthian.counts.counts import Counts
from firthian.errors import FirthianError, from_os_error
from firthian.runtime.progress import on_terminal

#: The data set that is counted.
CORPUS = "20newsgroups-text"

#: The recipes that are trained; neighbors are shown of the first.
RECIPES = ("psd", "svd")

#: What they are evaluated on; None is every common set that is to be had.
SETS: list[str] | None = None


@dataclass
class Demo:
    """What the steps have made so far."""

    folder: Path
    workers: int | None = None
    #: Where lines for the reader go.
    say: Callable[[str], None] = print
    #: A pair must be seen together so often to be shown.
    least_together: float = 300.0
    vector_size: int = 100
    words: tuple[str, ...] = ("hockey", "windows", "space", "god", "car", "doctor")
    corpus: Path | None = None
    counts: Counts | None = None


def fetch_corpus(demo: Demo) -> None:
    """Fetch the corpus: 18,821 Usenet postings of 1993."""
    from firthian.datasets import locate
    from firthian.runtime.memory import show_size

    with on_terminal() as progress:
        demo.corpus = locate(CORPUS, progress)
    demo.say(f"{demo.corpus} ({show_size(demo.corpus.stat().st_size)})")


def count_corpus(demo: Demo) -> None:
    """Count which words occur near which."""
    from firthian.counts.counting import count

    assert demo.corpus is not None
    target = demo.folder / "counts"
    with on_terminal() as progress:
        demo.counts = count(demo.corpus, target, min_count=10, workers=demo.workers, force=True, progress=progress)
    found, kept = demo.counts.record["corpus"], demo.counts.record["vocabulary"]
    demo.say(
        f"{found['tokens']:,} tokens, {found['types']:,} different words, of which {kept['words']:,} occur 10 times or more"
    )
    demo.say(f"{demo.counts.pairs:,} pairs in {target}")


def show_pairs(demo: Demo) -> None:
    """Show the pairs that keep company most."""
    assert demo.counts is not None
    # PMI favors rare pairs: without a high bar, signatures and addresses would fill the list.
    pairs = demo.counts.strongest_pairs(topn=20, min_count=demo.least_together)
    width = max((len(f"{word} {context}") for word, context, _, _ in pairs), default=0)
    demo.say(f"{'pair':<{width}}  {'together':>9}  {'PMI':>5}")
    for word, context, together, pmi in pairs:
        demo.say(f"{word + ' ' + context:<{width}}  {together:>9,.1f}  {pmi:>5.2f}")


def train_recipes(demo: Demo) -> None:
    """Train two recipes on these counts, evaluate them and write a report."""
    from firthian.compare import compare_recipes

    assert demo.counts is not None
    report = demo.folder / "report"
    with on_terminal() as progress:
        result = compare_recipes(
            demo.counts,
            RECIPES,
            report,
            vector_size=min(demo.vector_size, len(demo.counts.vocabulary) // 2),
            sets=SETS,
            workers=demo.workers,
            force=True,
            progress=progress,
        )
    for entry in result.entries:
        demo.say(
            f"{entry.name}: {entry.words:,} words × {entry.vector_size} dimensions in {entry.training_seconds:.1f} s"
        )
    demo.say(str(result.evaluation))
    demo.say(f"open {report / 'report.html'} in a browser")


def show_neighbors(demo: Demo) -> None:
    """Ask the vectors for the neighbors of some words."""
    from firthian.vectors.vectors import Vectors

    vectors = Vectors.load(demo.folder / "report" / "vectors" / RECIPES[0])
    for word in demo.words:
        if word in vectors:
            found = ", ".join(f"{near} {score:.2f}" for near, score in vectors.most_similar(word, topn=6))
            demo.say(f"{word:<10} {found}")


Step = Callable[[Demo], None]

#: The steps, in order; the first line of each one's docstring is its title.
STEPS: tuple[Step, ...] = (fetch_corpus, count_corpus, show_pairs, train_recipes, show_neighbors)


def run(
    output: str | os.PathLike[str] = "demo",
    *,
    workers: int | None = None,
    say: Callable[[str], None] = print,
) -> Demo:
    """Run every step into the folder ``output``; results of an earlier demonstration there are replaced."""
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise FirthianError(f"{folder} is not a folder", hint="choose another name with -o")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise from_os_error(error) from error
    demo = Demo(folder, workers, say)
    for number, step in enumerate(STEPS, start=1):
        title = (step.__doc__ or step.__name__).splitlines()[0]
        say(f"[{number}/{len(STEPS)}] {title}")
        begin = time.perf_counter()
        step(demo)
        say(f"      {time.perf_counter() - begin:.1f} s\n")
    return demo
