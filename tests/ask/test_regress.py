"""Embedding regression end to end: planted differences are found, others are not, and mistakes are told in one line."""

from __future__ import annotations

import json

import numpy as np
import pytest

import firthian as ft
from firthian.ask.alacarte import Contexts, learn_transform, load_transform
from firthian.ask.corpus import TextTable
from firthian.ask.targets import find_target, parse_target
from firthian.ask.tokens import tokenize_table, words_to_drop
from firthian.errors import FirthianError
from firthian.text.tokenizer import Tokenizer
from tests.ask import planted
from tests.reference import regression as slow

VECTORS = planted.vectors()


def regress(columns, target="bank", formula="group", **options):
    return ft.regress(
        columns, target, formula, VECTORS, **{"transform": "none", "window": 2, "permutations": 199, **options}
    )


def test_a_planted_difference_is_found_and_its_words_are_named():
    result = regress(planted.documents(1))
    found = result.coefficients["group_b"]
    assert found.p == 1 / 200
    assert found.norm2_debiased > 5 * found.se
    assert sum(word in planted.HOUSE for word, _ in found.nearest[:5]) >= 4
    a, b = result.cells
    assert (a.name, b.name) == ("group_a", "group_b")
    assert sum(word in planted.RIVER for word, _ in a.nearest[:5]) >= 4
    assert "bank" not in [word for cell in result.cells for word, _ in cell.nearest]
    # The words with the highest ratio are those of the second group, the lowest those of the first.
    assert result.ratios[0][0] in planted.HOUSE
    assert result.ratios[-1][0] in planted.RIVER
    for cell, words in ((a, planted.RIVER), (b, planted.HOUSE)):
        assert all("bank" in sentence.text and any(w in sentence.text for w in words) for sentence in cell.sentences)


def test_what_both_groups_use_alike_is_not_found():
    ps = [regress(planted.documents(seed), "same", sentences=0).coefficients["group_b"].p for seed in range(30)]
    # 30 null tests: more than five rejections have a probability of 0.3 %.
    assert sum(p <= 0.05 for p in ps) <= 5


def test_occurrences_have_the_vectors_of_the_slow_twin():
    columns = planted.documents(2, 20)
    result = regress(columns, cluster_by="occurrence")
    known = {word: VECTORS[word].astype(np.float64) for word in VECTORS.vocabulary.words}
    x, y = [], []
    for text, group in zip(columns["text"], columns["group"], strict=True):
        tokens = Tokenizer().tokens(text)
        for place in [place for place, token in enumerate(tokens) if token == "bank"]:
            y.append(slow.mean_context(tokens, place, place + 1, 2, known))
            x.append([1.0, group == "b"])
    found = result.coefficients["group_b"]
    every = np.arange(len(y))
    assert result.n == len(y)
    assert found.norm2 == pytest.approx(slow.norms(np.array(x), np.array(y))[1], rel=1e-9)
    assert found.se == pytest.approx(slow.jackknife_se(np.array(x), np.array(y), every)[1], rel=1e-9)
    assert found.norm2 - found.norm2_debiased == pytest.approx(slow.bias(np.array(x), np.array(y), every)[1], rel=1e-9)


def test_the_same_bytes_for_any_number_of_workers():
    columns = planted.documents(3)
    answers = [json.dumps(regress(columns, workers=workers, bootstrap=50).to_dict()) for workers in (1, 2, 3)]
    assert answers[0] == answers[1] == answers[2]
    assert json.dumps(regress(columns, seed=2).to_dict()) != answers[0]


def test_clusters_are_documents_columns_or_occurrences():
    columns = planted.documents(4)
    by = {name: regress(columns, cluster_by=name) for name in ("document", "author", "occurrence")}
    assert [by[name].clusters for name in by] == [60, 20, by["document"].n]
    assert len({round(one.coefficients["group_b"].norm2, 10) for one in by.values()}) == 1
    # Authors have documents of both groups, so their scores are flipped instead.
    assert "random signs of 20 groups by author" in " ".join(by["author"].notes)
    assert "permutations of covariates over 60 documents" in " ".join(by["document"].notes)
    assert "not independent" in " ".join(by["occurrence"].notes)
    assert by["author"].coefficients["group_b"].p < 0.01


def test_intervals_contain_their_estimates():
    for options in ({}, {"bootstrap": 200}):
        for target in ("bank", "same"):
            for one in regress(planted.documents(5), target, "group * sex", **options).coefficients.values():
                assert one.ci95[0] <= one.norm2_debiased <= one.ci95[1]


def test_phrases_patterns_and_lists():
    table = TextTable.of({"text": ["Hot black tea. Black tea black teas!", "iced tea", "black", "tea"]})
    tokens = tokenize_table(table, Tokenizer())
    usable = np.ones(len(tokens.vocabulary), dtype=bool)

    def find(*targets):
        found = find_target(tokens, parse_target(list(targets), Tokenizer()), usable)
        return list(zip(found.positions.tolist(), found.lengths.tolist(), strict=True))

    assert find("black tea") == [(1, 2), (3, 2)]
    assert find("tea*") == [(2, 1), (4, 1), (6, 1), (8, 1), (10, 1)]
    assert find("black tea*", "tea") == [(1, 2), (3, 2), (5, 2), (8, 1), (10, 1)]
    assert find("t?a", "TEA") == find("tea")
    with pytest.raises(FirthianError, match="'black coffee' does not occur"):
        find("black coffee")
    with pytest.raises(FirthianError, match="did you mean"):
        find("blak")
    with pytest.raises(FirthianError, match="has no word"):
        find("*")


def test_the_words_of_a_phrase_are_not_its_context():
    columns = {"text": ["river0 black bank house0", "river1 black bank house1"] * 5, "g": ["a", "b"] * 5}
    words = ["river0", "river1", "black", "house0", "house1"]
    vectors = ft.Vectors(np.eye(5, dtype=np.float32), ft.Vocabulary(words))
    result = ft.regress(columns, "black bank", "g", vectors, transform="none", window=1, permutations=9)
    # (river1 + house1)/2 - (river0 + house0)/2, in which "black" has no part.
    assert result.coefficients["g_b"].norm2 == pytest.approx(1.0)


def test_rare_and_short_words_leave_gaps_or_none():
    table = TextTable.of({"text": ["far rare x bank far", "far bank far"]})
    tokens = tokenize_table(table, Tokenizer())
    short = words_to_drop(tokens.vocabulary, 2, ["rare"])
    assert sorted(np.array(tokens.vocabulary.words)[short]) == ["rare", "x"]
    closed = tokens.without(short)
    words = closed.vocabulary.words
    assert [words[word] for word in closed.ids] == ["far", "bank", "far", "far", "bank", "far"]
    assert closed.starts.tolist() == [0, 3, 6]
    columns = {"text": ["river0 odd bank house0 w", "river0 bank house0 w"] * 4, "g": ["a", "b"] * 4}
    vectors = ft.Vectors(np.eye(2, dtype=np.float32), ft.Vocabulary(["river0", "house0"]))
    options = {"transform": "none", "window": 1, "permutations": 9, "min_count": 5}
    gaps = ft.regress(columns, "bank", "g", vectors, **options).coefficients["g_b"].norm2
    none = ft.regress(columns, "bank", "g", vectors, close_gaps=True, **options).coefficients["g_b"].norm2
    # With the gap of "odd", group a has only house0 beside the bank.
    assert gaps == pytest.approx(0.5)
    assert none == pytest.approx(0.0, abs=1e-12)


def test_a_transform_is_learned_where_vectors_are_a_matrix_times_their_contexts():
    generator = np.random.default_rng(3)
    # Each word has its own neighbors.
    texts = [" ".join(planted.OTHER[(a + int(b)) % 40] for b in generator.integers(0, 5, 30)) for a in range(40)] * 3
    tokens = tokenize_table(TextTable.of({"text": texts}), Tokenizer())
    usable = np.ones(len(tokens.vocabulary), dtype=bool)
    vectors = planted.vectors(6)
    truth = generator.normal(size=(6, 6))
    contexts = Contexts.of(tokens, vectors, usable, 3)
    from firthian.ask.alacarte import every_occurrence

    found, starts = every_occurrence(tokens, contexts.known, 500)
    groups = np.repeat(np.arange(contexts.known.size), np.diff(starts))
    sums, sizes, _ = contexts.sums(found, groups, contexts.known.size)
    contexts.matrix[:] = (sums / sizes[:, None]) @ truth.T
    before = contexts.matrix.copy()
    sums, sizes, _ = contexts.sums(found, groups, contexts.known.size)
    contexts.matrix[:] = before
    learned = learn_transform(contexts)
    expected = np.linalg.lstsq(
        np.sqrt(np.log(tokens.vocabulary.counts[contexts.known]))[:, None] * (sums / sizes[:, None]),
        np.sqrt(np.log(tokens.vocabulary.counts[contexts.known]))[:, None] * before,
        rcond=None,
    )[0].T
    assert learned.matrix is not None
    # The small ridge is all that separates the two.
    assert np.abs(learned.matrix - expected).max() < 1e-3 * np.abs(expected).max()


def test_a_transform_file_must_fit_and_may_not_run_code(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(3))
    assert load_transform(tmp_path / "a.npy", 3).source == "a.npy"
    np.save(tmp_path / "objects.npy", np.array([object()]), allow_pickle=True)
    (tmp_path / "text.npy").write_text("no")
    for name in ("objects.npy", "text.npy"):
        with pytest.raises(FirthianError, match="is not a numpy matrix"):
            load_transform(tmp_path / name, 3)
    with pytest.raises(FirthianError, match="must be a finite 4 × 4 matrix"):
        load_transform(tmp_path / "a.npy", 4)
    with pytest.raises(FirthianError, match="finite"):
        load_transform(np.full((2, 2), np.nan), 2)
    with pytest.raises(FirthianError, match="no such file"):
        load_transform(tmp_path / "none.npy", 2)


def test_missing_values_are_counted_dropped_or_refused():
    columns = planted.documents(6)
    columns["group"] = ["NA" if n < 4 else group for n, group in enumerate(columns["group"])]
    columns["sex"][4] = ""
    result = regress(columns, formula="group + sex")
    assert "5 of 60 documents dropped: 4 documents without group, 1 documents without sex" in " ".join(result.notes)
    assert result.documents == 55
    with pytest.raises(FirthianError, match=r"missing values: 4 documents without group"):
        regress(columns, missing="refuse")


def bad(columns=None, target="bank", formula="group", **options) -> str:
    with pytest.raises(FirthianError) as error:
        regress(planted.documents(7) if columns is None else columns, target, formula, **options)
    assert "\n" not in str(error.value)
    assert error.value.hint
    return str(error.value)


def test_bad_input_is_told_in_one_line():
    columns = planted.documents(7)
    one = {**columns, "group": ["a"] * 60}
    twin = {**columns, "copy": columns["group"], "seven": ["7"] * 60, "who": [f"w{n}" for n in range(60)]}
    assert "group has only one level (a) where the target occurs" in bad(one)
    assert "copy_b cannot be told from the others" in bad(twin, formula="group + copy")
    assert "seven cannot be told from the others" in bad(twin, formula="group + seven")
    assert "60 coefficients cannot be estimated from" in bad(twin, formula="who")
    assert "'banc' does not occur in the corpus: did you mean bank?" in bad(target="banc")
    once = {**columns, "text": ["bank river0", *["river0 house0"] * 59]}
    assert "one level" in bad(once)
    with pytest.raises(FirthianError) as error:
        regress(once, "bank", "group")
    assert error.value.hint == "choose a more frequent target"
    assert "2 coefficients cannot be estimated from 1 occurrence in 1 documents" in bad(
        {**once, "year": [str(n) for n in range(60)]}, formula="year"
    )
    assert "has no column 'grup': did you mean group" in bad(formula="grup")
    assert "did you mean author" in bad(cluster_by="autor")
    assert "is too rare" in bad({**columns, "text": [*columns["text"][:-1], "tank river0"]}, target="tank", min_count=2)
    assert "no word of the corpus has a vector" in bad({"text": ["x y z"] * 4, "group": list("abab")}, target="x")
    assert "only in documents that lack a covariate" in bad({"text": ["bank river0", "river0"], "group": ["", "a"]})
    assert "window must be an integer of at least 1" in bad(window=0)


@pytest.mark.parametrize(
    "formula",
    [
        "", "   ", "group +", "+", "group ~ sex", "__import__('os').system('true')", "eval('group')", "C(group, Sum)",
        "group ** 2", "group | sex", "{group}", "np.exp(group)", "group; sex", "1 + 0", "group.__class__", "C(group",
        "group) + (sex", "lambda: 1", "`group` if 1", "C(__import__('os'))", "[group]", "group\x00", "Q('group')",
        "group + 2", "a" * 2000, "group:" * 300 + "group", "poly(group)", "bs(group)", "." , "((((group", "-group",
    ],
)  # fmt: skip
def test_a_formula_that_does_not_parse_or_would_run_something(formula, monkeypatch):
    import os

    def refuse(*_):
        raise AssertionError("evaluated")

    monkeypatch.setattr(os, "system", refuse)
    message = bad(formula=formula)
    assert len(message) < 400


def test_columns_with_odd_names_are_quoted_and_levels_may_be_anything():
    columns = planted.documents(8)
    columns["my group!"] = ["x[T.y]:z" if one == "a" else "=1+1" for one in columns.pop("group")]
    result = regress(columns, formula="`my group!` * C(sex)")
    assert list(result.coefficients) == ["my group!_x[T.y]:z", "sex_M", "my group!_x[T.y]:z:sex_M"]
    assert "'=1+1" not in result.to_csv("coefficients")
    assert "my group!_=1+1" in result.to_csv("nearest")


def test_numbers_are_slopes_and_c_makes_them_levels():
    columns = planted.documents(9)
    columns["year"] = [str(1900 + n % 4) for n in range(60)]
    assert list(regress(columns, formula="year").coefficients) == ["year"]
    assert list(regress(columns, formula="C(year) - 1").coefficients) == [
        "year_1900",
        "year_1901",
        "year_1902",
        "year_1903",
    ]
    cells = regress(columns | {"size": [str(n) for n in range(60)]}, formula="size").cells
    assert [cell.name for cell in cells] == ["size ≤ 19.6667", "size ≥ 39.3333"]


def test_the_answer_in_every_shape(tmp_path):
    result = regress(planted.documents(1))
    record = json.loads(json.dumps(result.to_dict()))
    assert set(record["coefficients"]["group_b"]) >= {"norm2", "norm2_debiased", "se", "p", "nearest"}
    assert list(result.to_pandas()["coefficient"]) == ["group_b"]
    assert set(result.tables) == {"coefficients", "nearest", "ratios", "sentences"}
    result.report(tmp_path / "page.html")
    assert "199 permutations of covariates over 60 documents" in (tmp_path / "page.html").read_text()
    assert "group_b" in str(result)


def test_the_command(tmp_path, firth):
    columns = planted.documents(1)
    path = tmp_path / "t.tsv"
    lines = ["\t".join(columns), *("\t".join(row) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    VECTORS.save(tmp_path / "vectors")
    command = ("regress", path, "--formula", "group", "-v", tmp_path / "vectors", "--transform", "none", "--window", 2)
    done = firth(*command, "--target", "bank", "--permutations", 99, "--json", "-o", tmp_path / "out")
    assert done.code == 0, done.err
    assert json.loads(done.out)["coefficients"]["group_b"]["p"] == 0.01
    assert (tmp_path / "out" / "report.html").exists()
    assert "group_b" in firth(*command, "--target", "ban*").out
    firth(*command, "--target", "bank", "-o", tmp_path / "out").complains("already exists")
    firth(*command).complains("--target")
    firth(*command, "--target", "bank", "--window", 0).complains("--window must be")
    firth(*command, "--target", "bank", "--missing", "ignore").complains("--missing must be one of drop, refuse")
    firth(*command[:2], "--formula", "grup", *command[4:], "--target", "bank").complains("did you mean group")
    firth("regress", tmp_path / "no.tsv", *command[2:], "--target", "bank").complains("no.tsv")


@pytest.mark.realdata
def test_the_sample_of_speeches_gives_the_published_figures(real_data):
    folder = real_data / "speeches"
    if not folder.is_dir():
        pytest.skip("the speeches are not here")
    vectors = ft.load(folder / "glove-subset.txt.xz")
    options = {"transform": folder / "transform.npy", "min_count": 5, "min_length": 3}
    corpus = str(folder / "congress.tsv.xz")
    result = ft.regress(corpus, "immigration", "party + gender", vectors, cluster_by="occurrence", **options)
    assert result.n == 924
    party, gender = result.coefficients.values()
    assert [round(value, 4) for value in (party.norm2, party.norm2_debiased)] == [10.1399, 8.6683]
    assert [round(value, 4) for value in (gender.norm2, gender.norm2_debiased)] == [6.9088, 5.1547]
    assert party.p < 0.05 > gender.p
    ratios = ft.regress(corpus, "immigr*", "party", vectors, topn=200, **options).ratios
    cosines = {row[0]: row[3:] for row in ratios}
    assert cosines["reform"] == pytest.approx((0.4270958, 0.5949757), abs=5e-7)
    assert cosines["enforcement"] == pytest.approx((0.5968879, 0.6059709), abs=5e-7)
