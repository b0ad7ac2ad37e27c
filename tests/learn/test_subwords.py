"""Vectors regressed on character n-grams."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import firthian as ft
from firthian import FirthianError, Vectors, Vocabulary
from firthian.cli.app import main
from firthian.learn.subwords import SubwordOptions, _Problem, add_subwords, fit
from firthian.runtime.run import Run
from tests.reference import subwords as twin

SUFFIXES = ("", "s", "ed", "ing", "er", "ness", "less", "ful")


def planted(stems: int = 150, dimension: int = 20, seed: int = 0, spelled: bool = True) -> tuple[Vectors, Vectors]:
    """Return vectors of stems × suffixes, each the sum of both, and those of words that were left out.

    Without ``spelled`` the vectors have nothing to do with the words.
    """
    generator = np.random.default_rng(seed)
    letters = list("abcdefghijklmnopqrstuvwxyz")
    names = list(dict.fromkeys("".join(generator.choice(letters, 6)) for _ in range(stems)))
    parts = generator.normal(size=(len(names), dimension)), generator.normal(size=(len(SUFFIXES), dimension))
    words = [stem + suffix for stem in names for suffix in SUFFIXES]
    matrix = (parts[0][:, None] + parts[1][None]).reshape(len(words), dimension)
    if not spelled:
        matrix = generator.normal(size=matrix.shape)
    out = generator.random(len(words)) < 0.1
    counts = np.full(len(words), 100)
    return tuple(
        Vectors(matrix[rows].astype(np.float32), Vocabulary([words[k] for k in rows], counts[rows]))
        for rows in (np.flatnonzero(~out), np.flatnonzero(out))
    )  # type: ignore[return-value]


def cosines(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.sum(left * right, axis=1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)


def test_planted_morphology_is_recovered() -> None:
    vectors, hidden = planted()
    fitted = add_subwords(vectors, max_n=4)
    assert cosines(fitted[hidden.vocabulary.words], hidden.matrix).mean() > 0.9
    # 100,000 tokens fade from 10 on: the composed share of a word that is seen 100 times is √(10/110) of 0.85.
    shares = np.linalg.norm(fitted.matrix - vectors.matrix, axis=1) / np.linalg.norm(vectors.matrix, axis=1)
    assert shares.mean() == pytest.approx(0.85 * np.sqrt(1 / 11), abs=0.02)
    np.testing.assert_allclose(fitted.learned, vectors.matrix, atol=1e-4)
    assert fitted.subwords is not None
    assert fitted.subwords.nbytes <= 1.1 * vectors.matrix.nbytes


def test_where_spelling_predicts_nothing_auto_changes_nothing() -> None:
    vectors, _ = planted(spelled=False)
    assert fit(vectors, "auto", Run.create()) is vectors
    forced = add_subwords(vectors)
    assert forced.provenance.subwords["blend"] < 0.3
    few = vectors.subset(50)
    assert fit(few, "auto", Run.create()) is few


def test_conjugate_gradients_reach_the_plain_solution() -> None:
    vectors, _ = planted(stems=20, dimension=18)
    settings = SubwordOptions(steps=400, ridge=0.7)
    problem = _Problem.create(vectors, settings)
    matrix = twin.incidence(vectors.vocabulary.words, 3, 6, 2_000_000, problem.table.ids)
    number = np.array([len(twin.ngrams(word, 3, 6)) for word in vectors.vocabulary.words])
    penalties = 0.7 * np.sqrt((matrix * np.sqrt(number)[:, None]).sum(axis=0))
    expected = twin.ridge(matrix, problem.weights.astype(float), vectors.matrix.astype(float), penalties)
    solved = problem.solve(vectors.matrix, settings, Run.create())
    np.testing.assert_allclose(matrix @ solved, matrix @ expected, atol=1e-3)


def test_any_number_of_workers_writes_the_same_bytes(tmp_path: Path) -> None:
    vectors, _ = planted(dimension=40)
    for workers in (1, 3):
        add_subwords(vectors, workers=workers).save(tmp_path / str(workers))
    for name in ("vectors.json", "vectors.safetensors"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "3" / name).read_bytes()


def test_hidden_words_fall_into_the_intervals_of_their_composed_vectors() -> None:
    vectors, hidden = planted(stems=300)
    noise = np.random.default_rng(3)
    blurred = vectors.matrix + noise.normal(size=vectors.matrix.shape).astype(np.float32)
    truth = hidden.matrix + noise.normal(size=hidden.matrix.shape)
    bayesian = Vectors(blurred, vectors.vocabulary, extras={"variances": np.ones_like(blurred)})
    fitted = add_subwords(bayesian, max_n=4)
    # The posterior of known words is theirs.
    np.testing.assert_array_equal(fitted.matrix, blurred)
    assert fitted.subwords is not None
    assert fitted.subwords.variance is not None
    off = np.abs(truth - fitted[hidden.vocabulary.words]) / np.sqrt(fitted.subwords.variance)
    assert 0.85 < np.mean(off < 1.645) < 0.95


@pytest.mark.parametrize("recipe", ["sgns", "svd", "psd", "glove"])
def test_every_dense_recipe_may_have_subwords(recipe: str, tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    words = [stem + suffix for stem in ("walk", "talk", "jump", "paint", "want") for suffix in ("", "s", "ed", "ing")]
    corpus = [" ".join(generator.choice(words, 40)) for _ in range(60)]
    settings = {"vector_size": 5, "counting": {"min_count": 1, "sample": 0}}
    plain = ft.train(corpus, recipe, **settings)
    mixed = ft.train(corpus, recipe, subwords="on", output=tmp_path / "v", **settings)
    np.testing.assert_allclose(mixed.learned, plain.matrix, rtol=1e-3, atol=1e-4)
    assert mixed["walkings"].any()
    assert Vectors.load(tmp_path / "v", verify=True).similarity("walkings", "walk") == mixed.similarity(
        "walkings", "walk"
    )


def test_bad_settings_are_refused() -> None:
    vectors, _ = planted(stems=20)
    for bad in (
        {"min_n": 5, "max_n": 4},
        {"min_n": 0},
        {"ridge": 0},
        {"blend": -1},
        {"blend": "much"},
        {"fade": "x"},
        {"depth": 3},
    ):
        with pytest.raises(FirthianError):
            add_subwords(vectors, **bad)
    with pytest.raises(FirthianError, match="one of on, off, auto"):
        ft.train(["a b c"], subwords="yes")
    with pytest.raises(FirthianError, match="dense"):
        ft.train(["a b c a b", "c a b"], "ppmi", subwords="on", counting={"min_count": 1})


def test_the_command_line_says_what_is_composed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vectors, _ = planted(stems=150)
    vectors.save(tmp_path / "v")
    assert main(["subwords", str(tmp_path / "v"), "-o", str(tmp_path / "w")]) == 0
    assert "n-grams, blend 1.01, cosine with hidden words" in capsys.readouterr().out
    known = vectors.vocabulary.words[0]
    assert main(["neighbors", str(tmp_path / "w"), known + "esses"]) == 0
    printed = capsys.readouterr()
    assert f"'{known}esses' is not in the vocabulary; its vector is composed of " in printed.err
    assert "did you mean" in printed.err
    assert main(["similarity", str(tmp_path / "w"), known, ""]) == 2
    assert "none of its n-grams is known" in capsys.readouterr().err
    assert (
        main(["evaluate", str(tmp_path / "v"), "--oov", "subwords", "--suite", "similarity", "--sets", "simlex"]) == 2
    )
    assert main(["subwords", str(tmp_path / "v"), "-o", str(tmp_path / "x"), "--set", "min_n=9"]) == 2
    assert "at most" in capsys.readouterr().err


def test_pairs_of_unknown_words_are_evaluated(tmp_path: Path) -> None:
    vectors, hidden = planted()
    fitted = add_subwords(vectors)
    pairs = tmp_path / "pairs.txt"
    first, second, third = hidden.vocabulary.words[:3]
    known = vectors.vocabulary.words[:2]
    pairs.write_text(f"{first} {second} 1\n{known[0]} {third} 2\n{known[0]} {known[1]} 3\n")
    result = ft.evaluate(fitted, suite="similarity", sets=str(pairs), oov="subwords").to_dict()["similarity"]["pairs"]
    assert (result["pairs"], result["covered"]) == (3, 3)
    skipped = ft.evaluate(fitted, suite="similarity", sets=str(pairs)).to_dict()["similarity"]["pairs"]
    assert skipped["covered"] == 1
