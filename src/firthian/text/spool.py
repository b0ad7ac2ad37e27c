"""The tokenized corpus: one file per segment on disk, for resuming, or shards on the workers of a cluster."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from firthian.errors import FirthianError
from firthian.runtime.executor import Executor, Handle
from firthian.runtime.progress import Progress
from firthian.text.files import Shard, corpus_checksum
from firthian.text.readers import Corpus
from firthian.text.segments import (
    SEGMENT_BYTES,
    SegmentText,
    cut_segments,
    cut_shard,
    find_segment,
    fingerprint_of,
    read_segment,
    shards_of,
    tokenize_segment,
    write_segment,
)
from firthian.text.tokenizer import Tokenizer
from firthian.text.types import Segment, TypeTable

Result = TypeVar("Result")


class NoWordsError(FirthianError):
    """Raised if a corpus has no words."""


@dataclass(frozen=True)
class Start:
    """The start of a segment: its first document, and the number of tokens of it in earlier segments."""

    document: int
    position: int


@dataclass(frozen=True)
class SegmentSize:
    """What later stages need to know about a segment without reading it."""

    tokens: int
    documents: int
    open_tokens: int
    #: Whether all of the segment is part of one document that continues in the next.
    one_document: bool
    #: The number of documents with tokens here, and whether the first one has any.
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
        """Return the file of a segment."""
        return self.folder / f"{self.prefix}-{number:07d}.safetensors"

    @property
    def segments(self) -> int:
        """The number of segments."""
        return len(self.sizes)

    @property
    def tokens(self) -> int:
        """The number of tokens."""
        return sum(size.tokens for size in self.sizes)

    @property
    def documents(self) -> int:
        """The number of documents with words; one that spans segments counts once."""
        spanning = sum(
            later.first_filled and start.position > 0 for later, start in zip(self.sizes, self.starts, strict=True)
        )
        return sum(size.filled for size in self.sizes) - spanning

    @property
    def types(self) -> int:
        """The number of types in all segments, each counted once per segment."""
        return sum(size.types for size in self.sizes)

    def read(self, number: int) -> Segment:
        """Read a segment."""
        return read_segment(self.path(number))

    def __iter__(self) -> Iterator[Segment]:
        return map(self.read, range(self.segments))

    def append(self, size: SegmentSize) -> None:
        """Append a stored segment; its start follows from the previous one."""
        if not self.starts:
            self.starts.append(Start(0, 0))
        else:
            last, start = self.sizes[-1], self.starts[-1]
            position = last.open_tokens + (start.position if last.one_document else 0)
            self.starts.append(Start(start.document + last.documents, position))
        self.sizes.append(size)

    def tables(self) -> Iterator[Segment]:
        """Return segments, of which only the types matter, that together contain every type with its count."""
        return iter(self)

    def over(self, task: Callable[[Segment, Start], Result], executor: Executor) -> Iterator[Result]:
        """Yield ``task(segment, start)`` for every segment, in order."""
        return executor.map(lambda number: task(self.read(number), self.starts[number]), range(self.segments))

    def map(self, task: Callable[[Segment], Segment], prefix: str, executor: Executor) -> Spool:
        """Build another spool by changing each segment alone."""
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
    """Return what later stages need to know about a segment."""
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


#: The number of type tables that one task adds up; their sums are added up in turn.
TABLES_PER_TASK = 16


@dataclass(frozen=True)
class RemoteShard:
    """The segments of a shard on the worker that made them, and one table of their types."""

    segments: Handle[list[Segment]]
    types: Handle[Segment]
    number: int


class RemoteSpool(Spool):
    """Segments on the workers of a cluster, which share no disk with this process."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.shards: list[RemoteShard] = []
        self._tables: list[Handle[Segment]] = []
        self._types = 0

    def read(self, number: int) -> Segment:
        """Fetch a segment."""
        firsts = list(accumulate((shard.number for shard in self.shards), initial=0))
        shard = bisect_right(firsts, number) - 1
        return self.shards[shard].segments.get()[number - firsts[shard]]

    @property
    def types(self) -> int:
        """The number of types in all segments, each counted once per segment."""
        return self._types

    def tables(self) -> Iterator[Segment]:
        """Fetch the sums of the tables."""
        return (table.get() for table in self._tables)

    def items(self) -> Iterator[tuple[Handle[list[Segment]], list[Start]]]:
        """Yield the shards, each with the starts of its segments."""
        first = 0
        for shard in self.shards:
            yield shard.segments, self.starts[first : first + shard.number]
            first += shard.number

    def over(self, task: Callable[[Segment, Start], Result], executor: Executor) -> Iterator[Result]:
        """Yield ``task(segment, start)`` for every segment, in order; a task takes a shard."""

        def shard(item: tuple[Handle[list[Segment]], list[Start]]) -> list[Result]:
            return [task(segment, start) for segment, start in zip(item[0].get(), item[1], strict=True)]

        for results in executor.map(shard, self.items()):
            yield from results

    def map(self, task: Callable[[Segment], Segment], prefix: str, executor: Executor) -> Spool:
        """Build another spool by changing each segment alone."""
        result = RemoteSpool(self.folder)

        def change(item: tuple[Handle[list[Segment]], list[int]]) -> tuple[Any, ...]:
            return _summarize(
                [(task(segment), size) for segment, size in zip(item[0].get(), item[1], strict=True)], b""
            )

        first, items = 0, []
        for shard in self.shards:
            sizes = [size.text_bytes for size in self.sizes[first : first + shard.number]]
            items.append((shard.segments, sizes))
            first += shard.number
        for facts, types, segments in executor.map_handles(change, items, 3):
            result.append_shard(facts.get()[0], types, segments)
        result.add_up(executor)
        result.sha256 = self.sha256
        return result

    def append_shard(
        self, sizes: Sequence[SegmentSize], types: Handle[Segment], segments: Handle[list[Segment]]
    ) -> None:
        """Append a finished shard."""
        for size in sizes:
            self.append(size)
        self.shards.append(RemoteShard(segments, types, len(sizes)))

    def add_up(self, executor: Executor) -> None:
        """Add up the tables of types in a tree, until a few are left."""
        tables = [shard.types for shard in self.shards]
        while len(tables) > TABLES_PER_TASK:
            groups = [tables[first : first + TABLES_PER_TASK] for first in range(0, len(tables), TABLES_PER_TASK)]
            tables = [
                handle
                for (handle,) in executor.map_handles(
                    lambda group: (_add_types([part.get() for part in group]),), groups, 1
                )
            ]
        self._tables = tables
        self._types = sum(size.types for size in self.sizes)


def tokenize_corpus(
    corpus: Corpus,
    tokenizer: Tokenizer,
    folder: Path,
    executor: Executor,
    progress: Progress,
    strict: bool = False,
    segment_bytes: int = SEGMENT_BYTES,
) -> Spool:
    """Tokenize a corpus into a spool, in a folder or on the workers of a cluster; raise if it has no words."""
    tokenized = corpus.tokenized

    def tokenize(source: SegmentText) -> Segment:
        return tokenize_segment(source, tokenizer, tokenized, strict)

    progress.start("reading text", corpus.size())
    digests: list[bytes] = []
    fill = _fill_remote if executor.remote else _fill_local
    spool = fill(corpus, tokenize, folder, executor, progress, segment_bytes, digests)
    if not spool.tokens:
        first, *others = corpus.names() or ["the corpus"]
        more = f" and {len(others):,} more" if others else ""
        raise NoWordsError(f"no words in {first}{more}", hint="check the file, its format and the tokenizer")
    spool.sha256 = corpus_checksum(digests)
    return spool


Tokenize = Callable[[SegmentText], Segment]


def _fill_local(
    corpus: Corpus,
    tokenize: Tokenize,
    folder: Path,
    executor: Executor,
    progress: Progress,
    segment_bytes: int,
    digests: list[bytes],
) -> Spool:
    """Read the corpus here, and tokenize its segments in parallel; finished segments of the same text are reused."""
    spool = Spool(folder)

    def task(source: SegmentText) -> SegmentSize:
        path = spool.path(source.number)
        fingerprint = fingerprint_of(source.text)
        segment = find_segment(path, fingerprint)
        if segment is None:
            segment = tokenize(source)
            write_segment(path, segment, fingerprint)
        return measure(segment, len(source.text))

    for size in executor.map(task, cut_segments(corpus, digests, segment_bytes)):
        spool.append(size)
        progress.advance(size.text_bytes)
    return spool


def _fill_remote(
    corpus: Corpus,
    tokenize: Tokenize,
    folder: Path,
    executor: Executor,
    progress: Progress,
    segment_bytes: int,
    digests: list[bytes],
) -> Spool:
    """Read and tokenize each shard on a worker; text that only this process can read is sent segment by segment."""
    spool = RemoteSpool(folder)
    shards = shards_of(corpus)
    digest_here = hashlib.sha256()

    def tokenize_all(texts: Iterator[SegmentText], digest: hashlib._Hash | None = None) -> tuple[Any, ...]:
        segments = [(tokenize(text), len(text.text)) for text in texts]
        return _summarize(segments, digest.digest() if digest else b"")

    def read(shard: Shard) -> tuple[Any, ...]:
        digest = hashlib.sha256()
        try:
            return tokenize_all(cut_shard(corpus, shard, digest, segment_bytes), digest)
        except FirthianError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
            raise FirthianError(
                f"a worker of the cluster cannot see {error.__cause__.filename}",
                hint="put the corpus where every machine can read it: a shared folder, s3://, gs://, hdfs://",
            ) from None

    if shards is None:
        texts = cut_shard(corpus, None, digest_here, segment_bytes)
        handles = executor.map_handles(lambda text: tokenize_all(iter([text])), texts, 3)
    else:
        handles = executor.map_handles(read, [shard.without_time() for shard in shards], 3)
    for facts, types, segments in handles:
        sizes, digest = facts.get()
        spool.append_shard(sizes, types, segments)
        digests.append(digest)
        progress.advance(sum(size.text_bytes for size in sizes))
    if shards is None:
        digests[:] = [digest_here.digest()]
    spool.add_up(executor)
    return spool


def _summarize(done: list[tuple[Segment, int]], digest: bytes) -> tuple[Any, ...]:
    """Return the sizes of a shard's segments with its digest, one table of its types, and the segments."""
    sizes = [measure(segment, text_bytes) for segment, text_bytes in done]
    segments = [segment for segment, _ in done]
    return (sizes, digest), _add_types(segments), segments


def _add_types(segments: Sequence[Segment]) -> Segment:
    table = TypeTable()
    for segment in segments:
        table.add(segment)
    return table.as_segment()
