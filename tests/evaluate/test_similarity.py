"""Similarity: scores, coverage, unknown words, intervals, comparisons."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy import stats

import firthian as ft
from firthian.errors import FirthianError
from firthian.evaluate import Pairs, compare_similarity, similarity
from firthian.evaluate.words import score_pairs
from firthian.kernels.packing import pack
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.vectors import Vectors
from tests.evaluate.conftest import random_vectors


def some_pairs(number=60, words=200, seed=2, name="mine"):
    random = np.random.default_rng(seed)
    ids = random.integers(0, words, size=(number, 2))
    return Pairs(name, [(f"w{i}", f"w{j}") for i, j in ids], random.normal(size=number)), ids


def ask(vectors, pairs, **options):
    return ft.evaluate(vectors, "similarity", [pairs], **options).to_dict()["similarity"][pairs.name]


def test_cosine_and_distance_are_what_they_are_called(vectors):
    _, ids = some_pairs()
    left, right = vectors.matrix[ids[:, 0]].astype(float), vectors.matrix[ids[:, 1]].astype(float)
    cosines = (left * right).sum(1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)
    np.testing.assert_allclose(score_pairs(vectors, ids), cosines, atol=1e-12)
    np.testing.assert_allclose(score_pairs(vectors, ids, "euclidean"), -np.linalg.norm(left - right, axis=1))


@pytest.mark.parametrize("score", ["cosine", "euclidean"])
def test_sparse_vectors_score_as_dense_ones(score):
    dense = np.where(np.random.default_rng(1).random((50, 30)) < 0.3, 1.5, 0).astype(np.float32)
    dense[:, 0] = 1
    names = Vocabulary([f"w{n}" for n in range(50)])
    ids = some_pairs(words=50)[1]
    sparse = Vectors(scipy.sparse.csr_array(dense), names)
    np.testing.assert_allclose(score_pairs(sparse, ids, score), score_pairs(Vectors(dense, names), ids, score))


@pytest.mark.parametrize("form", ["covariances", "packed", "variances"])
def test_the_product_kernel_is_a_gaussian_density(form):
    random = np.random.default_rng(4)
    means = random.normal(size=(6, 3)).astype(np.float32).astype(np.float64)
    variances = random.uniform(0.5, 2, size=(6, 3))
    full = np.stack([np.diag(row) for row in variances])
    if form != "variances":
        mixing = random.normal(size=(6, 3, 3))
        full = full + mixing @ mixing.transpose(0, 2, 1)
    extras = {"variances": {"variances": variances}, "packed": {"covariances": pack(full)}}
    vectors = Vectors(means, Vocabulary(list("abcdef")), extras=extras.get(form, {"covariances": full}))
    ids = np.array([[0, 1], [2, 5], [3, 3]])
    expected = [stats.multivariate_normal(means[i] - means[j], full[i] + full[j]).logpdf(np.zeros(3)) for i, j in ids]
    np.testing.assert_allclose(score_pairs(vectors, ids, "product-kernel"), expected, rtol=1e-10)


def test_the_product_kernel_says_what_it_lacks(vectors):
    ids = np.array([[0, 1]])
    with pytest.raises(FirthianError, match="with covariances or variances"):
        score_pairs(vectors, ids, "product-kernel")
    bad = {"variances": np.ones((200, 3))}
    with pytest.raises(FirthianError, match="variances of shape"):
        score_pairs(Vectors(vectors.matrix, vectors.vocabulary, extras=bad), ids, "product-kernel")
    negative = {"variances": -np.ones((200, 20))}
    with pytest.raises(FirthianError, match="not positive"):
        score_pairs(Vectors(vectors.matrix, vectors.vocabulary, extras=negative), ids, "product-kernel")
    indefinite = {"covariances": np.tile(-np.eye(20), (200, 1, 1))}
    with pytest.raises(FirthianError, match="not positive definite"):
        score_pairs(Vectors(vectors.matrix, vectors.vocabulary, extras=indefinite), ids, "product-kernel")


def test_the_figure_is_spearmans_of_the_scores(vectors):
    pairs, ids = some_pairs()
    facts = ask(vectors, pairs)
    expected = stats.spearmanr(pairs.scores, score_pairs(vectors, ids)).statistic
    assert facts["spearman"] == pytest.approx(expected, abs=1e-12)
    assert facts["ci95"][0] < facts["spearman"] < facts["ci95"][1]
    assert (facts["pairs"], facts["covered"], facts["missing"]) == (60, 60, [])


def test_the_interval_depends_on_the_seed_alone(vectors):
    pairs, _ = some_pairs()
    assert ask(vectors, pairs, seed=3, workers=1) == ask(vectors, pairs, seed=3, workers=2)
    assert ask(vectors, pairs, seed=3)["ci95"] != ask(vectors, pairs, seed=4)["ci95"]


def test_unknown_words_are_named_and_left_out_or_counted_as_zero(vectors):
    pairs, ids = some_pairs()
    more = Pairs("mine", [*pairs.words, ("w1", "zebra"), ("yak", "zebra")], np.append(pairs.scores, [9.0, -9.0]))
    skipped, zero = ask(vectors, more), ask(vectors, more, oov="zero")
    assert skipped["spearman"] == ask(vectors, pairs)["spearman"]
    assert (skipped["pairs"], skipped["covered"], skipped["missing"]) == (62, 60, ["yak", "zebra"])
    scores = np.append(score_pairs(vectors, ids), [0, 0])
    assert zero["spearman"] == pytest.approx(stats.spearmanr(more.scores, scores).statistic, abs=1e-12)
    assert (zero["covered"], zero["missing"]) == (60, ["yak", "zebra"])


def test_a_zero_score_is_the_lowest_distance():
    vectors = Vectors(np.array([[0.0, 1], [0, 2], [0, 9]], dtype=np.float32), Vocabulary(["a", "b", "c"]))
    pairs = Pairs("mine", [("a", "b"), ("a", "c"), ("a", "x")], np.array([3.0, 2, 1]))
    assert ask(vectors, pairs, score="euclidean", oov="zero")["spearman"] == 1


def test_pairs_that_occur_twice_count_twice(vectors):
    pairs, ids = some_pairs(30)
    twice = Pairs("mine", pairs.words + pairs.words[:10], np.append(pairs.scores, pairs.scores[:10] + 1))
    scores = score_pairs(vectors, np.concatenate([ids, ids[:10]]))
    facts = ask(vectors, twice)
    assert facts["pairs"] == 40
    assert facts["spearman"] == pytest.approx(stats.spearmanr(twice.scores, scores).statistic, abs=1e-12)


def test_test_words_follow_the_case_of_the_vocabulary():
    matrix = np.eye(3, dtype=np.float32) + 0.1
    pairs = Pairs("mine", [("Paris", "France"), ("paris", "rome")], np.array([2.0, 1.0]))
    assert ask(Vectors(matrix, Vocabulary(["paris", "france", "rome"])), pairs)["covered"] == 2
    cased = ask(Vectors(matrix, Vocabulary(["Paris", "France", "rome"])), pairs)
    assert (cased["covered"], cased["missing"]) == (1, ["paris"])
    assert cased["spearman"] is None


def test_vectors_of_length_zero_are_reported_not_scored():
    vectors = random_vectors()
    vectors.matrix[5] = 0
    pairs = Pairs("mine", [("w1", "w2"), ("w5", "w2"), ("w3", "w4")], np.array([1.0, 2, 3]))
    facts = ask(vectors, pairs)
    assert (facts["covered"], facts["zero_length"], facts["missing"]) == (2, ["w5"], [])
    assert ask(vectors, pairs, score="euclidean")["covered"] == 3


def test_values_that_are_not_finite_are_an_error(vectors):
    vectors.matrix[7, 3] = np.nan
    with pytest.raises(FirthianError, match="row 7 has values that are not finite"):
        ask(vectors, some_pairs()[0])


def test_no_covered_pair_is_an_error_but_one_empty_set_of_two_is_not(vectors):
    unknown = Pairs("none", [("x", "y")], np.array([1.0]))
    with pytest.raises(FirthianError, match="covers no item"):
        ask(vectors, unknown)
    both = ft.evaluate(vectors, sets=[unknown, some_pairs()[0]]).to_dict()["similarity"]
    assert (both["none"]["spearman"], both["none"]["covered"]) == (None, 0)
    assert both["mine"]["covered"] == 60


def test_restricted_vocabulary(vectors):
    pairs = Pairs("mine", [("w1", "w2"), ("w1", "w150")], np.array([1.0, 2.0]))
    assert ask(vectors, pairs, restrict_vocab=100)["covered"] == 1
    with pytest.raises(FirthianError, match="at least 1"):
        ask(vectors, pairs, restrict_vocab=0)


def test_a_better_model_is_found_better_and_equal_models_equal():
    truth = random_vectors(seed=8)
    pairs, ids = some_pairs(200)
    pairs = Pairs("mine", pairs.words, score_pairs(truth, ids))
    random = np.random.default_rng(9)
    near, far = (
        Vectors((truth.matrix + noise * random.normal(size=truth.matrix.shape)).astype(np.float32), truth.vocabulary)
        for noise in (0.3, 2.0)
    )
    better = compare_similarity(far, near, pairs)
    assert better["difference"] > 0.2
    assert better["p_value"] < 1e-6
    assert better["ci95"][0] > 0
    worse = compare_similarity(near, far, pairs)
    assert worse["difference"] == pytest.approx(-better["difference"])
    assert worse["p_value"] == pytest.approx(better["p_value"])
    same = compare_similarity(near, near, pairs)
    assert (same["difference"], same["p_value"], same["ci95"]) == (0, 1, [0, 0])


def test_a_comparison_uses_the_pairs_that_both_cover(vectors):
    pairs, ids = some_pairs()
    smaller = Vectors(vectors.matrix[:150], Vocabulary(vectors.vocabulary.words[:150]))
    assert compare_similarity(vectors, smaller, pairs)["pairs"] == int((ids < 150).all(axis=1).sum())
    assert compare_similarity(vectors, smaller, pairs, oov="zero")["pairs"] == 60


@pytest.mark.parametrize("resamples", [0, 7])
def test_comparisons_take_as_many_resamples_as_they_are_told(vectors, resamples, monkeypatch):
    drawn = []
    real = similarity.bootstrap

    def watched(human, models, random, number):
        drawn.append(number)
        return real(human, models, random, number)

    monkeypatch.setattr(similarity, "bootstrap", watched)
    found = ft.evaluate({"a": vectors, "b": random_vectors(seed=9)}, sets=[some_pairs()[0]], resamples=resamples)
    assert set(drawn) == {resamples}
    assert (found.comparisons[0]["similarity"]["mine"]["ci95"] is None) == (resamples == 0)


@pytest.mark.parametrize(("number", "known"), [(2, False), (4, False), (5, True)])
def test_a_few_pairs_in_perfect_order_are_not_certain(number, known):
    angles = np.linspace(0, 1, number + 1)
    vectors = Vectors(
        np.stack([np.cos(angles), np.sin(angles)], axis=1), Vocabulary([f"w{n}" for n in range(number + 1)])
    )
    pairs = Pairs("mine", [("w0", f"w{n}") for n in range(1, number + 1)], -np.arange(number))
    found = ask(vectors, pairs)
    assert found["spearman"] == 1
    assert (found["ci95"] is not None) == known
