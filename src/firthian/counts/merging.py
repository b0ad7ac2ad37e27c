"""Add the counts of several corpora: the union of their vocabularies, ordered by count, with exact sums."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from firthian._version import __version__
from firthian.arrays import Array, offsets
from firthian.counts.counts import Counts, write_counts
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
        pointers = offsets(self.sizes[first:last])
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
        raise FirthianError("nothing to merge", hint="pass at least two folders of counts")
    # Compare all pairs: settings missing from one record may differ between two others.
    for one, other in combinations(parts, 2):
        different = _difference(one, other)
        if different:
            raise FirthianError(
                f"counts with different settings cannot be added: {different}",
                hint="count both corpora with the same settings",
            )
    total: Counter[str] = Counter()
    for part in parts:
        part.integer_sums(0, 0)
        total.update(dict(zip(part.vocabulary.words, part.vocabulary.counts.tolist(), strict=True)))
    vocabulary = Vocabulary.from_counts(total)
    parts[0].options.check_sums(max(total.values(), default=0))
    runs = [Renumbered(part, vocabulary) for part in parts]
    blocks = merge_blocks(runs, np.sum([run.sizes for run in runs], axis=0), len(vocabulary), Threads(workers))
    record = {"merged": [part.record for part in parts], "settings": _shared_tokenizing(parts), "firthian": __version__}

    def write(folder: Path) -> None:
        with new_folder(folder, force) as staging:
            write_counts(staging, blocks, vocabulary, parts[0].options, record)

    if output is None:
        return Counts.temporary(write)
    write(Path(output))
    return Counts.load(output, verify=False)


def _effective(options: WindowSettings) -> WindowSettings:
    """Reset settings that had no effect: without sub-sampling, its mode and seed."""
    return options if options.sample > 0 else replace(options, sample_mode="drop", seed=0)


#: Settings that define what a word is.
_TOKENIZING = ("tokenizer", "keep_case", "fold_numbers", "phrases")


def _tokenizing(counts: Counts) -> dict[str, Any]:
    """Return the tokenizing settings in a record, which may come from any file."""
    settings = counts.record.get("settings")
    return {name: settings[name] for name in _TOKENIZING if name in settings} if isinstance(settings, dict) else {}


def _shared_tokenizing(parts: Sequence[Counts]) -> dict[str, Any]:
    """Return the tokenizing settings that all records have, for tokenizing other text in the same way."""
    first, *others = map(_tokenizing, parts)
    return {name: value for name, value in first.items() if all(name in other for other in others)}


def _difference(one: Counts, two: Counts) -> str:
    """Return the settings in which two counts differ, with both values; empty if they can be added."""
    differences = []
    for ours, theirs in (
        (_effective(one.options).as_dict(), _effective(two.options).as_dict()),
        (_tokenizing(one), _tokenizing(two)),
    ):
        differences += [
            f"{name} {_shown(value)} and {_shown(theirs[name])}"
            for name, value in ours.items()
            if name in theirs and theirs[name] != value
        ]
    return ", ".join(differences)


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
