"""CoNLL-2000 chunking with a CRF: the words and tags around each word, and the same with word vectors beside them.

The set-up is that of Turian et al. (2010), followed by the thesis on Bayesian vectors (section 6.6): 1,000 training
sentences choose the l2 weight, then all of them teach; F1 is that of conlleval. Tags of words are used as they are given.
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
from firthian.evaluate.chunk_features import STYLES, Sentence, spelled_words, usual_style, word_features
from firthian.evaluate.suites import whole_number
from firthian.runtime.progress import Progress, Silent
from firthian.runtime.run import Run
from firthian.text.files import whole_text

#: The weights of l2 regularization that are tried (CRFsuite's c2); the best on the development part is used.
L2 = (0.05, 0.2, 0.5, 1.0, 2.0)
DEVELOPMENT = 1000

#: The data sets: what teaches, and what judges.
DATA = ("conll2000-train", "conll2000-test")

#: What CRFsuite is told beside the l2 weight.
_TRAINING = {"c1": 0.0, "max_iterations": 100, "feature.possible_transitions": True}


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
    """Return the chunks (first, last, kind) that BIO labels mark, as conlleval reads them.

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
    """Return the F1 of whole chunks over all sentences."""
    right = there = found = 0
    for labels, guessed in zip(truth, predicted, strict=True):
        gold, marked = chunk_spans(labels), chunk_spans(guessed)
        right += len(gold & marked)
        there += len(gold)
        found += len(marked)
    return 2 * right / (there + found) if there + found else 0.0


def run(
    vectors: Any,
    *,
    l2: str | Sequence[float] = L2,
    style: str = "auto",
    train_sentences: int | str | None = None,
    test_sentences: int | str | None = None,
    baseline: bool = True,
    seed: int = 1,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Return ``{"baseline": {"f1", ...}, "with_vectors": {"f1", ...}}`` on the test part.

    ``style`` says how vectors become features, see ``chunk_features``: ``clusters`` of words, the dimensions in which
    words are ``extremes``, non-zero ``columns`` (Brown clusters), or ``dense`` coordinates as in the thesis; ``auto``
    is clusters, or columns where the vectors are sparse. ``train_sentences`` and ``test_sentences`` cut the data short.
    """
    weights, train_most, test_most = _read(l2, style, train_sentences, test_sentences)
    train, test = (
        read_sentences(locate(name))[:most] for name, most in zip(DATA, (train_most, test_most), strict=True)
    )
    order = np.random.default_rng([seed, len(train)]).permutation(len(train))
    cut = min(DEVELOPMENT, len(train) // 5)
    held = [train[n] for n in order[:cut]]
    kept = [train[n] for n in np.sort(order[cut:])]
    progress = progress or Silent()
    progress.start("chunking")
    kinds: dict[str, Any] = {"baseline": word_features} if baseline else {}
    if vectors is not None:
        make = STYLES[usual_style(vectors) if style == "auto" else style]
        kinds["with_vectors"] = make(vectors, spelled_words(vectors, [*train, *test]), seed=seed)
    return {name: _choose(extract, kept, held, test, weights, progress) for name, extract in kinds.items()}


def check(
    *,
    l2: str | Sequence[float] = L2,
    style: str = "auto",
    train_sentences: int | str | None = None,
    test_sentences: int | str | None = None,
) -> None:
    """Say before any work which option is wrong, and whether the data and the libraries are here."""
    _read(l2, style, train_sentences, test_sentences)
    for name in DATA:
        locate(name)
    require("pycrfsuite", "crf")
    if style in ("auto", "clusters"):
        require("sklearn.cluster", "sklearn")


def _read(
    l2: str | Sequence[float], style: str, train_sentences: int | str | None, test_sentences: int | str | None
) -> tuple[list[float], int | None, int | None]:
    """Check the options; give the l2 weights, and at most how many sentences are taken."""
    if style not in ("auto", *STYLES):
        raise FirthianError(f"there is no style {style!r}", hint=suggest(style, ("auto", *STYLES)))
    return (
        _weights(l2),
        whole_number("train_sentences", train_sentences, 0) or None,
        whole_number("test_sentences", test_sentences, 0) or None,
    )


def _weights(l2: str | Sequence[float]) -> list[float]:
    values = l2.replace("+", ",").split(",") if isinstance(l2, str) else l2
    try:
        weights = sorted({float(value) for value in values})
    except ValueError:
        weights = []
    if not weights or not (weights[0] >= 0 and np.isfinite(weights[-1])):
        raise FirthianError(f"l2 must be numbers from 0, got {l2!r}", hint="0.05+0.2+0.5+1+2 is usual")
    return weights


def _choose(
    extract: Any,
    kept: list[Sentence],
    held: list[Sentence],
    test: list[Sentence],
    weights: list[float],
    progress: Progress,
) -> dict[str, Any]:
    """Choose the l2 weight on the development part; judge a CRF of that weight, taught by both parts, on the test part.

    The weights are tried from the middle outwards, on each side until the development part gets worse.
    """
    crf = require("pycrfsuite", "crf")
    items = {name: [crf.ItemSequence(extract(s)) for s in part] for name, part in (("kept", kept), ("held", held))}
    trainer = crf.Trainer(algorithm="lbfgs", verbose=False)

    def teach(name: str, part: list[Sentence]) -> None:
        for item, sentence in zip(items[name], part, strict=True):
            trainer.append(item, sentence.chunks)

    def judge(weight: float, folder: str, asked: list[Any], part: list[Sentence]) -> float:
        path = os.path.join(folder, "crf")
        trainer.set_params({**_TRAINING, "c2": weight})
        trainer.train(path)
        tagger = crf.Tagger()
        tagger.open(path)
        found = chunk_f1((s.chunks for s in part), (tagger.tag(item) for item in asked))
        tagger.close()
        return found

    tried: dict[float, float] = {}

    def develop(weight: float, folder: str) -> float:
        tried[weight] = judge(weight, folder, items["held"], held)
        progress.advance(1, f"l2 {weight:g}: development F1 {tried[weight]:.4f}")
        return tried[weight]

    teach("kept", kept)
    with tempfile.TemporaryDirectory(prefix="firthian-") as folder:
        middle = len(weights) // 2
        first = develop(weights[middle], folder)
        for side in (weights[middle + 1 :], weights[:middle][::-1]):
            best = first
            for weight in side:
                found = develop(weight, folder)
                if found <= best:
                    break
                best = found
        chosen = max(sorted(tried), key=tried.__getitem__)
        teach("held", held)
        final = judge(chosen, folder, [crf.ItemSequence(extract(s)) for s in test], test)
    return {
        "f1": final,
        "development_f1": tried[chosen],
        "l2": chosen,
        "tried": {f"{weight:g}": tried[weight] for weight in sorted(tried)},
    }


def suite(vectors: Any, options: Any, run_: Run) -> dict[str, Any]:
    """Run as a suite of ``firthian.evaluate``."""
    return run(vectors, **options.more, seed=run_.seed, progress=run_.progress)
