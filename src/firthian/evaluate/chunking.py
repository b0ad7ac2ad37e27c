"""CoNLL-2000 chunking with a CRF: the words and tags around each word, and the same with word vectors beside them.

The set-up is that of Turian et al. (2010), followed by the thesis on Bayesian vectors (section 6.6): 1,000 training
sentences choose the l2 weight, F1 is that of conlleval. Tags of words are used as they are given.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from firthian.corpus.files import whole_text
from firthian.datasets import locate
from firthian.errors import FirthianError, require, suggest
from firthian.evaluate.files import LARGEST_BYTES
from firthian.progress import Progress, Silent
from firthian.run import Run

Array = np.ndarray[Any, np.dtype[Any]]

#: The weights of l2 regularisation that are tried (CRFsuite's c2); the best on the development part is used.
L2 = (0.05, 0.2, 0.5, 1.0, 2.0)
DEVELOPMENT = 1000

#: The standard deviation that vectors are scaled to, as Turian et al. found best.
_SPREAD = 0.1
_AROUND = (-2, -1, 0, 1, 2)

#: Numbers of clusters, and how many words they are made of.
_CLUSTERS = (50, 200, 1000)
_CLUSTERED = 30_000


@dataclass(frozen=True)
class Sentence:
    """Words, their tags, and their chunks in BIO notation."""

    words: list[str]
    tags: list[str]
    chunks: list[str]


def read_sentences(path: Path) -> list[Sentence]:
    """Read ``word tag chunk`` lines; an empty line ends a sentence."""
    sentences: list[Sentence] = []
    rows: list[list[str]] = []
    try:
        lines = whole_text(str(path), LARGEST_BYTES).decode().split("\n")
    except UnicodeDecodeError:
        raise FirthianError(f"{path} is not UTF-8 text", hint="convert it, e.g. with iconv") from None
    for number, line in enumerate([*lines, ""], start=1):
        if line.strip():
            fields = line.split()
            if len(fields) != 3:
                raise FirthianError(
                    f"{path}, line {number}: not word, tag, chunk",
                    hint="give CoNLL-2000's format: word, part of speech, chunk",
                )
            rows.append(fields)
        elif rows:
            words, tags, chunks = (list(column) for column in zip(*rows, strict=True))
            sentences.append(Sentence(words, tags, chunks))
            rows = []
    return sentences


def chunk_spans(labels: Sequence[str]) -> set[tuple[int, int, str]]:
    """Give the chunks (first, last, kind) that BIO labels mark, as conlleval reads them.

    >>> sorted(chunk_spans(["B-NP", "I-NP", "O", "I-VP", "B-VP"]))
    [(0, 1, 'NP'), (3, 3, 'VP'), (4, 4, 'VP')]
    """
    spans = set()
    begin, kind = 0, ""
    for place, label in enumerate([*labels, "O"]):
        mark, _, name = label.partition("-")
        if kind and (mark != "I" or name != kind):
            spans.add((begin, place - 1, kind))
            kind = ""
        if mark == "B" or (mark == "I" and not kind):
            begin, kind = place, name
    return spans


def chunk_f1(truth: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]]) -> float:
    """Give the F1 of whole chunks over all sentences."""
    right = there = found = 0
    for labels, guessed in zip(truth, predicted, strict=True):
        gold, marked = chunk_spans(labels), chunk_spans(guessed)
        right += len(gold & marked)
        there += len(gold)
        found += len(marked)
    return 2 * right / (there + found) if there + found else 0.0


def word_features(sentence: Sentence) -> list[dict[str, float]]:
    """Give the baseline's features: words and tags within two places, and pairs and triples of them."""
    words = ["<s>", "<s>", *(word.lower() for word in sentence.words), "</s>", "</s>"]
    tags = ["<s>", "<s>", *sentence.tags, "</s>", "</s>"]
    features = []
    for at in range(2, len(words) - 2):
        w = [f"w{k}={words[at + k]}" for k in _AROUND]
        t = [f"t{k}={tags[at + k]}" for k in _AROUND]
        pairs = [f"{a}|{b}" for a, b in (*pairwise(w[1:4]), *pairwise(t))]
        triples = [f"{a}|{b}|{c}" for a, b, c in zip(t, t[1:], t[2:], strict=False)]
        features.append(dict.fromkeys([*w, *t, *pairs, *triples], 1.0))
    return features


class VectorFeatures:
    """Adds the vectors of the words within two places, scaled to a common spread; unknown words add nothing."""

    def __init__(self, vectors: Any, words: Iterable[str]) -> None:
        known, table = _rows(vectors, words)
        table = table * (_SPREAD / (float(table.std()) or 1.0))
        self.names = [[f"v{k}.{d}" for d in range(table.shape[1])] for k in _AROUND]
        self.values = {word: row.tolist() for word, row in zip(known, table, strict=True)}

    def __call__(self, sentence: Sentence) -> list[dict[str, float]]:
        """Give the baseline's features and the vectors."""
        features = word_features(sentence)
        found = [self.values.get(word.lower()) for word in sentence.words]
        for at, entry in enumerate(features):
            for names, k in zip(self.names, _AROUND, strict=True):
                values = found[at + k] if 0 <= at + k < len(found) else None
                if values is not None:
                    entry.update(zip(names, values, strict=True))
        return features


class ClusterFeatures:
    """Adds the clusters that the words within two places belong to, coarse and fine.

    A CRF is linear in its features; what neighbours in the space share is easier for it to use as a name than as
    coordinates (Guo et al., 2014). Clusters are made of the most frequent words of the vectors, whatever the sentences.
    """

    def __init__(self, vectors: Any, words: Iterable[str], seed: int = 1) -> None:
        kmeans = require("sklearn.cluster", "sklearn").MiniBatchKMeans
        known, table = _rows(vectors, words)
        _, frequent = _rows(vectors, vectors.vocabulary.words[:_CLUSTERED])
        self.clusters: dict[str, list[str]] = {word: [] for word in known}
        for number in _CLUSTERS:
            number = min(number, frequent.shape[0])
            fitted = kmeans(number, random_state=seed, n_init=3, batch_size=4096).fit(_unit(frequent))
            for word, cluster in zip(known, fitted.predict(_unit(table)), strict=True):
                self.clusters[word].append(f"{number}.{cluster}")

    def __call__(self, sentence: Sentence) -> list[dict[str, float]]:
        """Give the baseline's features and the clusters, alone and in pairs."""
        features = word_features(sentence)
        found = [self.clusters.get(word.lower(), []) for word in sentence.words]
        for at, entry in enumerate(features):
            around = [found[at + k] if 0 <= at + k < len(found) else [] for k in _AROUND]
            for k, names in zip(_AROUND, around, strict=True):
                entry.update((f"c{k}={name}", 1.0) for name in names)
            for k, (left, right) in zip(_AROUND[1:3], pairwise(around[1:4]), strict=True):
                entry.update((f"c{k}={a}|{b}", 1.0) for a, b in zip(left, right, strict=False))
        return features


#: How vectors become features of a CRF.
STYLES = {"clusters": ClusterFeatures, "dense": VectorFeatures}


def _rows(vectors: Any, words: Iterable[str]) -> tuple[list[str], Array]:
    """Give the words that have vectors, and these."""
    index = vectors.vocabulary.index
    known = {word: index[word] for word in dict.fromkeys(words) if word in index}
    if not known:
        raise FirthianError("the vectors hold none of the words", hint="give vectors of English words")
    rows = vectors.matrix[np.fromiter(known.values(), np.int64, len(known))]
    return list(known), np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)


def _unit(table: Array) -> Array:
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    return table / np.where(lengths > 0, lengths, 1.0)


def run(
    vectors: Any,
    *,
    l2: str | Sequence[float] = L2,
    style: str = "clusters",
    train_sentences: int | None = None,
    test_sentences: int | None = None,
    baseline: bool = True,
    seed: int = 1,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Give ``{"baseline": {"f1", ...}, "with_vectors": {"f1", ...}}`` on the test part.

    ``style`` says how vectors become features: ``clusters`` of words, or ``dense`` coordinates as in the thesis.
    ``train_sentences`` and ``test_sentences`` cut the data short, for a quick look.
    """
    if style not in STYLES:
        raise FirthianError(f"there is no style {style!r}", hint=suggest(style, STYLES))
    weights = [float(weight) for weight in (l2.split(",") if isinstance(l2, str) else l2)]
    train = read_sentences(locate("conll2000-train"))[: int(train_sentences) if train_sentences else None]
    test = read_sentences(locate("conll2000-test"))[: int(test_sentences) if test_sentences else None]
    order = np.random.default_rng([seed, len(train)]).permutation(len(train))
    cut = min(DEVELOPMENT, len(train) // 5)
    held = [train[n] for n in order[:cut]]
    kept = [train[n] for n in np.sort(order[cut:])]
    progress = progress or Silent()
    progress.start("chunking", (len(weights)) * (1 + baseline))
    words = (word.lower() for sentence in (*train, *test) for word in sentence.words)
    kinds: dict[str, Any] = {"baseline": word_features} if baseline else {}
    if vectors is not None:
        kinds["with_vectors"] = STYLES[style](vectors, words)
    return {name: _choose(extract, kept, held, test, weights, progress) for name, extract in kinds.items()}


def _choose(
    extract: Any,
    kept: list[Sentence],
    held: list[Sentence],
    test: list[Sentence],
    weights: list[float],
    progress: Progress,
) -> dict[str, Any]:
    """Choose the l2 weight on the development part; judge the CRF with that weight on the test part."""
    development: dict[float, float] = {}
    best, tested = -1.0, 0.0
    with tempfile.TemporaryDirectory(prefix="firthian-") as folder:
        trainer = _trainer(extract, kept)
        for weight in weights:
            path = os.path.join(folder, "crf")
            trainer.set_params({"c1": 0.0, "c2": weight, "max_iterations": 200, "feature.possible_transitions": True})
            trainer.train(path)
            development[weight] = chunk_f1((s.chunks for s in held), _tag(path, extract, held))
            if development[weight] > best:
                best = development[weight]
                tested = chunk_f1((s.chunks for s in test), _tag(path, extract, test))
            progress.advance(1, f"l2 {weight:g}: development F1 {development[weight]:.4f}")
    chosen = max(development, key=lambda weight: development[weight])
    return {
        "f1": tested,
        "development_f1": best,
        "l2": chosen,
        "tried": {f"{weight:g}": score for weight, score in development.items()},
    }


def _trainer(extract: Any, sentences: list[Sentence]) -> Any:
    crf = require("pycrfsuite", "crf")
    trainer = crf.Trainer(algorithm="lbfgs", verbose=False)
    for sentence in sentences:
        trainer.append(crf.ItemSequence(extract(sentence)), sentence.chunks)
    return trainer


def _tag(path: str, extract: Any, sentences: list[Sentence]) -> Iterator[list[str]]:
    crf = require("pycrfsuite", "crf")
    tagger = crf.Tagger()
    tagger.open(path)
    for sentence in sentences:
        yield tagger.tag(crf.ItemSequence(extract(sentence)))


def suite(vectors: Any, options: Any, run_: Run) -> dict[str, Any]:
    """Run as a suite of ``firthian.evaluate``."""
    return run(vectors, **options.more, seed=run_.seed, progress=run_.progress)
