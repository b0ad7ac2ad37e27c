"""The tokenized corpus where its shards were read: on the workers of a cluster, which share no disk with us."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from firthian.errors import FirthianError
from firthian.runtime.executor import Executor, Handle
from firthian.runtime.progress import Progress
from firthian.text.files import Shard
from firthian.text.readers import Corpus
from firthian.text.segments import (
    SEGMENT_BYTES,
    Segment,
    SegmentText,
    cut_shard,
    shards_of,
    tokenize_segment,
)
from firthian.text.spool import Result, SegmentSize, Spool, Start, finished, measure
from firthian.text.tokenizer import Tokenizer
from firthian.text.types import TypeTable

#: So many tables of types are added up by one task; the tables that come out, again.
TABLES_AT_ONCE = 16


@dataclass(frozen=True)
class KeptShard:
    """The segments of a shard, where they were made, and the types of all of them in one table."""

    segments: Handle[list[Segment]]
    types: Handle[Segment]
    number: int


class KeptSpool(Spool):
    """Segments on a cluster, in order."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.shards: list[KeptShard] = []
        self._tables: list[Handle[Segment]] = []
        self._types = 0

    def read(self, number: int) -> Segment:
        """Fetch a segment."""
        firsts = list(accumulate((shard.number for shard in self.shards), initial=0))
        shard = bisect_right(firsts, number) - 1
        return self.shards[shard].segments.get()[number - firsts[shard]]

    @property
    def types(self) -> int:
        """How many types the tables have, those in several counted several times."""
        return self._types

    def tables(self) -> Iterator[Segment]:
        """Fetch the tables that are left when the others have been added up."""
        return (table.get() for table in self._tables)

    def items(self) -> Iterator[tuple[Handle[list[Segment]], list[Start]]]:
        """Return the shards, each with where its segments begin."""
        first = 0
        for shard in self.shards:
            yield shard.segments, self.starts[first : first + shard.number]
            first += shard.number

    def over(self, task: Callable[[Segment, Start], Result], executor: Executor) -> Iterator[Result]:
        """Return ``task(segment, start)`` for every segment, in order; a worker takes a shard."""

        def shard(item: tuple[Handle[list[Segment]], list[Start]]) -> list[Result]:
            return [task(segment, start) for segment, start in zip(item[0].get(), item[1], strict=True)]

        for results in executor.map(shard, self.items()):
            yield from results

    def map(self, task: Callable[[Segment], Segment], prefix: str, executor: Executor) -> Spool:
        """Make another spool by changing each segment alone."""
        result = KeptSpool(self.folder)

        def change(item: tuple[Handle[list[Segment]], list[int]]) -> tuple[Any, ...]:
            return _facts([(task(segment), size) for segment, size in zip(item[0].get(), item[1], strict=True)], b"")

        first, items = 0, []
        for shard in self.shards:
            sizes = [size.text_bytes for size in self.sizes[first : first + shard.number]]
            items.append((shard.segments, sizes))
            first += shard.number
        for facts, types, segments in executor.map_handles(change, items, 3):
            result.take(facts.get()[0], types, segments)
        result.add_up(executor)
        result.sha256 = self.sha256
        return result

    def take(self, sizes: Sequence[SegmentSize], types: Handle[Segment], segments: Handle[list[Segment]]) -> None:
        """Note a shard that is done."""
        for size in sizes:
            self.append(size)
        self.shards.append(KeptShard(segments, types, len(sizes)))

    def add_up(self, executor: Executor) -> None:
        """Add up the tables of types as a tree, until a few are left."""
        tables = [shard.types for shard in self.shards]
        while len(tables) > TABLES_AT_ONCE:
            groups = [tables[first : first + TABLES_AT_ONCE] for first in range(0, len(tables), TABLES_AT_ONCE)]
            tables = [
                kept[0]
                for kept in executor.map_handles(lambda group: (_added([part.get() for part in group]),), groups, 1)
            ]
        self._tables = tables
        self._types = sum(size.types for size in self.sizes)


def tokenize_apart(
    corpus: Corpus,
    tokenizer: Tokenizer,
    folder: Path,
    executor: Executor,
    progress: Progress,
    strict: bool = False,
    segment_bytes: int = SEGMENT_BYTES,
) -> KeptSpool:
    """Tokenize a corpus, each shard where a worker reads it; text that only we can read is sent, segment by segment."""
    spool = KeptSpool(folder)
    digests: list[bytes] = []
    shards = shards_of(corpus)
    tokenized = corpus.tokenized
    read_here = hashlib.sha256()

    def tokenize(texts: Iterator[SegmentText], digest: hashlib._Hash | None = None) -> tuple[Any, ...]:
        done = [(tokenize_segment(text, tokenizer, tokenized, strict), len(text.text)) for text in texts]
        return _facts(done, digest.digest() if digest else b"")

    def read(shard: Shard) -> tuple[Any, ...]:
        digest = hashlib.sha256()
        try:
            return tokenize(cut_shard(corpus, shard, digest, segment_bytes), digest)
        except FirthianError as error:
            if "no such file" not in error.message:
                raise
            raise FirthianError(
                f"a worker of the cluster cannot see {error.message.rpartition(':')[0]}",
                hint="put the corpus where every machine can read it: a shared folder, s3://, gs://, hdfs://",
            ) from None

    progress.start("reading text", corpus.size())
    if shards is None:
        kept = executor.map_handles(
            lambda text: tokenize(iter([text])), cut_shard(corpus, None, read_here, segment_bytes), 3
        )
    else:
        kept = executor.map_handles(read, [shard.without_time() for shard in shards], 3)
    for facts, types, segments in kept:
        sizes, digest = facts.get()
        spool.take(sizes, types, segments)
        digests.append(digest)
        progress.advance(sum(size.text_bytes for size in sizes))
    finished(spool, corpus, digests if shards is not None else [read_here.digest()])
    spool.add_up(executor)
    return spool


def _facts(done: list[tuple[Segment, int]], digest: bytes) -> tuple[Any, ...]:
    """Return what is to be known of a shard here, its types in one table, and its segments."""
    sizes = [measure(segment, text_bytes) for segment, text_bytes in done]
    segments = [segment for segment, _ in done]
    return (sizes, digest), _added(segments), segments


def _added(segments: Sequence[Segment]) -> Segment:
    table = TypeTable()
    for segment in segments:
        table.add(segment)
    return table.as_segment()
