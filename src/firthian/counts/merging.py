"""Add the counts of several corpora: vocabularies united, ids in their order again, sums exact."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from firthian._version import __version__
from firthian.arrays import Array
from firthian.counts.counts import Counts, temporary_target, write_counts
from firthian.counts.rows import merge_blocks
from firthian.counts.settings import WindowSettings
from firthian.disk.atomic import new_folder
from firthian.errors import FirthianError
from firthian.runtime.executor import Threads
from firthian.text.vocabulary import Vocabulary


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
        """Return some rows in the new ids."""
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
    """Add counts of several corpora; where they kept the same words, as if the corpora had been counted together.

    A word that only some of them kept has the counts of those alone.

    >>> import firthian as ft
    >>> one = ft.count(["a b c"], min_count=1)
    >>> two = ft.count(["c d"], min_count=1)
    >>> merge([one, two])["c", "d"]
    1.0
    """
    parts = [item if isinstance(item, Counts) else Counts.load(item) for item in counts]
    if len(parts) < 2:
        raise FirthianError("there is nothing to merge", hint="name at least two folders of counts")
    # Each pair: what one part does not say, the next two may say differently.
    for one, other in combinations(parts, 2):
        different = _difference(one, other)
        if different:
            raise FirthianError(
                f"counts made with other options cannot be added: {different}",
                hint="count both corpora with the same options",
            )
    total: Counter[str] = Counter()
    for part in parts:
        part.integer_sums(0, 0)
        total.update(dict(zip(part.vocabulary.words, part.vocabulary.counts.tolist(), strict=True)))
    vocabulary = Vocabulary.from_counts(total)
    parts[0].options.check_sums(max(total.values(), default=0))
    runs = [Renumbered(part, vocabulary) for part in parts]
    blocks = merge_blocks(list(runs), np.sum([run.sizes for run in runs], axis=0), len(vocabulary), Threads(workers))
    record = {"merged": [part.record for part in parts], "settings": _known_cutting(parts), "firthian": __version__}
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


def _what_counts(options: WindowSettings) -> WindowSettings:
    """Leave out what played no part: without sub-sampling, neither its mode nor its seed."""
    return options if options.sample > 0 else replace(options, sample_mode="drop", seed=0)


#: Settings of counting that say what a word is: what was cut in two ways is not the same words.
_CUTTING = ("tokenizer", "keep_case", "fold_numbers", "phrases")


def _cutting(counts: Counts) -> dict[str, Any]:
    """Return what a record says of how words were cut; it may come from any file, or from a release that said less."""
    said = counts.record.get("settings")
    return {name: said[name] for name in _CUTTING if name in said} if isinstance(said, dict) else {}


def _known_cutting(parts: Sequence[Counts]) -> dict[str, Any]:
    """Return what all corpora say of how words were cut: whoever reads text later cuts it in the same way."""
    first, *others = map(_cutting, parts)
    return {name: value for name, value in first.items() if all(name in other for other in others)}


def _difference(one: Counts, two: Counts) -> str:
    """Name the settings in which two counts differ, with both values; nothing where they can be added."""
    found = []
    for ours, theirs in (
        (_what_counts(one.options).as_dict(), _what_counts(two.options).as_dict()),
        (_cutting(one), _cutting(two)),
    ):
        found += [
            f"{name} {_shown(value)} and {_shown(theirs[name])}"
            for name, value in ours.items()
            if name in theirs and theirs[name] != value
        ]
    return ", ".join(found)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return f"({', '.join(f'{name} {_shown(item)}' for name, item in value.items())})"
    return {True: "on", False: "off", None: "none"}[value] if value is None or isinstance(value, bool) else str(value)


def same_corpus(records: Sequence[Mapping[str, Any]]) -> list[tuple[int, int]]:
    """Return the places of records, two and two, that are of the same text: adding their counts doubles it.

    >>> same_corpus([{"corpus": {"sha256": "a"}}, {"corpus": {"sha256": "b"}}, {"corpus": {"sha256": "a"}}, {}])
    [(0, 2)]
    """
    hashes = [_sha256(record) for record in records]
    return [(a, b) for a, b in combinations(range(len(hashes)), 2) if hashes[a] and hashes[a] == hashes[b]]


def _sha256(record: Any) -> Any:
    corpus = record.get("corpus") if isinstance(record, Mapping) else None
    return corpus.get("sha256") if isinstance(corpus, Mapping) else None
