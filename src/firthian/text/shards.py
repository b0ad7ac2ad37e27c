"""A corpus in shards: parts that can each be read alone, wherever one is. How many workers there are does not matter.

A shard is some files one after another, or the lines that begin in a range of the bytes of one large file. Text that comes
only once and in one stream (standard input, documents from Python) is one shard.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

#: Shards have about this much of their files' bytes. Part of what a corpus's checksum means: never to be changed.
SHARD_BYTES = 16 << 20


@dataclass(frozen=True)
class FileState:
    """What changes when a file is written to; machines that hold copies of it agree on its size alone."""

    size: int
    modified: int | None


@dataclass(frozen=True)
class Shard:
    """Whole files, or the lines of one file that begin at ``begin`` or later, and before ``end``.

    ``state`` is what the one file was when it was cut into ranges: all of them must be of the same text.
    """

    files: tuple[str, ...]
    begin: int = 0
    end: int | None = None
    state: FileState | None = field(default=None, repr=False)

    @property
    def is_range(self) -> bool:
        """Whether it is a part of one file."""
        return self.begin > 0 or self.end is not None

    def elsewhere(self) -> Shard:
        """Return the same shard for another machine, whose copy of the file may have a time of its own."""
        return self if self.state is None else replace(self, state=replace(self.state, modified=None))


def cut_shards(files: Iterable[tuple[str, int, bool]]) -> list[Shard]:
    """Cut files, given as (name, bytes, whether ranges of it can be read), into shards.

    >>> cut_shards([("a", 10, True), ("b", 20, False), ("c", (16 << 20) + 1, True)])
    [Shard(files=('a', 'b'), begin=0, end=None), Shard(files=('c',), begin=0, end=16777216),
     Shard(files=('c',), begin=16777216, end=None)]
    """
    shards: list[Shard] = []
    waiting: list[str] = []
    size = 0
    for name, bytes_, divisible in files:
        if waiting and size + bytes_ > SHARD_BYTES:
            shards.append(Shard(tuple(waiting)))
            waiting, size = [], 0
        if divisible and bytes_ > SHARD_BYTES:
            cuts = list(range(0, bytes_, SHARD_BYTES))
            shards += [Shard((name,), a, b) for a, b in zip(cuts, [*cuts[1:], None], strict=True)]
        else:
            waiting.append(name)
            size += bytes_
    return [*shards, Shard(tuple(waiting))] if waiting else shards


def corpus_checksum(shards: Sequence[bytes]) -> str:
    """Return the checksum of a corpus from the SHA-256 of each shard's text: of one shard its own, else that of them all."""
    return (shards[0] if len(shards) == 1 else hashlib.sha256(b"".join(shards)).digest()).hex()
