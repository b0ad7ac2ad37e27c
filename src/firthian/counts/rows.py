"""Blocks of rows: count or merge them in parallel, write them in order."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import numpy as np

from firthian.arrays import Array, offsets
from firthian.disk.artifact import ArtifactKind
from firthian.disk.atomic import remove, staged
from firthian.disk.tensors import TensorWriter, rows_fit
from firthian.errors import FirthianError
from firthian.runtime.executor import Executor

#: Maximum pairs of a block of rows (one row may have more), small enough that memory is reused between blocks.
BLOCK_PAIRS = 250_000

RUN = ArtifactKind("run", "run.json")


@dataclass(frozen=True)
class RowBlock:
    """Some rows: how many pairs each has, their columns, their integer sums."""

    sizes: Array
    columns: Array
    sums: Array


def joined(blocks: Sequence[RowBlock]) -> RowBlock:
    """Concatenate blocks."""
    if len(blocks) == 1:
        return blocks[0]
    return RowBlock(
        *(np.concatenate([getattr(block, name) for block in blocks]) for name in ("sizes", "columns", "sums"))
    )


class Scratch(threading.local):
    """A dense row of sums and a bit for each of its entries, for each thread its own; cleared between uses."""

    def __init__(self, n_words: int) -> None:
        self.arrays = np.zeros(n_words, dtype=np.int64), np.zeros(-(-n_words // 64), dtype=np.uint64)


class Runs(Protocol):
    """Sums that can be read by rows: a run in memory or on disk, or the counts of another corpus."""

    def rows(self, first: int, last: int) -> tuple[Array, Array, Array]:
        """Return (pointers from 0, columns, sums) of some rows in the ids of the result."""
        ...


class MemoryRun:
    """Sums in compressed rows."""

    def __init__(self, pointers: Array, columns: Array, sums: Array) -> None:
        self.pointers, self.columns, self.sums = pointers, columns, sums

    def rows(self, first: int, last: int) -> tuple[Array, Array, Array]:
        """Return (pointers from 0, columns, sums) of some rows."""
        low, high = int(self.pointers[first]), int(self.pointers[last])
        return self.pointers[first : last + 1] - low, self.columns[low:high], self.sums[low:high]


def cut_rows(most_pairs: Array, block_pairs: int = BLOCK_PAIRS, also: Sequence[int] = ()) -> list[tuple[int, int]]:
    """Divide rows into blocks by the maximum pairs of each, and ``also`` at some rows; results do not depend on it."""
    ends = offsets(most_pairs)
    steps = np.arange(block_pairs, ends[-1], block_pairs)
    cuts = np.unique(np.concatenate([[0], np.searchsorted(ends, steps, side="right") - 1, [most_pairs.size], also]))
    return [(int(a), int(b)) for a, b in pairwise(cuts)]


def count_blocks(
    stream: Array,
    core: tuple[int, int],
    n_words: int,
    sides: tuple[Array, Array],
    executor: Executor,
    block_pairs: int = BLOCK_PAIRS,
    cuts: Sequence[int] = (),
    rows: tuple[int, int] | None = None,
) -> Iterator[RowBlock]:
    """Count the windows around the words of ``stream[core]``; what lies outside the core is context only.

    Blocks end at the rows ``cuts``, and where they would be too large. ``rows`` limits the rows to count.
    """
    from firthian.kernels import windows as kernel

    begin, end = rows or (0, n_words)
    index = _index(stream, core, n_words, (begin, end), executor)
    most_pairs = np.minimum(n_words, np.diff(index[0]) * sum(side.size for side in sides))
    ends = offsets(most_pairs)
    scratch = Scratch(n_words)

    def count(block: tuple[int, int]) -> RowBlock:
        first, last = block
        out = _room(last - first, int(ends[last] - ends[first]))
        return _filled(out, kernel.count_rows(stream, index, first, last, sides, scratch.arrays, out))

    blocks = cut_rows(most_pairs, block_pairs, [begin, *cuts, end])
    return executor.map(count, [block for block in blocks if begin <= block[0] < end])


def _room(rows: int, pairs: int) -> tuple[Array, Array, Array]:
    return np.empty(rows, dtype=np.int64), np.empty(pairs, dtype=np.int32), np.empty(pairs, dtype=np.int64)


def _filled(out: tuple[Array, Array, Array], used: int) -> RowBlock:
    return RowBlock(out[0], out[1][:used], out[2][:used])


def _index(
    stream: Array, core: tuple[int, int], n_words: int, rows: tuple[int, int], executor: Executor
) -> tuple[Array, Array]:
    """Return where each word of ``rows`` occurs in the core: positions ``[pointers[w]:pointers[w + 1]]``, ascending.

    The core is divided into a piece per worker; the result is the same for any division.
    """
    from firthian.kernels import windows as kernel

    cuts = np.linspace(*core, executor.workers + 1).astype(np.int64)
    pieces = list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))

    def occurrences(piece: tuple[int, int]) -> Array:
        counts = np.zeros(n_words, dtype=np.int64)
        kernel.histogram(stream[piece[0] : piece[1]], counts)
        return counts

    counts = np.stack(list(executor.map(occurrences, pieces)))
    counts[:, : rows[0]] = counts[:, rows[1] :] = 0
    pointers = offsets(counts.sum(axis=0))
    fills = pointers[:-1] + np.concatenate([np.zeros((1, n_words), dtype=np.int64), np.cumsum(counts, axis=0)[:-1]])
    positions = np.empty(pointers[-1], dtype=np.int32)

    def place(number: int) -> None:
        kernel.place(stream, *pieces[number], *rows, fills[number], positions)

    list(executor.map(place, range(len(pieces))))
    return pointers, positions


def merge_blocks(
    runs: Sequence[Runs], row_sizes: Array, n_words: int, executor: Executor, block_pairs: int = BLOCK_PAIRS
) -> Iterator[RowBlock]:
    """Add several runs; ``row_sizes`` is the number of pairs of each row in all runs together."""
    from firthian.kernels import windows as kernel

    scratch = Scratch(n_words)

    def merge(block: tuple[int, int]) -> RowBlock:
        first, last = block
        parts = [run.rows(first, last) for run in runs]
        begins = offsets([part[1].size for part in parts])
        pointers = np.stack([part[0] + begin for part, begin in zip(parts, begins[:-1], strict=True)])
        columns_in = np.concatenate([part[1] for part in parts])
        sums_in = np.concatenate([part[2] for part in parts])
        room = int(np.minimum(row_sizes[first:last], n_words).sum())
        out = _room(last - first, room)
        return _filled(out, kernel.merge_rows(pointers, columns_in, sums_in, scratch.arrays, out))

    return executor.map(merge, cut_rows(row_sizes, block_pairs))


class DiskRun(MemoryRun):
    """Integer sums of some segments of the corpus, in files that are mapped when read."""

    def __init__(self, folder: Path, corpus: str, n_words: int | None = None) -> None:
        """Open a run; raise if it is damaged, of another corpus, or has another number of words."""
        artifact = RUN.read(folder)
        record, arrays = artifact.record, artifact.arrays
        if record.get("corpus") != corpus:
            raise FirthianError(f"{folder} is of another corpus", hint="start over with `force`")
        self.folder = folder
        damaged = FirthianError(f"{folder} is damaged", hint="start over with `force`")
        try:
            super().__init__(arrays["pointers"], arrays["columns"], arrays["sums"])
            first, last = map(int, record["segments"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise damaged from error
        self.segments = (first, last)
        rows = self.pointers.size - 1
        types = [array.dtype.str for array in (self.pointers, self.columns, self.sums)]
        if (
            types != ["<i8", "<i4", "<i8"]
            or n_words not in (None, rows)
            or not 0 <= first < last
            or self.sums.shape != self.columns.shape
            or not rows_fit(self.pointers, self.columns, rows, rows)
        ):
            raise damaged


def run_path(folder: Path, segments: tuple[int, int]) -> Path:
    """Name the place of the run of some segments."""
    return folder / f"run-{segments[0]:07d}-{segments[1]:07d}"


def write_run(folder: Path, segments: tuple[int, int], corpus: str, blocks: Iterator[RowBlock]) -> DiskRun:
    """Write a run; its folder appears whole or not at all."""
    target = run_path(folder, segments)
    remove(target)
    sizes = [np.zeros(1, dtype=np.int64)]
    with staged(target) as staging:
        staging.mkdir()
        with TensorWriter(staging, "columns", "<i4") as columns, TensorWriter(staging, "sums", "<i8") as sums:
            for block in blocks:
                sizes.append(block.sizes)
                columns.append(block.columns)
                sums.append(block.sums)
            files = {writer.path.name: writer.close() for writer in (columns, sums)}
        pointers = np.cumsum(np.concatenate(sizes))
        RUN.write(staging, {"corpus": corpus, "segments": list(segments)}, {"pointers": pointers}, files)
    return DiskRun(target, corpus)


def finished_runs(folder: Path, corpus: str, n_words: int) -> list[DiskRun]:
    """Return the runs of an interrupted attempt that cover the beginning of the corpus once; remove all others.

    A merged run may still exist beside its parts; the longest one from each segment is used.
    """
    by_start: dict[int, DiskRun] = {}
    useless: list[Path] = []
    for path in sorted(folder.glob("run-*")):
        try:
            run = DiskRun(path, corpus, n_words)
        except FirthianError:
            useless.append(path)
            continue
        shorter = by_start.get(run.segments[0])
        if shorter is not None:
            useless.append(shorter.folder)
        by_start[run.segments[0]] = run
    runs: list[DiskRun] = []
    end = 0
    while end in by_start:
        runs.append(by_start.pop(end))
        end = runs[-1].segments[1]
    for path in [*useless, *(run.folder for run in by_start.values())]:
        shutil.rmtree(path, ignore_errors=True)
    return runs
