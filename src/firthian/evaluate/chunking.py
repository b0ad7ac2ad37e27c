"""CoNLL-2000 chunking with a CRF on the words and tags around each word, without and with features from word vectors.

The setup is that of Turian et al. (2010), also used in the thesis on Bayesian vectors (section 6.6): 1,000 training
sentences select the l2 weight, then all are used for training; F1 is that of conlleval. Part-of-speech tags are the given ones.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from firthian.datasets import locate
from firthian.datasets.word_tasks import LARGEST_BYTES
from firthian.errors import FirthianError, require, suggest
from firthian.evaluate.chunk_features import STYLES, Sentence, default_style, spelled_words, word_features
from firthian.evaluate.run import EvaluationJob, whole_number
from firthian.runtime.progress import Progress, Silent
from firthian.runtime.run import Run
from firthian.text.files import whole_text

#: Candidate weights of l2 regularization (CRFsuite's c2); the best on the development part is used.
L2 = (0.05, 0.2, 0.5, 1.0, 2.0)
DEVELOPMENT = 1000

#: The training and test sets.
DATA = ("conll2000-train", "conll2000-test")

#: Further parameters of CRFsuite.
_TRAINING = {"c1": 0.0, "max_iterations": 150, "feature.possible_transitions": True}

#: all: a weight for every pair of a feature and a label, which matches the baseline of Turian et al.; observed: only for
#: pairs in the training set, CRFsuite's default, which is faster and about 0.15 points of F1 lower (docs/studies/chunking.md).
STATES = ("all", "observed")


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
                raise FirthianError(f"{path}, line {number}: not word, tag, chunk", hint="use the CoNLL-2000 format")
            rows.append(fields)
        elif rows:
            words, tags, chunks = (list(column) for column in zip(*rows, strict=True))
            sentences.append(Sentence(words, tags, chunks))
            rows = []
    return sentences


def chunk_spans(labels: Sequence[str]) -> set[tuple[int, int, str]]:
    """Return the chunks (first, last, kind) in BIO labels, as conlleval reads them.

    >>> sorted(chunk_spans(["B-NP", "I-NP", "O", "I-VP", "B-VP"]))
    [(0, 1, 'NP'), (3, 3, 'VP'), (4, 4, 'VP')]
    """
    spans = set()
    begin, kind = 0, ""
    for position, label in enumerate([*labels, "O"]):
        mark, _, name = label.partition("-")
        if kind and (mark != "I" or name != kind):
            spans.add((begin, position - 1, kind))
            kind = ""
        if mark == "B" or (mark == "I" and not kind):
            begin, kind = position, name
    return spans


def chunk_f1(truth: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]]) -> float:
    """Return the F1 of whole chunks over all sentences."""
    right = total = 0
    for labels, guessed in zip(truth, predicted, strict=True):
        gold, marked = chunk_spans(labels), chunk_spans(guessed)
        right += len(gold & marked)
        total += len(gold) + len(marked)
    return 2 * right / total if total else 0.0


def run(
    vectors: Any,
    *,
    l2: str | Sequence[float] = L2,
    style: str = "auto",
    states: str = "all",
    train_sentences: int | str | None = None,
    test_sentences: int | str | None = None,
    baseline: bool = True,
    seed: int = 1,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Return ``{"baseline": {"f1", ...}, "with_vectors": {"f1", ...}}`` on the test part.

    ``style`` is how vectors become features, see ``chunk_features``: word ``clusters``, the dimensions in which words are
    ``extremes``, nonzero ``columns`` (Brown clusters), or ``dense`` coordinates as in the thesis; ``auto`` is columns
    for sparse vectors and clusters otherwise. ``states`` says which features have weights, see ``STATES``.
    ``train_sentences`` and ``test_sentences`` limit the data.
    """
    weights, train_most, test_most = check(l2, style, states, train_sentences, test_sentences)
    train, test = (
        read_sentences(locate(name))[:most] for name, most in zip(DATA, (train_most, test_most), strict=True)
    )
    order = np.random.default_rng([seed, len(train)]).permutation(len(train))
    size = min(DEVELOPMENT, len(train) // 5)
    parts = [train[n] for n in np.sort(order[size:])], [train[n] for n in order[:size]], test
    progress = progress or Silent()
    progress.start("chunking")
    kinds: dict[str, Any] = {"baseline": word_features} if baseline else {}
    if vectors is not None:
        make = STYLES[default_style(vectors) if style == "auto" else style]
        kinds["with_vectors"] = make(vectors, spelled_words(vectors, [*train, *test]), seed=seed)
    return {name: _fit_and_score(extract, parts, weights, states, progress) for name, extract in kinds.items()}


def check(
    l2: str | Sequence[float] = L2,
    style: str = "auto",
    states: str = "all",
    train_sentences: int | str | None = None,
    test_sentences: int | str | None = None,
) -> tuple[list[float], int | None, int | None]:
    """Return the l2 weights and the limits on sentences; raise if an option is invalid, or data or a library is missing."""
    if style not in ("auto", *STYLES):
        raise FirthianError(f"unknown style {style!r}", hint=suggest(style, ("auto", *STYLES)))
    if states not in STATES:
        raise FirthianError(f"unknown states {states!r}", hint=suggest(states, STATES))
    values = l2.replace("+", ",").split(",") if isinstance(l2, str) else l2
    try:
        weights = sorted({float(value) for value in values})
    except ValueError:
        weights = []
    if not weights or not (weights[0] >= 0 and np.isfinite(weights[-1])):
        raise FirthianError(f"`l2` must be numbers of at least 0, got {l2!r}", hint="the default is 0.05+0.2+0.5+1+2")
    train_most = whole_number("train_sentences", train_sentences) or None
    test_most = whole_number("test_sentences", test_sentences) or None
    for name in DATA:
        locate(name)
    require("pycrfsuite", "crf")
    if style in ("auto", "clusters"):
        require("sklearn.cluster", "sklearn")
    return weights, train_most, test_most


def _fit_and_score(
    extract: Any, parts: Sequence[list[Sentence]], weights: list[float], states: str, progress: Progress
) -> dict[str, Any]:
    """Select the l2 weight on the development part; train on both parts with it, and return the scores.

    Weights are tried from the middle outwards, on each side until the development F1 stops improving.
    """
    crf = require("pycrfsuite", "crf")
    train, development, test = parts
    development_items = [crf.ItemSequence(extract(sentence)) for sentence in development]
    trainer = crf.Trainer(algorithm="lbfgs", verbose=False)

    def evaluate(weight: float, folder: str, items: list[Any], part: list[Sentence]) -> float:
        path = os.path.join(folder, "crf")
        trainer.set_params({**_TRAINING, "c2": weight, "feature.possible_states": states == "all"})
        trainer.train(path)
        tagger = crf.Tagger()
        tagger.open(path)
        f1 = chunk_f1((s.chunks for s in part), (tagger.tag(item) for item in items))
        tagger.close()
        return f1

    tried: dict[float, float] = {}

    def develop(weight: float, folder: str) -> float:
        tried[weight] = evaluate(weight, folder, development_items, development)
        progress.advance(1, f"l2 {weight:g}: development F1 {tried[weight]:.4f}")
        return tried[weight]

    for sentence in train:
        trainer.append(crf.ItemSequence(extract(sentence)), sentence.chunks)
    with tempfile.TemporaryDirectory(prefix="firthian-") as folder:
        middle = len(weights) // 2
        first = develop(weights[middle], folder)
        for side in (weights[middle + 1 :], weights[:middle][::-1]):
            best = first
            for weight in side:
                f1 = develop(weight, folder)
                if f1 <= best:
                    break
                best = f1
        chosen = max(sorted(tried), key=tried.__getitem__)
        for item, sentence in zip(development_items, development, strict=True):
            trainer.append(item, sentence.chunks)
        final = evaluate(chosen, folder, [crf.ItemSequence(extract(s)) for s in test], test)
    shown = {f"{weight:g}": tried[weight] for weight in sorted(tried)}
    return {"f1": final, "development_f1": tried[chosen], "l2": chosen, "tried": shown}


def suite(vectors: Any, job: EvaluationJob, run_: Run) -> dict[str, Any]:
    """Run as a suite of ``firthian.evaluate``."""
    return run(vectors, **job.more, seed=run_.seed, progress=run_.progress)
