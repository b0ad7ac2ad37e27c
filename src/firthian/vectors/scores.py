"""Scores of vectors as rows, one figure each, from the nested dictionaries that evaluations return."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

#: Number of items behind a figure, by the names suites use; not figures themselves.
_COUNTS = ("pairs", "questions", "items")


@dataclass(frozen=True)
class Row:
    """One figure: its vectors, suite, set or section, and the items behind it."""

    vectors: str
    suite: str
    name: str
    measure: str
    value: float | None
    low: float | None = None
    high: float | None = None
    items: int | None = None
    covered: int | None = None

    def show(self) -> str:
        """Return the figure as text, with its interval."""
        if self.value is None:
            return "–"
        if isinstance(self.value, int):
            return f"{self.value:,}"
        return f"{self.value:.3f}" + (
            f" [{self.low:.2f}, {self.high:.2f}]" if self.low is not None and self.high is not None else ""
        )


def score_rows(vectors: str, suites: Mapping[str, Any], sections: bool = True) -> list[Row]:
    """Return the figures of one set of vectors; ``sections`` also those of the sections of analogies.

    >>> score_rows("v", {"similarity": {"simlex": {"spearman": 0.4, "pairs": 999, "covered": 990}}})[0].show()
    '0.400'
    """
    return [
        row
        for suite, part in suites.items()
        for name, figures in plain(part).items()
        for row in _rows(vectors, suite, str(name), figures, sections)
    ]


def plain(value: Any) -> Any:
    """Return results as JSON values."""
    if hasattr(value, "to_dict"):
        value = value.to_dict()
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def _rows(vectors: str, suite: str, name: str, figures: Any, sections: bool) -> Iterator[Row]:
    """Yield the figures of a set, then those of its parts."""
    if not isinstance(figures, dict):
        # A suite whose names are figures themselves.
        if _is_figure(figures):
            yield Row(vectors, suite, "", name, figures)
        return
    items = next((figures[count] for count in _COUNTS if count in figures), None)
    low, high = figures.get("ci95") or (None, None)
    for measure, value in figures.items():
        if measure not in (*_COUNTS, "covered", "ci95") and _is_figure(value):
            yield Row(vectors, suite, name, measure, value, low, high, items, figures.get("covered"))
    parts = {part: inner for part, inner in figures.items() if isinstance(inner, dict) and part != "params"}
    named = parts.pop("sections", {})
    for part, inner in named.items() if sections else ():
        # A half of the set may have the same name; if it is a different thing, both are shown.
        parts[part if parts.get(part, inner) == inner else f"{part} (section)"] = inner
    for part, inner in parts.items():
        # A part that equals the whole adds nothing.
        if items is None or inner.get("questions") != items:
            yield from _rows(vectors, suite, f"{name}/{part}", inner, sections)


def _is_figure(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
