"""Report on a classifier: accuracy, macro-F1, confusion, calibration, learning curve, the words that moved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from firthian.adapt.base import DocumentClassifier
from firthian.adapt.documents import empty_documents
from firthian.adapt.estimators import RPAClassifier
from firthian.arrays import Array
from firthian.errors import FirthianError, require
from firthian.runtime.figures import plain_text, save_figure
from firthian.runtime.run import one_blas_thread

#: Bins of the calibration table.
_BINS = 10


def scores(truth: Sequence[Any], predicted: Sequence[Any], labels: Sequence[Any]) -> dict[str, Any]:
    """Return accuracy, macro-F1, precision, recall and F1 of each label, and the confusion matrix (rows: truth).

    >>> result = scores(["a", "a", "b"], ["a", "b", "b"], ["a", "b"])
    >>> result["accuracy"].__round__(3), result["macro_f1"].__round__(3), result["confusion"]
    (0.667, 0.667, [[1, 1], [0, 1]])
    """
    codes = {label: n for n, label in enumerate(labels)}
    confusion = np.zeros((len(codes), len(codes)), dtype=np.int64)
    rows = np.fromiter((codes[label] for label in truth), np.int64, len(truth))
    columns = np.fromiter((codes[label] for label in predicted), np.int64, len(predicted))
    np.add.at(confusion, (rows, columns), 1)
    right, guessed, actual = np.diag(confusion), confusion.sum(axis=0), confusion.sum(axis=1)
    f1 = 2 * right / np.maximum(guessed + actual, 1)
    # Labels that never occur and are never predicted do not count.
    judged = guessed + actual > 0
    return {
        "accuracy": float(right.sum() / max(1, len(truth))),
        "macro_f1": float(f1[judged].mean()) if judged.any() else 0.0,
        "examples": len(truth),
        "labels": {
            str(label): {
                "precision": float(right[n] / max(guessed[n], 1)),
                "recall": float(right[n] / max(actual[n], 1)),
                "f1": float(f1[n]),
                "examples": int(actual[n]),
            }
            for label, n in codes.items()
        },
        "confusion": confusion.tolist(),
    }


@one_blas_thread()
def calibration(decision: Array, right: Array) -> dict[str, Any]:
    """Return the calibration of the winning margin: Platt scaling fitted on one half, evaluated on the other.

    The expected calibration error is the mean difference, over bins, between the predicted probability of being right
    and the fraction that was right.
    """
    margin = np.abs(decision) if decision.ndim == 1 else np.diff(np.sort(decision, axis=1)[:, -2:], axis=1)[:, 0]
    if margin.size < 4:
        return {}
    even = np.arange(margin.size) % 2 == 0
    slope, offset = _platt(margin[even], right[even])
    probability = 1 / (1 + np.exp(-np.clip(slope * margin[~even] + offset, -700, 700)))
    truth = right[~even].astype(float)
    bins = np.minimum((probability * _BINS).astype(int), _BINS - 1)
    table, error = [], 0.0
    for number in np.unique(bins):
        inside = bins == number
        expected, observed = float(probability[inside].mean()), float(truth[inside].mean())
        error += float(inside.mean()) * abs(expected - observed)
        table.append({"probability": expected, "right": observed, "examples": int(inside.sum())})
    return {"expected_error": error, "slope": slope, "offset": offset, "bins": table}


def _platt(margin: Array, right: Array) -> tuple[float, float]:
    """Fit P(right) = sigmoid(slope margin + offset) by Newton's method, with Platt's softened targets."""
    positive, negative = int(right.sum()), int((~right).sum())
    target = np.where(right, (positive + 1) / (positive + 2), 1 / (negative + 2))
    features = np.stack([margin, np.ones_like(margin)], axis=1)
    weights = np.zeros(2)
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(features @ weights, -30, 30)))
        gradient = features.T @ (p - target) + 1e-6 * weights
        curvature = (features * (p * (1 - p))[:, None]).T @ features + 1e-6 * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        weights -= step
        if np.abs(step).max() < 1e-10:
            break
    return float(weights[0]), float(weights[1])


def learning_curve(classifier: DocumentClassifier) -> list[dict[str, float]]:
    """Return, for each pass, the fraction of examples misclassified *before* their update, and of those updated on."""
    curve = []
    histories = classifier.history_
    passes = max(map(len, histories))
    for number in range(1, passes + 1):
        # Learners of classes added later have seen the last passes only.
        entries = [history[number - passes - 1] for history in histories if len(history) > passes - number]
        examples = sum(entry["examples"] for entry in entries)
        shares = {name: sum(entry[name] for entry in entries) / examples for name in ("mistakes", "updates")}
        curve.append({"pass": number, **shares})
    return curve


def sample_curve(classifier: Any, texts: Any, labels: Any, test: Any, truth: Any) -> list[dict[str, Any]]:
    """Return the test accuracy after training on growing fractions of the training part."""
    from sklearn.base import clone

    generator = np.random.default_rng([classifier.seed_, 1 << 34])
    order = generator.permutation(len(texts))
    curve = []
    for fraction in (0.05, 0.1, 0.2, 0.4, 0.7, 1.0):
        chosen = order[: max(2, int(fraction * len(texts)))]
        known = [labels[n] for n in chosen]
        if len(set(known)) < 2:
            continue
        try:
            fitted = clone(classifier).fit([texts[n] for n in chosen], known)
        except FirthianError:
            # A small fraction may have no word of `min_count`; the curve then starts later.
            continue
        accuracy = float(np.mean(fitted.predict(test) == np.asarray(truth)))
        curve.append({"examples": int(chosen.size), "accuracy": accuracy})
    return curve


def evaluate(classifier: DocumentClassifier, texts: Sequence[str], truth: Sequence[Any]) -> dict[str, Any]:
    """Evaluate a fitted classifier on held-out texts."""
    unknown = sorted(set(truth) - set(classifier.classes_.tolist()))
    if unknown:
        message = f"the test part has the label {unknown[0]!r}, which the training part lacks"
        raise FirthianError(message, hint="add training examples of it, or remove it")
    decision = classifier.decision_function(texts)
    predicted = classifier.predict(texts)
    right = predicted == np.asarray(truth)
    counts, _ = classifier._read(texts)
    return {
        **scores(list(truth), predicted.tolist(), classifier.classes_.tolist()),
        "empty_documents": empty_documents(counts),
        "calibration": calibration(decision, right),
    }


def describe(classifier: DocumentClassifier) -> dict[str, Any]:
    """Return facts about training, for the report."""
    facts: dict[str, Any] = {
        "classifier": type(classifier).__name__,
        "classes": [str(label) for label in classifier.classes_],
        "words": len(classifier.vocabulary_),
        "words_without_vector": classifier.n_unknown_words_,
        "words_composed": classifier.n_composed_words_,
        "empty_documents": classifier.n_empty_,
        "passes": learning_curve(classifier),
    }
    if isinstance(classifier, RPAClassifier):
        facts["moved_words"] = classifier.moved_words(topn=30)
    return facts


def plot(report: dict[str, Any], path: Path) -> None:
    """Plot the learning curve, the confusion matrix and the calibration of a report."""
    require("matplotlib", "viz")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 3.6), dpi=120, layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    if report.get("learning_curve"):
        examples = [point["examples"] for point in report["learning_curve"]]
        left.plot(examples, [point["accuracy"] for point in report["learning_curve"]], marker="o")
        left.set(xlabel="training examples", ylabel="test accuracy", title="Learning curve")
    else:
        passes = report["training"]["passes"]
        left.plot([point["pass"] for point in passes], [point["mistakes"] for point in passes], marker="o")
        left.set(xlabel="pass", ylabel="misclassified before the update", title="Learning curve")
    test = report.get("test")
    if test:
        shades = np.log1p(test["confusion"])
        middle.imshow(shades, cmap="Blues")
        # A $ in a user's label is not a formula.
        names = [plain_text(label) for label in test["labels"]]
        middle.set_xticks(range(len(names)), names, rotation=45, ha="right", parse_math=False)
        middle.set_yticks(range(len(names)), names, parse_math=False)
        for row, line in enumerate(test["confusion"]):
            for column, number in enumerate(line):
                color = "white" if shades[row, column] > 0.6 * shades.max() else "black"
                middle.text(column, row, f"{number}", ha="center", va="center", fontsize=8, color=color)
        middle.set(xlabel="predicted", ylabel="true", title="Confusion")
        bins = test["calibration"].get("bins", [])
        right.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        right.plot([b["probability"] for b in bins], [b["right"] for b in bins], marker="o")
        right.set(xlabel="predicted probability", ylabel="fraction right", title="Calibration")
    else:
        middle.axis("off")
        right.axis("off")
    save_figure(figure, Path(path), force=True)
