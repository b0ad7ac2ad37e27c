from __future__ import annotations

from pathlib import Path

import pytest

from firthian.cli import demo
from firthian.cli.app import main
from firthian.counts.counts import Counts
from firthian.errors import FirthianError


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A corpus in which "new york" always keeps company, in place of the real one."""
    corpus = tmp_path / "tiny.txt"
    corpus.write_text("the train to new york is late\nthe bus to oslo is late\n" * 400)
    monkeypatch.setattr("firthian.datasets.locate", lambda name, progress: corpus if name == demo.CORPUS else None)
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("new york 9\ntrain bus 8\nnew late 2\nyork oslo 3\n")
    monkeypatch.setattr(demo, "SETS", [str(pairs)])
    monkeypatch.chdir(tmp_path)
    return corpus


def test_demo_counts_and_shows_the_pair(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--workers", "1"]) == 0
    shown = capsys.readouterr().out
    assert "5,200 tokens" in shown
    for number in range(1, len(demo.STEPS) + 1):
        assert f"[{number}/{len(demo.STEPS)}]" in shown
    assert any({"new", "york"} <= set(line.split()) for line in shown.splitlines())
    assert Counts.load("demo/counts")["new", "york"] == 400
    assert "pairs" in shown
    assert Path("demo/report/report.html").is_file()


def test_demo_can_be_repeated_and_leaves_other_files_alone(tiny: Path) -> None:
    demo.run("demo")
    Path("demo/notes.txt").write_text("mine")
    first = Path("demo/counts/counts.json").read_bytes()
    demo.run("demo")
    assert Path("demo/counts/counts.json").read_bytes() == first
    assert Path("demo/notes.txt").read_text() == "mine"


def test_demo_does_not_replace_what_is_not_its_own(tiny: Path) -> None:
    Path("demo/counts").mkdir(parents=True)
    Path("demo/counts/thesis.txt").write_text("mine")
    with pytest.raises(FirthianError, match="did not write"):
        demo.run("demo")
    assert Path("demo/counts/thesis.txt").read_text() == "mine"
    Path("file").write_text("")
    with pytest.raises(FirthianError, match="not a folder"):
        demo.run("file")


def test_the_first_recipe_is_the_default() -> None:
    from firthian.learn.train import DEFAULT_RECIPE

    assert demo.RECIPES[0] == DEFAULT_RECIPE
