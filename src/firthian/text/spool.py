"""The tokenized corpus on disk: one file a segment, so that a run can go on where another stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from firthian.errors import FirthianError
from firthian.runtime.executor import Executor
from firthian.runtime.progress import Progress
from firthian.text.files import corpus_checksum
from firthian.text.readers import Corpus
from firthian.text.segments import (
    SEGMENT_BYTES,
    Segment,
    SegmentText,
    cut_segments,
    find_segment,
    fingerprint_of,
    read_segment,
    tokenize_segment,
    write_segment,
)
from firthian.text.tokenizer import Tokenizer

Result = TypeVar("Result")
SomeSpool = TypeVar("SomeSpool", bound="Spool")


class NoWordsError(FirthianError):
    """The corpus has no words at all."""


@dataclass(frozen=True)
class Start:
    """Where a segment begins: its first document, and how many tokens of that came before."""

    document: int
    position: int


@dataclass(frozen=True)
class SegmentSize:
    """What the flow needs to know of a segment without reading it again."""

    tokens: int
    documents: int
    open_tokens: int
    #: Tokens of the open document when it already was open at the segment's beginning.
    one_document: bool
    #: How many documents have tokens here, and whether the first of them has.
    filled: int
    first_filled: bool
    types: int
    undecodable: int
    text_bytes: int


class Spool:
    """Segments in a folder, in order."""

    def __init__(self, folder: Path, prefix: str = "text") -> None:
        self.folder = folder
        self.prefix = prefix
        self.sizes: list[SegmentSize] = []
        self.starts: list[Start] = []
        self.sha256 = ""

    def path(self, number: int) -> Path:
        """Name the file of a segment."""
        return self.folder / f"{self.prefix}-{number:07d}.safetensors"

    @property
    def segments(self) -> int:
        """How many segments there are."""
        return len(self.sizes)

    @property
    def tokens(self) -> int:
        """How many tokens there are."""
        return sum(size.tokens for size in self.sizes)

    @property
    def documents(self) -> int:
        """How many documents have words; one that spans segments counts once."""
        spanning = sum(
            later.first_filled and start.position > 0 for later, start in zip(self.sizes, self.starts, strict=True)
        )
        return sum(size.filled for size in self.sizes) - spanning

    @property
    def types(self) -> int:
        """How many types the segments have, those in several counted several times."""
        return sum(size.types for size in self.sizes)

    def read(self, number: int) -> Segment:
        """Read a segment."""
        return read_segment(self.path(number))

    def __iter__(self) -> Iterator[Segment]:
        return map(self.read, range(self.segments))

    def append(self, size: SegmentSize) -> None:
        """Note a segment that is on disk; its place in the corpus follows from those before."""
        if not self.starts:
            self.starts.append(Start(0, 0))
        else:
            last, start = self.sizes[-1], self.starts[-1]
            position = last.open_tokens + (start.position if last.one_document else 0)
            self.starts.append(Start(start.document + last.documents, position))
        self.sizes.append(size)

    def tables(self) -> Iterator[Segment]:
        """Return segments that together hold every type with its count; their text does not matter."""
        return iter(self)

    def over(self, task: Callable[[Segment, Start], Result], executor: Executor) -> Iterator[Result]:
        """Return ``task(segment, start)`` for every segment, in order."""
        return executor.map(lambda number: task(self.read(number), self.starts[number]), range(self.segments))

    def map(self, task: Callable[[Segment], Segment], prefix: str, executor: Executor) -> Spool:
        """Make another spool by changing each segment alone."""
        result = Spool(self.folder, prefix)
        result.sha256 = self.sha256

        def change(number: int) -> SegmentSize:
            segment = task(self.read(number))
            write_segment(result.path(number), segment, "")
            return measure(segment, self.sizes[number].text_bytes)

        for size in executor.map(change, range(self.segments)):
            result.append(size)
        return result


def measure(segment: Segment, text_bytes: int) -> SegmentSize:
    """Note what the flow needs to know of a segment."""
    lengths = np.diff(segment.document_starts, append=segment.ids.size)
    return SegmentSize(
        tokens=segment.ids.size,
        documents=segment.whole_documents,
        open_tokens=segment.tokens_of_open_document(),
        one_document=segment.ends_inside and segment.document_starts.size == 1,
        filled=int(np.count_nonzero(lengths)),
        first_filled=bool(lengths[:1].any()),
        types=segment.hashes.size,
        undecodable=segment.undecodable,
        text_bytes=text_bytes,
    )


def tokenize_corpus(
    corpus: Corpus,
    tokenizer: Tokenizer,
    folder: Path,
    executor: Executor,
    progress: Progress,
    strict: bool = False,
    segment_bytes: int = SEGMENT_BYTES,
) -> Spool:
    """Tokenize a corpus into a spool; segments that are there already, of the same text, are taken as they are."""
    spool = Spool(folder)
    digests: list[bytes] = []

    def task(source: SegmentText) -> SegmentSize:
        path = spool.path(source.number)
        fingerprint = fingerprint_of(source.text)
        segment = find_segment(path, fingerprint)
        if segment is None:
            segment = tokenize_segment(source, tokenizer, corpus.tokenized, strict)
            write_segment(path, segment, fingerprint)
        return measure(segment, len(source.text))

    progress.start("reading text", corpus.size())
    for size in executor.map(task, cut_segments(corpus, digests, segment_bytes)):
        spool.append(size)
        progress.advance(size.text_bytes)
    return finished(spool, corpus, digests)


def finished(spool: SomeSpool, corpus: Corpus, digests: list[bytes]) -> SomeSpool:
    """Check that there is something in a spool, and note the checksum of its text."""
    if not spool.tokens:
        first, *others = corpus.names() or ["the corpus"]
        more = f" and {len(others):,} more" if others else ""
        raise NoWordsError(f"no words in {first}{more}", hint="check the file, its format and the tokenizer")
    spool.sha256 = corpus_checksum(digests)
    return spool
