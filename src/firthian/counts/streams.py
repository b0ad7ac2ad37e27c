"""Segments -> streams of vocabulary ids, in groups that fit memory, each with the context that its windows reach."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from firthian.arrays import Array, offsets
from firthian.counts.rows import MemoryRun, RowBlock, count_blocks, cut_rows, joined, merge_blocks
from firthian.counts.settings import WindowSettings
from firthian.runtime.executor import Executor, Handle, Threads
from firthian.runtime.progress import Progress
from firthian.text.spool import Kept, Spool, Start, load_kept
from firthian.text.types import Segment, TypeTable
from firthian.text.vocabulary import Vocabulary

#: Bytes of memory per token of a group: its id while pieces are joined (twice), and its position in the index.
BYTES_PER_TOKEN = 4 + 4 + 4

#: The maximum length of a stream, since kernels store positions in 32 bits.
LONGEST_STREAM = 2**31 - 1


@dataclass(frozen=True)
class Group:
    """A stream of ids; windows are counted around the words of ``core``, the rest is context."""

    stream: Array
    core: tuple[int, int]
    #: The segments of the core: the first, and the one after the last.
    segments: tuple[int, int]


def groups(
    spool: Spool,
    vocabulary: Vocabulary,
    options: WindowSettings,
    executor: Executor,
    group_tokens: int,
    skip: int = 0,
) -> Iterator[Group]:
    """Divide the corpus, without its first ``skip`` segments, into groups of about ``group_tokens`` tokens.

    A group consists of whole segments, at least one, with no more tokens than 32 bits can number. Grouping does not change
    the sums.
    """
    pieces = spool.over(selection(vocabulary, options), executor)
    ahead: deque[Array] = deque()
    tail = np.empty(0, dtype=np.int32)
    for _ in range(skip):
        # Windows of the first group reach back into the skipped segments.
        tail = np.concatenate([tail, next(pieces)])[-options.window :]
    first = skip
    while True:
        body: list[Array] = []
        size = 0
        while size < group_tokens and (piece := _next(pieces, ahead)) is not None:
            if body and size + piece.size + 2 * options.window > LONGEST_STREAM:
                ahead.appendleft(piece)
                break
            body.append(piece)
            size += piece.size
        if not body:
            return
        reach = 0
        follow: list[Array] = []
        waiting = 0
        while reach < options.window:
            if waiting == len(ahead):
                piece = next(pieces, None)
                if piece is None:
                    break
                ahead.append(piece)
            follow.append(ahead[waiting][: options.window - reach])
            reach += follow[-1].size
            waiting += 1
        stream = np.concatenate([tail, *body, *follow])
        core = (tail.size, tail.size + size)
        tail = stream[max(0, core[1] - options.window) : core[1]].copy()
        last = first + len(body)
        body.clear()
        yield Group(stream, core, (first, last))
        first = last


def _next(pieces: Iterator[Array], ahead: deque[Array]) -> Array | None:
    return ahead.popleft() if ahead else next(pieces, None)


def selection(vocabulary: Vocabulary, options: WindowSettings) -> Callable[[Segment, Start], Array]:
    """Return a function that makes the stream of a segment; a document that continues in the next one gets no end mark."""
    from firthian.kernels.selection import select

    table = TypeTable.of_words(vocabulary.words)
    thresholds = np.empty(0, dtype=np.uint64)
    if options.sample > 0 and options.sample_mode == "drop":
        thresholds = probability_bounds(options.keep_probabilities(vocabulary.counts))
    sampling, keep_positions = (thresholds, np.uint64(options.seed)), options.keep_positions

    def select_segment(segment: Segment, start: Start) -> Array:
        stream = np.empty(segment.ids.size + segment.document_starts.size + 1, dtype=np.int32)
        place = (start.document, start.position)
        lookup = table.look_up(segment)
        used = select(segment.ids, segment.document_starts, lookup, sampling, place, keep_positions, stream)
        if not segment.ends_inside:
            stream[used] = -1
            used += 1
        return stream[:used].copy()

    return select_segment


def probability_bounds(keep: Array) -> Array:
    """Return probabilities as bounds on 64 random bits, the same on every machine."""
    scaled = np.floor(keep * 2.0**53).astype(np.uint64) << np.uint64(11)
    return np.where(keep >= 1.0, np.uint64(0xFFFFFFFFFFFFFFFF), scaled).astype(np.uint64)


#: The maximum pairs of a range of rows (one row may have more), and tokens of a group of shards.
RANGE_PAIRS, GROUP_TOKENS = 16_000_000, 1 << 27

#: Tasks per worker, for balance; and the maximum number of tasks that count rows of the same group.
TASKS_PER_WORKER, MOST_PARTS = 2, 8

#: The maximum number of groups added up at once; more are added in rounds.
GROUPS_AT_ONCE = 16


@dataclass(frozen=True)
class RemoteStream:
    """The stream of a shard on its worker; its size and the ends that windows of its neighbors reach are known here."""

    stream: Handle[Array]
    size: int
    head: Array
    tail: Array


def count_remote(
    spool: Spool,
    vocabulary: Vocabulary,
    options: WindowSettings,
    executor: Executor,
    group_tokens: int,
    progress: Progress,
) -> Iterator[RowBlock]:
    """Count a corpus whose segments are on a cluster; yield its rows in order.

    On one machine all cores count the rows of one group after another. Here a task counts some rows of a group with the
    same kernels, and the sums of all groups are added in a tree. Sums are integers, so the bytes are the same.
    """
    n_words = len(vocabulary)
    sides = options.sides()
    most_pairs = np.minimum(n_words, vocabulary.counts * sum(side.size for side in sides))
    streams = _select_remote(spool, vocabulary, options, executor)
    groups = _group_remote(streams, min(group_tokens, GROUP_TOKENS), executor.workers, options.window)
    parts = _parts(vocabulary.counts, -(-TASKS_PER_WORKER * executor.workers // len(groups)))
    ranges = cut_rows(most_pairs, RANGE_PAIRS, [first for first, _ in parts])
    cuts = [first for first, _ in ranges]
    within = [[(first, last) for first, last in ranges if part[0] <= first < part[1]] for part in parts]
    pieces = max(map(len, within))

    def count(item: tuple[list[Handle[Array]], Array, Array, int]) -> tuple[RowBlock | None, ...]:
        streams_, tail, head, part = item
        stream = np.concatenate([tail, *(handle.get() for handle in streams_), head])
        core = (tail.size, stream.size - head.size)
        blocks = count_blocks(stream, core, n_words, sides, Threads(1), cuts=cuts, rows=parts[part])
        sums = tuple(_by_range(blocks, within[part]))
        return sums + (None,) * (pieces - len(sums))

    def counted() -> Iterator[tuple[Handle[RowBlock], ...]]:
        items = [(*group, part) for group, _ in groups for part in range(len(parts))]
        for number, run in enumerate(executor.map_handles(count, items, pieces)):
            group, part = divmod(number, len(parts))
            size = groups[group][1]
            progress.advance((part + 1) * size // len(parts) - part * size // len(parts))
            yield run[: len(within[part])]

    if len(groups) == 1:
        # Nothing to add up: the first rows are written while the next are counted.
        return (block.get() for run in counted() for block in run)
    done = [block for run in counted() for block in run]
    runs = [done[at : at + len(ranges)] for at in range(0, len(done), len(ranges))]
    while len(runs) > GROUPS_AT_ONCE:
        batches = [runs[first : first + GROUPS_AT_ONCE] for first in range(0, len(runs), GROUPS_AT_ONCE)]
        sums = [[run[number] for run in batch] for batch in batches for number in range(len(ranges))]
        done = [handle for (handle,) in executor.map_handles(lambda item: (_add(item, n_words),), sums, 1)]
        runs = [done[at : at + len(ranges)] for at in range(0, len(done), len(ranges))]
    progress.start("merging")
    return executor.map(
        lambda item: _add(item, n_words), [[run[number] for run in runs] for number in range(len(ranges))]
    )


def _parts(occurrences: Array, number: int) -> list[tuple[int, int]]:
    """Divide the rows into parts with about the same number of occurrences."""
    ends = np.cumsum(occurrences)
    cuts = np.searchsorted(ends, np.arange(1, number) * (ends[-1] / number), side="left") + 1
    return list(pairwise(np.unique([0, *np.minimum(cuts, ends.size), ends.size]).tolist()))


def _select_remote(
    spool: Spool, vocabulary: Vocabulary, options: WindowSettings, executor: Executor
) -> list[RemoteStream]:
    """Build the streams of all shards on the workers of their segments."""
    select, window = selection(vocabulary, options), options.window

    def shard(item: tuple[Handle[Kept], range, list[Start]]) -> tuple[Any, ...]:
        parts = [select(segment, start) for segment, start in zip(load_kept(item[0].get()), item[2], strict=True)]
        stream = np.concatenate([np.empty(0, dtype=np.int32), *parts])
        return (stream.size, stream[:window].copy(), stream[max(0, stream.size - window) :].copy()), stream

    return [RemoteStream(stream, *facts.get()) for facts, stream in executor.map_handles(shard, spool.items(), 2)]


def _group_remote(
    streams: Sequence[RemoteStream], group_tokens: int, workers: int, window: int
) -> list[tuple[tuple[list[Handle[Array]], Array, Array], int]]:
    """Join neighboring shards, with the context that their windows reach: (streams, ids before, ids after) and the size.

    There are no more groups than memory and workers require, since several tasks count rows of the same one. How shards are
    grouped does not change the sums.
    """
    total = sum(stream.size for stream in streams)
    number = max(1, -(-total // group_tokens), -(-TASKS_PER_WORKER * workers // MOST_PARTS))
    ends = np.cumsum([stream.size for stream in streams])
    cuts = np.searchsorted(ends, np.arange(1, number) * (total / number), side="left") + 1
    groups = []
    for first, last in pairwise(np.unique([0, *np.minimum(cuts, len(streams)), len(streams)]).tolist()):
        size = sum(stream.size for stream in streams[first:last])
        tail, head = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)
        for stream in reversed(streams[:first]):
            tail = np.concatenate([stream.tail, tail])[-window:]
            if tail.size == window:
                break
        for stream in streams[last:]:
            head = np.concatenate([head, stream.head])[:window]
            if head.size == window:
                break
        groups.append((([stream.stream for stream in streams[first:last]], tail, head), size))
    return groups


def _by_range(blocks: Iterator[RowBlock], ranges: list[tuple[int, int]]) -> Iterator[RowBlock]:
    row = ranges[0][0]
    for _, last in ranges:
        parts = []
        while row < last:
            parts.append(next(blocks))
            row += parts[-1].sizes.size
        yield joined(parts)


def _add(handles: Sequence[Handle[RowBlock]], n_words: int) -> RowBlock:
    """Add up the same rows of several groups."""
    blocks = [handle.get() for handle in handles]
    if len(blocks) == 1:
        return blocks[0]
    runs = [MemoryRun(offsets(block.sizes), block.columns, block.sums) for block in blocks]
    sizes = np.sum([block.sizes for block in blocks], axis=0)
    return joined(list(merge_blocks(runs, sizes, n_words, Threads(1))))
