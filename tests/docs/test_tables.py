"""Tables of measured figures are what the files of results hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import tables


@pytest.mark.parametrize("page", tables.PAGES, ids=lambda page: page.parent.name)
def test_tables_are_those_of_the_results(page: Path) -> None:
    text = page.read_text()
    assert "<!-- table " in text
    assert tables.filled(text) == text, "run: python -m benchmarks.tables"


def test_a_figure_that_was_changed_by_hand_is_noticed() -> None:
    text = "<!-- table cluster -->\n| 1 |\n<!-- end -->\nrest"
    made = tables.filled(text)
    assert made.endswith("<!-- end -->\nrest")
    assert made != text
    assert tables.filled(made) == made
