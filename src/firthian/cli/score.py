"""``firth score``: how likely documents are under a PSDVec model."""

from __future__ import annotations

import sys

import typer

from firthian.cli.app import app
from firthian.cli.options import Json, print_json
from firthian.errors import FirthianError


@app.command()
def score(
    vectors: str = typer.Argument(..., help="Vectors of the recipes psd or psd-blockwise."),
    corpus: list[str] = typer.Argument(..., help="Files or -, one document per line."),
    counts: str | None = typer.Option(None, help="Training counts; adds the residuals of seen pairs."),
    normalize: bool = typer.Option(False, "--normalize", help="Normalize the probabilities over all words (slower)."),
    topn: int = typer.Option(5, help="Surprising words to list, by log P(word | context) - log P(word).", min=0),
    tokenizer: str | None = typer.Option(
        None, help="unicode, whitespace, icu, icu:LOCALE or module:function. [default: the corpus's own]"
    ),
    json: Json = False,
) -> None:
    """Print the log-likelihood of documents and their surprising words."""
    from firthian.counts.counts import Counts
    from firthian.text.readers import Files
    from firthian.vectors.documents import tokenizer_of
    from firthian.vectors.formats import open_vectors
    from firthian.vectors.likelihood import TextModel, read_documents

    documents = Files(corpus)
    opened = open_vectors(vectors)
    model = TextModel(
        opened, Counts.load(counts) if counts else None, "seen" if counts else "none", normalize=normalize
    )
    # Never run a tokenizer function because a file names it: files may come from anywhere.
    chosen = tokenizer_of(opened, tokenizer)
    number = 0
    replaced: list[int] = []
    for number, tokens in enumerate(read_documents(documents, opened, chosen, replaced.append), start=1):
        if number == 1 and not json:
            print(
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
            print_json(record, indent=None)
            continue
        shown = ", ".join(f"{word} {gain:.1f}" for word, gain in surprises)
        each = f"{result.total / known:.3f}" if known else "-"
        print(f"{number:>8} {len(tokens):>7} {result.unknown:>7} {result.total:>15.2f} {each:>9}  {shown}")
    if any(replaced):
        print(f"replaced {sum(replaced):,} bytes that are not UTF-8", file=sys.stderr)
    if number == 0:
        raise FirthianError(f"{', '.join(corpus)}: no documents to score", hint="pass text, one document per line")
