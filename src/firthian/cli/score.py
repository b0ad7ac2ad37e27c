"""``firth score``: how likely documents are under a PSDVec model."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from firthian.cli.app import app
from firthian.cli.options import Json, say, show_json


@app.command()
def score(
    vectors: Annotated[str, typer.Argument(help="Vectors of the recipes psd or psd-blockwise.")],
    corpus: Annotated[list[str], typer.Argument(help="Files or -, one document a line.")],
    counts: Annotated[str | None, typer.Option(help="Training counts; adds the residuals of seen pairs.")] = None,
    normalize: Annotated[
        bool, typer.Option("--normalize", help="Let the probabilities of all words sum to one (slower).")
    ] = False,
    topn: Annotated[
        int,
        typer.Option(
            help="How many surprising words to show, each with log P(word | its context) - log P(word), lowest first.",
            min=0,
        ),
    ] = 5,
    tokenizer: Annotated[
        str | None,
        typer.Option(help="unicode, whitespace, icu, icu:LOCALE or module:function. [default: the corpus's own]"),
    ] = None,
    json: Json = False,
) -> None:
    """Print how likely documents are, and which words surprised."""
    from firthian.counts.counts import Counts
    from firthian.errors import FirthianError
    from firthian.text.readers import Files
    from firthian.vectors.documents import tokenizer_of
    from firthian.vectors.likelihood import TextModel, read_documents
    from firthian.vectors.vectors import Vectors

    documents = Files(corpus)
    loaded = Vectors.load(vectors)
    model = TextModel(
        loaded, Counts.load(counts) if counts else None, "seen" if counts else "none", normalize=normalize
    )
    # A function that cut the corpus is called only where the user names it: files come from anywhere.
    cut = tokenizer_of(loaded, tokenizer)
    number = 0
    replaced: list[int] = []
    for number, tokens in enumerate(read_documents(documents, loaded, cut, replaced.append), start=1):
        if number == 1 and not json:
            say(
                f"{'document':>8} {'tokens':>7} {'unknown':>7} {'log-likelihood':>15} {'per token':>9}  surprising words"
            )
        result = model.log_prob(tokens)
        known = len(result.words)
        surprises = result.surprises(topn)
        if json:
            record = {
                "document": number,
                "tokens": len(tokens),
                "unknown": result.unknown,
                "log_likelihood": result.total,
                "surprises": [{"word": word, "gain": gain} for word, gain in surprises],
            }
            show_json(record, indent=None)
            continue
        shown = ", ".join(f"{word} {gain:.1f}" for word, gain in surprises)
        each = f"{result.total / known:.3f}" if known else "-"
        say(f"{number:>8} {len(tokens):>7} {result.unknown:>7} {result.total:>15.2f} {each:>9}  {shown}")
    if any(replaced):
        print(f"{sum(replaced):,} bytes were not UTF-8 and were replaced", file=sys.stderr)
    if number == 0:
        raise FirthianError(
            f"{', '.join(corpus)}: there is no document to score", hint="give text, one document a line"
        )
