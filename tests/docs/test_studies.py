"""Pages of studies hold what their results hold; a study keeps what it has computed, and what that took."""

from __future__ import annotations

import importlib
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from studies import common, emf, overview
from studies.__main__ import STUDIES

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "studies"


def without_versions(page: Path) -> str:
    """The last line says which versions the page was made with; they may be others here."""
    return re.sub(r"\nMade by .*\n$", "", page.read_text())


@pytest.mark.parametrize("name", [entry.name for entry in overview.ENTRIES])
def test_a_page_is_what_its_results_say(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "PAGES", tmp_path)
    for picture in PAGES.glob(f"{name}*.png"):
        shutil.copy(picture, tmp_path)
    importlib.import_module(f"studies.{name}").main(["--page"])
    made = without_versions(tmp_path / f"{name}.md")
    assert made == without_versions(PAGES / f"{name}.md"), f"run python -m studies.{name} --page"
    for picture in re.findall(r"\]\(([\w.]+\.png)\)", made):
        assert (PAGES / picture).exists()


def test_the_overview_is_current_and_names_every_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "TARGET", tmp_path / "index.md")
    overview.main()
    assert (tmp_path / "index.md").read_text() == (PAGES / "index.md").read_text(), "run python -m studies.overview"
    assert {entry.name for entry in overview.ENTRIES} == {page.stem for page in PAGES.glob("*.md")} - {"index"}
    assert {entry.name for entry in overview.ENTRIES if entry.always} == {*STUDIES, overview.BESIDE}


def test_a_study_computes_a_row_once_and_keeps_its_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "QUICK", tmp_path)
    calls: list[str] = []

    def compute() -> Any:
        calls.append("row")
        return {"score": 0.5}

    assert common.Study("some", quick=True).row("row", compute) == {"score": 0.5}
    again = common.Study("some", quick=True)
    assert again.row("row", compute) == {"score": 0.5}
    assert calls == ["row"]
    assert set(again.known_costs) == {"row"}
    assert again.known_costs["row"].keys() == {"wall", "cpu"}


def test_a_page_alone_computes_nothing_and_time_that_is_up_begins_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(common, "QUICK", tmp_path)
    with pytest.raises(SystemExit, match="row is not computed yet"):
        common.Study("some", quick=True, page=True).row("row", lambda: pytest.fail("computed"))
    with pytest.raises(SystemExit, match="out of time before row"):
        common.Study("some", quick=True, seconds=1e-9).row("row", lambda: pytest.fail("computed"))
    assert common.Study("some", quick=True).rows == {}


def test_questions_are_split_by_the_seed() -> None:
    words = [(f"a{n}", f"b{n}", f"a{m}", f"b{m}") for n in range(8) for m in range(8) if n != m]
    taught, asked = emf.split_questions(words, 0.5, 1, strict=False)
    assert len(taught) == 28
    assert sorted([*taught, *asked]) == list(range(56))
    assert taught.tolist() == emf.split_questions(words, 0.5, 1, strict=False)[0].tolist()
    assert taught.tolist() != emf.split_questions(words, 0.5, 2, strict=False)[0].tolist()
    parts = emf.split_questions(words, 0.5, 1, strict=True)
    pairs = [{frozenset(pair) for n in part for pair in (words[n][:2], words[n][2:])} for part in parts]
    assert pairs[0]
    assert pairs[1]
    assert not pairs[0] & pairs[1]
