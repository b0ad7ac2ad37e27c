"""Segments -> streams of vocabulary ids, in groups that fit memory, each with what its windows reach beyond its ends."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from firthian.arrays import Array
from firthian.counts.settings import WindowSettings
from firthian.runtime.executor import Executor
from firthian.text.segments import Segment
from firthian.text.spool import Spool, Start
from firthian.text.types import TypeTable
from firthian.text.vocabulary import Vocabulary

#: Bytes of memory for each token of a group: its id while pieces are joined (twice), and its place in the index.
BYTES_PER_TOKEN = 4 + 4 + 4

#: No stream is longer: kernels write positions as 32 bits.
LONGEST_STREAM = 2**31 - 1


@dataclass(frozen=True)
class Group:
    """A stream of ids; only the words of ``core`` are counted, the rest is context."""

    stream: Array
    core: tuple[int, int]
    #: The segments whose words the core holds: the first, and the one after the last.
    segments: tuple[int, int]


def groups(
    spool: Spool,
    vocabulary: Vocabulary,
    options: WindowSettings,
    executor: Executor,
    group_tokens: int,
    skip: int = 0,
) -> Iterator[Group]:
    """Cut the corpus, without its first ``skip`` segments, into groups of about ``group_tokens`` tokens.

    A group holds whole segments, at least one, and no more of them than 32 bits can number. How the corpus is grouped
    changes no sum.
    """
    pieces = spool.over(selection(vocabulary, options), executor)
    ahead: deque[Array] = deque()
    tail = np.empty(0, dtype=np.int32)
    for _ in range(skip):
        # The segments before are needed as far as the windows of the first group reach back into them.
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
    """Return what makes a stream of a segment; a document that goes on in the next one has no end mark there."""
    from firthian.kernels.selection import select

    table = TypeTable.of_words(vocabulary.words)
    thresholds = np.empty(0, dtype=np.uint64)
    if options.sample > 0 and options.sample_mode == "drop":
        thresholds = probability_bounds(options.keep_probabilities(vocabulary.counts))
    seed, keep_positions = np.uint64(options.seed), options.keep_positions

    def select_segment(segment: Segment, start: Start) -> Array:
        stream = np.empty(segment.ids.size + segment.document_starts.size + 1, dtype=np.int32)
        used = select(
            segment.ids,
            segment.document_starts,
            table.look_up(segment),
            thresholds,
            seed,
            start.document,
            start.position,
            keep_positions,
            stream,
        )
        if not segment.ends_inside:
            stream[used] = -1
            used += 1
        return stream[:used].copy()

    return select_segment


def probability_bounds(keep: Array) -> Array:
    """Probabilities as bounds on 64 random bits, the same on every machine."""
    scaled = np.floor(keep * 2.0**53).astype(np.uint64) << np.uint64(11)
    return np.where(keep >= 1.0, np.uint64(0xFFFFFFFFFFFFFFFF), scaled).astype(np.uint64)
