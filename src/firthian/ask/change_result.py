"""The answer to ``change``: every word tested, and how those that changed most clearly did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from firthian.arrays import Array
from firthian.ask.permutation import WordTest
from firthian.ask.result import Result
from firthian.ask.slices import Slices
from firthian.errors import FirthianError, suggest
from firthian.runtime.table import Column, Table

if TYPE_CHECKING:
    from firthian.vectors.vectors import Vectors

#: Contexts listed per word and direction.
_CONTEXTS = 10


@dataclass(frozen=True)
class SliceOfWord:
    """A word in one slice: its occurrences, the units with it, its nearest words and its vector."""

    name: str
    occurrences: int
    units: int
    neighbors: list[str]
    vector: Array


@dataclass(frozen=True)
class ChangedWord:
    """A word, its test, and, if it is described, its slices and its contexts (word, share, rate before, rate after)."""

    word: str
    occurrences: int
    test: WordTest
    q: float
    slices: list[SliceOfWord]
    contexts: list[tuple[str, float, float, float]]

    @property
    def debiased(self) -> float:
        """The squared distance without what chance contributes."""
        return self.test.distance - self.test.expected

    @property
    def gained(self) -> list[str]:
        """The contexts that are more frequent in the last slice and explain most of the distance."""
        return [word for word, _, before, after in self.contexts if after > before][:_CONTEXTS]

    @property
    def lost(self) -> list[str]:
        """The contexts that are less frequent in the last slice and explain most of the distance."""
        return [word for word, _, before, after in self.contexts if after < before][:_CONTEXTS]

    def neighbors(self, kept: bool) -> list[str]:
        """Return neighbors in the last slice but not in the first, or with ``kept`` false the other way round."""
        there = [part.neighbors for part in self.slices if part.occurrences]
        if len(there) < 2:
            return []
        one, other = (there[-1], there[0]) if kept else (there[0], there[-1])
        return [word for word in one if word not in other]


@dataclass(frozen=True, repr=False)
class ChangeResult(Result):
    """Words that changed first, by the least distance that is likely (two standard errors below the debiased one); others by p.

    ``table`` has a row per word: the mean squared ``distance`` between slices, 1 being that of a typical unit from the mean of
    its word; ``distance_debiased``, without what chance contributes, and its standard error; ``p`` by permuting units, and
    ``q``. The tables ``contexts`` and ``neighbors`` describe the first words. Index with a word for its ``ChangedWord``.
    """

    title: str
    notes: Sequence[str]
    settings: Mapping[str, Any]
    words: Sequence[ChangedWord]
    #: Words asked about that the corpus does not contain.
    missing: Sequence[str]
    vectors: Vectors

    @classmethod
    def create(
        cls,
        slices: Slices,
        words: Sequence[ChangedWord],
        vectors: Vectors,
        settings: Mapping[str, Any],
        missing: Sequence[str],
        untested: int,
    ) -> ChangeResult:
        """Write the title and the notes."""
        sizes = ", ".join(f"{name}: {size:,}" for name, size in zip(slices.names, slices.sizes, strict=True))
        fdr = float(settings["fdr"])
        found = sum(word.q <= fdr for word in words)
        notes = [
            f"{found:,} of {len(words):,} words changed at a false discovery rate of {fdr:g} (Benjamini-Hochberg)",
            f"p by {settings['permutations']:,} permutations of the {slices.unit} between slices ({sizes}), "
            "up to 20 times as many where p is small",
            *slices.notes,
        ]
        if untested:
            notes.append(
                f"{untested:,} words are in fewer than two of the {slices.unit} of a slice and were not tested"
            )
        if missing:
            notes.append(f"not in the corpus: {', '.join(missing[:20])}{' …' if len(missing) > 20 else ''}")
        return cls(
            f"Change between {' and '.join(slices.names[:: max(1, len(slices.names) - 1)])}",
            notes,
            settings,
            words,
            missing,
            vectors,
        )

    def __getitem__(self, word: str) -> ChangedWord:
        found = next((one for one in self.words if one.word == word), None)
        if found is None:
            raise FirthianError(f"{word!r} was not tested", hint=suggest(word, [one.word for one in self.words]))
        return found

    @property
    def fdr(self) -> float:
        """The false discovery rate that was accepted."""
        return float(self.settings["fdr"])

    def changed(self) -> list[str]:
        """Return the words that changed, at the accepted false discovery rate."""
        return [word.word for word in self.words if word.q <= self.fdr]

    @cached_property
    def tables(self) -> dict[str, Table]:
        """``words``, and for the words described ``contexts`` and ``neighbors``."""
        described = [word for word in self.words if word.slices]
        words = Table(
            self.title,
            [
                Column("word"), Column("occurrences", int), Column("distance", float, ".3f"),
                Column("distance_debiased", float, ".3f"), Column("se", float, ".3f"), Column("p", float, "p"),
                Column("q", float, "p"), Column("gained", list), Column("lost", list),
            ],
            [
                (
                    word.word, word.occurrences, word.test.distance, word.debiased, word.test.se, word.test.p, word.q,
                    word.gained[:5], word.lost[:5],
                )
                for word in self.words
            ],
        )  # fmt: skip
        contexts = Table(
            "Contexts that explain the distance",
            [
                Column("word"), Column("context"), Column("share", float, ".1%"),
                Column("rate before", float, ".2%"), Column("rate after", float, ".2%"),
            ],
            [(word.word, *row) for word in described for row in _both(word.contexts)],
        )  # fmt: skip
        neighbors = Table(
            "Neighbors by slice",
            [
                Column("word"), Column("slice"), Column("occurrences", int), Column("units", int),
                Column("neighbors", list),
            ],
            [
                (word.word, part.name, part.occurrences, part.units, part.neighbors if part.occurrences else [])
                for word in described
                for part in word.slices
            ],
        )  # fmt: skip
        return {"words": words, "neighbors": neighbors, "contexts": contexts}

    def shown_tables(self) -> list[Table]:
        """Return the tables that a terminal shows."""
        shown = sum(bool(word.slices) for word in self.words)
        tables = [self.tables["words"].head(max(shown, 20))]
        return [*tables, self.tables["neighbors"], self.tables["contexts"]] if shown and shown <= 3 else tables

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer for JSON."""
        return {
            "words": [
                {
                    "word": word.word, "occurrences": word.occurrences, "distance": word.test.distance,
                    "distance_debiased": word.debiased, "se": word.test.se, "p": word.test.p, "q": word.q,
                    "gained": word.gained, "lost": word.lost,
                    "neighbors": {part.name: part.neighbors for part in word.slices if part.occurrences},
                    "came": word.neighbors(kept=True), "went": word.neighbors(kept=False),
                }
                for word in self.words
            ],
            "missing": list(self.missing),
            "notes": list(self.notes),
        }  # fmt: skip

    def figure(self, *, word: str | None = None, labels: int = 30, **options: Any) -> Any:
        """Return a volcano of all words; with a ``word``, its path through the slices among its neighbors."""
        from firthian.ask.change_figure import trajectory, volcano

        if options:
            raise FirthianError(f"unknown option {next(iter(options))!r}", hint="choose from: word, labels")
        if word is None and sum(bool(one.slices) for one in self.words) == len(self.words) == 1:
            word = self.words[0].word
        if word is None:
            return volcano(self, labels)
        chosen = self[word]
        if not chosen.slices:
            raise FirthianError(f"{word!r} was not described", hint="ask about it alone, or raise `topn`")
        return trajectory(chosen, self.vectors)


def _both(contexts: Sequence[tuple[str, float, float, float]]) -> list[tuple[str, float, float, float]]:
    gained = [row for row in contexts if row[3] > row[2]][:_CONTEXTS]
    lost = [row for row in contexts if row[3] < row[2]][:_CONTEXTS]
    return gained + lost
