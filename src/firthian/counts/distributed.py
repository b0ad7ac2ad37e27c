"""Counting on a cluster: streams stay where they were made, groups of them are counted side by side, sums meet row by row.

On one machine all cores work on the rows of one group after another. Here a task counts some rows of a group with the same
kernels, and the sums of all groups are added range by range of rows, as a tree. Sums are integers, so the bytes are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.counts.rows import RowBlock, Runs, count_blocks, cut_rows, joined, merge_blocks
from firthian.counts.settings import WindowSettings
from firthian.counts.streams import selection
from firthian.runtime.executor import Executor, Handle, Threads
from firthian.runtime.progress import Progress
from firthian.text.distributed import KeptSpool
from firthian.text.segments import Segment
from firthian.text.spool import Start
from firthian.text.vocabulary import Vocabulary

#: A range of rows has at most so many pairs (one row may have more), and a group of shards so many tokens.
RANGE_PAIRS, GROUP_TOKENS = 16_000_000, 1 << 27

#: So many tasks are made for each worker, to balance them; at most so many read the same group, each for some of its rows.
TASKS_A_WORKER, MOST_PARTS = 2, 8

#: At most so many groups are added up at once; more are added in rounds.
GROUPS_AT_ONCE = 16


@dataclass(frozen=True)
class KeptStream:
    """The stream of a shard, where it was made; its length and what windows of its neighbors reach of it are known here."""

    stream: Handle[Array]
    size: int
    head: Array
    tail: Array


class MemoryRun:
    """Sums in memory, by rows."""

    def __init__(self, block: RowBlock) -> None:
        self.pointers = np.concatenate([[0], np.cumsum(block.sizes)]).astype(np.int64)
        self.columns, self.sums = block.columns, block.sums

    def rows(self, first: int, last: int) -> tuple[Array, Array, Array]:
        """Return some rows."""
        low, high = int(self.pointers[first]), int(self.pointers[last])
        return self.pointers[first : last + 1] - low, self.columns[low:high], self.sums[low:high]


def count_apart(
    spool: KeptSpool,
    vocabulary: Vocabulary,
    options: WindowSettings,
    executor: Executor,
    group_tokens: int,
    progress: Progress,
) -> Iterator[RowBlock]:
    """Count a corpus whose segments lie on a cluster; give its rows in order."""
    words = len(vocabulary)
    weights, _ = options.integer_weights()
    before, after = options.sides(weights)
    most_pairs = np.minimum(words, vocabulary.counts * (before.size + after.size))
    streams = select_apart(spool, vocabulary, options, executor)
    groups = _grouped(streams, min(group_tokens, GROUP_TOKENS), executor.workers, options.window)
    parts = _parts(vocabulary.counts, -(-TASKS_A_WORKER * executor.workers // len(groups)))
    ranges = cut_rows(most_pairs, RANGE_PAIRS, [first for first, _ in parts])
    cuts = [first for first, _ in ranges]
    within = [[(first, last) for first, last in ranges if part[0] <= first < part[1]] for part in parts]
    pieces = max(map(len, within))

    def count(item: tuple[list[Handle[Array]], Array, Array, int]) -> tuple[RowBlock | None, ...]:
        kept, tail, head, part = item
        stream = np.concatenate([tail, *(one.get() for one in kept), head])
        core = (tail.size, stream.size - head.size)
        blocks = count_blocks(stream, core, words, before, after, Threads(1), cuts=cuts, rows=parts[part])
        found = tuple(_by_range(blocks, within[part]))
        return found + (None,) * (pieces - len(found))

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
        done = [kept[0] for kept in executor.map_handles(lambda item: (_add(item, words),), sums, 1)]
        runs = [done[at : at + len(ranges)] for at in range(0, len(done), len(ranges))]
    progress.start("merging")
    return executor.map(
        lambda item: _add(item, words), [[run[number] for run in runs] for number in range(len(ranges))]
    )


def _parts(occurrences: Array, number: int) -> list[tuple[int, int]]:
    """Cut the rows into parts with about as many occurrences each; a word is never cut."""
    ends = np.cumsum(occurrences)
    cuts = np.searchsorted(ends, np.arange(1, number) * (ends[-1] / number), side="left") + 1
    return list(pairwise(np.unique([0, *np.minimum(cuts, ends.size), ends.size]).tolist()))


def select_apart(
    spool: KeptSpool, vocabulary: Vocabulary, options: WindowSettings, executor: Executor
) -> list[KeptStream]:
    """Make the streams of all shards where their segments are."""
    select, window = selection(vocabulary, options), options.window

    def shard(item: tuple[Handle[list[Segment]], list[Start]]) -> tuple[Any, ...]:
        parts = [select(segment, start) for segment, start in zip(item[0].get(), item[1], strict=True)]
        stream = np.concatenate([np.empty(0, dtype=np.int32), *parts])
        return (stream.size, stream[:window].copy(), stream[max(0, stream.size - window) :].copy()), stream

    return [KeptStream(stream, *facts.get()) for facts, stream in executor.map_handles(shard, spool.items(), 2)]


def _grouped(
    streams: Sequence[KeptStream], group_tokens: int, workers: int, window: int
) -> list[tuple[tuple[list[Handle[Array]], Array, Array], int]]:
    """Put neighboring shards together, with what their windows reach of the others.

    There are no more groups than memory and workers ask for: several tasks count rows of the same one. Give (streams,
    text before, text after) and the size of each group. How they are grouped changes no sum.
    """
    total = sum(stream.size for stream in streams)
    number = max(1, -(-total // group_tokens), -(-TASKS_A_WORKER * workers // MOST_PARTS))
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
        found = []
        while row < last:
            found.append(next(blocks))
            row += found[-1].sizes.size
        yield joined(found)


def _add(kept: Sequence[Handle[RowBlock]], words: int) -> RowBlock:
    """Add the same rows of several groups."""
    blocks = [part.get() for part in kept]
    if len(blocks) == 1:
        return blocks[0]
    runs: list[Runs] = [MemoryRun(block) for block in blocks]
    sizes = np.sum([block.sizes for block in blocks], axis=0)
    return joined(list(merge_blocks(runs, sizes, words, Threads(1))))
