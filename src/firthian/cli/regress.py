"""``firth regress``: do documents of different kinds use a word differently?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from firthian.ask.settings import RegressSettings
from firthian.cli import answers
from firthian.cli import options as flags
from firthian.cli.app import app
from firthian.cli.options import flags_of, refuse_idle
from firthian.disk.stopping import catching_signals
from firthian.errors import FirthianError
from firthian.runtime.progress import on_terminal

if TYPE_CHECKING:
    from firthian.ask.result import Result


@app.command()
@flags_of(RegressSettings, "settings")
def regress(
    context: typer.Context,
    corpus: str = typer.Argument(..., help="Table with a text and covariates per row, in any format."),
    target: list[str] | None = typer.Option(
        None, "--target", help="Word, phrase or pattern such as immigr*. Repeatable: all count as one."
    ),
    all_words: bool = typer.Option(False, "--all-words", help="Test every frequent word, with false discovery rates."),
    min_occurrences: int = typer.Option(50, help="With --all-words: minimum occurrences of a word.", min=2),
    formula: str = typer.Option(..., "--formula", help="Covariates, as in party * gender + year."),
    vectors: str = typer.Option(..., "-v", "--vectors", help="Word vectors: a folder, or a file in any format."),
    transform: str | None = typer.Option(
        None, help="À la carte matrix (.npy), or none. [default: learned from the corpus]"
    ),
    stop_words: str | None = typer.Option(None, help="File of words to remove, one per line."),
    text_column: flags.TextColumn = None,
    format: flags.TableFormat = "auto",
    tokenizer: str | None = typer.Option(None, help="Tokenizer. [default: that of the vectors]"),
    seed: flags.Seed = 1,
    workers: flags.Workers = None,
    output: answers.Report = None,
    force: flags.Force = False,
    json: flags.Json = False,
    csv: answers.Csv = False,
    settings: Any = None,
) -> None:
    """Test who uses a word differently, by regression on facts about documents.

    Embedding regression: each occurrence has a vector, made of the words around it. Coefficients come with p-values, standard
    errors, the nearest words and typical sentences of each group.
    """
    from firthian.ask.all_words import regress_all
    from firthian.ask.regress import regress as regress_target

    answers.check_output(output, force, json, csv)
    if all_words == bool(target):
        raise FirthianError("expected either one target or all words", hint="pass --target WORD or --all-words")
    if not all_words:
        refuse_idle(context, ["min_occurrences"], "without --all-words")
    shared = {
        "transform": transform, "stop_words": stop_words, "text_column": text_column, "format": format,
        "tokenizer": tokenizer, "seed": seed, "workers": workers, **settings.settings(),
    }  # fmt: skip
    with catching_signals(), on_terminal() as progress:
        result: Result
        if target:
            result = regress_target(corpus, target, formula, vectors, progress=progress, **shared)
        else:
            result = regress_all(corpus, formula, vectors, min_occurrences=min_occurrences, progress=progress, **shared)
    answers.show_answer(result, output, force, json, csv)
