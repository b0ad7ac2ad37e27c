"""Text classification on IMDB: time and accuracy, ours beside scikit-learn's and fastText's, in one run on one core.

Run it as ``python -m benchmarks.adapt [--dim 300] [--task imdb] [VECTORS]``; figures are kept in ``results/adapt.json``.
Without vectors, random ones are used: they cost the same. fastText takes part where a package ``fasttext`` is installed.
Seconds are the processor's, on one thread; ``wall`` seconds stand beside them.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks.results import Results
from firthian.adapt import PAClassifier, RPAClassifier
from firthian.adapt.documents import count_words, learn_vocabulary, tokenize
from firthian.adapt.labeled import read_labeled
from firthian.datasets import locate
from firthian.evaluate.classification import TASKS
from firthian.text.tokenizer import Tokenizer
from firthian.text.types import TypeTable, VocabularyLimits
from firthian.vectors.formats import open_vectors


def timed(task: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Return a result, its processor seconds (hardly affected by other programs) and its elapsed seconds."""
    begin, wall = time.process_time(), time.perf_counter()
    result = task()
    return result, {
        "seconds": round(time.process_time() - begin, 2),
        "wall": round(time.perf_counter() - wall, 2),
    }


def index_all(texts: list[str]) -> Any:
    """Cut texts into words, choose the vocabulary, count."""
    documents = tokenize(texts, Tokenizer())
    vocabulary = learn_vocabulary(documents, VocabularyLimits(1))
    return count_words(documents, TypeTable.of_words(vocabulary.words))


def one_pass(classifier: RPAClassifier, texts: list[str], labels: list[str]) -> dict[str, float]:
    """Time one pass of learning alone, after the documents are ready."""
    counts, given = classifier._start(texts, labels)
    classifier.classes_, codes = np.unique(given, return_inverse=True)
    from firthian.adapt.learner import Ensemble

    ensemble = Ensemble(classifier._ensemble_base(), classifier.classes_.size, one_hot=False)
    examples = classifier._examples(counts)
    order = [np.random.default_rng(0).permutation(len(texts))]
    return timed(lambda: ensemble.learn(examples, codes, classifier.C, None, classifier._rule(), order))[1]


def fasttext(texts: list[str], labels: list[str], test: list[str], truth: list[str]) -> dict[str, Any]:
    """FastText's supervised mode with its usual settings, on one thread."""
    import fasttext as library

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.txt"
        tokens = Tokenizer()
        lines = (f"__label__{label} {' '.join(tokens.tokens(text))}" for text, label in zip(texts, labels, strict=True))
        # It learns in the order of the file, and is lost where all of one class come first.
        path.write_text("\n".join(np.random.default_rng(0).permutation(list(lines))) + "\n")
        model, seconds = timed(lambda: library.train_supervised(str(path), thread=1, verbose=0))
        found = [model.f.predict(" ".join(tokens.tokens(text)) + "\n", 1, 0.0, "strict")[0][1] for text in test]
    right = np.mean([f"__label__{label}" == answer for label, answer in zip(truth, found, strict=True)])
    return {"fit": seconds, "accuracy": float(right)}


def fit_and_score(
    classifier: Any, texts: list[str], labels: list[str], test: list[str], truth: list[str]
) -> dict[str, Any]:
    """Time learning and predicting, both from raw texts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn renames its passive-aggressive classifier
        _, fit = timed(lambda: classifier.fit(texts, labels))
        score, predict = timed(lambda: classifier.score(test, truth))
    return {"fit": fit, "predict": predict, "accuracy": score}


def rivals(vectors: Any) -> dict[str, Any]:
    """Return our classifiers and scikit-learn's, each with settings that suit the task."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression, PassiveAggressiveClassifier
    from sklearn.pipeline import make_pipeline

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = PassiveAggressiveClassifier(C=0.03, max_iter=5, tol=None, random_state=1)
    return {
        "firthian RPA": RPAClassifier(vectors),
        "firthian RPA + one-hot": RPAClassifier(vectors, one_hot=3.0, C=0.01, lam=0.01, passes=3),
        "firthian PA, one-hot": PAClassifier("onehot"),
        "firthian PA, one-hot, pairs of words": PAClassifier("onehot", ngrams=2),
        "scikit-learn passive-aggressive, tf-idf": make_pipeline(TfidfVectorizer(sublinear_tf=True), theirs),
        "scikit-learn logistic regression, tf-idf": make_pipeline(
            TfidfVectorizer(sublinear_tf=True), LogisticRegression(C=3.0, max_iter=1000)
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vectors", nargs="?")
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--task", default="imdb", choices=list(TASKS))
    parser.add_argument("--new", action="store_true", help="only rows that were not measured before")
    arguments = parser.parse_args()
    text = read_labeled(str(locate(TASKS[arguments.task])))
    texts, labels = text.part("train")
    test, truth = text.part("test")
    vectors = open_vectors(arguments.vectors) if arguments.vectors else f"random:{arguments.dim}"
    for ngrams in (1, 2):
        RPAClassifier("random:4", passes=1, ngrams=ngrams).fit(texts[:50] + texts[-50:], labels[:50] + labels[-50:])
    results = Results("adapt")

    def row(name: str, measure: Callable[[], Any]) -> None:
        print(name, json.dumps(results.row(name, measure, again=not arguments.new)), flush=True)

    def indexing() -> dict[str, Any]:
        counts, seconds = timed(lambda: index_all(text.texts))
        return {"documents": len(text.texts), "words": int(counts.shape[1]), **seconds}

    row("cutting and indexing all texts", indexing)
    size = f"one pass, {arguments.dim} random dimensions"
    row(size, lambda: one_pass(RPAClassifier(f"random:{arguments.dim}"), texts, labels))
    row(
        f"{size}, not averaged",
        lambda: one_pass(RPAClassifier(f"random:{arguments.dim}", averaged=False), texts, labels),
    )
    for name, rival in rivals(vectors).items():
        row(name, lambda rival=rival: fit_and_score(rival, texts, labels, test, truth))
    if importlib.util.find_spec("fasttext") is not None:
        row("fastText supervised", lambda: fasttext(texts, labels, test, truth))


if __name__ == "__main__":
    main()
