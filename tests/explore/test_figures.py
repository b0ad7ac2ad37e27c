"""Figures for papers: text stays text, fonts and colors are checked, groups and arrows are drawn, and data can be taken out."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from firthian import FirthianError, Vectors, Vocabulary
from firthian.explore.word_map import map_change
from tests.explore.planted import planted, save

pytest.importorskip("matplotlib")

WORDS = "sun,moon,star,tea,coffee,milk"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FIRTHIAN_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return save(planted(), tmp_path / "v")


def test_text_of_pdf_and_svg_is_text(firth, folder: Path) -> None:
    common = ("map", folder, "--method", "pca", "--words", WORDS, "--title", "Sun and tea")
    assert firth(*common, "-o", "a.svg").code == 0
    drawn = Path("a.svg").read_text("utf-8")
    assert 5 <= drawn.count("<text") <= 7
    assert ">moon</text>" in drawn
    assert "Sun and tea" in drawn
    assert firth(*common, "-o", "a.pdf").code == 0
    # Embedded TrueType fonts keep the characters.
    assert b"/FontFile2" in Path("a.pdf").read_bytes()
    again = Path("a.pdf").read_bytes()
    assert firth(*common, "-o", "a.pdf", "--force").code == 0
    assert Path("a.pdf").read_bytes() == again


def test_size_and_dots_per_inch(firth, folder: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    assert firth("map", folder, "--method", "pca", "--size", "4", "--dpi", "50", "-o", "a.png").code == 0
    with image.open("a.png") as picture:
        assert picture.size == (200, 200)


def test_what_is_drawn_can_be_taken_out(firth, folder: Path) -> None:
    Path("groups.tsv").write_text("sun\tsky\nmoon\tsky\ntea\tdrinks\n")
    outcome = firth("map", folder, "--method", "pca", "--groups", "groups.tsv", "-o", "a.csv")
    assert outcome.code == 0
    rows = list(csv.DictReader(Path("a.csv").read_text("utf-8").splitlines()))
    assert [(row["word"], row["group_name"]) for row in rows] == [("sun", "sky"), ("moon", "sky"), ("tea", "drinks")]
    assert all(np.isfinite([float(row["x"]), float(row["y"])]).all() for row in rows)
    assert firth("map", folder, "--method", "pca", "--groups", "groups.tsv", "-o", "a.svg").code == 0
    assert ">drinks</text>" in Path("a.svg").read_text("utf-8")


def test_highlighted_words_are_bold_and_labeled(firth, folder: Path) -> None:
    common = ("map", folder, "--method", "pca", "--words", WORDS, "--labels", "1", "--highlight", "milk")
    assert firth(*common, "-o", "a.svg").code == 0
    (label,) = [line for line in Path("a.svg").read_text("utf-8").splitlines() if "</text>" in line and "milk" in line]
    assert "font-weight: 700" in label


def test_a_script_that_the_font_lacks_is_named(firth, folder: Path) -> None:
    vectors = Vectors(np.eye(4), Vocabulary(["tea", "茶", "ชา", "чай"]))
    vectors.save("scripts")
    outcome = firth("map", "scripts", "--method", "pca", "-o", "a.png")
    assert outcome.code == 0
    assert "no Chinese or Japanese characters such as 茶: pass --font" in outcome.err
    assert "no Thai characters" in outcome.err
    assert "Cyrillic" not in outcome.err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--font", "No Such Font"], "there is no font 'No Such Font'"),
        (["--font", "DejaVu Snas"], "did you mean DejaVu Sans"),
        (["--font", "missing.ttf"], "the font missing.ttf does not exist"),
        (["--color", "tealish"], "'tealish' is not a color"),
        (["--highlight", "coffe"], "'coffe' is not on the map"),
        (["--groups", "bad.tsv"], "bad.tsv, line 2: expected a word, a tab and a group"),
        (["--onto", "v"], "--onto needs words to follow"),
        (["--onto", "v", "--clusters", "3", "--words", "tea,sun"], "--clusters has no effect with --onto"),
    ],
)
def test_mistakes_are_told_in_a_line(firth, folder: Path, flags: list[str], message: str) -> None:
    Path("bad.tsv").write_text("sun\tsky\nmoon\n")
    outcome = firth("map", folder, "--method", "pca", "-o", "a.png", *flags)
    outcome.complains(message)
    assert not Path("a.png").exists()


def test_arrows_show_which_words_moved(firth, folder: Path) -> None:
    old = planted()
    matrix = old.to_numpy().copy()
    # Milk goes to the sky; the whole space is turned, which must not matter.
    matrix[old.get_index("milk")] = old["moon"]
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(old.vector_size, old.vector_size)))[0]
    new = Vectors(matrix @ turn, old.vocabulary)
    drawn = map_change(old, new, WORDS.split(","))
    moved = np.linalg.norm(np.diff(drawn.points[drawn.arrows], axis=1)[:, 0], axis=1)
    assert drawn.words[int(moved.argmax())] == "milk"
    assert np.sort(moved)[-2] < moved.max() / 3
    new.save("new")
    assert firth("map", folder, "--onto", "new", "--words", WORDS, "--method", "pca", "-o", "a.svg").code == 0
    assert ">after</text>" in Path("a.svg").read_text("utf-8")
    with pytest.raises(FirthianError, match="of the old vectors"):
        map_change(old, new, ["xyz"])
    other = Vectors(np.eye(2), Vocabulary(["azaz", "bzbz"]))
    with pytest.raises(FirthianError, match="no word in common"):
        other.align_to(Vectors(np.eye(2), Vocabulary(["c", "d"])))
