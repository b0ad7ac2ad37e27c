"""Analogies: the fast answers against slow ones, planted ones, ties, coverage, comparisons."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

import firthian as ft
from firthian.errors import FirthianError
from firthian.evaluate import Questions, analogy, compare_analogy
from firthian.evaluate.words import Lookup
from firthian.kernels.analogies import best_answers, sparse_products
from firthian.runtime.run import Run
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.vectors import Vectors
from tests.evaluate.conftest import planted, random_vectors
from tests.reference import analogy as slow
from tests.sparse import random_csr


def questions(words, sections=(), section_of=None, semantic=(), name="mine"):
    places = np.zeros(len(words), dtype=np.int64) if section_of is None else np.array(section_of)
    return Questions(name, [tuple(item) for item in words], list(sections), list(semantic), places)


def capitals(number=30):
    pairs = itertools.permutations(range(number), 2)
    return questions([(f"land{i}", f"city{i}", f"land{j}", f"city{j}") for i, j in pairs])


def ask(vectors, asked, **options):
    return ft.evaluate(vectors, "analogy", [asked], **options).to_dict()["analogy"][asked.name]


def random_ids(number=150, words=200, seed=3):
    random = np.random.default_rng(seed)
    return np.array([random.choice(words, 3, replace=False) for _ in range(number)])


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("block", [7, 64, 100, 1024])
def test_answers_are_those_of_the_slow_twin(monkeypatch, nonnegative, sparse, block):
    monkeypatch.setattr(analogy, "BLOCK_WORDS", block)
    vectors = random_vectors(nonnegative=nonnegative)
    if sparse:
        kept = np.where(np.random.default_rng(5).random(vectors.matrix.shape) < 0.6, vectors.matrix, 0)
        kept[:, 0] += 1
        vectors = Vectors(scipy.sparse.csr_array(kept.astype(np.float32)), vectors.vocabulary)
    dense = vectors.matrix.toarray() if sparse else vectors.matrix
    ids = random_ids()
    found = analogy.answer(vectors, ids, Lookup(vectors), Run.create(workers=2))
    assert found.tolist() == [list(slow.answer(dense, *row)) for row in ids]


def test_a_word_may_be_asked_twice_in_one_question(vectors):
    ids = np.array([[3, 3, 8], [3, 8, 3], [8, 3, 3], [4, 4, 4]])
    found = analogy.answer(vectors, ids, Lookup(vectors), Run.create())
    assert found.tolist() == [list(slow.answer(vectors.matrix, *row)) for row in ids]


def test_sparse_products_are_products():
    random = np.random.default_rng(0)
    rows, asked = random_csr((30, 25), 0.2, random), random_csr((9, 25), 0.3, random).tocsc()
    chosen = np.array([4, 29, 0, 11])
    out = np.empty((9, 4), dtype=np.float32)
    sparse_products((rows.indptr, rows.indices, rows.data), chosen, (asked.indptr, asked.indices, asked.data), out)
    np.testing.assert_allclose(out, slow.sparse_products(rows.toarray()[chosen], asked.toarray()), rtol=1e-5, atol=1e-6)


def test_planted_analogies_are_found():
    facts = ask(planted(), capitals())
    assert facts["3cosadd"] > 0.95
    assert facts["3cosmul"] > 0.95
    assert (facts["questions"], facts["covered"]) == (870, 870)


def test_the_same_answers_for_any_number_of_workers(monkeypatch):
    monkeypatch.setattr(analogy, "BLOCK_WORDS", 50)
    vectors, ids = random_vectors(words=500), random_ids(words=500)
    found = [analogy.answer(vectors, ids, Lookup(vectors), Run.create(workers=workers)) for workers in (1, 2, 5)]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


@pytest.mark.parametrize("block", [2, 1024])
def test_a_tie_goes_to_the_more_frequent_word(monkeypatch, block):
    monkeypatch.setattr(analogy, "BLOCK_WORDS", block)
    # Words 3, 4 and 5 are one vector; the words of the question come in between.
    matrix = np.array([[1, 0], [1, 0.2], [0, 1], [-1, 1], [-1, 1], [-1, 1]], dtype=np.float32)
    vectors = Vectors(matrix, Vocabulary(list("abcdef")))
    found = analogy.answer(vectors, np.array([[0, 1, 2], [1, 0, 2]]), Lookup(vectors), Run.create())
    assert found.tolist() == [[3, 3], [3, 3]]


def test_a_tie_within_a_block_goes_to_the_first_candidate_that_is_not_excluded():
    cosines = np.zeros((3, 300), dtype=np.float32)
    cosines[1:, [70, 150, 151, 290]] = 0.5
    inverse = (1 / (0.5 * cosines + 0.5)).astype(np.float32)
    best, where = np.empty((3, 2), dtype=np.float32), np.empty((3, 2), dtype=np.int64)
    excluded = np.array([[0, 1, 2], [70, 1, -5], [70, 150, 151]])
    best_answers((cosines, inverse), np.tile([0, 1, 2], (3, 1)), excluded, 0.5, 0.5, best, where)
    assert where.tolist() == [[70, 70], [150, 150], [290, 290]]
    np.testing.assert_allclose(best, [[1, 0.75**2 * 2]] * 3)


def test_the_words_of_a_question_are_never_its_answer():
    # b = d: excluded, so it cannot be right although it is nearest.
    vectors = planted()
    facts = ask(vectors, questions([("land1", "city1", "land2", "city1"), ("land1", "city1", "land2", "city2")]))
    assert facts["3cosadd"] == 0.5


def test_nothing_is_left_to_answer_with():
    vectors = Vectors(np.eye(3, dtype=np.float32), Vocabulary(["a", "b", "c"]))
    assert analogy.answer(vectors, np.array([[0, 1, 2]]), Lookup(vectors), Run.create()).tolist() == [[-1, -1]]
    assert ask(vectors, questions([("a", "b", "c", "a")]))["3cosadd"] == 0


def test_sections_kinds_and_coverage_add_up():
    vectors = planted()
    words = [*capitals(6).words, ("land1", "city1", "land2", "zebra"), ("noise1", "noise2", "noise3", "noise4")]
    section_of = [0] * 30 + [0, 1]
    facts = ask(vectors, questions(words, ["capitals", "gram1"], section_of, [True, False]))
    assert (facts["questions"], facts["covered"], facts["missing"]) == (32, 31, ["zebra"])
    assert facts["semantic"] == facts["sections"]["capitals"]
    assert facts["syntactic"] == facts["sections"]["gram1"]
    assert (facts["semantic"]["questions"], facts["semantic"]["covered"]) == (31, 30)
    right = facts["semantic"]["3cosadd"] * 30 + facts["syntactic"]["3cosadd"] * 1
    assert facts["3cosadd"] == pytest.approx(right / 31)
    zero = ask(vectors, questions(words, ["capitals", "gram1"], section_of, [True, False]), oov="zero")
    assert zero["3cosadd"] == pytest.approx(right / 32)
    assert zero["covered"] == 31


def test_a_section_without_a_covered_question_has_no_figure():
    facts = ask(
        planted(), questions([*capitals(3).words, ("x", "y", "z", "w")], ["one", "two"], [0] * 6 + [1], [None] * 2)
    )
    assert facts["sections"]["two"] == {"3cosadd": None, "3cosmul": None, "questions": 1, "covered": 0}
    assert "semantic" not in facts


def test_questions_that_occur_twice_count_twice():
    vectors = planted()
    words = capitals(4).words
    assert ask(vectors, questions(words * 2)) == ask(vectors, questions(words)) | {"questions": 24, "covered": 24}


def test_no_covered_question_is_an_error(vectors):
    with pytest.raises(FirthianError, match="covers no item"):
        ask(vectors, capitals())


def test_words_of_length_zero_neither_ask_nor_answer():
    vectors = planted()
    vectors.matrix[[2, 35, 300]] = 0  # land2, city5 and noise240
    facts = ask(vectors, capitals())
    assert facts["zero_length"] == ["city5", "land2"]
    assert facts["covered"] == 28 * 27
    assert facts["3cosadd"] > 0.95
    # Every cosine is negative: a word without a direction would win with its zero.
    opposite = np.array([[1, 0.1], [1, 0], [1, -0.1], [-1, 0.2], [0, 0]], dtype=np.float32)
    small = Vectors(opposite, Vocabulary(list("abcde")))
    assert analogy.answer(small, np.array([[0, 1, 2]]), Lookup(small), Run.create()).tolist() == [[3, 3]]


def test_restricted_vocabulary_limits_questions_and_answers():
    vectors = planted(noise=0)
    assert ask(vectors, capitals(), restrict_vocab=40)["covered"] == 90
    ids = np.array([[0, 1, 2]])
    found = analogy.answer(vectors, ids, Lookup(vectors, 4), Run.create())
    assert found.tolist() == [[3, 3]]


@pytest.mark.parametrize("length", [1e-30, 1e30])
def test_lengths_far_from_one_change_nothing(length):
    vectors = planted()
    scaled = Vectors((vectors.matrix * np.float32(length)), vectors.vocabulary)
    assert ask(scaled, capitals())["3cosadd"] == ask(vectors, capitals())["3cosadd"]


def test_mapped_vectors_are_read_in_place(tmp_path):
    vectors = planted()
    np.save(tmp_path / "m.npy", vectors.matrix)
    mapped = Vectors(np.load(tmp_path / "m.npy", mmap_mode="r"), vectors.vocabulary)
    assert ask(mapped, capitals()) == ask(vectors, capitals())


def test_a_better_model_is_found_better():
    good = planted()
    noise = np.random.default_rng(2).normal(size=good.matrix.shape)
    bad = Vectors((good.matrix + 2 * noise).astype(np.float32), good.vocabulary)
    found = compare_analogy(bad, good, capitals(10))
    assert found["questions"] == 90
    assert found["3cosadd"]["difference"] > 0.3
    assert found["3cosadd"]["p_value"] < 1e-6
    assert compare_analogy(good, good, capitals(10))["3cosmul"] == {"difference": 0, "p_value": 1, "test": "mcnemar"}


def test_the_halves_of_a_set_are_compared_too():
    good = planted()
    noise = np.random.default_rng(2).normal(size=good.matrix.shape)
    bad = Vectors((good.matrix + 2 * noise).astype(np.float32), good.vocabulary)
    whole = capitals(10)
    half = np.arange(len(whole)) >= 60
    both = replace(whole, sections=["one", "two"], semantic=[True, False], section_of=half.astype(np.int64))
    found = compare_analogy(bad, good, both)
    for name, kept in (("semantic", ~half), ("syntactic", half)):
        alone = questions([line for line, use in zip(whole.words, kept, strict=True) if use])
        assert found[name] == compare_analogy(bad, good, alone)
    assert {key: found[key] for key in ("questions", "3cosadd", "3cosmul")} == compare_analogy(bad, good, whole)
