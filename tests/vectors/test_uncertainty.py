"""Intervals, kernels and probabilities of Gaussian vectors, against Monte Carlo and closed forms."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import firthian as ft
from firthian import FirthianError, Vectors, Vocabulary
from firthian.evaluate.words import score_pairs
from firthian.kernels.packing import pack
from firthian.vectors import uncertainty as ask
from firthian.vectors.formats import write_vectors
from firthian.vectors.formats.gensim import from_gensim
from tests.learn.texts import wikipedia

WORDS = ["tea", "coffee", "cup", "car", "road", "the"]


def gaussian_vectors(kind: str = "packed", scale: float = 0.05, seed: int = 0, d: int = 4) -> Vectors:
    random = np.random.default_rng(seed)
    roots = random.standard_normal((len(WORDS), d, d)) * np.sqrt(scale)
    full = roots @ roots.transpose(0, 2, 1) + 0.01 * scale * np.eye(d)
    matrix = random.standard_normal((len(WORDS), d)).astype(np.float32)
    extras = {
        "packed": {"covariances": pack(full).astype(np.float32)},
        "full": {"covariances": full.astype(np.float32)},
        "diagonal": {"variances": np.diagonal(full, axis1=1, axis2=2).astype(np.float32)},
        "none": {},
    }[kind]
    return Vectors(matrix, Vocabulary(WORDS, [60, 50, 40, 30, 20, 1000]), extras=extras)


def drawn_cosines(vectors: Vectors, first: int, second: int, number: int = 40_000) -> np.ndarray:
    parts = ask._draws(vectors, np.array([first, second]), number, np.random.default_rng(1))
    units = [drawn / np.linalg.norm(drawn, axis=2, keepdims=True) for drawn in parts]
    return np.concatenate([np.sum(unit[0] * unit[1], axis=1) for unit in units])


def held(vectors: Vectors, first: int, second: int, level: float = 0.9) -> float:
    """The share of draws within the interval."""
    low, high = ask.similarity_interval(vectors, WORDS[first], WORDS[second], level)
    cosines = drawn_cosines(vectors, first, second)
    return float(np.mean((cosines > low) & (cosines < high)))


@pytest.mark.parametrize("kind", ["packed", "full", "diagonal"])
def test_intervals_agree_with_draws(kind):
    vectors = gaussian_vectors(kind, 0.02)
    assert held(vectors, 0, 1) == pytest.approx(0.9, abs=0.03)
    low, high = ask.similarity_interval(vectors, "tea", "coffee", 0.9)
    assert ask.similarity_interval(vectors, "coffee", "tea", 0.9) == pytest.approx((low, high))
    narrow = ask.similarity_interval(vectors, "tea", "coffee", 0.5)
    assert low < narrow[0] < narrow[1] < high


@pytest.mark.parametrize("relative", [0.03, 0.1, 0.3, 1.0, 1.6])
@pytest.mark.parametrize("cosine", [-0.5, 0.0, 0.8, 0.99, 1.0])
def test_intervals_hold_their_share_however_uncertain_the_words(relative, cosine):
    # two words of length 1 and 60 dimensions; the noise is as long as ``relative`` says, and not the same in all directions
    d, random = 60, np.random.default_rng(4)
    matrix = np.zeros((2, d), dtype=np.float32)
    matrix[0, 0], matrix[1, :2] = 1, (cosine, np.sqrt(1 - cosine**2))
    spread = random.uniform(0.5, 2, (2, d))
    spread *= relative**2 / spread.sum(axis=1, keepdims=True)
    vectors = Vectors(matrix, Vocabulary(WORDS[:2]), extras={"variances": spread.astype(np.float32)})
    assert held(vectors, 0, 1) == pytest.approx(0.9, abs=0.03)


def test_a_word_with_itself_has_no_interval():
    vectors = gaussian_vectors()
    assert ask.similarity_interval(vectors, "tea", "tea") == (1, 1)


def test_packed_and_full_covariances_are_the_same_thing():
    packed, full = gaussian_vectors("packed"), gaussian_vectors("full")
    np.testing.assert_allclose(ask.covariances(packed, [0, 3]), ask.covariances(full, [0, 3]), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(ask.variances(packed, [2]), ask.variances(full, [2]), rtol=1e-6)


def test_inflation_of_the_state_widens():
    vectors = gaussian_vectors()
    before = ask.similarity_interval(vectors, "tea", "cup")
    vectors.state["inflation"] = 2.0
    after = ask.similarity_interval(vectors, "tea", "cup")
    assert after[1] - after[0] > before[1] - before[0]


def test_a_word_that_is_asked_about_twice_is_the_same_in_every_draw():
    # a : b :: a : ? is the question for b's neighbors, whatever a is and however uncertain
    random = np.random.default_rng(0)
    matrix = random.normal(size=(30, 6)).astype(np.float32)
    words = [f"w{n}" for n in range(30)]
    vectors = Vectors(matrix, Vocabulary(words), extras={"variances": np.full((30, 6), 0.3, dtype=np.float32)})
    drawn = np.concatenate(list(ask._draws(vectors, np.arange(30), 5000, random)), axis=1)
    drawn /= np.linalg.norm(drawn, axis=2, keepdims=True)
    scores = np.einsum("wnd,nd->nw", drawn, drawn[1])
    scores[:, :2] = -np.inf
    truth = dict(zip(words, np.bincount(scores.argmax(axis=1), minlength=30) / 5000, strict=True))
    for answer in ask.analogy(vectors, "w0", "w1", "w0", topn=5, draws=5000):
        assert answer.probability == pytest.approx(truth[answer.word], abs=0.03)


@pytest.mark.parametrize("kind", ["packed", "full", "diagonal"])
def test_product_kernel_is_the_integral_of_both_densities(kind):
    vectors = gaussian_vectors(kind)
    full = ask.covariances(vectors, np.arange(len(WORDS)))
    gaps = vectors.matrix[0].astype(np.float64) - vectors.matrix
    expected = [
        multivariate_normal.logpdf(gap, np.zeros(4), full[0] + some) for gap, some in zip(gaps, full, strict=True)
    ]
    found = ask.product_kernel(vectors, np.zeros(len(WORDS), dtype=int), np.arange(len(WORDS)))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    # the same definition wherever it is used
    pairs = np.array([[0, other] for other in range(len(WORDS))])
    np.testing.assert_array_equal(score_pairs(vectors, pairs, "product-kernel"), found)
    best = ask.most_similar(vectors, "tea", 1, score="product-kernel")[0]
    assert best.score == pytest.approx(found[1:].max())


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """Bayesian vectors of 2 MB of Wikipedia, where rare words are uncertain."""
    path = tmp_path_factory.mktemp("real")
    corpus = wikipedia(path / "text.txt", 2_000_000)
    ft.train(corpus, "bayes", vector_size=15, epochs=5, counting={"max_vocab": 1500}).save(path / "vectors")
    return path / "vectors"


@pytest.mark.realdata
def test_on_text_every_interval_contains_its_estimate(real, firth):
    vectors = ft.load(real)
    words, outside = vectors.vocabulary.words, 0
    for word in (words[2], words[400], words[-1]):
        found = vectors.most_similar_with_intervals(word, len(words), level=0.5)
        scores = [item.score for item in found]
        assert len(found) == len(words) - 1
        assert scores == sorted(scores, reverse=True)
        assert all(item.low <= item.score <= item.high for item in found)
        outside += sum(not item.low <= item.cosine_of_means <= item.high for item in found)
        # what is printed, too
        for line in firth("neighbors", real, word, "--topn", "50").out.splitlines()[1:]:
            score, low, high = (float(part.strip("[],")) for part in line.split()[:3])
            assert low <= score <= high
    # the cosine of the means is outside often enough for this to matter
    assert outside > 100
    score, low, high = (float(part.strip("[],")) for part in firth("similarity", real, words[2], words[-1]).out.split())
    assert low <= score <= high
    facts = json.loads(firth("similarity", real, words[2], words[-1], "--json").out)
    assert facts["similarity"] == pytest.approx(vectors.similarity_estimate(words[2], words[-1]).median)
    assert facts["cosine_of_means"] == pytest.approx(vectors.similarity(words[2], words[-1]))


@pytest.mark.realdata
def test_on_text_the_estimate_is_the_median_of_draws(real):
    vectors = ft.load(real)
    for first, second in ((0, 1499), (700, 1400), (300, 301), (1498, 1499), (50, 1200)):
        drawn = np.median(drawn_cosines(vectors, first, second, 4000))
        words = vectors.vocabulary.words
        assert vectors.similarity_estimate(words[first], words[second]).median == pytest.approx(drawn, abs=0.02)


def test_most_similar_orders_by_cosine_and_brackets_it():
    found = ask.most_similar(gaussian_vectors(), "tea", topn=10, level=0.8)
    assert len(found) == len(WORDS) - 1
    assert "tea" not in [item.word for item in found]
    scores = [item.score for item in found]
    assert scores == sorted(scores, reverse=True)
    assert all(item.low < item.score < item.high for item in found)
    means = ask.most_similar(gaussian_vectors(), "tea", topn=10, score="cosine-of-means")
    assert {item.word: item.score for item in means} == {item.word: item.cosine_of_means for item in found}
    assert all(abs(item.score) < abs(item.cosine_of_means) for item in found)


def test_uncertainty_of_a_known_covariance():
    vectors = Vectors(
        np.array([[3.0, 4.0]], dtype=np.float32),
        Vocabulary(["a"], [7]),
        extras={"variances": np.array([[1.0, 3.0]], dtype=np.float32)},
    )
    found = ask.uncertainty(vectors, "a")
    assert (found.count, found.trace, found.effective_dimensions) == (7, pytest.approx(4), pytest.approx(16 / 10))
    assert found.log_determinant == pytest.approx(np.log(3))
    assert found.relative == pytest.approx(2 / 5)


@pytest.mark.parametrize("kind", ["packed", "diagonal"])
def test_uncertainties_of_all_words_are_those_of_each(kind):
    vectors = gaussian_vectors(kind)
    found = ask.uncertainties(vectors)
    for number, word in enumerate(WORDS):
        one = ask.uncertainty(vectors, word).to_dict()
        for name, values in found.items():
            assert values[number] == pytest.approx(one[name], rel=1e-5)


@pytest.mark.parametrize("kind", ["packed", "diagonal"])
def test_intervals_come_back_from_our_folder(tmp_path, kind):
    vectors = gaussian_vectors(kind)
    vectors.save(tmp_path / "v")
    again = Vectors.load(tmp_path / "v", verify=True)
    assert again.similarity_interval("tea", "cup") == vectors.similarity_interval("tea", "cup")
    assert again.uncertainty("tea") == vectors.uncertainty("tea")


def test_gensim_knows_how_sure_words_are(tmp_path):
    models = pytest.importorskip("gensim.models")
    vectors = gaussian_vectors()
    write_vectors(vectors, tmp_path / "v.kv")
    for keyed in (vectors.to_gensim(), models.KeyedVectors.load(str(tmp_path / "v.kv"))):
        for word in WORDS:
            known = vectors.uncertainty(word)
            for name in ("trace", "log_determinant", "effective_dimensions", "relative"):
                assert keyed.get_vecattr(word, name) == pytest.approx(getattr(known, name), rel=1e-5)
        np.testing.assert_allclose(keyed.get_vecattr("car", "variances"), ask.variances(vectors, [3])[0], rtol=1e-6)
        keyed.sort_by_descending_frequency()
        assert keyed.get_vecattr("the", "trace") == pytest.approx(vectors.uncertainty("the").trace, rel=1e-5)
    again = from_gensim(vectors.to_gensim())
    assert again.uncertainty("tea").trace == pytest.approx(vectors.uncertainty("tea").trace, rel=1e-5)
    assert not ask.has_uncertainty(from_gensim(gaussian_vectors("none").to_gensim()))


def test_tables_for_other_tools_have_a_column_of_uncertainty(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    vectors = gaussian_vectors()
    write_vectors(vectors, tmp_path / "v.parquet")
    relative = [vectors.uncertainty(word).relative for word in WORDS]
    assert parquet.read_table(tmp_path / "v.parquet")["uncertainty"].to_pylist() == pytest.approx(relative, rel=1e-5)
    vectors.to_projector(tmp_path / "projector")
    lines = (tmp_path / "projector" / "metadata.tsv").read_text().splitlines()
    assert lines[0] == "word\tcount\tuncertainty"
    assert [float(line.split("\t")[2]) for line in lines[1:]] == pytest.approx(relative, rel=1e-3)


def test_least_certain_words_and_what_count_does_not_explain():
    counts = np.array([1000, 900, 800, 100, 90, 80])
    traces = 10.0 / counts
    traces[4] *= 5
    vectors = Vectors(
        np.ones((6, 2), dtype=np.float32),
        Vocabulary(WORDS, counts),
        extras={"variances": np.repeat(traces[:, None] / 2, 2, axis=1).astype(np.float32)},
    )
    assert [row.word for row in ask.least_certain(vectors, 2)] == ["road", "the"]
    assert ask.least_certain(vectors, 1, at_equal_count=True)[0].word == "road"
    assert {row.word for row in ask.least_certain(vectors, 9, min_count=800)} == {"tea", "coffee", "cup"}
    with pytest.raises(FirthianError, match="no word occurs 5000 times: the most frequent one occurs 1000 times"):
        ask.least_certain(vectors, min_count=5000)


def test_analogy_probabilities():
    random = np.random.default_rng(0)
    base = random.standard_normal((4, 6))
    man, woman = base[0], base[1]
    rows = np.array([man, man + base[2], woman, woman + base[2], base[3], -base[2]], dtype=np.float32)
    words = ["man", "king", "woman", "queen", "car", "pawn"]

    def answers(variance, **more):
        extras = {"variances": np.full((6, 6), variance, dtype=np.float32)}
        return ask.analogy(Vectors(rows, Vocabulary(words), extras=extras), "man", "king", "woman", **more)

    sure, unsure = answers(1e-6), answers(4.0)
    assert (sure[0].word, sure[0].probability) == ("queen", 1.0)
    assert unsure[0].probability < 0.9
    assert sum(answer.probability for answer in unsure) == pytest.approx(1)
    assert answers(4.0) == unsure
    assert answers(4.0, seed=2) != unsure
    vectors = gaussian_vectors()
    assert vectors.analogy_probabilities("tea", "cup", "car", 2) == ask.analogy(vectors, "tea", "cup", "car", 2)


def test_fewer_than_no_words_are_none():
    vectors = gaussian_vectors()
    for topn in (0, -1):
        assert vectors.most_similar_with_intervals("tea", topn) == []
        assert vectors.analogy_probabilities("tea", "cup", "car", topn) == []
        assert ask.least_certain(vectors, topn) == []


def test_points_have_no_uncertainty():
    for call in (
        lambda v: ask.similarity_interval(v, "tea", "cup"),
        lambda v: ask.uncertainty(v, "tea"),
        lambda v: ask.analogy(v, "tea", "cup", "car"),
        lambda v: ask.product_kernel(v, np.array([0]), np.array([1])),
        lambda v: ask.least_certain(v),
    ):
        with pytest.raises(FirthianError, match="no uncertainty: train with the recipe bayes"):
            call(gaussian_vectors("none"))


def test_wrong_levels_scores_and_shapes_are_told():
    vectors = gaussian_vectors()
    with pytest.raises(FirthianError, match="between 0 and 1, got 90"):
        ask.similarity_interval(vectors, "tea", "cup", 90)
    with pytest.raises(FirthianError, match="must be one of cosine, cosine-of-means, product-kernel"):
        ask.most_similar(vectors, "tea", score="euclid")
    vectors.extras["covariances"] = np.ones((6, 3), dtype=np.float32)
    with pytest.raises(FirthianError, match="do not fit 6 words of 4 dimensions"):
        ask.uncertainty(vectors, "tea")
    with pytest.raises(FirthianError, match="draws must be from 1"):
        ask.analogy(gaussian_vectors(), "tea", "cup", "car", draws=0)


def test_an_analogy_without_other_words_has_no_answer():
    vectors = gaussian_vectors().subset(["tea", "cup", "car"])
    assert ask.analogy(vectors, "tea", "cup", "car") == []


def test_the_verb(firth, tmp_path):
    vectors = gaussian_vectors()
    vectors.save(tmp_path / "v")
    rows = json.loads(firth("uncertain", tmp_path / "v", "--topn", "2", "--json").out)
    assert len(rows) == 2
    assert set(rows[0]) >= {"word", "count", "trace", "log_determinant", "effective_dimensions", "relative", "excess"}
    asked = json.loads(firth("uncertain", tmp_path / "v", "tea", "--neighbors", "2", "--json").out)[0]
    assert [near["low"] < near["score"] < near["high"] for near in asked["neighbors"]] == [True, True]
    assert "tea" in firth("uncertain", tmp_path / "v", "tea", "--neighbors", "1").out
    ranked = firth("uncertain", tmp_path / "v", "--at-equal-count", "--topn", "3").out.splitlines()
    assert ranked[0].split()[0] == "excess"
    excess = [float(line.split()[0]) for line in ranked[1:]]
    assert excess == sorted(excess, reverse=True)
    assert firth("uncertain", tmp_path / "v", "tea", "cup", "car", "--analogy").out.startswith(
        "comes first   score  word"
    )
    answers = json.loads(firth("uncertain", tmp_path / "v", "tea", "cup", "car", "--analogy", "--json").out)
    assert sum(answer["probability"] for answer in answers) == pytest.approx(1)
    firth("uncertain", tmp_path / "v", "tea", "--analogy").complains("--analogy needs three words")
    gaussian_vectors("none").save(tmp_path / "points")
    firth("uncertain", tmp_path / "points").complains("vectors have no uncertainty")


def test_a_vector_of_zeros_has_no_neighbors_by_cosine():
    vectors = gaussian_vectors()
    vectors.matrix[2] = 0
    word = vectors.vocabulary.words[2]
    assert vectors.most_similar(word) == vectors.most_similar_with_intervals(word) == []
    assert vectors.most_similar_with_intervals(word, score="product-kernel")
