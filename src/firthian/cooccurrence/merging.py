"""Add the counts of several corpora: vocabularies united, ids in their order again, sums exact."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from firthian._version import __version__
from firthian.cooccurrence.counts import Counts, temporary_target, write_counts
from firthian.cooccurrence.options import CountOptions
from firthian.cooccurrence.rows import merge_blocks
from firthian.corpus.vocabulary import Vocabulary
from firthian.errors import FirthianError
from firthian.parallel import Threads
from firthian.storage import new_folder

Array = np.ndarray[Any, np.dtype[Any]]


class Renumbered:
    """Counts seen through the ids of a larger vocabulary."""

    def __init__(self, counts: Counts, vocabulary: Vocabulary) -> None:
        self.counts = counts
        index = vocabulary.index
        self.new_id = np.fromiter((index[word] for word in counts.vocabulary), dtype=np.int32)
        self.old_id = np.full(len(vocabulary), -1, dtype=np.int64)
        self.old_id[self.new_id] = np.arange(len(counts.vocabulary))
        sizes = np.diff(counts.indptr)
        self.sizes = np.where(self.old_id >= 0, sizes[np.maximum(self.old_id, 0)], 0)

    def rows(self, first: int, last: int) -> tuple[Array, Array, Array]:
        """Give some rows in the new ids."""
        pointers = np.concatenate([[0], np.cumsum(self.sizes[first:last])]).astype(np.int64)
        columns = np.empty(pointers[-1], dtype=np.int32)
        sums = np.empty(pointers[-1], dtype=np.int64)
        for row in range(first, last):
            old = self.old_id[row]
            if old >= 0:
                low, high = int(self.counts.indptr[old]), int(self.counts.indptr[old + 1])
                here = slice(pointers[row - first], pointers[row - first + 1])
                columns[here] = self.new_id[self.counts.indices[low:high]]
                sums[here] = self.counts.integer_sums(low, high)
        return pointers, columns, sums


def merge(
    counts: Sequence[Counts | str | os.PathLike[str]],
    output: str | os.PathLike[str] | None = None,
    *,
    workers: int | None = None,
    force: bool = False,
) -> Counts:
    """Add counts of several corpora, as if the corpora had been counted together with the united vocabulary.

    >>> import firthian as ft
    >>> one = ft.count(["a b c"], min_count=1)
    >>> two = ft.count(["c d"], min_count=1)
    >>> merge([one, two])["c", "d"]
    1.0
    """
    parts = [item if isinstance(item, Counts) else Counts.load(item) for item in counts]
    if len(parts) < 2:
        raise FirthianError("there is nothing to merge", hint="name at least two folders of counts")
    for part in parts[1:]:
        if _what_counts(part.options) != _what_counts(parts[0].options):
            raise FirthianError(
                f"counts made with other options cannot be added: {_difference(parts[0], part)}",
                hint="count both corpora with the same options",
            )
    total: Counter[str] = Counter()
    for part in parts:
        part.integer_sums(0, 0)
        total.update(dict(zip(part.vocabulary.words, part.vocabulary.counts.tolist(), strict=True)))
    vocabulary = Vocabulary.from_counts(total)
    runs = [Renumbered(part, vocabulary) for part in parts]
    blocks = merge_blocks(list(runs), np.sum([run.sizes for run in runs], axis=0), len(vocabulary), Threads(workers))
    record = {"merged": [part.record for part in parts], "settings": _words_cut_by(parts), "firthian": __version__}
    if output is not None:
        with new_folder(output, force) as folder:
            write_counts(folder, blocks, vocabulary, parts[0].options, record)
        return Counts.load(output, verify=False)
    target = temporary_target()
    target.mkdir()
    try:
        write_counts(Path(target), blocks, vocabulary, parts[0].options, record)
    except BaseException:
        shutil.rmtree(target.parent, ignore_errors=True)
        raise
    return Counts.load_temporary(target)


def _what_counts(options: CountOptions) -> CountOptions:
    """Leave out what played no part: without sub-sampling, neither its mode nor its seed."""
    return options if options.sample > 0 else replace(options, sample_mode="drop", seed=0)


def _words_cut_by(parts: Sequence[Counts]) -> dict[str, Any]:
    """Give what all corpora agree on of how words were cut: whoever reads text later cuts it in the same way."""
    # A record may come from any file.
    said = [part.record.get("settings") for part in parts]
    first, *others = [one if isinstance(one, dict) else {} for one in said]
    names = [name for name in ("tokenizer", "keep_case", "fold_numbers") if name in first]
    return {name: first[name] for name in names if all(other.get(name) == first[name] for other in others)}


def _difference(one: Counts, two: Counts) -> str:
    ours, theirs = (_what_counts(part.options).as_dict() for part in (one, two))
    return ", ".join(f"{name} {value} and {theirs[name]}" for name, value in ours.items() if theirs[name] != value)
