"""Vectors of texts: similar sentences, nearest documents, classes from 1,000 labels, and speed beside model2vec.

Run it as ``python -m benchmarks.texts VECTORS REVIEW_VECTORS [PART ...]``; it writes ``results/texts.json``. VECTORS are of
enwiki70m (150 dimensions, minimum count 5, with subwords), REVIEW_VECTORS of the training reviews of ``imdb``
(``python -m benchmarks.texts --reviews FILE`` writes them) together with enwiki17m (300 dimensions). Settings are chosen on
the training sentences of STS-B, on a third of the training documents, and on training reviews that are never drawn; the
tables show the other parts.
"""

from __future__ import annotations

import csv
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpora import find
from benchmarks.results import Results
from firthian import Encoder, Vectors
from firthian.adapt.labeled import read_labeled
from firthian.datasets import locate
from firthian.errors import require
from firthian.runtime.run import one_blas_thread
from firthian.texts.methods import METHODS
from firthian.vectors.formats import open_vectors
from tools.local_data import use_local_data

#: Labeled reviews, and how often they are drawn.
LABELED, DRAWS = 1000, 10
#: Inverse penalties of logistic regression.
PENALTIES = (0.003, 0.01, 0.03, 0.1, 1.0, 10.0)
#: Sentences of the benchmark of speed, and their words.
SENTENCES, WORDS = 100_000, 15


def reviews() -> tuple[list[str], list[str], list[str], list[str]]:
    """Return texts and labels of the training and of the test reviews, without line breaks of HTML."""
    labeled = read_labeled(str(locate("imdb")))
    (train, truth), (test, expected) = labeled.part("train"), labeled.part("test")
    return *([text.replace("<br />", " ") for text in train], truth), *(
        [text.replace("<br />", " ") for text in test],
        expected,
    )


def cosines(left: Any, right: Any) -> Any:
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    return np.einsum("ij,ij->i", left, right) / np.where(lengths > 0, lengths, 1)


def sentences(encoder: Encoder, part: str) -> float:
    """Return Spearman's correlation of cosines with the scores of STS-B."""
    from scipy.stats import spearmanr

    with open(Path(os.environ["FIRTHIAN_DATA"]) / "sts" / f"stsb-en-{part}.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    first, second = (encoder.encode([row[n] for row in rows]) for n in (0, 1))
    return float(spearmanr(cosines(first, second), [float(row[2]) for row in rows])[0])


def similar_sentences(vectors: Vectors, method: str) -> dict[str, float]:
    """Fit on Wikipedia articles, cut to a thousand words each, and compare sentences."""
    with open(find("enwiki17m"), encoding="utf-8") as file:
        articles = [" ".join(line.split(" ", 1000)[:1000]) for line in file]
    encoder = Encoder(vectors, method).fit(articles)
    return {part: sentences(encoder, part) for part in ("train", "dev")}


def precision(queries: Any, documents: Any, asked: list[str], groups: list[str], topn: int = 10) -> float:
    """Return the share of the nearest documents that are of the query's group."""
    labels, same = np.array(groups), []
    for first in range(0, len(asked), 1000):
        scores = queries[first : first + 1000] @ documents.T
        scores = scores if isinstance(scores, np.ndarray) else scores.toarray()
        nearest = np.argpartition(-scores, topn, axis=1)[:, :topn]
        same.append(labels[nearest] == np.array(asked[first : first + 1000])[:, None])
    return float(np.concatenate(same).mean())


def nearest_documents(represent: Callable[[list[str], list[str]], tuple[Any, Any]]) -> dict[str, float]:
    """Search 20 Newsgroups: a third of the training documents among the others, and the test among the training documents."""
    labeled = read_labeled(str(locate("20newsgroups")))
    (train, groups), (test, asked) = labeled.part("train"), labeled.part("test")
    order = np.random.default_rng(0).permutation(len(train))
    held, rest = order[: len(train) // 3], order[len(train) // 3 :]
    found = {}
    for name, documents, queries, labels, truth in (
        (
            "held-out",
            [train[n] for n in rest],
            [train[n] for n in held],
            [groups[n] for n in rest],
            [groups[n] for n in held],
        ),
        ("test", train, test, groups, asked),
    ):
        of_documents, of_queries = represent(documents, queries)
        found[name] = precision(of_queries, of_documents, truth, labels)
    return found


def by_encoder(vectors: Vectors, method: str) -> Callable[[list[str], list[str]], tuple[Any, Any]]:
    def represent(documents: list[str], queries: list[str]) -> tuple[Any, Any]:
        encoder = Encoder(vectors, method, normalize=True).fit(documents)
        return encoder.encode(documents), encoder.encode(queries)

    return represent


def by_tfidf(sublinear: bool) -> Callable[[list[str], list[str]], tuple[Any, Any]]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    def represent(documents: list[str], queries: list[str]) -> tuple[Any, Any]:
        tfidf = TfidfVectorizer(sublinear_tf=sublinear)
        return tfidf.fit_transform(documents), tfidf.transform(queries)

    return represent


def few_labels(train: Any, truth: list[str], test: Any, expected: list[str]) -> dict[str, Any]:
    """Fit logistic regression to 1,000 drawn reviews; the penalty is chosen on 6,000 training reviews that are not drawn."""
    from sklearn.linear_model import LogisticRegression

    labels, order = np.array(truth), np.random.default_rng(5).permutation(len(truth))
    held, pool = order[:6000], order[6000:]

    def accuracies(C: float, draws: int, features: Any, answers: Any) -> list[float]:
        scores = []
        for seed in range(draws):
            drawn = np.random.default_rng(seed).permutation(pool)[:LABELED]
            model = LogisticRegression(C=C, max_iter=1000).fit(train[drawn], labels[drawn])
            scores.append(float(model.score(features, answers)))
        return scores

    chosen = max(PENALTIES, key=lambda C: float(np.mean(accuracies(C, 4, train[held], labels[held]))))
    scores = accuracies(chosen, DRAWS, test, np.array(expected))
    return {"C": chosen, "accuracy": float(np.mean(scores)), "deviation": float(np.std(scores, ddof=1))}


def reviews_by_encoder(vectors: Vectors, method: str) -> dict[str, Any]:
    train, truth, test, expected = reviews()
    encoder = Encoder(vectors, method).fit(train)
    of_train, of_test = encoder.encode(train), encoder.encode(test)
    # One scale for all columns, from the training reviews without their labels.
    center, scale = of_train.mean(axis=0), of_train.std(axis=0).mean()
    return few_labels((of_train - center) / scale, truth, (of_test - center) / scale, expected)


def reviews_by_tfidf() -> dict[str, Any]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    train, truth, test, expected = reviews()
    tfidf = TfidfVectorizer(sublinear_tf=True, min_df=2)
    return few_labels(tfidf.fit_transform(train), truth, tfidf.transform(test), expected)


def timed(task: Callable[[], Any]) -> dict[str, float]:
    """Return the seconds of the best of three runs, and the processor's."""
    best = {"wall": float("inf"), "processor": float("inf")}
    for _ in range(3):
        wall, processor = time.perf_counter(), time.process_time()
        task()
        measured = {"wall": time.perf_counter() - wall, "processor": time.process_time() - processor}
        best = {name: min(best[name], measured[name]) for name in best}
    return best


def speed(vectors: Vectors, name: str) -> dict[str, Any]:
    """Encode 100,000 sentences of 15 words, and 50,000 reviews, with ours and with model2vec on the same vocabulary."""
    model2vec = require("model2vec", "bench")
    with open(find("enwiki17m"), encoding="utf-8") as file:
        words = file.read(12 * SENTENCES * WORDS).split()
    texts = [" ".join(words[n * WORDS : (n + 1) * WORDS]) for n in range(SENTENCES)]
    if name == "reviews":
        train, _, test, _ = reviews()
        texts = [*train, *test]
    encoder = Encoder(vectors, "spans").fit(texts[:2000])
    figures: dict[str, Any] = {"texts": len(texts), "ours": timed(lambda: encoder.encode(texts))}
    with tempfile.TemporaryDirectory() as folder:
        vectors.to_model2vec(Path(folder) / "model")
        model = model2vec.StaticModel.from_pretrained(Path(folder) / "model")
        model.encode(texts[:1000])
        figures["model2vec"] = timed(lambda: model.encode(texts))
    return figures


def parts(vectors: Vectors, of_reviews: Vectors) -> dict[str, dict[str, Callable[[], Any]]]:
    """Return what is measured, by part and row."""
    tfidf = {"tf-idf": False, "tf-idf, logarithmic": True}
    return {
        "speed": {name: partial(speed, vectors, name) for name in ("sentences", "reviews")},
        "documents": {name: partial(nearest_documents, by_tfidf(log)) for name, log in tfidf.items()}
        | {method: partial(nearest_documents, by_encoder(vectors, method)) for method in METHODS},
        "reviews": {"tf-idf": reviews_by_tfidf}
        | {method: partial(reviews_by_encoder, of_reviews, method) for method in METHODS},
        "sentences": {method: partial(similar_sentences, vectors, method) for method in METHODS},
    }


def main(vectors_path: str, reviews_path: str, *chosen: str) -> None:
    use_local_data()
    results, tasks = Results("texts"), parts(open_vectors(vectors_path), open_vectors(reviews_path))
    with one_blas_thread():
        for part in chosen or tasks:
            for name, task in tasks[part].items():
                results.row(f"{part}/{name}", task)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--reviews"]:
        use_local_data()
        Path(sys.argv[2]).write_text("".join(f"{' '.join(text.split())}\n" for text in reviews()[0]), encoding="utf-8")
    else:
        main(*sys.argv[1:])
