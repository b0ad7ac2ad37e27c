"""The answer of an embedding regression: coefficients, nearest words and sentences of each level, a coefficient plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from firthian.ask.result import Result
from firthian.errors import require
from firthian.runtime.figures import COLORS, plain_text
from firthian.runtime.table import Column, Table

Scored = list[tuple[str, float]]


@dataclass(frozen=True)
class Coefficient:
    """A coefficient: its squared norm, raw and debiased, with standard error, 95 % interval and p-value."""

    name: str
    norm2: float
    norm2_debiased: float
    se: float
    ci95: tuple[float, float]
    p: float
    #: The words toward which the level moves the vector.
    nearest: Scored


@dataclass(frozen=True)
class Sentence:
    """A sentence with the target: where it is, its text, its cosine with the mean vector of its cell."""

    where: str
    text: str
    score: float


@dataclass(frozen=True)
class Cell:
    """The occurrences of one level of a covariate: how many, the words nearest to their mean vector, typical sentences."""

    name: str
    n: int
    documents: int
    nearest: Scored
    sentences: list[Sentence]


@dataclass(frozen=True, repr=False)
class Regression(Result):
    """How the use of a target depends on covariates."""

    title: str
    #: Occurrences, documents and clusters in the regression.
    n: int
    documents: int
    clusters: int
    coefficients: Mapping[str, Coefficient]
    cells: Sequence[Cell]
    #: (word, level, reference level, cosine of each), highest ratio first.
    ratios: Sequence[tuple[str, str, str, float, float]] = field(repr=False)
    notes: Sequence[str] = field(repr=False)
    settings: Mapping[str, Any] = field(repr=False)

    @property
    def tables(self) -> dict[str, Table]:
        """Coefficients, nearest words, cosine ratios and sentences."""
        main = Table(
            f"{self.title} ({self.n:,} occurrences in {self.documents:,} documents)",
            (
                Column("coefficient"), *map(_number, ("norm2", "norm2_debiased", "se", "low", "high")),
                Column("p", float, "p"), Column("nearest", list),
            ),
            [
                (one.name, one.norm2, one.norm2_debiased, one.se, *one.ci95, one.p, [word for word, _ in one.nearest[:5]])
                for one in self.coefficients.values()
            ],
        )  # fmt: skip
        cells = Table(
            "Nearest words of each level",
            (Column("level"), Column("occurrences", int), Column("word"), _number("cosine")),
            [(cell.name, cell.n, word, score) for cell in self.cells for word, score in cell.nearest],
        )
        ratios = Table(
            "Cosine ratios",
            (
                Column("word"), Column("level"), Column("against"),
                *map(_number, ("cosine", "cosine_against", "ratio")),
            ),
            [(*row, row[3] / row[4] if row[4] > 0 else None) for row in self.ratios],
        )  # fmt: skip
        sentences = Table(
            "Typical sentences of each level",
            (Column("level"), _number("cosine"), Column("where"), Column("sentence")),
            [(cell.name, one.score, one.where, one.text) for cell in self.cells for one in cell.sentences],
        )
        return {"coefficients": main, "nearest": cells, "ratios": ratios, "sentences": sentences}

    def shown_tables(self) -> list[Table]:
        """Return the tables that a terminal shows: numbers first, then the words of a coefficient or level in one line."""
        moved = [(one.name, None, [word for word, _ in one.nearest]) for one in self.coefficients.values()]
        levels = Table(
            "Nearest words of each coefficient, then of each level",
            (Column("of"), Column("occurrences", int), Column("words", list)),
            [*moved, *((cell.name, cell.n, [word for word, _ in cell.nearest]) for cell in self.cells)],
        )
        typical = Table(
            "A typical sentence of each level",
            (Column("level"), Column("where"), Column("sentence")),
            [(cell.name, cell.sentences[0].where, cell.sentences[0].text) for cell in self.cells if cell.sentences],
        )
        return [self.table.without("nearest"), levels, *([typical] if typical.rows else [])]

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer for JSON."""
        return {
            "n": self.n,
            "documents": self.documents,
            "clusters": self.clusters,
            "coefficients": {
                name: {
                    "norm2": one.norm2, "norm2_debiased": one.norm2_debiased, "se": one.se, "ci95": list(one.ci95),
                    "p": one.p, "nearest": _scored(one.nearest),
                }
                for name, one in self.coefficients.items()
            },
            "cells": {
                cell.name: {
                    "n": cell.n, "documents": cell.documents, "nearest": _scored(cell.nearest),
                    "sentences": [asdict(one) for one in cell.sentences],
                }
                for cell in self.cells
            },
            "ratios": self.tables["ratios"].to_dict(),
            "notes": list(self.notes),
        }  # fmt: skip

    def figure(self, **options: Any) -> Any:
        """Return a coefficient plot: debiased squared norms with 95 % intervals."""
        return coefficient_plot(list(self.coefficients.values()), self.title, **options)


def _number(name: str) -> Column:
    return Column(name, float, ".4f")


def _scored(words: Scored) -> list[dict[str, Any]]:
    return [{"word": word, "score": score} for word, score in words]


def coefficient_plot(coefficients: Sequence[Coefficient], title: str, *, width: float = 7.0) -> Any:
    """Return a figure of debiased squared norms with 95 % intervals, filled where p < 0.05."""
    matplotlib = require("matplotlib.figure", "ask")
    figure = matplotlib.Figure(figsize=(width, 1.3 + 0.45 * len(coefficients)), dpi=150, layout="constrained")
    axes = figure.subplots()
    places = range(len(coefficients), 0, -1)
    for place, one in zip(places, coefficients, strict=True):
        axes.plot(one.ci95, (place, place), color=COLORS[0], linewidth=1.5, zorder=1)
        face = COLORS[0] if one.p < 0.05 else "white"
        axes.scatter([one.norm2_debiased], [place], s=36, color=face, edgecolors=COLORS[0], zorder=2)
    names = [plain_text(one.name) for one in coefficients]
    axes.set_yticks(list(places), names, parse_math=False)
    axes.set_ylim(0.4, len(coefficients) + 0.6)
    axes.axvline(0, color="0.6", linewidth=0.8, zorder=0)
    axes.set_xlabel("squared norm of the coefficient, debiased, with 95 % interval (filled: p < 0.05)")
    axes.set_title(plain_text(title), loc="left", fontsize=11, parse_math=False)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    return figure
