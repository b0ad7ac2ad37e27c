"""``firth adapt`` and ``firth classify``: train a text classifier that also tunes word vectors, and apply it."""

from __future__ import annotations

import json as json_module
import sys
from pathlib import Path
from typing import Any

import typer

from firthian.cli.app import app
from firthian.cli.options import (
    Force,
    Json,
    Output,
    Seed,
    TableFormat,
    TextsFormat,
    Workers,
    new_output,
    print_json,
    read_settings,
)
from firthian.disk.stopping import catching_signals
from firthian.errors import FirthianError
from firthian.runtime.progress import Progress, on_terminal

#: Texts classified at a time.
_BATCH = 2000

#: Classifier parameters that have flags of their own.
_FLAGS = {"vectors": "-v", "random_state": "--seed", "n_jobs": "--workers"}


@app.command()
def adapt(
    labeled: str = typer.Argument(..., help="Table with labels and texts, or - for TSV."),
    vectors: str = typer.Option("random:100", "-v", "--vectors", help="Word vectors, random:DIM, or onehot."),
    output: Output = None,
    method: str = typer.Option("rpa", help="rpa (tunes the vectors) or pa (keeps them fixed)."),
    cost: float | None = typer.Option(None, "-C", "--cost", help="Largest update per example, C."),
    lam: float | None = typer.Option(None, help="Penalty on moving word vectors, relative to the classifier."),
    passes: int | None = typer.Option(None, help="Passes over the training examples."),
    settings: list[str] | None = typer.Option(None, "--set", help="Another classifier parameter. Repeatable."),
    cv: int | None = typer.Option(None, help="Choose C, lam and passes by N-fold cross-validation."),
    grid: str | None = typer.Option(None, help="Grid searched by --cv: usual or paper. [default: usual]"),
    format: TableFormat = "auto",
    label_column: str | None = typer.Option(None, help="Column with the label."),
    text_column: str | None = typer.Option(None, help="Column with the text."),
    split_column: str | None = typer.Option(None, help="Column with train or test."),
    learning_curve: bool = typer.Option(
        True, "--learning-curve/--no-learning-curve", help="Also fit on growing subsets, for the report."
    ),
    seed: Seed = 1,
    workers: Workers = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Train a text classifier that tunes word vectors to the task."""
    from firthian.adapt.labeled import read_labeled

    output = new_output(output, force, vectors)
    if grid is not None and cv is None:
        raise FirthianError("--grid has no effect without --cv", hint="add --cv 5, or omit it")
    chosen = read_settings(settings or [], C=cost, lam=lam, passes=passes)
    classifier, notes = _classifier(method, vectors, chosen, seed, workers)
    columns = {"label_column": label_column, "text_column": text_column, "split_column": split_column}
    text = read_labeled(labeled, format=format, **columns)
    if text.damaged:
        notes.append(f"replaced bytes that are not UTF-8 in {text.damaged:,} texts")
    if skipped := text.elsewhere("train", "test"):
        parts = ", ".join(f"{name} {number:,}" for name, number in skipped.items())
        notes.append(f"texts in neither train nor test were skipped: {parts}")
    report: dict[str, Any] = {"data": labeled, "vectors": vectors, "notes": notes}
    with catching_signals(), on_terminal() as progress:
        _fit(classifier, text, report, progress, cv, grid or "usual", workers, learning_curve)
        _write(classifier, report, output, force)
    print_json({**report, "path": str(Path(output))}) if json else print(_summary(report, output))


def _classifier(
    method: str, vectors: str, settings: dict[str, Any], seed: int, workers: int | None
) -> tuple[Any, list[str]]:
    from firthian.adapt import PAClassifier, RPAClassifier
    from firthian.errors import suggest
    from firthian.options import declared

    notes = []
    if method not in ("rpa", "pa"):
        raise FirthianError(f"unknown method {method!r}", hint="choose from: rpa, pa")
    if vectors == "onehot" and method == "rpa":
        method = "pa"
        notes.append("one-hot features have no vectors to tune, so this is plain PA")
    kind = PAClassifier if method == "pa" else RPAClassifier
    options = declared(kind)
    known = [name for name in kind().get_params() if name not in _FLAGS]
    if "lam" in settings and vectors == "onehot":
        raise FirthianError("`lam` has no effect with -v onehot, which has no vectors", hint="omit it, or pass vectors")
    if method == "pa" and "lam" in settings:
        raise FirthianError("`lam` has no effect with --method pa, which keeps vectors fixed", hint="omit it")
    parameters = {}
    for name, value in settings.items():
        if name in _FLAGS:
            raise FirthianError(f"{name} cannot be given with --set", hint=f"use {_FLAGS[name]}")
        if name not in known:
            raise FirthianError(f"the classifier has no parameter {name!r}", hint=suggest(name, known))
        parameters[name] = options[name].check(value) if name in options else value
    if parameters.get("class_weight") == "none":
        del parameters["class_weight"]
    return kind(vectors, **parameters, random_state=seed, n_jobs=workers), notes


def _fit(
    classifier: Any,
    text: Any,
    report: dict[str, Any],
    progress: Progress,
    cv: int | None,
    grid: str,
    workers: int | None,
    learning_curve: bool,
) -> None:
    from firthian.adapt import search_parameters
    from firthian.adapt.report import describe, evaluate, sample_curve
    from firthian.adapt.search import PAPER_GRID, USUAL_GRID

    texts, labels = text.part("train")
    test, truth = text.part("test")
    if not texts:
        raise FirthianError("no example has the split 'train'", hint="name the column with `split_column`")
    if cv is not None:
        grids = {"usual": USUAL_GRID, "paper": PAPER_GRID}
        if grid not in grids:
            raise FirthianError(f"unknown grid {grid!r}", hint=f"choose from: {', '.join(grids)}")
        if cv > len(texts):
            message = f"--cv {cv} is more folds than the {len(texts):,} training examples"
            raise FirthianError(message, hint=f"pass --cv {len(texts)} or less")
        search = search_parameters(classifier, texts, labels, grids[grid], folds=cv, workers=workers, progress=progress)
        classifier.set_params(**search.best)
        report["search"] = {name: vars(search)[name] for name in ("best", "accuracy", "folds", "table")}
    progress.start("learning", 1)
    classifier.fit(texts, labels)
    progress.advance(1)
    parameters = classifier.get_params()
    report["parameters"] = {name: parameters[name] for name in parameters if name not in ("vectors", "n_jobs")}
    report["training"] = {"examples": len(texts), **describe(classifier)}
    if test:
        report["test"] = evaluate(classifier, test, truth)
        if learning_curve:
            progress.start("learning curve")
            report["learning_curve"] = sample_curve(classifier, texts, labels, test, truth)


def _write(classifier: Any, report: dict[str, Any], output: str, force: bool) -> None:
    from firthian.adapt.report import plot
    from firthian.adapt.store import write
    from firthian.disk.artifact import spelled
    from firthian.disk.atomic import new_folder, write_file

    with new_folder(output, force) as folder:
        write(classifier, folder)
        try:
            plot(report, folder / "report.png")
        except FirthianError as error:
            report["notes"].append(f"no picture: {error}")
        text = json_module.dumps(spelled(report), indent=1, ensure_ascii=False)
        write_file(folder / "report.json", f"{text}\n".encode())


def _summary(report: dict[str, Any], output: str) -> str:
    training = report["training"]
    lines = list(report["notes"])
    if "search" in report:
        search = report["search"]
        best = ", ".join(f"{name} {value:g}" for name, value in search["best"].items())
        lines.append(f"cross-validation ({search['folds']} folds): {best}; accuracy {search['accuracy']:.4f}")
    composed = f", {training['words_composed']:,} composed from parts" if training["words_composed"] else ""
    lines.append(
        f"{training['examples']:,} training examples, {len(training['classes'])} classes, {training['words']:,} words "
        f"({training['words_without_vector']:,} without a vector{composed})"
    )
    if training["empty_documents"]:
        lines.append(f"{training['empty_documents']:,} training documents contain no known word and were not used")
    if test := report.get("test"):
        lines.append(f"test: accuracy {test['accuracy']:.4f}, macro-F1 {test['macro_f1']:.4f} on {test['examples']:,}")
        if test["empty_documents"]:
            lines.append(f"{test['empty_documents']:,} test documents contain no known word and get the first class")
        if test["calibration"]:
            lines.append(f"expected calibration error {test['calibration']['expected_error']:.3f}")
    if training.get("moved_words"):
        moved = ", ".join(f"{entry['word']} ({entry['towards']})" for entry in training["moved_words"][:8])
        lines.append(f"moved most: {moved}")
    return "\n".join([*lines, f"classifier and report in {output}"])


@app.command()
def classify(
    model: str = typer.Argument(..., help="Classifier written by firth adapt."),
    file: str = typer.Argument(..., help="Texts, one per line; or a table; or -."),
    format: TextsFormat = "auto",
    text_column: str | None = typer.Option(None, help="Column with the text."),
    tokenizer: str | None = typer.Option(None, help="Function module:function. [default: the classifier's]"),
    labels_only: bool = typer.Option(False, "--labels-only", help="Print only labels, one per line."),
) -> None:
    """Classify texts with a trained classifier. Prints one JSON object per line: the label, and a score per class."""
    import numpy as np

    from firthian.adapt import load
    from firthian.adapt.labeled import count_damaged, read_texts
    from firthian.adapt.learner import predict_codes

    # Never run a tokenizer function because a file names it: files may come from anywhere.
    classifier = load(model, tokenizer)
    if classifier.input_kind_ == "matrix":
        raise FirthianError(f"{model} classifies matrices, not texts", hint="use it from Python")
    names = [str(label) for label in classifier.classes_]
    texts = read_texts(file, format=format, text_column=text_column)
    empty = 0
    for first in range(0, len(texts), _BATCH):
        decision = classifier.decision_function(texts[first : first + _BATCH])
        codes = predict_codes(decision)
        # Adding 0 turns the -0 of an empty text into 0.
        table = (np.stack([-decision, decision], axis=1) if decision.ndim == 1 else decision) + 0.0
        empty += int(np.count_nonzero(~table.any(axis=1)))
        for code, row in zip(codes, table, strict=True):
            if labels_only:
                print(names[code])
                continue
            scores = {name: round(float(score), 6) for name, score in zip(names, row, strict=True)}
            print_json({"label": names[code], "scores": scores}, indent=None)
    if damaged := count_damaged(texts):
        print(f"replaced bytes that are not UTF-8 in {damaged:,} texts", file=sys.stderr)
    if empty:
        print(f"{empty:,} of {len(texts):,} texts contain no known word and get the label {names[0]}", file=sys.stderr)
