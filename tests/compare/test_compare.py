"""Several recipes in one report: what is counted once, what is written, what is refused."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import firthian as ft
from firthian.compare import Candidate, compare_recipes
from firthian.compare.page import Bar, bars, scatter
from firthian.errors import FirthianError

WORDS = ("tea", "coffee", "milk", "cup", "goal", "ball", "kick", "team")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    generator = np.random.default_rng(0)
    lines = []
    for _ in range(400):
        half = generator.integers(2) * 4
        lines.append(" ".join(WORDS[half + n] for n in generator.integers(0, 4, 8)))
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    path = tmp_path_factory.mktemp("sets") / "pairs.txt"
    lines = [
        f"{a} {b} {9 if (i < 4) == (j < 4) else 1}" for i, a in enumerate(WORDS) for j, b in enumerate(WORDS) if i < j
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_report_holds_vectors_page_and_json(corpus, pairs, tmp_path, firth):
    target = tmp_path / "report"
    outcome = firth(
        "compare", corpus, "-m", "psd", "-m", "svd", "-m", "ppmi", "--dim", "2", "--sets", pairs, "-o", target
    )
    assert outcome.code == 0, outcome.err
    assert sorted(item.name for item in target.iterdir()) == ["report.html", "report.json", "vectors"]
    assert sorted(item.name for item in (target / "vectors").iterdir()) == ["ppmi", "psd", "svd"]
    assert len(ft.load(target / "vectors" / "psd")) == 8
    report = json.loads((target / "report.json").read_text())
    assert [entry["name"] for entry in report["entries"]] == ["psd", "svd", "ppmi"]
    scores = {
        result["vectors"]: result["similarity"]["pairs"]["spearman"] for result in report["evaluation"]["results"]
    }
    assert min(scores.values()) > 0.8
    page = (target / "report.html").read_text()
    assert "<svg" in page
    differences = page.partition("Is the difference to the first recipe more than chance?")[2]
    rows = [re.findall("<td>(.*?)</td>", line) for line in differences.splitlines()]
    assert [row[:4] for row in rows if row] == [[name, "psd", "pairs", "similarity"] for name in ("svd", "ppmi")]
    assert all(re.fullmatch(r"[+-]\d\.\d{3}", row[4]) and row[7] == "williams" for row in rows if row)
    assert not re.search(r"https?://|<script", page)
    HTMLParser().feed(page)
    firth("compare", corpus, "-m", "psd", "--sets", pairs, "-o", target).complains("already exists")


def test_the_memory_of_a_recipe_does_not_hold_what_others_left(corpus, pairs, monkeypatch, tmp_path):
    from firthian.compare import comparison

    real, ballast = comparison.learn, []

    def learn(*given, **options):
        made = real(*given, **options)
        # written to, or the system would not give the memory
        ballast.append(np.ones(15_000_000))
        return made

    monkeypatch.setattr(comparison, "learn", learn)
    found = compare_recipes(
        corpus, ["svd", "psd", "ppmi"], vector_size=2, sets=[str(pairs)], output=tmp_path / "report"
    )
    peaks = [entry.peak_bytes for entry in found.entries]
    assert len(ballast) == 3
    assert max(peaks) - min(peaks) < 80e6


def test_equal_settings_are_counted_once(corpus, pairs, monkeypatch):
    from firthian.compare import comparison

    calls = []
    real = comparison.count_temporary

    def count(job, context):
        calls.append(job.options.window)
        return real(job, context)

    monkeypatch.setattr(comparison, "count_temporary", count)
    result = compare_recipes(ft.count([corpus]), ["psd:dim=2", "psd:dim=3,cut=0.5", "svd:dim=2"], sets=[str(pairs)])
    assert calls == []
    assert [entry.vector_size for entry in result.entries] == [2, 3, 2]
    assert {entry.counting for entry in result.entries} == {"as given"}
    from firthian.text.readers import Files

    result = compare_recipes(
        Files([str(corpus)]), ["psd:dim=2", "svd:dim=2", "glove:dim=2,epochs=1"], sets=[str(pairs)]
    )
    assert sorted(calls) == [5, 10]


@pytest.mark.parametrize(
    ("recipes", "message"),
    [
        (["pds"], "did you mean psd"),
        (["psd", "psd"], "listed twice"),
        (["psd:cutt=1"], "no option 'cutt'"),
        (["psd:cut"], "expected option=value"),
        (["sparse"], "learns from vectors"),
        ([], "no recipe"),
    ],
)
def test_what_cannot_be_compared_is_refused(corpus, recipes, message):
    with pytest.raises(FirthianError, match=message):
        compare_recipes([corpus], recipes)


@pytest.fixture
def no_training(monkeypatch):
    """Whoever trains fails."""
    from firthian.compare import comparison

    monkeypatch.setattr(comparison, "learn", None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sets": "menn"}, "menn"),
        ({"suite": "analogies"}, "unknown suite"),
        ({"suite": "classification:tasks=sport"}, "unknown task 'sport': did you mean sports"),
        ({"suite": "classification:cv=few"}, "cv must be an integer"),
        ({"suite": "chunking:style=fat"}, "unknown style 'fat'"),
        ({"suite": "chunking:l2=much"}, "l2 must be numbers"),
    ],
)
def test_misspelled_tests_are_found_before_training(corpus, no_training, given, message):
    with pytest.raises(FirthianError, match=message):
        compare_recipes([corpus], ["svd:dim=2"], **given)


@pytest.mark.parametrize("suite", ["classification:tasks=trec", "chunking"])
def test_data_that_are_not_here_are_missed_before_training(corpus, no_training, suite, tmp_path, monkeypatch):
    for name in ("FIRTHIAN_DATA", "FIRTHIAN_CACHE"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.delenv("FIRTHIAN_MIRROR", raising=False)
    with pytest.raises(FirthianError, match="is not on this machine and cannot be downloaded"):
        compare_recipes([corpus], ["svd:dim=2"], suite=suite)


@pytest.mark.parametrize("recipe", ["svd:dim=2", "sgns-sgd:dim=2"])
def test_words_that_no_set_asks_for_are_found_out_before_training(corpus, no_training, recipe, tmp_path, firth):
    (tmp_path / "unknown.txt").write_text("plum pear 3\nfig tea 4\n")
    (tmp_path / "out").mkdir()
    done = firth("compare", corpus, "-m", recipe, "--sets", tmp_path / "unknown.txt", "-o", tmp_path / "out" / "report")
    done.complains(f"the vocabulary of {recipe} covers no item of the test sets", "check the language")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_set_without_a_known_word_is_named_in_the_report(corpus, pairs, tmp_path, firth):
    (tmp_path / "unknown.txt").write_text("plum pear 3\nfig tea 4\n")
    sets = f"{pairs},{tmp_path / 'unknown.txt'}"
    done = firth("compare", corpus, "-m", "svd", "--dim", "2", "--sets", sets, "-o", tmp_path / "report")
    said = "unknown: no item is covered"
    assert said in done.out
    assert said in (tmp_path / "report" / "report.html").read_text()


@pytest.mark.parametrize("last", ["psd:dim=9", "sgns-sgd:dim=9"])
def test_a_last_recipe_with_too_few_words_is_found_out_before_the_first_is_trained(corpus, pairs, no_training, last):
    with pytest.raises(FirthianError, match="larger than the vocabulary of 8 words"):
        compare_recipes([corpus], ["svd:dim=2", last], sets=[str(pairs)])


def test_too_little_memory_is_found_out_before_training(corpus, pairs, no_training, monkeypatch):
    monkeypatch.setattr("firthian.runtime.run.check_budget", lambda memory: 1000)
    with pytest.raises(FirthianError, match=r"svd with 8 words.* needs about"):
        compare_recipes(ft.count([corpus]), ["svd:dim=2"], sets=[str(pairs)])


@pytest.mark.parametrize("verb", ["train", "compare"])
def test_what_is_read_is_not_replaced_by_what_is_made_of_it(corpus, pairs, tmp_path, firth, verb):
    ft.count([corpus], tmp_path / "counts")
    sets = ("--sets", pairs) if verb == "compare" else ()
    done = firth(verb, tmp_path / "counts", "-m", "svd", "--dim", "2", *sets, "-o", tmp_path / "counts", "--force")
    done.complains("counts is both source and target: choose another name for the result")
    assert ft.Counts.load(tmp_path / "counts").pairs > 0


def test_a_stream_and_the_vectors_of_a_classifier_are_not_replaced_either(corpus, tmp_path, firth):
    done = firth("train", corpus, "-m", "bayes-svi", "--stream", tmp_path / "s", "-o", tmp_path / "s", "--force")
    done.complains("s is both source and target")
    assert not (tmp_path / "s").exists()
    ft.Vectors(np.eye(2), ft.Vocabulary(["a", "b"])).save(tmp_path / "v")
    firth("adapt", "x.tsv", "-v", tmp_path / "v", "-o", tmp_path / "v", "--force").complains(
        "v is both source and target"
    )


def test_analogies_are_compared_by_each_way_to_answer(corpus, tmp_path):
    from firthian.compare.page import page

    (tmp_path / "questions.txt").write_text("tea coffee milk cup\ngoal ball kick team\n")
    shown = page(compare_recipes([corpus], ["svd:dim=2", "psd:dim=2"], sets=[str(tmp_path / "questions.txt")]))
    differences = shown.partition("Is the difference to the first recipe more than chance?")[2]
    assert re.findall("<td>questions</td><td>(.*?)</td>", differences) == ["3cosadd", "3cosmul"]


def test_standard_input_is_read_once_for_several_countings(corpus, pairs, tmp_path, firth_process):
    recipes = ("-m", "svd", "-m", "glove:epochs=1", "-m", "sgns-sgd:epochs=1", "--dim", "2", "--sets", pairs)
    results = []
    for source, name in ((corpus, "file"), ("-", "input")):
        with corpus.open("rb") as text:
            done = firth_process("compare", source, *recipes, "-o", tmp_path / name, stdin=text)
        assert done.code == 0, done.err
        found = {recipe: ft.load(tmp_path / name / "vectors" / recipe) for recipe in ("svd", "glove_epochs=1")}
        results.append(found)
    for recipe, vectors in results[0].items():
        other = results[1][recipe]
        assert np.array_equal(vectors.matrix, other.matrix)
        assert vectors.provenance.counts["corpus"].pop("names") == ["corpus.txt"]
        assert other.provenance.counts["corpus"].pop("names") == ["-"]
        assert vectors.provenance.counts == other.provenance.counts


def test_no_dimension_is_not_the_default_one(corpus, pairs):
    with pytest.raises(FirthianError, match="vector_size must be at least 1, got 0"):
        compare_recipes([corpus], ["svd:dim=0"], sets=[str(pairs)])


def test_text_recipes_need_the_text(corpus):
    with pytest.raises(FirthianError, match="learns from text"):
        compare_recipes(ft.count([corpus]), ["sgns-sgd"])


def test_candidates_take_options_and_dimension():
    assert Candidate.read("psd:dim=7,cut=0.1") == Candidate("psd:dim=7,cut=0.1", "psd", {"cut": "0.1"}, 7)
    with pytest.raises(FirthianError, match="integer"):
        Candidate.read("psd:dim=x")
    with pytest.raises(FirthianError, match="integer"):
        Candidate.read("psd:dim=\u00b2")


def test_charts_escape_names_and_survive_odd_values():
    evil = "<script>&"
    drawn = bars([Bar(evil, evil, float("nan")), Bar("b", evil, 0.5, 0.4, 0.6)], [evil, "b"], evil)
    drawn += scatter([(evil, 0.0, 0.5), ("b", 100.0, 0.5)], evil, evil, evil)
    assert "<script" not in drawn
    assert "&lt;script&gt;&amp;" in drawn


def test_a_page_that_fails_loses_nothing(corpus, pairs, tmp_path, monkeypatch):
    def page(result):
        raise ValueError("no page")

    monkeypatch.setattr("firthian.compare.page.page", page)
    with pytest.raises(ValueError, match="no page"):
        compare_recipes([corpus], ["svd:dim=2"], tmp_path / "report", sets=[str(pairs)])
    assert len(ft.load(tmp_path / "report" / "vectors" / "svd_dim=2")) == 8
    assert json.loads((tmp_path / "report" / "report.json").read_text())["evaluation"]["similarity"]


def test_the_seed_reaches_the_evaluation(corpus, tmp_path):
    generator = np.random.default_rng(0)
    lines = [f"{a} {b} {generator.random()}" for i, a in enumerate(WORDS) for b in WORDS[i + 1 :]]
    (tmp_path / "pairs.txt").write_text("\n".join(lines) + "\n")
    counts = ft.count([corpus])
    ends = [
        compare_recipes(counts, ["ppmi"], sets=[str(tmp_path / "pairs.txt")], seed=seed).evaluation.to_dict()
        for seed in (1, 1, 2)
    ]
    first, again, other = (facts["similarity"]["pairs"]["ci95"] for facts in ends)
    assert first == again != other
