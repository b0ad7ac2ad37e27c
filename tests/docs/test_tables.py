"""Tables of measured figures match the result files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import readme, tables, training
from benchmarks.measured import read
from studies.common import SETS


@pytest.mark.parametrize("page", tables.PAGES, ids=lambda page: str(page.relative_to(tables.ROOT)))
def test_tables_show_the_results(page: Path) -> None:
    text = page.read_text()
    assert tables.filled(text) == text, "run: python -m benchmarks.tables"


def test_every_page_with_a_table_is_among_them() -> None:
    pages = [
        tables.ROOT / "README.md",
        *(tables.ROOT / "benchmarks").glob("*.md"),
        *(tables.ROOT / "docs").rglob("*.md"),
    ]
    assert {page for page in pages if "<!-- table " in page.read_text()} == set(tables.PAGES)


def test_a_figure_that_was_changed_by_hand_is_noticed() -> None:
    text = "<!-- table cluster -->\n| 1 |\n<!-- end -->\nrest"
    made = tables.filled(text)
    assert made.endswith("<!-- end -->\nrest")
    assert made != text
    assert tables.filled(made) == made


@pytest.mark.parametrize("corpus", tables.SIZES)
def test_what_the_page_of_defaults_concludes(corpus: str) -> None:
    """docs/defaults.md concludes that sgns is best on average and svd the fastest; revise it if this fails."""
    rows = read(f"training-{corpus}-100-5")["rows"]
    means = {name: sum(row["scores"][key] for key in SETS) for name, row in rows.items() if name in tables.DEFAULTS}
    assert max(means, key=means.__getitem__) == training.WITHOUT
    if "svd" in rows:
        assert min(means, key=lambda name: rows[name]["wall"]) == "svd"


def test_what_the_readme_shows_is_what_was_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readme, "FOLDER", tmp_path)
    session = [
        {"command": "firth count a -o b", "printed": "one\n│ google  │ 0.5 │\ntwo\nthree\nreport: c\n"},
        {"command": "corpus=$(firth info b)", "printed": ""},
    ]
    scores = {"models": ["a", "b"], "sets": {"men": {"scores": [0.5, 0.25], "intervals": [[0.4, 0.6], [0.2, 0.3]]}}}
    scores["sets"]["men"] |= {"items": 3000, "covered": 1200, "p_values": [0.0001]}  # type: ignore[index]
    rows = {"train": {"session": session}, "compare": {"session": session, "scores": scores}}
    (tmp_path / "readme.json").write_text(json.dumps({"rows": rows}))
    assert readme.block("train").splitlines()[1:3] == ["$ firth count a -o b", "one"]
    shown = readme.block("compare").splitlines()[1:]
    assert shown[:5] == ["$ firth count a -o b", "...", "│ google  │ 0.5 │", "...", "report: c"]
    assert "| MEN | 0.500 [0.40, 0.60] | 0.250 [0.20, 0.30] | 1,200 of 3,000 | <0.001 |" in readme.block("scores")


def test_the_readme_shows_the_commands_that_are_run() -> None:
    text = (tables.ROOT / "README.md").read_text()
    for name in readme.BLOCKS:
        assert text.count(f"<!-- table readme {name} -->") == 1
    for commands in readme.SESSIONS.values():
        for line in commands:
            assert f"$ {line}\n" in text


def test_commands_are_typed_as_the_readme_shows_them(tmp_path: Path) -> None:
    session = readme.typed(("version=$(firth --version)", "firth models svd"), tmp_path)
    assert session[0] == {"command": "version=$(firth --version)", "printed": ""}
    assert session[1]["printed"].startswith("svd: ")
    with pytest.raises(SystemExit, match="firth models swd failed"):
        readme.typed(("firth models swd",), tmp_path)
