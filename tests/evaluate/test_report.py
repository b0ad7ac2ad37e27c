"""The table: JSON, CSV, HTML, terminal; other suites; names."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

import firthian as ft
from firthian.errors import FirthianError
from firthian.evaluate import SUITES, Evaluation, Pairs, Suite
from firthian.runtime.page import show_p
from firthian.vectors.provenance import Provenance
from firthian.vectors.vectors import Vectors
from tests.evaluate.conftest import planted
from tests.evaluate.test_analogy import capitals, questions


def similar(name="pairs"):
    words = [("land1", "land2"), ("land1", "city1"), ("land3", "city4"), ("noise1", "noise2"), ("land2", "<b>")]
    return Pairs(name, words, np.array([5.0, 4, 3, 2, 1]))


def asked():
    """Two semantic sections and a syntactic one."""
    sections = ["capitals", "more", "gram1"]
    return questions(capitals(5).words, sections, [0] * 8 + [1] * 7 + [2] * 5, [True, True, False], name="q")


@pytest.fixture
def two():
    good = planted()
    noise = np.random.default_rng(2).normal(size=good.matrix.shape)
    bad = Vectors((good.matrix + noise).astype(np.float32), good.vocabulary)
    return ft.evaluate({"good <i>": good, "bad": bad}, sets=[similar(), asked()])


@pytest.fixture
def one():
    return ft.evaluate(planted(), sets=[similar(), asked()])


def test_the_shape_of_json(one):
    facts = json.loads(json.dumps(one.to_dict(), allow_nan=False))
    assert facts["vectors"] == "vectors"
    assert set(facts["similarity"]["pairs"]) == {"spearman", "ci95", "pairs", "covered", "missing"}
    assert set(facts["analogy"]["q"]) == {
        "3cosadd", "3cosmul", "questions", "covered", "semantic", "syntactic", "sections", "missing",
    }  # fmt: skip
    assert set(facts["analogy"]["q"]["sections"]["capitals"]) == {"3cosadd", "3cosmul", "questions", "covered"}


def test_several_models_are_compared_with_the_first(two):
    facts = json.loads(json.dumps(two.to_dict(), allow_nan=False))
    assert [result["vectors"] for result in facts["results"]] == ["good <i>", "bad"]
    (comparison,) = facts["comparisons"]
    assert (comparison["vectors"], comparison["against"]) == ("bad", "good <i>")
    first, second = (result["similarity"]["pairs"]["spearman"] for result in facts["results"])
    assert comparison["similarity"]["pairs"]["difference"] == pytest.approx(second - first)
    first, second = (result["analogy"]["q"]["3cosadd"] for result in facts["results"])
    assert comparison["analogy"]["q"]["3cosadd"]["difference"] == pytest.approx(second - first)
    p_value = show_p(comparison["analogy"]["q"]["semantic"]["3cosadd"]["p_value"])
    (line,) = (line for line in str(two).splitlines() if "q/semantic" in line and "3cosadd" in line)
    assert line.rstrip("│ ").endswith(p_value)


def test_p_values_stand_in_the_order_of_the_models():
    """The second model knows too few words for a test of the pairs; its place is not taken by the third."""
    good = planted()
    few = Vectors(good.matrix[:1], ft.Vocabulary(good.vocabulary.words[:1]))
    other = Vectors(good.matrix[:, ::-1] ** 3, good.vocabulary)
    same = Pairs("same", [(good.vocabulary.words[0], good.vocabulary.words[0])], np.ones(1))
    found = ft.evaluate({"good": good, "few": few, "other": other}, sets=[similar(), same])
    line = next(line for line in str(found).splitlines() if "pairs" in line and "spearman" in line)
    assert re.search(r"│\s+–, [<0-9.]+ │$", line), line


def test_csv_has_every_figure_once(two):
    rows = list(csv.DictReader(io.StringIO(two.to_csv())))
    keys = [(row["vectors"], row["suite"], row["name"], row["measure"]) for row in rows]
    assert len(set(keys)) == len(keys) == 2 * (1 + 2 * 6)
    (figure,) = [row for row in rows if row["vectors"] == "bad" and row["measure"] == "spearman"]
    facts = two.to_dict()["results"][1]["similarity"]["pairs"]
    assert float(figure["value"]) == facts["spearman"]
    assert [float(figure["low"]), float(figure["high"])] == facts["ci95"]
    assert (figure["items"], figure["covered"]) == ("5", "4")


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_html_is_well_formed_escaped_and_needs_nothing_else(two):
    page = two.to_html()
    tags = _Tags()
    tags.feed(page)
    assert tags.open == []
    assert tags.seen.count("table") == 2
    assert not {"i", "b", "script", "link", "img"} & set(tags.seen)
    assert "good &lt;i&gt;" in page
    assert "q/capitals" in page
    assert "<table>" in two._repr_html_()


def test_the_terminal_shows_figures_coverage_and_what_is_missing(two):
    shown = str(two)
    assert "4 of 5" in shown
    assert "pairs: 1 word not in the vocabulary: <b>" in shown
    assert "q/semantic" in shown
    assert "q/capitals" not in shown
    value = two.to_dict()["results"][1]["analogy"]["q"]["3cosmul"]
    assert f"{value:.3f}" in shown


def test_models_that_miss_different_words_are_told_apart():
    vectors = planted()
    smaller = Vectors(vectors.matrix[:60], ft.Vocabulary(vectors.vocabulary.words[:60]))
    remarks = ft.evaluate({"all": vectors, "few": smaller}, sets=[similar()]).remarks()
    assert remarks == [
        "all: pairs: 1 word not in the vocabulary: <b>",
        "few: pairs: 3 words not in the vocabulary: <b>, noise1, noise2",
    ]


def test_a_section_that_is_the_whole_set_is_not_shown_again():
    whole = questions(capitals(5).words, ["syntactic"], None, [False], name="q")
    rows = ft.evaluate(planted(), sets=[whole]).rows()
    assert [(row.name, row.measure) for row in rows] == [("q", "3cosadd"), ("q", "3cosmul")]


def test_models_without_names_get_different_ones():
    vectors = planted()
    named = Vectors(vectors.matrix, vectors.vocabulary, provenance=Provenance(recipe="psd"))
    result = ft.evaluate([vectors, named, vectors, named], sets=[similar()])
    assert list(result.results) == ["vectors", "psd", "vectors (2)", "psd (2)"]
    assert len(result.comparisons) == 3


@pytest.mark.parametrize("nothing", [[], {}])
def test_no_vectors_is_an_error(nothing):
    with pytest.raises(FirthianError, match="no vectors"):
        ft.evaluate(nothing, sets=[similar()])


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"suite": "similarty"}, "did you mean similarity"),
        ({"suite": ","}, "no suite is named"),
        ({"oov": "ignore"}, "oov must be one of skip, zero"),
        ({"score": "cosin"}, "did you mean cosine"),
        ({"resamples": -1}, "at least 0"),
        ({"tasks": 3}, "no chosen suite has an option tasks"),
    ],
)
def test_wrong_options_are_refused(options, part):
    with pytest.raises(FirthianError, match=part):
        ft.evaluate(planted(), **{"sets": [similar()], **options})


def fake_suite(vectors, options, run):
    figures = {"pa": {"accuracy": 0.9, "macro_f1": 0.8, "params": {"lam": 3}}, "words": 1234}
    return {options.more.get("tasks", "trec"): figures}


def test_another_suite_is_one_row(monkeypatch):
    monkeypatch.setitem(SUITES, "classification", Suite("classification", __name__, ("tasks",)))
    monkeypatch.setattr(Suite, "load", lambda self: SimpleNamespace(suite=fake_suite))
    result = ft.evaluate(planted(), "classification", tasks="imdb")
    expected = {"pa": {"accuracy": 0.9, "macro_f1": 0.8, "params": {"lam": 3}}, "words": 1234}
    assert result.to_dict()["classification"] == {"imdb": expected}
    assert [(row.name, row.measure, row.value) for row in result.rows()] == [
        ("imdb", "words", 1234),
        ("imdb/pa", "accuracy", 0.9),
        ("imdb/pa", "macro_f1", 0.8),
    ]
    assert "0.900" in str(result)
    assert "1,234" in str(result)


def test_suites_are_loaded_by_name():
    for suite in SUITES.values():
        assert callable(suite.load().suite)


def test_the_package_is_called_and_is_still_a_package():
    assert callable(ft.evaluate)
    assert ft.evaluate is ft.evaluate
    assert ft.evaluate.Evaluation is Evaluation
    assert "evaluate" in ft.__all__


@pytest.mark.parametrize("name", ["questions", "3cosadd", "semantic", "sections"])
def test_sections_may_have_any_name(name):
    """Two questions of the section, eight of meaning in all: its line has its own figures, and no p-value of another's."""
    good = planted()
    bad = Vectors(np.random.default_rng(2).normal(size=good.matrix.shape), good.vocabulary)
    mine = questions(capitals(5).words, [name, "more", "gram1"], [0] * 2 + [1] * 6 + [2] * 12, [True, True, False], "q")
    found = ft.evaluate({"good": good, "bad": bad}, sets=[mine])
    lines = re.findall(
        r"<tr><td>q/(.*?)</td><td>3cosadd</td><td>.*?</td><td>.*?</td><td>(.*?)</td><td>(.*?)</td>", found.to_html()
    )
    shown = {of: (covered, bool(p)) for of, covered, p in lines}
    assert shown.pop(f"{name} (section)" if name == "semantic" else name) == ("2 of 2", False)
    assert shown == {
        "more": ("6 of 6", False), "gram1": ("12 of 12", False), "semantic": ("8 of 8", True), "syntactic": ("12 of 12", True),
    }  # fmt: skip
