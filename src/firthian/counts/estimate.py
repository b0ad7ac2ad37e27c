"""What counting a corpus will take, judged from a sample of it."""

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
from firthian.text.readers import Files, Piece, open_corpus

#: How much text is read for an estimate.
SAMPLE_BYTES = 16 << 20


@dataclass(frozen=True)
class Estimate:
    """Sizes and times, extrapolated."""

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
    #: How fast this machine counts, beside the one that the cost model was measured on.
    speed: float

    def to_dict(self) -> dict[str, Any]:
        """Return the figures by name."""
        return asdict(self)

    def describe(self) -> str:
        """Write the figures for people."""
        took = cost.Cost(0.0, self.seconds, self.memory_bytes, self.disk_bytes)
        return "\n".join([*self.sizes(), *cost.describe(took, self.workers)])

    def sizes(self) -> list[str]:
        """Write how much there is, for people, a line each."""
        head = "the whole corpus was read" if self.exact else f"estimated from {show_size(self.sample_bytes)} of text"
        return [
            head,
            f"{'tokens':<18} {self.tokens:,}",
            f"{'words kept':<18} {self.words:,}",
            f"{'pairs':<18} {self.pairs:,}",
        ]


class _Head:
    """The first part of a corpus, as a corpus."""

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
    """Count two beginnings of a corpus, one a quarter of the other if it is large, and follow their growth to its whole size.

    Words and pairs grow as powers of the number of tokens (Heaps' law); ``runtime/cost.py`` says what they cost, on a machine
    as fast as this one was on the sample. ``settings`` are those of ``firthian.count``.
    """
    busy = check_workers(workers)
    source = open_corpus(corpus, settings.pop("format", "auto"), settings.pop("text_column", None))
    size = source.size()
    if size is None and isinstance(source, Files):
        raise FirthianError("a dry run cannot read standard input or a pipe", hint="give a file")
    results = []
    # A small corpus is counted twice as well: the first time the kernels are loaded, which says nothing of the machine.
    for limit in (SAMPLE_BYTES // 4, SAMPLE_BYTES):
        head = _Head(source, limit)
        begin = time.perf_counter()
        counts = count(head, workers=busy, **settings)
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
    speed = cost.speed_of("count", cost.Size(tokens, len(counts.vocabulary), counts.pairs), seconds, busy)
    took = cost.predict("count", cost.Size(total, words, pairs), busy, speed)
    return Estimate(
        sample_bytes=head.read,
        text_bytes=text,
        tokens=total,
        words=words,
        pairs=pairs,
        disk_bytes=took.disk_bytes,
        memory_bytes=took.peak_bytes,
        seconds=round(took.seconds, 1),
        exact=head.complete,
        workers=busy,
        speed=round(speed, 3),
    )


def _exponent(small: int, large: int, ratio: float) -> float:
    return float(np.clip(np.log(max(large, 1) / max(small, 1)) / np.log(ratio), 0.0, 1.0)) if ratio > 1 else 1.0
