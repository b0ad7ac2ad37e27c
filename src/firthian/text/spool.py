"""The tokenized corpus: one file per segment on disk, for resuming, or shards on the workers of a cluster."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from firthian.errors import FirthianError
from firthian.runtime.executor import Executor, Handle
from firthian.runtime.progress import Progress
from firthian.text.files import Shard, corpus_checksum
from firthian.text.pieces import Corpus, Skipped
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
    spelling: int
    undecodable: int
    text_bytes: int
    skipped: Skipped


#: What a task keeps of the segments it made: themselves on a cluster, a file here.
Kept = list[Segment] | Path


def load_kept(kept: Kept) -> list[Segment]:
    """Return the segments of a part."""
    return [read_segment(kept)] if isinstance(kept, Path) else kept


class Spool:
    """The segments of a corpus in order, in parts: each a file in a folder, or a shard on a worker of a cluster."""

    def __init__(self, folder: Path, prefix: str = "text") -> None:
        self.folder, self.prefix = folder, prefix
        self.sizes: list[SegmentSize] = []
        self.starts: list[Start] = []
        self.sha256 = ""
        #: The segments of each part, and their number.
        self._parts: list[tuple[Handle[Kept], int]] = []
        #: Segments, of which only the types matter, that together contain every type with its count.
        self._tables: list[Handle[Kept]] = []

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
    def skipped(self) -> Skipped:
        """The rows of tables that are not documents."""
        return functools.reduce(lambda total, size: total.plus(*size.skipped), self.sizes, Skipped())

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

    @property
    def spelling(self) -> int:
        """The bytes of the spelling of those types."""
        return sum(size.spelling for size in self.sizes)

    def __iter__(self) -> Iterator[Segment]:
        return (segment for part, _ in self._parts for segment in load_kept(part.get()))

    def append(self, sizes: Sequence[SegmentSize], types: Handle[Kept], segments: Handle[Kept]) -> None:
        """Append a finished part; the start of each segment follows from the previous one."""
        for size in sizes:
            if not self.starts:
                self.starts.append(Start(0, 0))
            else:
                last, start = self.sizes[-1], self.starts[-1]
                position = last.open_tokens + (start.position if last.one_document else 0)
                self.starts.append(Start(start.document + last.documents, position))
            self.sizes.append(size)
        self._parts.append((segments, len(sizes)))
        self._tables.append(types)

    def add_up(self, executor: Executor) -> None:
        """Add up the tables of types on a cluster as a tree, until a few are left; those in files are read one by one."""
        while executor.remote and len(self._tables) > TABLES_PER_TASK:
            groups = [self._tables[at : at + TABLES_PER_TASK] for at in range(0, len(self._tables), TABLES_PER_TASK)]
            sums = executor.map_handles(
                lambda group: (_add_types(table for part in group for table in load_kept(part.get())),), groups, 1
            )
            self._tables = [handle for (handle,) in sums]

    def tables(self) -> Iterator[Segment]:
        """Yield segments, of which only the types matter, that together contain every type with its count."""
        return (segment for table in self._tables for segment in load_kept(table.get()))

    def items(self) -> Iterator[tuple[Handle[Kept], range, list[Start]]]:
        """Yield the parts, each with the numbers and starts of its segments."""
        first = 0
        for segments, number in self._parts:
            yield segments, range(first, first + number), self.starts[first : first + number]
            first += number

    def over(self, task: Callable[[Segment, Start], Result], executor: Executor) -> Iterator[Result]:
        """Yield ``task(segment, start)`` for every segment, in order; on a cluster a task takes a shard."""

        def part(item: tuple[Handle[Kept], range, list[Start]]) -> list[Result]:
            return [task(segment, start) for segment, start in zip(load_kept(item[0].get()), item[2], strict=True)]

        for results in executor.map(part, self.items()):
            yield from results

    def map(self, task: Callable[[Segment], Segment], prefix: str, executor: Executor) -> Spool:
        """Build another spool by changing each segment alone."""
        result = Spool(self.folder, prefix)
        result.sha256 = self.sha256
        before, remote = self.sizes, executor.remote

        def change(item: tuple[Handle[Kept], range, list[Start]]) -> tuple[Any, ...]:
            segments, numbers = [task(segment) for segment in load_kept(item[0].get())], item[1]
            file = None if remote else result.path(numbers[0])
            if file is not None:
                write_segment(file, segments[0], "")
            sizes = [
                measure(segment, before[n].text_bytes, before[n].skipped)
                for segment, n in zip(segments, numbers, strict=True)
            ]
            return _summarize(segments, sizes, file)

        for facts, types, kept in executor.map_handles(change, self.items(), 3):
            result.append(facts.get()[0], types, kept)
        result.add_up(executor)
        return result


def measure(segment: Segment, text_bytes: int, skipped: Skipped) -> SegmentSize:
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
        spelling=segment.pool.size,
        undecodable=segment.undecodable,
        text_bytes=text_bytes,
        skipped=skipped,
    )


#: The number of type tables that one task adds up; their sums are added up in turn.
TABLES_PER_TASK = 16


def tokenize_corpus(
    corpus: Corpus,
    tokenizer: Tokenizer,
    folder: Path,
    executor: Executor,
    progress: Progress,
    strict: bool = False,
    segment_bytes: int = SEGMENT_BYTES,
) -> Spool:
    """Tokenize a corpus into a spool, in a folder or on the workers of a cluster; raise if it has no words.

    Text is read here and tokenized in parallel, and finished segments of the same text in the folder are reused. On a
    cluster each shard is read where it is tokenized; text that only this process can read is sent segment by segment.
    """
    spool, tokenized, remote = Spool(folder), corpus.tokenized, executor.remote
    shards = shards_of(corpus) if remote else None
    digests: list[bytes] = []

    def summary(text: SegmentText, segment: Segment, path: Path | None = None) -> tuple[Any, ...]:
        return _summarize([segment], [measure(segment, len(text.text), text.skipped)], path)

    def tokenize(text: SegmentText) -> Segment:
        return tokenize_segment(text, tokenizer, tokenized, strict)

    def tokenize_here(text: SegmentText) -> tuple[Any, ...]:
        path, fingerprint = spool.path(text.number), fingerprint_of(text.text)
        segment = find_segment(path, fingerprint)
        if segment is None:
            segment = tokenize(text)
            write_segment(path, segment, fingerprint)
        return summary(text, segment, path)

    def tokenize_shard(shard: Shard) -> tuple[Any, ...]:
        digest = hashlib.sha256()
        segments, sizes = [], []
        try:
            for text in cut_shard(corpus, shard, digest, segment_bytes):
                segments.append(tokenize(text))
                sizes.append(measure(segments[-1], len(text.text), text.skipped))
        except FirthianError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
            raise FirthianError(
                f"a worker of the cluster cannot see {error.__cause__.filename}",
                hint="put the corpus where every machine can read it: a shared folder, s3://, gs://, hdfs://",
            ) from None
        return _summarize(segments, sizes, digest=digest.digest())

    progress.start("reading text", corpus.size())
    if shards is not None:
        done = executor.map_handles(tokenize_shard, [shard.without_time() for shard in shards], 3)
    else:
        task = (lambda text: summary(text, tokenize(text))) if remote else tokenize_here
        done = executor.map_handles(task, cut_segments(corpus, digests, segment_bytes), 3)
    for facts, types, segments in done:
        sizes, digest = facts.get()
        spool.append(sizes, types, segments)
        if shards is not None:
            digests.append(digest)
        progress.advance(sum(size.text_bytes for size in sizes))
    if not spool.tokens:
        first, *others = corpus.names() or ["the corpus"]
        more = f" and {len(others):,} more" if others else ""
        skipped = spool.skipped
        rows = (
            f" ({skipped.excluded:,} rows excluded by `where`, {skipped.missing:,} without text)"
            if any(skipped)
            else ""
        )
        remedy = "check the condition and the text column" if rows else "check the file, its format and the tokenizer"
        raise NoWordsError(f"no words in {first}{more}{rows}", hint=remedy)
    spool.add_up(executor)
    spool.sha256 = corpus_checksum(digests)
    return spool


def _summarize(
    segments: list[Segment], sizes: list[SegmentSize], file: Path | None = None, digest: bytes = b""
) -> tuple[Any, ...]:
    """Return the sizes of a part's segments with its digest, its types and its segments, or the file that has both."""
    facts = sizes, digest
    return (facts, file, file) if file is not None else (facts, _add_types(segments), segments)


def _add_types(segments: Iterable[Segment]) -> list[Segment]:
    table = TypeTable()
    for segment in segments:
        table.add(segment)
    return [table.as_segment()]
