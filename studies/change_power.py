"""Planted changes in the novels, and what ``change``, Procrustes and a compass find of them. Used by ``studies.change``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

import firthian as ft
from firthian.arrays import Array, unit_rows
from firthian.ask.change import Comparison
from firthian.ask.corpus import TextTable, read_table
from firthian.text.tokenizer import Tokenizer

#: Occurrences of planted words, and the least of words that are tested.
LEAST, MOST, TESTED = 60, 1000, 30

#: Shares of a word's window that divide words which were not planted.
EXPOSURES = (0.0, 0.005, 0.01, 0.02, 1.0)

#: The words of a line, and the novel it is from.
Line = tuple[str, list[str]]


def beginnings(path: str, words_per_novel: int) -> dict[str, list[list[str]]]:
    """Return the first paragraphs of each novel as tokens."""
    whole, tokenizer = read_table(path), Tokenizer()
    books: dict[str, list[list[str]]] = {}
    sizes: Counter[str] = Counter()
    for row, book in enumerate(whole.columns["id"]):
        if sizes[book] < words_per_novel:
            books.setdefault(book, []).append(tokenizer.tokens(whole.text(row)))
            sizes[book] += len(books[book][-1])
    return dict(sorted(books.items()))


class Planted:
    """Novels in two random halves, and pairs of words: in the second half, a share of the first is replaced by the second."""

    def __init__(self, books: dict[str, list[list[str]]], pairs: int, seed: int) -> None:
        generator = np.random.default_rng([7, seed])
        self.books, self.seed = books, seed
        self.second = generator.permutation(len(books)) % 2 == 1
        counts = Counter(word for lines in books.values() for line in lines for word in line)
        frequent = sorted(
            (word for word in counts if LEAST <= counts[word] <= MOST), key=lambda word: (counts[word], word)
        )
        logs = np.log([counts[word] for word in frequent])
        free = np.ones(len(frequent), dtype=bool)
        #: From the rarest to the most frequent; both words of a pair are about equally frequent.
        self.pairs: list[tuple[str, str]] = []
        for goal in np.linspace(logs[0], logs[-1], pairs):
            near = [n for n in np.argsort(np.abs(logs - goal), kind="stable") if free[n]][:40]
            a, b = generator.choice(near, 2, replace=False)
            free[[a, b]] = False
            self.pairs.append((frequent[a], frequent[b]))

    @cached_property
    def answers(self) -> dict[str, int]:
        """The words that acquire a new use, with their numbers."""
        return {b: number for number, (_, b) in enumerate(self.pairs)}

    def lines(self, share: float) -> Iterator[tuple[int, str, list[str], list[bool]]]:
        """Yield the lines: half, novel, words, and which of them were replaced."""
        generator, swap = np.random.default_rng([11, self.seed]), dict(self.pairs)
        for (book, lines), second in zip(self.books.items(), self.second, strict=True):
            for line in lines:
                replaced = [bool(second) and word in swap and generator.random() < share for word in line]
                words = [swap[word] if new else word for word, new in zip(line, replaced, strict=True)]
                yield int(second), book, words, replaced

    def halves(self, share: float) -> tuple[list[Line], list[Line]]:
        """Return the lines of both halves with their novels."""
        found: tuple[list[Line], list[Line]] = ([], [])
        for half, book, words, _ in self.lines(share):
            found[half].append((book, words))
        return found

    def exposure(self, share: float, window: int = 5) -> dict[str, float]:
        """Return which share of each word's windows in the second half, nearer words counting more, are replaced words."""
        index: dict[str, int] = {}
        stream, new = [-1] * window, [False] * window
        for half, _, words, replaced in self.lines(share):
            if half:
                stream += [index.setdefault(word, len(index)) for word in words] + [-1] * window
                new += replaced + [False] * window
        ids, hits = np.array(stream), np.array(new, dtype=np.float64)
        mass, hit = np.zeros(len(index)), np.zeros(len(index))
        for distance in range(1, window + 1):
            before, after = slice(None, -distance), slice(distance, None)
            for own, other in ((before, after), (after, before)):
                kept = (ids[own] >= 0) & (ids[other] >= 0)
                weight = window + 1 - distance
                mass += weight * np.bincount(ids[own][kept], minlength=len(index))
                hit += weight * np.bincount(ids[own][kept], weights=hits[other][kept], minlength=len(index))
        return dict(zip(index, (hit / np.maximum(mass, 1)).tolist(), strict=True))


def ours(planted: Planted, share: float) -> dict[str, Any]:
    """Return what ``change`` finds: planted words by thirds of their frequency, and others by their exposure."""
    sources = [
        TextTable.of({"text": [" ".join(words) for _, words in half], "id": [book for book, _ in half]})
        for half in planted.halves(share)
    ]
    result = Comparison(*sources, unit="id", vector_size=100).ask(min_occurrences=TESTED, topn=0)
    found, answers, exposure = set(result.changed()), planted.answers, planted.exposure(share)
    thirds = [3 * number // len(answers) for word, number in answers.items() if word in found and share]
    others = [word.word for word in result.words if not share or word.word not in answers]
    bins = np.digitize([exposure.get(word, 0.0) for word in others], EXPOSURES[1:-1])
    wrong = np.array([word in found for word in others])
    size = len(EXPOSURES) - 1
    clearest = sorted(result.words, key=lambda word: (word.test.p, -word.test.distance / word.test.expected))
    return {
        "tested": len(result.words), "found": len(thirds), "false": int(wrong.sum()),
        "thirds": np.bincount(thirds, minlength=3).tolist(),
        "exposed": np.bincount(bins, minlength=size).tolist(),
        "exposed false": np.bincount(bins[wrong], minlength=size).tolist(),
        "answer key": best([word.word for word in clearest], set(answers)),
        "rejected": float(np.mean([word.test.p <= 0.05 for word in result.words])),
        "tokens": sum(len(line) for lines in planted.books.values() for line in lines),
    }  # fmt: skip


def peers(planted: Planted, share: float) -> dict[str, int]:
    """Return what the best thresholds of ``change`` and of two other methods find, among the words that ``change`` tests."""
    halves = planted.halves(share)
    counts = Counter(word for half in halves for _, words in half for word in words)
    # As in change: in two novels of each half.
    novels = [Counter(word for word, _ in {(word, book) for book, words in half for word in words}) for half in halves]
    tested = {word for word in counts if counts[word] >= TESTED and min(part[word] for part in novels) >= 2}
    sentences = [[words for _, words in half] for half in halves]
    own = ours(planted, share)
    found = {"tokens": own["tokens"], "change": own["answer key"]}
    for name, distances in (("procrustes", procrustes(sentences)), ("compass", compass(sentences))):
        ranking = sorted((word for word in distances if word in tested), key=lambda word: -distances[word])
        found[name] = best(ranking, set(planted.answers))
    return found


def best(ranking: Sequence[str], right: set[str], rate: float = 0.1) -> int:
    """Return how many right words the longest beginning of a ranking has, with at most this rate of wrong ones."""
    hits = np.cumsum([word in right for word in ranking])
    wrong = 1 - hits / np.arange(1, len(ranking) + 1)
    kept = np.flatnonzero(wrong <= rate)
    return int(hits[kept[-1]]) if kept.size else 0


def _skip_gram(sentences: Sequence[list[str]], **settings: Any) -> Any:
    from gensim.models import Word2Vec

    usual = {"vector_size": 100, "window": 5, "negative": 5, "sg": 1, "epochs": 5, "sample": 1e-3, "min_count": 5}
    return Word2Vec(sentences, **{**usual, "workers": 2, "seed": 1, **settings})


def procrustes(sentences: Sequence[list[list[str]]]) -> dict[str, float]:
    """Return the cosine distances of words between skip-gram vectors of each half, rotated onto each other."""
    first, second = (_skip_gram(half).wv for half in sentences)
    one, other = (ft.Vectors(part.vectors, ft.Vocabulary(part.index_to_key)) for part in (first, second))
    return dict(other.align_to(one, topn=len(one)).moved)


def compass(sentences: Sequence[list[list[str]]]) -> dict[str, float]:
    """Return the cosine distances of vectors trained on each half, the other side of the network trained on both and frozen."""
    both = _skip_gram([line for half in sentences for line in half])
    sides: list[Array] = []
    for half in sentences:
        model = _skip_gram([["a"]], min_count=1)
        model.reset_from(both)
        model.wv.vectors = both.wv.vectors.copy()
        model.syn1neg = both.syn1neg.copy()
        model.wv.vectors_lockf = np.zeros(len(both.wv), dtype=np.float32)
        model.train(half, total_examples=len(half), epochs=5)
        sides.append(unit_rows(model.syn1neg))
    cosines = np.einsum("ij,ij->i", *sides)
    return dict(zip(both.wv.index_to_key, (1 - cosines).tolist(), strict=True))
