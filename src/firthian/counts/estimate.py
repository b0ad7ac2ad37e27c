"""Estimate what counting a corpus takes, from a sample of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from firthian.counts.counting import count
from firthian.errors import FirthianError
from firthian.runtime import cost
from firthian.runtime.executor import check_workers
from firthian.runtime.memory import show_size
from firthian.text.readers import Files, Piece, open_corpus, reading_settings

#: Bytes of text read for an estimate.
SAMPLE_BYTES = 16 << 20


@dataclass(frozen=True)
class Estimate:
    """Extrapolated sizes and times."""

    sample_bytes: int
    text_bytes: int
    tokens: int
    words: int
    pairs: int
    disk_bytes: int
    memory_bytes: int
    seconds: float
    exact: bool
    workers: int
    #: Speed of this machine relative to that of the cost model.
    speed: float

    def to_dict(self) -> dict[str, Any]:
        """Return the figures by name."""
        return asdict(self)

    def describe(self) -> str:
        """Return the figures as text."""
        total = cost.Cost(0.0, self.seconds, self.memory_bytes, self.disk_bytes)
        return "\n".join([*self.sizes(), *cost.describe(total, self.workers)])

    def sizes(self) -> list[str]:
        """Return the sizes as lines of text."""
        head = "the whole corpus was read" if self.exact else f"estimated from {show_size(self.sample_bytes)} of text"
        return [
            head,
            f"{'tokens':<18} {self.tokens:,}",
            f"{'words kept':<18} {self.words:,}",
            f"{'pairs':<18} {self.pairs:,}",
        ]


class _Head:
    """The beginning of a corpus, as a corpus."""

    def __init__(self, corpus: Any, limit: int) -> None:
        self.corpus = corpus
        self.limit = limit
        self.tokenized = corpus.tokenized
        self.read = 0
        self.complete = True

    def names(self) -> list[str]:
        return list(self.corpus.names())

    def size(self) -> int | None:
        return None

    def pieces(self) -> Iterator[Piece]:
        self.read = 0
        self.complete = True
        for piece in self.corpus.pieces():
            if self.read >= self.limit:
                self.complete = False
                yield Piece(b"\n", piece.source, piece.line)
                return
            self.read += len(piece.text)
            yield piece


def estimate(corpus: Any, *, workers: int | None = None, **settings: Any) -> Estimate:
    """Count two beginnings of a corpus, one four times the other, and extrapolate their growth to its size.

    Words and pairs grow as powers of the number of tokens (Heaps' law); ``runtime/cost.py`` predicts their cost on a
    machine as fast as this one was on the sample. ``settings`` are those of ``firthian.count``.
    """
    workers = check_workers(workers)
    source = open_corpus(corpus, **reading_settings(settings))
    size = source.size()
    if size is None and isinstance(source, Files):
        raise FirthianError("a dry run cannot read standard input or a pipe", hint="pass a file")
    results = []
    # A small corpus is counted twice too: the first time includes loading the kernels.
    for limit in (SAMPLE_BYTES // 4, SAMPLE_BYTES):
        head = _Head(source, limit)
        begin = time.perf_counter()
        counts = count(head, workers=workers, **settings)
        results.append((head, counts, time.perf_counter() - begin))
    head, counts, seconds = results[-1]
    tokens = counts.record["corpus"]["tokens"]
    if head.complete:
        growth, words, pairs, text = 1.0, len(counts.vocabulary), counts.pairs, head.read
    else:
        small = results[0][1]
        ratio = tokens / small.record["corpus"]["tokens"]
        text = max(head.read, size or 0)
        growth = text / head.read
        words = round(
            len(counts.vocabulary) * growth ** _exponent(len(small.vocabulary), len(counts.vocabulary), ratio)
        )
        pairs = round(counts.pairs * growth ** _exponent(small.pairs, counts.pairs, ratio))
        if settings.get("max_vocab"):
            words = min(words, settings["max_vocab"])
        pairs = min(pairs, words * words)
    total = round(tokens * growth)
    speed = cost.speed_of("count", cost.Size(tokens, len(counts.vocabulary), counts.pairs), seconds, workers)
    predicted = cost.predict("count", cost.Size(total, words, pairs), workers, speed)
    return Estimate(
        sample_bytes=head.read,
        text_bytes=text,
        tokens=total,
        words=words,
        pairs=pairs,
        disk_bytes=predicted.disk_bytes,
        memory_bytes=predicted.peak_bytes,
        seconds=round(predicted.seconds, 1),
        exact=head.complete,
        workers=workers,
        speed=round(speed, 3),
    )


def _exponent(small: int, large: int, ratio: float) -> float:
    return float(np.clip(np.log(max(large, 1) / max(small, 1)) / np.log(ratio), 0.0, 1.0)) if ratio > 1 else 1.0
