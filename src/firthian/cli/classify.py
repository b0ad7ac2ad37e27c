"""``firth classify``: texts -> labels and scores."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from firthian.cli.app import app
from firthian.cli.options import show_json

#: Texts that are classified at a time.
_BATCH = 2000


@app.command()
def classify(
    model: Annotated[str, typer.Argument(help="A classifier that firth adapt wrote.")],
    file: Annotated[str, typer.Argument(help="Texts, one a line; or TSV, CSV, JSON lines; - for standard input.")],
    format: Annotated[str, typer.Option(help="auto, lines, tsv, csv or jsonl.")] = "auto",
    text_column: Annotated[str | None, typer.Option(help="Column with the text.")] = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(help="The function module:function that cut the training texts. [default: the classifier's own]"),
    ] = None,
    labels_only: Annotated[bool, typer.Option("--labels-only", help="Print labels alone, one a line.")] = False,
) -> None:
    """Classify texts with what adapt learned. Prints a JSON object a line, with the label and every class's score."""
    import numpy as np

    from firthian.adapt import load
    from firthian.adapt.labeled import count_damaged, read_texts
    from firthian.adapt.learner import predict_codes
    from firthian.errors import FirthianError

    # A function that cut the texts is called only where the user names it: files come from anywhere.
    classifier = load(model, tokenizer)
    if classifier.input_kind_ == "matrix":
        raise FirthianError(f"{model} classifies matrices, not texts", hint="use it from Python")
    names = [str(label) for label in classifier.classes_]
    texts = read_texts(file, format=format, text_column=text_column)
    silent = 0
    for first in range(0, len(texts), _BATCH):
        decision = classifier.decision_function(texts[first : first + _BATCH])
        codes = predict_codes(decision)
        # Adding 0 makes an empty text's -0 a 0.
        table = (np.stack([-decision, decision], axis=1) if decision.ndim == 1 else decision) + 0.0
        silent += int(np.count_nonzero(~table.any(axis=1)))
        for code, row in zip(codes, table, strict=True):
            if labels_only:
                print(names[code])
                continue
            scores = {name: round(float(score), 6) for name, score in zip(names, row, strict=True)}
            show_json({"label": names[code], "scores": scores}, indent=None)
    damaged = count_damaged(texts)
    if damaged:
        print(f"bytes of {damaged:,} texts are not UTF-8 and were replaced", file=sys.stderr)
    if silent:
        print(
            f"{silent:,} of {len(texts):,} texts hold no word the classifier knows: they fall to {names[0]}",
            file=sys.stderr,
        )
