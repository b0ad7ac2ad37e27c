"""``firth change``: words that are used differently in slices of a corpus."""

from __future__ import annotations

from typing import Any

import typer

from firthian.cli import answers
from firthian.cli import options as flags
from firthian.cli.app import app
from firthian.cli.options import counting_flags, read_names
from firthian.disk.stopping import catching_signals
from firthian.errors import FirthianError
from firthian.runtime.progress import on_terminal


@app.command()
@counting_flags
def change(
    corpus: list[str] = typer.Argument(..., help="A table with the column --by, or two or more corpora: the slices."),
    by: str | None = typer.Option(None, help="Column to slice by."),
    cuts: str | None = typer.Option(None, help="Numbers to cut the column at, comma-separated; 1880 ends a slice."),
    unit: str | None = typer.Option(None, help="Column of groups to permute, such as author. [default: documents]"),
    words: str | None = typer.Option(None, help="Words to test, comma-separated. [default: all frequent ones]"),
    vectors: str | None = typer.Option(
        None, "-v", "--vectors", help="Vectors of the recipe sgns to measure with. [default: trained on all slices]"
    ),
    vector_size: int | None = typer.Option(None, "--dim", "--vector-size", help="Dimensions of trained vectors."),
    min_occurrences: int = typer.Option(50, help="Minimum occurrences of a word that is tested."),
    permutations: answers.Permutations = 1000,
    fdr: float = typer.Option(0.1, help="False discovery rate to accept."),
    topn: int = typer.Option(20, help="Words to describe by neighbors and contexts."),
    missing: str = typer.Option("drop", help="Documents without a value: drop or refuse."),
    plot: str | None = typer.Option(None, help="Write a figure (PNG, SVG, PDF): all words, or one word's path."),
    output: answers.Report = None,
    seed: flags.Seed = 1,
    memory: flags.Memory = None,
    workers: flags.Workers = None,
    force: flags.Force = False,
    json: flags.Json = False,
    csv: answers.Csv = False,
    counting: Any = None,
) -> None:
    """Find words that are used differently in slices of a corpus."""
    from firthian.ask.change import change as find_change
    from firthian.ask.result import PICTURES
    from firthian.runtime.figures import check_picture

    answers.check_output(output, force, json, csv)
    if plot is not None:
        check_picture(plot, PICTURES, force)
    settings = counting.settings()
    reading = {name: settings.pop(name) for name in ("format", "text_column") if name in settings}
    with catching_signals(), on_terminal() as progress:
        result = find_change(
            *corpus, by=by, cuts=_numbers(cuts), unit=unit, words=None if words is None else read_names(words, "the word"),
            vectors=vectors, vector_size=vector_size, min_occurrences=min_occurrences, permutations=permutations, fdr=fdr,
            topn=topn, missing=missing, counting=settings, seed=seed, memory=memory, workers=workers, progress=progress,
            **reading,
        )  # fmt: skip
    if plot is not None:
        result.plot(plot, force=force)
    answers.show_answer(result, output, force, json, csv)


def _numbers(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise FirthianError(f"expected numbers in `cuts`, got {text!r}", hint="such as --cuts 1860,1880") from None
