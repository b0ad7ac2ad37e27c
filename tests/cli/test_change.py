"""``firth change``: slices of a table and of files, as a table, JSON and a folder, and mistakes in one line."""

from __future__ import annotations

import json

import numpy as np
import pytest

SMALL = ("--min-count", "3", "--sample", "0", "--dim", "4", "--permutations", "99")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)

    def text(words, word):
        return " ".join(
            [*generator.choice(words, 12), word, *generator.choice(words, 12), *generator.choice(list("xyzuvw"), 9)]
        )

    old = [text(["hay", "barn", "owl", "cat"], "mouse") for _ in range(40)]
    new = [text(["key", "click", "screen", "pad"], "mouse") for _ in range(40)]
    # Both kinds of text are in both slices; only the mouse moves.
    old += [text(["key", "click", "screen", "pad"], "desk") for _ in range(40)]
    new += [text(["hay", "barn", "owl", "cat"], "desk2") for _ in range(40)]
    (tmp_path / "old.txt").write_text("\n".join(old) + "\n")
    (tmp_path / "new.txt").write_text("\n".join(new) + "\n")
    rows = [f"{1850 + 50 * (n >= 80)}\t{n % 20}\t{line}" for n, line in enumerate(old + new)]
    (tmp_path / "all.tsv").write_text("year\tauthor\ttext\n" + "\n".join(rows) + "\n")
    return tmp_path


def test_a_table_and_files_give_the_same_answer(folder, firth):
    done = firth("change", "old.txt", "new.txt", "--words", "mouse,x", *SMALL, "--json", "-o", "report")
    assert done.code == 0, done.err
    answer = json.loads(done.out)
    mouse = next(word for word in answer["words"] if word["word"] == "mouse")
    assert mouse["q"] < 0.1
    assert {"key", "hay"} & {*mouse["gained"], *mouse["lost"]}
    assert (folder / "report" / "report.html").stat().st_size > 10_000
    table = firth("change", "all.tsv", "--by", "year", "--cuts", "1875", "--words", "mouse,x", *SMALL, "--json")
    again = next(word for word in json.loads(table.out)["words"] if word["word"] == "mouse")
    assert again["distance"] == pytest.approx(mouse["distance"], rel=1e-5)
    shown = firth(
        "change", "all.tsv", "--by", "year", "--unit", "author", "--words", "mouse", *SMALL, "--plot", "m.png"
    )
    assert "p by 99 permutations of the values of 'author'" in " ".join(shown.out.split())
    assert (folder / "m.png").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["all.tsv"], "pass --by"),
        (["all.tsv", "--by", "yaer"], "did you mean year"),
        (["all.tsv", "--by", "year", "--cuts", "x"], "expected numbers in --cuts"),
        (["all.tsv", "--by", "year", "--cuts", "1700"], "has no documents"),
        (["all.tsv", "--by", "year", "--words", "zebra"], "none of the words occurs"),
        (["all.tsv", "--by", "year", "--json", "--csv"], "cannot be combined"),
        (["old.txt", "absent.txt"], "absent.txt"),
        (["old.txt", "new.txt", "--by", "year"], "--by has no effect on several corpora"),
    ],
)
def test_mistakes_are_one_line_with_a_remedy(folder, firth, arguments, message):
    done = firth("change", *arguments, *SMALL)
    assert done.code == 2
    assert message in done.err
    assert len(done.err.strip().splitlines()) == 1 or "--json" in arguments
