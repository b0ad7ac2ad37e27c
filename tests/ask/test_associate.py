"""Association tests: planted answers, brute force, calibration, another library, and every fault told."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

import firthian as ft
from firthian.ask import associations
from firthian.ask.word_lists import LISTS

X, Y = [f"x{n}" for n in range(6)], [f"y{n}" for n in range(6)]
A, B = [f"a{n}" for n in range(5)], [f"b{n}" for n in range(7)]


def planted(bias: float, seed: int = 1, dimension: int = 20) -> ft.Vectors:
    """Vectors where X leans towards A, and Y towards B, by ``bias``."""
    random = np.random.default_rng(seed)
    axis = random.normal(size=dimension)
    rows = [
        random.normal(size=dimension) + sign * axis
        for words, sign in ((X, bias), (Y, -bias), (A, 1), (B, -1))
        for _ in words
    ]
    words = [*X, *Y, *A, *B]
    return ft.Vectors(np.array(rows, dtype=np.float32), ft.Vocabulary(words, np.arange(len(words), 0, -1)))


def slow_score(vectors: ft.Vectors, word: str) -> float:
    return float(np.mean([vectors.similarity(word, a) for a in A]) - np.mean([vectors.similarity(word, b) for b in B]))


def test_the_formula_word_by_word_and_every_division() -> None:
    vectors = planted(0.3)
    result = ft.associate(vectors, [X, Y], [A, B])
    scores = {word: slow_score(vectors, word) for word in X + Y}
    d = (np.mean([scores[x] for x in X]) - np.mean([scores[y] for y in Y])) / np.std([*scores.values()])
    assert result.effect_size == pytest.approx(d, abs=1e-5)
    observed = sum(scores[x] for x in X)
    sums = [sum(scores[word] for word in some) for some in itertools.combinations(X + Y, 6)]
    assert result.p == sum(value >= observed - 1e-9 for value in sums) / math.comb(12, 6)
    for one in result.words:
        assert one.association == pytest.approx(scores[one.word], abs=1e-5)
        cosines = np.array([vectors.similarity(one.word, other) for other in A + B])
        assert one.effect_size == pytest.approx(scores[one.word] / cosines.std(), abs=1e-4)
    assert result.ci95[0] <= result.effect_size <= result.ci95[1]
    units = {word: vectors[word] / np.linalg.norm(vectors[word]) for word in X + Y + A + B}
    centers = [np.mean([units[word] for word in words], axis=0) for words in (X, Y)]
    rnd = np.mean([np.linalg.norm(units[a] - centers[0]) - np.linalg.norm(units[a] - centers[1]) for a in A])
    assert result.measures["RND of attributes 1"] == pytest.approx(rnd, abs=1e-5)
    parts = [[1 - vectors.similarity(word, other) for other in words] for word in X + Y for words in (A, B)]
    assert result.measures["MAC (mean cosine distance)"] == pytest.approx(
        np.mean([np.mean(p) for p in parts]), abs=1e-5
    )
    axis = np.mean([units[a] for a in A], axis=0) - np.mean([units[b] for b in B], axis=0)
    assert result.words[0].ripa == pytest.approx(vectors["x0"] @ axis / np.linalg.norm(axis), abs=1e-4)


def test_planted_associations_are_found_and_their_direction() -> None:
    strong = ft.associate(planted(1.5), [X, Y], [A, B])
    assert strong.effect_size > 1.5
    assert strong.p == 1 / math.comb(12, 6)
    reverse = ft.associate(planted(-1.5), [X, Y], [A, B])
    assert reverse.effect_size < -1.5
    assert reverse.p > 0.99
    assert ft.associate(planted(-1.5), [X, Y], [A, B], alternative="two-sided").p < 0.01
    alone = ft.associate(planted(1.5), [X], axis=",".join(A) + ":" + ",".join(B))
    assert (alone.measure, alone.p) == ("SC-WEAT", 1 / math.comb(12, 5))
    assert all(word.projection > 0 for word in alone.words)


def test_random_lists_have_uniform_p() -> None:
    from scipy.stats import kstest

    p = [ft.associate(planted(0, seed), [X, Y], [A, B], resamples=20).p for seed in range(120)]
    assert kstest(p, "uniform").pvalue > 0.01
    assert 0.01 <= np.mean(np.array(p) <= 0.05) <= 0.11


def test_sampled_divisions_agree_with_all(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.random.default_rng(2).normal(size=14)
    exact, how = associations.partition_p(scores, 6, 20_000, np.random.default_rng(1))
    assert how == "all 3,003 divisions"
    monkeypatch.setattr(associations, "EXACT", 10)
    sampled, how = associations.partition_p(scores, 6, 20_000, np.random.default_rng(1))
    assert how == "20,000 random divisions"
    assert sampled == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 20_000))


def test_the_posterior_has_the_spread_of_the_vectors() -> None:
    vectors = planted(0.5)
    spread = []
    for scale in (1e-4, 0.05):
        bayes = ft.Vectors(
            vectors.matrix, vectors.vocabulary, extras={"variances": np.full(vectors.matrix.shape, scale, np.float32)}
        )
        answer = ft.associate(bayes, [X, Y], [A, B]).posterior
        assert answer["ci95"][0] <= answer["effect_size"] <= answer["ci95"][1]
        spread.append(answer["ci95"][1] - answer["ci95"][0])
    assert 0 < spread[0] < 0.2 * spread[1]


@pytest.mark.slow
def test_effect_size_and_p_are_those_of_wefe(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wefe")
    gensim = pytest.importorskip("gensim.models.keyedvectors")
    from wefe.metrics import WEAT  # type: ignore[attr-defined]
    from wefe.query import Query
    from wefe.word_embedding_model import WordEmbeddingModel

    vectors = planted(0.25)
    keyed = gensim.KeyedVectors(20)
    keyed.add_vectors(vectors.vocabulary.words, vectors.matrix)
    plain = np.random.default_rng

    class Permuting:
        """wefe draws words with replacement; the published test divides them."""

        def __init__(self) -> None:
            self.random = plain(1)

        def choice(self, words: list[str], size: int) -> np.ndarray:
            return self.random.choice(words, size, replace=False)

    monkeypatch.setattr(np.random, "default_rng", lambda *seed: plain(*seed) if seed else Permuting())
    query = Query([X, Y], [A, B])
    model = WordEmbeddingModel(keyed, "planted")
    theirs = WEAT().run_query(query, model, calculate_p_value=True, p_value_iterations=400)
    ours = ft.associate(vectors, [X, Y], [A, B])
    assert ours.effect_size == pytest.approx(theirs["effect_size"], abs=1e-6)
    assert theirs["p_value"] == pytest.approx(ours.p, abs=4 * math.sqrt(ours.p * (1 - ours.p) / 400) + 3e-3)
    assert 0.001 < ours.p < 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"targets": [X, [*Y, "x1"]], "attributes": [A, B]},
            "targets 1 and targets 2 share x1: keep a word in one list",
        ),
        ({"targets": [X, [*Y, "a0"]], "attributes": [A, B]}, "targets 2 and attributes 1 share a0: keep a word in one"),
        ({"targets": [X, Y], "attributes": [A, []]}, "the list attributes 2 is empty"),
        ({"targets": [X, ["y1"]], "attributes": [A, B]}, "the list targets 2 has only one word, 'y1': add words to it"),
        ({"targets": [X], "axis": "a1,a2:none"}, "'none', the only word of the list none, has no vector"),
        ({"targets": [X, ["y1", "no", "none"]], "attributes": [A, B]}, "only 1 of 3 words of the list targets 2"),
        ({"targets": [["x1"]], "axis": "a1:b1"}, "two attribute words allow no test"),
        ({"targets": [X], "axis": "a1,b1"}, "expected two poles of words, got 'a1,b1'"),
        ({"targets": [X], "axis": "a1:"}, "expected two poles of words"),
        ({"targets": [X], "axis": "a1:b1:b2"}, "expected two poles of words"),
        ({"targets": [X], "axis": "a1,a2:b1,a2"}, "the lists a1 and b1 share a2"),
        ({"targets": [X, Y, A], "attributes": [A, B]}, "got 3 and 2"),
        ({"targets": [X, Y]}, "no word lists"),
        ({"list": "weat99"}, "there are no published lists named 'weat99': did you mean"),
        ({"list": "weat7"}, "only 0 of 8 words of the list math"),
        ({"list": "weat7", "axis": "a:b"}, "has its own targets and attributes"),
        ({"targets": [X, Y], "attributes": [A, B], "missing": "compose"}, "no subwords"),
        ({"targets": "words", "attributes": [A, B]}, "expected lists of words as targets"),
    ],
)
def test_faults(arguments: dict, message: str) -> None:
    with pytest.raises(ft.FirthianError) as error:
        ft.associate(planted(1), **arguments)
    assert message in str(error.value)


def test_missing_and_composed_words_are_told() -> None:
    result = ft.associate(planted(1), {"one": [*X, "rare"], "two": Y}, [A, B])
    assert result.missing == ["rare"]
    assert "one: 1 of 7 words have no vector" in result.notes
    assert result.tables["lists"]["missing"][0] == ["rare"]


def test_published_lists_are_of_equal_sizes_and_distinct() -> None:
    for lists in LISTS.values():
        for pair in (lists.targets, lists.attributes):
            one, two = pair.values()
            assert len(one) == len(two) >= 8
            assert not set(one) & set(two)


def test_the_command(firth, tmp_path) -> None:
    pytest.importorskip("matplotlib")
    planted(1).save(tmp_path / "v")
    for name, words in (("X", X), ("Y", Y), ("A", A), ("B", B)):
        (tmp_path / f"{name}.txt").write_text("\n".join(words))
    lists = [tmp_path / f"{name}.txt" for name in "XYAB"]
    done = firth(
        "associate", tmp_path / "v", "--targets", *lists[:2], "--attributes", *lists[2:], "--json", "-o", tmp_path / "r"
    )
    answer = json.loads(done.out)
    assert {"effect_size", "p", "ci95", "missing"} <= answer.keys()
    assert answer["effect_size"] == ft.associate(planted(1), lists[:2], lists[2:]).effect_size
    assert {item.name for item in (tmp_path / "r").iterdir()} >= {"report.html", "plot.svg"}
    shown = firth("associate", tmp_path / "v", "--targets", lists[0], "--axis", "a1,a2:b1,b2").out
    assert "SC-WEAT" in shown
    assert "X by a1 against b1" in shown
    firth("associate", tmp_path / "v", "--axis", "a1:b1").complains("no word lists")
