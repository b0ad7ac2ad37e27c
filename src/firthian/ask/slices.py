"""Slices of a corpus, such as decades, and its units: groups of documents that permutations move as a whole."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.ask.corpus import Covariate, TextTable, read_table
from firthian.errors import FirthianError
from firthian.text.files import can_be_read_again
from firthian.text.readers import Corpus, Files, Piece, open_corpus

#: The most slices; a column with more values needs cuts.
MOST_SLICES = 50

#: The most units; more are bundled at random, each bundle within one slice.
MOST_UNITS = 256


@dataclass(frozen=True)
class Slices:
    """Which documents are in which unit, -1 for documents that are left out, and the slice of each unit.

    A unit is in one slice only: documents of an author who is in two slices are two units.
    """

    corpus: Corpus
    names: list[str]
    unit_of: Array
    unit_slices: Array
    #: What the units are, in the plural.
    unit: str
    notes: tuple[str, ...] = ()

    @property
    def sizes(self) -> Array:
        """The number of units of each slice."""
        return np.bincount(self.unit_slices, minlength=len(self.names))

    def bundled(self, generator: np.random.Generator, most: int = MOST_UNITS) -> Slices:
        """Return slices with at most ``most`` units, or so: each is a random bundle of about as many of the old ones."""
        if self.unit_slices.size <= most:
            return self
        share = most / self.unit_slices.size
        bundle = np.empty(self.unit_slices.size, dtype=np.int32)
        first = 0
        for number, size in enumerate(self.sizes):
            bundles = min(int(size), max(8, round(share * size)))
            inside = np.flatnonzero(self.unit_slices == number)
            bundle[generator.permutation(inside)] = first + np.arange(size) % bundles
            first += bundles
        slices = np.empty(first, dtype=np.int32)
        slices[bundle] = self.unit_slices
        note = f"{self.unit_slices.size:,} {self.unit} were permuted in {first:,} random bundles"
        return replace(
            self,
            unit_of=np.where(self.unit_of >= 0, bundle[self.unit_of], -1).astype(np.int32),
            unit_slices=slices,
            notes=(*self.notes, note),
        )


def slices_of(
    corpora: Sequence[Any],
    by: str | None,
    cuts: Sequence[float] | None,
    unit: str | None,
    missing: str = "drop",
    format: str = "auto",
    text_column: str | None = None,
) -> Slices:
    """Divide a table by the values of a column, or take each of several corpora as a slice."""
    if missing not in ("drop", "refuse"):
        raise FirthianError(f"`missing` must be drop or refuse, got {missing!r}", hint="drop leaves such documents out")
    if (
        len(corpora) == 1
        and isinstance(corpora[0], Mapping)
        and by is None
        and (text_column or "text") not in corpora[0]
    ):
        # {"old": corpus, "new": corpus}, not a table
        return _of_corpora(list(corpora[0].values()), [str(name) for name in corpora[0]], unit, format, text_column)
    if len(corpora) == 1:
        if by is None:
            raise FirthianError("one corpus, and no column to slice it by", hint="pass `by`, or a corpus per slice")
        return _by_column(read_table(corpora[0], text_column, format), by, cuts, unit, missing)
    if by is not None or cuts:
        name = "by" if by is not None else "cuts"
        raise FirthianError(f"`{name}` has no effect on several corpora", hint="each corpus is a slice; omit it")
    return _of_corpora(corpora, [_name(corpus, n) for n, corpus in enumerate(corpora)], unit, format, text_column)


def _name(corpus: Any, number: int) -> str:
    return Path(corpus).name if isinstance(corpus, str | os.PathLike) else f"slice {number + 1}"


def _by_column(table: TextTable, by: str, cuts: Sequence[float] | None, unit: str | None, missing: str) -> Slices:
    column = table.covariate(by)
    units = None if unit is None else table.covariate(unit)
    names, codes = _cut(column, cuts) if cuts else (column.levels, column.codes)
    if len(names) < 2:
        raise FirthianError(
            f"{table.source}: the column {by!r} has one value, {names[0]!r}"
            if names
            else f"{table.source}: the column {by!r} has no values",
            hint="choose a column that divides the documents",
        )
    if len(names) > MOST_SLICES:
        remedy = "pass `cuts`, such as 1860,1880" if column.numbers is not None else "choose a column with fewer values"
        raise FirthianError(f"the column {by!r} has {len(names):,} values", hint=remedy)
    notes = []
    for one in (column, units):
        count = 0 if one is None else int(one.missing.sum())
        if one is None or not count:
            continue
        if missing == "refuse":
            place = table.place(int(np.flatnonzero(one.missing)[0]))
            raise FirthianError(f"{place}: no value of {one.name!r}", hint="fix it, or set `missing=drop`")
        notes.append(f"{count:,} documents without a value of {one.name!r} were left out")
    keys = np.arange(len(table)) if units is None else units.codes
    return _build(table, names, codes, keys, unit, notes)


def _cut(column: Covariate, cuts: Sequence[float]) -> tuple[list[str], Array]:
    """Divide numbers: a value equal to a cut belongs below it."""
    if column.numbers is None:
        raise FirthianError(f"`cuts` need numbers, but {column.name!r} has other values", hint="omit `cuts`")
    edges = np.array([float(cut) for cut in cuts])
    if not (np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
        raise FirthianError("`cuts` must be ascending numbers", hint="such as 1860,1880,1900")
    codes = np.where(column.missing, -1, np.searchsorted(edges, column.numbers, side="left"))
    names = []
    for number in range(edges.size + 1):
        inside = column.numbers[codes == number]
        if not inside.size:
            low, high = np.nanmin(column.numbers), np.nanmax(column.numbers)
            where = f"up to {edges[0]:g}" if number == 0 else f"above {edges[number - 1]:g}"
            raise FirthianError(
                f"the slice of {column.name!r} {where} has no documents", hint=f"its values are {low:g} to {high:g}"
            )
        low, high = inside.min(), inside.max()
        names.append(f"{low:g}" if low == high else f"{low:g}–{high:g}")
    return names, codes


def _build(
    corpus: Corpus, names: Sequence[str], codes: Array, keys: Array, unit: str | None, notes: Sequence[str]
) -> Slices:
    """Number the units, pairs of slice and key, in the order of the slices."""
    kept = (codes >= 0) & (keys >= 0)
    distinct, numbers = np.unique(np.stack([codes[kept], keys[kept]]), axis=1, return_inverse=True)
    unit_of = np.full(codes.size, -1, dtype=np.int32)
    unit_of[kept] = numbers.ravel()
    notes = list(notes)
    divided = distinct.shape[1] - np.unique(distinct[1]).size
    what = "documents" if unit is None else f"values of {unit!r}"
    if divided:
        notes.append(f"{divided:,} {what} are in more than one slice; their parts are permuted separately")
    if isinstance(corpus, TextTable) and not kept.all():
        corpus, unit_of = corpus.select(np.flatnonzero(kept)), unit_of[kept]
    # What a table has besides its text is of no concern to those who count it.
    slices = Slices(Joined([corpus]), list(names), unit_of, distinct[0].astype(np.int32), what, tuple(notes))
    for name, size in zip(slices.names, slices.sizes, strict=True):
        if size < 2:
            if size == 0:
                raise FirthianError(f"the slice {name} has no documents", hint="leave it out")
            finer = "divide the text into more documents" if unit is None else "choose a finer `unit`"
            raise FirthianError(f"the slice {name} has only 1 of the {what}, so nothing can be permuted", hint=finer)
    return slices


class Joined:
    """Several corpora, one after another."""

    def __init__(self, corpora: Sequence[Corpus]) -> None:
        if len({corpus.tokenized for corpus in corpora}) > 1:
            raise FirthianError("some corpora are texts, others lists of tokens", hint="pass either")
        self.corpora, self.tokenized = list(corpora), corpora[0].tokenized

    def pieces(self) -> Iterator[Piece]:
        """Yield the documents."""
        for corpus in self.corpora:
            yield from corpus.pieces()

    def size(self) -> int | None:
        """Return the bytes of text, if all are known."""
        sizes = [corpus.size() for corpus in self.corpora]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    def names(self) -> list[str]:
        """Return the names of all sources."""
        return [name for corpus in self.corpora for name in corpus.names()]


def _of_corpora(
    sources: Sequence[Any], names: Sequence[str], unit: str | None, format: str, text_column: str | None
) -> Slices:
    if len(sources) < 2:
        raise FirthianError("fewer than two slices", hint="pass two or more corpora, or one table and `by`")
    if len(set(names)) < len(names):
        names = [f"{number}: {name}" for number, name in enumerate(names, start=1)]
    corpora: list[Corpus] = []
    keys: list[Array] = []
    levels: dict[str, int] = {}
    for source in sources:
        if unit is None:
            corpora.append(open_corpus(source, format, text_column))
            size = sum(_document_counts(corpora[-1]))
            # Documents of different corpora are different units.
            keys.append(np.arange(size) + sum(map(len, keys)))
        else:
            table = read_table(source, text_column, format)
            column = table.covariate(unit)
            places = np.array([levels.setdefault(level, len(levels)) for level in column.levels] + [-1])
            corpora.append(table)
            keys.append(places[column.codes])
    codes = np.repeat(np.arange(len(sources)), [len(part) for part in keys])
    return _build(Joined(corpora), names, codes, np.concatenate(keys), unit, [])


def _document_counts(corpus: Corpus) -> Iterator[int]:
    if isinstance(corpus, Files) and not all(map(can_be_read_again, corpus.files)):
        raise FirthianError("a slice cannot be read from a pipe", hint="save it in a file")
    for piece in corpus.pieces():
        yield piece.text.count(b"\n")
