"""``firth adapt``: labeled text and word vectors -> a classifier, with vectors that fit the task."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated, Any

import typer

from firthian.cli.app import app
from firthian.cli.options import Force, Json, Output, Seed, Workers, read_settings, say, show_json
from firthian.runtime.progress import Progress, on_terminal

_GRIDS = ("usual", "paper")

#: Parameters of the classifiers that have a flag of their own, which all verbs share.
_FLAGS = {"vectors": "-v", "random_state": "--seed", "n_jobs": "--workers"}


@app.command()
def adapt(
    labeled: Annotated[str, typer.Argument(help="TSV, CSV or JSON lines with labels and texts; - for standard input.")],
    vectors: Annotated[
        str, typer.Option("-v", "--vectors", help="Word vectors, random:DIM, or onehot (words as features).")
    ] = "random:100",
    output: Output = None,
    method: Annotated[str, typer.Option(help="rpa (vectors are learned too) or pa (they stay as they are).")] = "rpa",
    cost: Annotated[float | None, typer.Option("-C", "--cost", help="C: how much an example may change.")] = None,
    lam: Annotated[float | None, typer.Option(help="How much dearer moving a vector is than the classifier.")] = None,
    passes: Annotated[int | None, typer.Option(help="How often each example is seen.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="Another parameter: name=value.")] = None,
    cv: Annotated[
        int | None, typer.Option(help="Choose C, lam and passes by so many folds of the training part.")
    ] = None,
    grid: Annotated[str | None, typer.Option(help="What --cv searches: usual or paper. [default: usual]")] = None,
    format: Annotated[str, typer.Option(help="auto, tsv, csv or jsonl.")] = "auto",
    label_column: Annotated[str | None, typer.Option(help="Column with the label.")] = None,
    text_column: Annotated[str | None, typer.Option(help="Column with the text.")] = None,
    split_column: Annotated[str | None, typer.Option(help="Column that says train or test.")] = None,
    learning_curve: Annotated[
        bool, typer.Option("--learning-curve/--no-learning-curve", help="Fit on growing shares too, for the report.")
    ] = True,
    seed: Seed = 1,
    workers: Workers = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Learn to classify texts, and move word vectors to suit the task."""
    from firthian.adapt.labeled import read_labeled
    from firthian.disk.artifact import check_folder, check_not_source
    from firthian.disk.stopping import catching_signals
    from firthian.errors import FirthianError

    if output is None:
        raise FirthianError("there is no place for the classifier", hint="name a folder with -o")
    check_not_source(output, vectors)
    check_folder(output, force)
    if grid is not None and cv is None:
        raise FirthianError(
            "--grid says what --cv searches, which is not asked for", hint="add --cv 5, or leave it out"
        )
    chosen = read_settings(settings or [], C=cost, lam=lam, passes=passes)
    classifier, notes = _classifier(method, vectors, chosen, seed, workers)
    text = read_labeled(
        labeled, format=format, label_column=label_column, text_column=text_column, split_column=split_column
    )
    if text.damaged:
        notes.append(f"bytes of {text.damaged:,} texts are not UTF-8 and were replaced")
    left = text.elsewhere("train", "test")
    if left:
        parts = ", ".join(f"{name} {number:,}" for name, number in left.items())
        notes.append(f"texts that belong to neither train nor test were left out: {parts}")
    report: dict[str, Any] = {"data": labeled, "vectors": vectors, "notes": notes}
    with catching_signals(), on_terminal() as progress:
        _fit(classifier, text, report, progress, cv, grid or "usual", workers, learning_curve)
        _write(classifier, report, output, force)
    show_json({**report, "path": str(Path(output))}) if json else say(_summary(report, output))


def _classifier(
    method: str, vectors: str, settings: dict[str, Any], seed: int, workers: int | None
) -> tuple[Any, list[str]]:
    from firthian.adapt import PAClassifier, RPAClassifier
    from firthian.errors import FirthianError, suggest
    from firthian.options import Option

    notes = []
    if method not in ("rpa", "pa"):
        raise FirthianError(f"there is no method {method!r}", hint="known are rpa, pa")
    if vectors == "onehot" and method == "rpa":
        method = "pa"
        notes.append("one-hot features have no vectors to move: this is plain PA")
    kind = PAClassifier if method == "pa" else RPAClassifier
    defaults = kind().get_params()
    defaults["class_weight"] = "none"
    if "lam" in settings and vectors == "onehot":
        raise FirthianError(
            "--lam is about moving vectors, and -v onehot has none", hint="leave it out or give vectors with -v"
        )
    if method == "pa" and "lam" in settings:
        raise FirthianError(
            "--lam is about moving vectors, which --method pa does not", hint="leave it out or use --method rpa"
        )
    parameters = {}
    for name in _FLAGS:
        del defaults[name]
    for name, value in settings.items():
        if name in _FLAGS:
            raise FirthianError(f"{name} is not given with --set", hint=f"use {_FLAGS[name]}")
        if name not in defaults:
            raise FirthianError(f"the classifier has no parameter {name!r}", hint=suggest(name, defaults))
        number, words = (float, ("auto",)) if name == "lam" else (type(defaults[name]), ())
        parameters[name] = Option(f"the default is {defaults[name]}", words=words, name=name, kind=number).check(value)
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
    from firthian.errors import FirthianError

    texts, labels = text.part("train")
    test, truth = text.part("test")
    if not texts:
        raise FirthianError("no line belongs to the split 'train'", hint="name the column with --split-column")
    if cv is not None:
        if grid not in _GRIDS:
            raise FirthianError(f"there is no grid {grid!r}", hint=f"known are {', '.join(_GRIDS)}")
        if cv > len(texts):
            raise FirthianError(
                f"--cv {cv} asks for more folds than the {len(texts):,} training examples",
                hint=f"give at most {len(texts)}",
            )
        found = search_parameters(
            classifier, texts, labels, PAPER_GRID if grid == "paper" else USUAL_GRID,
            folds=cv, workers=workers, progress=progress,
        )  # fmt: skip
        classifier.set_params(**found.best)
        report["search"] = {"best": found.best, "accuracy": found.accuracy, "folds": found.folds, "table": found.table}
    progress.start("learning", 1)
    classifier.fit(texts, labels)
    progress.advance(1)
    report["parameters"] = {
        name: value for name, value in classifier.get_params().items() if name not in ("vectors", "n_jobs")
    }
    report["training"] = {"examples": len(texts), **describe(classifier)}
    if test:
        report["test"] = evaluate(classifier, test, truth)
        if learning_curve:
            progress.start("learning curve")
            report["learning_curve"] = sample_curve(classifier, texts, labels, test, truth)


def _write(classifier: Any, report: dict[str, Any], output: str, force: bool) -> None:
    from firthian.adapt.report import plot
    from firthian.adapt.store import write
    from firthian.disk.artifact import new_folder, spelled, write_file
    from firthian.errors import FirthianError

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
        best = ", ".join(f"{name} {value:g}" for name, value in report["search"]["best"].items())
        found = report["search"]
        lines.append(f"cross-validation ({found['folds']} folds): {best}; accuracy {found['accuracy']:.4f}")
    lines.append(
        f"{training['examples']:,} training examples, {len(training['classes'])} classes, {training['words']:,} words "
        f"({training['words_without_vector']:,} without a vector)"
    )
    if training["empty_documents"]:
        lines.append(f"{training['empty_documents']:,} training documents hold no known word and taught nothing")
    test = report.get("test")
    if test:
        lines.append(f"test: accuracy {test['accuracy']:.4f}, macro-F1 {test['macro_f1']:.4f} on {test['examples']:,}")
        if test["empty_documents"]:
            lines.append(f"{test['empty_documents']:,} test documents hold no known word: they fall to the first class")
        if test["calibration"]:
            lines.append(f"calibrated confidence is off by {test['calibration']['expected_error']:.3f} on average")
    if training.get("moved_words"):
        moved = ", ".join(f"{entry['word']} ({entry['towards']})" for entry in training["moved_words"][:8])
        lines.append(f"moved most: {moved}")
    return "\n".join([*lines, f"classifier and report in {output}"])
