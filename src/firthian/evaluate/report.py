"""The result of an evaluation, as a dictionary, a terminal table, CSV or HTML."""

from __future__ import annotations

import html
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from firthian.runtime.page import html_page, html_table, show_p
from firthian.runtime.table import Column, Table, Tabular
from firthian.vectors.cards import Row, coverage, plain, score_rows

#: The most missing words named below a table.
_NAMED = 8


@dataclass(frozen=True, repr=False)
class Evaluation(Tabular):
    """Scores of one or more models; ``comparisons`` test each further model against the first."""

    results: Mapping[str, Mapping[str, Mapping[str, Any]]]
    comparisons: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON: the scores of one model, or ``results`` and ``comparisons`` of several."""
        models = [{"vectors": name, **plain(suites)} for name, suites in self.results.items()]
        several = {"results": models, "comparisons": plain(self.comparisons)}
        return (models[0] if len(models) == 1 else several) | ({"notes": self.notes} if self.notes else {})

    def rows(self, sections: bool = True) -> list[Row]:
        """Return one row per score; with ``sections``, also for each section of analogies."""
        return [row for model, suites in self.results.items() for row in score_rows(model, suites, sections)]

    @property
    def table(self) -> Table:
        """One line per score, with its interval and coverage."""
        kinds = {"value": float, "low": float, "high": float, "items": int, "covered": int}
        columns = [Column(name, kinds.get(name, str)) for name in Row.__dataclass_fields__]
        return Table("Scores", columns, [[getattr(row, column.name) for column in columns] for row in self.rows()])

    def __repr__(self) -> str:
        return str(self)

    def to_html(self) -> str:
        """Return a self-contained HTML page."""
        return html_page("Evaluation of word vectors", self._repr_html_(sections=True))

    def _repr_html_(self, sections: bool = False) -> str:
        tables = [html_table(suite, head, lines) for suite, head, lines in self._tables(sections)]
        return "\n".join([*tables, *(f"<p>{html.escape(line)}</p>" for line in self.remarks())])

    def __rich__(self) -> Any:
        return self.rich()

    def rich(self, sections: bool = False) -> Any:
        """Return rich tables for the terminal."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        parts: list[Any] = []
        for suite, head, lines in self._tables(sections):
            table = Table(title=Text(suite), title_justify="left")
            for number, cell in enumerate(head):
                table.add_column(Text(cell), justify="left" if number < 2 else "right", overflow="fold")
            for line in lines:
                table.add_row(*map(Text, line))
            parts.append(table)
        return Group(*parts, *(Text(line) for line in self.remarks()))

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(file=io.StringIO(), width=120, color_system=None)
        console.print(self)
        assert isinstance(console.file, io.StringIO)
        return console.file.getvalue().rstrip("\n")

    def remarks(self) -> list[str]:
        """Return notes on missing words; models that miss the same words share a line."""
        lines: dict[str, list[str]] = {}
        for model, suites in self.results.items():
            for part in plain(suites).values():
                for name, results in part.items():
                    for line in _missing(name, results) if isinstance(results, dict) else ():
                        lines.setdefault(line, []).append(model)
        return self.notes + [
            line if len(models) == len(self.results) else f"{', '.join(models)}: {line}"
            for line, models in lines.items()
        ]

    def _tables(self, sections: bool) -> Iterator[tuple[str, list[str], list[list[str]]]]:
        """Yield a table for each suite: title, header, and lines with one column per model."""
        models = list(self.results)
        grouped: dict[str, dict[tuple[str, str], dict[str, Row]]] = {}
        for row in self.rows(sections):
            grouped.setdefault(row.suite, {}).setdefault((row.name, row.measure), {})[row.vectors] = row
        for suite, lines in grouped.items():
            tested = len(models) > 1 and any(self._p_values(suite, *key) for key in lines)
            head = ["set", "measure", *models, "covered", *(["p"] if tested else [])]
            body = []
            for key, by in lines.items():
                figures = [by[model].show() if model in by else "–" for model in models]
                tests = [self._p_values(suite, *key)] if tested else []
                body.append([*key, *figures, coverage(list(by.values())), *tests])
            yield suite, head, body

    def _p_values(self, suite: str, name: str, measure: str) -> str:
        """Format the p-values of the further models against the first, if this score was tested."""
        values = []
        for comparison in self.comparisons:
            sets = comparison.get(suite, {})
            whole, _, part = name.rpartition("/")
            facts = sets.get(name) or sets.get(whole, {}).get(part)
            # A section may have the name of a measure; only a tested part has its own questions.
            if not isinstance(facts, Mapping) or (name not in sets and "questions" not in facts):
                facts = {}
            values.append(facts.get(measure, facts).get("p_value"))
        return ", ".join(map(show_p, values)) if any(value is not None for value in values) else ""


def _missing(name: str, results: Mapping[str, Any]) -> Iterator[str]:
    if results.get("covered") == 0:
        yield f"{name}: no item is covered"
    for key, what in (("missing", "not in the vocabulary"), ("zero_length", "with a vector of length 0")):
        words = results.get(key)
        if words:
            named = ", ".join(words[:_NAMED]) + (", …" if len(words) > _NAMED else "")
            yield f"{name}: {len(words):,} word{'s' if len(words) > 1 else ''} {what}: {named}"
