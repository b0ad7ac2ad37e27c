"""``firth evaluate``."""

from __future__ import annotations

import csv
import io
import json

import pytest

from firthian.cli.app import main
from tests.evaluate.conftest import planted


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run the command in a folder with planted vectors and one test file of each kind."""
    monkeypatch.chdir(tmp_path)
    for name in ("kv", "other"):
        planted(seed=len(name)).save(name)
    (tmp_path / "pairs.txt").write_text("land1 city1 9\nland1 land2 5\nland3 noise3 1\nland4 zebra 99\n")
    (tmp_path / "quads.txt").write_text(
        ": capitals\nland1 city1 land2 city2\nland1 city1 land3 city3\n: others\nland4 city4 land5 city5\n"
    )
    (tmp_path / "unknown.txt").write_text("x y 9\n")

    def call(*arguments):
        code = main(["evaluate", *arguments])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return call


def test_json_of_one_model(run):
    code, out, err = run("kv", "--file", "pairs.txt", "--file", "quads.txt", "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert facts["vectors"] == "kv"
    assert (facts["similarity"]["pairs"]["covered"], facts["similarity"]["pairs"]["missing"]) == (3, ["zebra"])
    assert facts["analogy"]["quads"]["3cosadd"] == 1


def test_a_file_of_one_kind_leaves_the_other_suite_out(run):
    facts = json.loads(run("kv", "--file", "pairs.txt", "--json")[1])
    assert "analogy" not in facts


def test_zero_for_unknown_words(run):
    skip, zero = (json.loads(run("kv", "--file", "pairs.txt", "--oov", oov, "--json")[1]) for oov in ("skip", "zero"))
    assert skip["similarity"]["pairs"]["spearman"] != zero["similarity"]["pairs"]["spearman"]


def test_two_models_csv_and_page(run, tmp_path):
    code, out, _ = run("kv", "other", "--file", "quads.txt", "--csv", "--html", "report.html")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {row["vectors"] for row in rows} == {"kv", "other"}
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    code, out, err = run("kv", "--file", "quads.txt", "--html", "report.html")
    assert (code, out) == (2, "")
    assert "report.html already exists" in err


def test_the_table_shows_sections_on_request(run):
    assert "quads/capitals" not in run("kv", "--file", "quads.txt")[1]
    assert "quads/capitals" in run("kv", "--file", "quads.txt", "--sections")[1]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["absent", "--file", "pairs.txt"], "absent does not exist"),
        (["kv", "--file", "nothing.txt"], "nothing.txt is neither a known set nor a file"),
        (["kv", "--sets", "simlex"], "did you mean simlex999"),
        (["kv", "--sets", ""], "a set has no name"),
        (["kv", "--file", "unknown.txt"], "covers no item"),
        (["kv", "--file", "pairs.txt", "--score", "product-kernel"], "with covariances or variances"),
        (["kv", "--file", "pairs.txt", "--suite", "analogy"], "line 1 has 3 columns"),
        (["kv", "kv", "--file", "pairs.txt"], "named twice"),
        (["kv", "--file", "pairs.txt", "--html", "kv", "--force"], "kv is a folder: name a file"),
        (["kv", "--file", "pairs.txt", "--workers", "0"], "--workers must be an integer of at least 1"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_two(run, arguments, part):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert part in err
    assert len(err.splitlines()) == 1


def test_json_and_csv_together_are_refused(run):
    code, out, err = run("kv", "--file", "pairs.txt", "--json", "--csv")
    assert (code, out) == (2, "")
    assert "--json and --csv" in json.loads(err)["error"]
