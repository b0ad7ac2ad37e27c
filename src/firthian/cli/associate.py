"""``firth associate`` and ``firth keyness``: what goes with what, and which words mark a group of documents."""

from __future__ import annotations

from typing import Any

import typer

from firthian.ask.settings import AssociateSettings, KeynessSettings
from firthian.cli import answers
from firthian.cli import options as flags
from firthian.cli.app import app
from firthian.cli.options import flags_of, read_names
from firthian.disk.stopping import catching_signals


@app.command()
@flags_of(AssociateSettings, "settings")
def associate(
    vectors: flags.Source,
    more_targets: list[str] | None = typer.Argument(None, metavar="LIST", help="Second list of targets."),
    targets: list[str] | None = typer.Option(
        None, "--targets", metavar="FILE", help="One or two files with a target word per line."
    ),
    attributes: tuple[str, str] | None = typer.Option(
        None, "--attributes", metavar="FILE FILE", help="Two files with an attribute word per line."
    ),
    name: str | None = typer.Option(None, "--list", help="Published test: weat1, weat2, weat6, weat7 or weat8."),
    axis: str | None = typer.Option(None, "--axis", help="Attributes as two poles, such as he,him:she,her."),
    seed: flags.Seed = 1,
    output: answers.Report = None,
    force: flags.Force = False,
    json: flags.Json = False,
    csv: answers.Csv = False,
    settings: Any = None,
) -> None:
    """Test which words go with which: WEAT, SC-WEAT, projections.

    Effect sizes come with exact or sampled permutation p-values, and intervals by resampling the words.
    """
    from firthian.ask.associate import associate as ask

    answers.check_output(output, force, json, csv)
    lists = [*(targets or []), *(more_targets or [])] or None
    with catching_signals():
        result = ask(vectors, lists, attributes, list=name, axis=axis, seed=seed, **settings.settings())
    answers.show_answer(result, output, force, json, csv)


@app.command()
@flags_of(KeynessSettings, "settings")
def keyness(
    corpus: str = typer.Argument(..., help="Table with a text and other columns, in any format."),
    by: str = typer.Option(..., "--by", help="Column that divides the documents into groups."),
    groups: str | None = typer.Option(
        None, "--groups", help="Two of its values, as A,B; one is compared with the rest."
    ),
    text_column: flags.TextColumn = None,
    format: flags.TableFormat = "auto",
    where: flags.Where = None,
    tokenizer: str | None = typer.Option(None, help="Tokenizer. [default: unicode]"),
    seed: flags.Seed = 1,
    output: answers.Report = None,
    force: flags.Force = False,
    json: flags.Json = False,
    csv: answers.Csv = False,
    settings: Any = None,
) -> None:
    """List the words that one group of documents uses more than another.

    Log-likelihood and log-odds with a Dirichlet prior, tested token by token and by permuting whole documents.
    """
    from firthian.ask.keyness import keyness as ask

    answers.check_output(output, force, json, csv)
    with catching_signals():
        result = ask(
            corpus, by, groups=None if groups is None else read_names(groups, "the group"), text_column=text_column,
            format=format, where=where, tokenizer=tokenizer, seed=seed, **settings.settings(),
        )  # fmt: skip
    answers.show_answer(result, output, force, json, csv)
