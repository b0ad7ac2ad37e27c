from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import firthian as ft
from firthian import FirthianError, Vectors, Vocabulary

R = np.random.default_rng(5)


@pytest.fixture
def vectors() -> Vectors:
    words = Vocabulary([f"w{i}" for i in range(60)], range(60, 0, -1))
    extras = {"eigenvalues": np.arange(6.0, 0, -1), "bias": np.arange(60.0), "covariances": R.normal(size=(60, 6, 6))}
    matrix = R.normal(size=(60, 6)).astype(np.float32)
    state = {"eigenvalue_power": 0.5}
    return Vectors(matrix, words, contexts=R.normal(size=(60, 6)), extras=extras, state=state)


def test_subset_keeps_everything_of_its_words(vectors: Vectors) -> None:
    some = vectors.subset(["w9", "w3"])
    assert some.vocabulary.words == ["w9", "w3"]
    assert list(some.vocabulary.counts) == [51, 57]
    np.testing.assert_array_equal(some.matrix, vectors.matrix[[9, 3]])
    np.testing.assert_array_equal(some.contexts, vectors.contexts[[9, 3]])
    np.testing.assert_array_equal(some.extras["bias"], [9, 3])
    np.testing.assert_array_equal(some.extras["covariances"], vectors.extras["covariances"][[9, 3]])
    np.testing.assert_array_equal(some.extras["eigenvalues"], vectors.extras["eigenvalues"])
    assert vectors.subset(7).vocabulary.words == vectors.vocabulary.words[:7]
    assert len(vectors.subset(6).extras["eigenvalues"]) == 6
    assert len(vectors.subset(1000)) == 60
    with pytest.raises(FirthianError, match="listed twice"):
        vectors.subset(["w1", "w1"])


def test_normalized_rows_have_length_one(vectors: Vectors) -> None:
    np.testing.assert_allclose(np.linalg.norm(vectors.normalized().matrix, axis=1), 1, rtol=1e-6)
    sparse = Vectors(scipy.sparse.csr_array(np.array([[3.0, 4], [0, 0]])), Vocabulary(["a", "b"])).normalized()
    np.testing.assert_allclose(sparse.matrix.toarray(), [[0.6, 0.8], [0, 0]], rtol=1e-6)


def test_combinations(vectors: Vectors) -> None:
    np.testing.assert_array_equal(vectors.combined("u").matrix, vectors.matrix)
    np.testing.assert_array_equal(vectors.combined("u+c").matrix, vectors.matrix + vectors.contexts)
    np.testing.assert_allclose(vectors.combined("mean").matrix, (vectors.matrix + vectors.contexts) / 2, rtol=1e-6)
    with pytest.raises(FirthianError, match="no context vectors"):
        vectors.combined("u").combined("u+c")
    with pytest.raises(FirthianError, match="did you mean mean"):
        vectors.combined("meann")


def test_eigenvalue_power_is_what_training_with_it_gives(vectors: Vectors) -> None:
    q, values = np.linalg.qr(R.normal(size=(60, 6)))[0], vectors.extras["eigenvalues"]
    vectors.matrix = (q * values**0.5).astype(np.float32)
    whole = vectors.with_eigenvalue_power(1.0)
    np.testing.assert_allclose(whole.matrix, q * values, rtol=1e-5)
    np.testing.assert_allclose(whole.with_eigenvalue_power(0).matrix, q, rtol=1e-5, atol=1e-7)
    with pytest.raises(FirthianError, match="no eigenvalues"):
        Vectors(np.ones((1, 1)), Vocabulary(["a"])).with_eigenvalue_power(1)


def test_centering_and_removing_components(vectors: Vectors) -> None:
    np.testing.assert_allclose(vectors.centered().matrix.mean(axis=0), 0, atol=1e-6)
    planted = R.normal(size=6)
    vectors.matrix = (vectors.matrix + 50 * R.normal(size=(60, 1)) * planted + 3).astype(np.float32)
    cleaned = vectors.without_top_components(1).matrix
    _, values, right = np.linalg.svd(vectors.matrix - vectors.matrix.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(cleaned @ right[0], 0, atol=1e-3)
    np.testing.assert_allclose(np.linalg.svd(cleaned)[1][:5], values[1:], rtol=1e-3)
    assert not np.allclose(vectors.matrix.mean(axis=0), 0, atol=0.1), "the given vectors stay as they are"
    with pytest.raises(FirthianError, match="7 of 6"):
        vectors.without_top_components(7)
    with pytest.raises(FirthianError, match="sparse vectors dense"):
        Vectors(scipy.sparse.csr_array((1, 3)), Vocabulary(["a"])).centered()


def test_alignment_finds_the_planted_rotation_and_the_moved_word(vectors: Vectors) -> None:
    rotation = np.linalg.qr(R.normal(size=(6, 6)))[0]
    moved = vectors.matrix.copy()
    moved[17] = -moved[17]
    words = Vocabulary([*vectors.vocabulary.words[:59], "other"])
    aligned = Vectors(moved @ rotation, words).align_to(vectors, topn=3)
    assert aligned.moved[0][0] == "w17"
    assert aligned.moved[0][1] == pytest.approx(2, abs=0.1)
    assert aligned.shared == 59
    others = [i for i in range(60) if i != 17]
    np.testing.assert_allclose(aligned.vectors.matrix[others], vectors.matrix[others], atol=0.2)
    exact = Vectors(vectors.matrix @ rotation, words).align_to(vectors)
    np.testing.assert_allclose(exact.vectors.matrix, vectors.matrix, atol=1e-5)
    with pytest.raises(FirthianError, match="no word in common"):
        Vectors(np.ones((1, 6)), Vocabulary(["new"])).align_to(vectors)


def test_transforms_are_written_down(vectors: Vectors) -> None:
    steps = vectors.centered().normalized().provenance.transforms
    assert [step["name"] for step in steps] == ["centered", "normalized"]
    assert not vectors.provenance.transforms


def test_a_subset_keeps_what_belongs_to_all_words_though_it_has_as_many_rows() -> None:
    extras = {
        "center": np.arange(4.0),
        "mean_vector": np.arange(4.0),
        "dictionary": np.eye(4),
        "word_bias": np.arange(4.0),
    }
    some = Vectors(np.eye(4), Vocabulary(["a", "b", "c", "d"]), extras=extras).subset(["c", "a"])
    assert {name: len(array) for name, array in some.extras.items()} == {
        "center": 4, "mean_vector": 4, "dictionary": 4, "word_bias": 2,
    }  # fmt: skip
    assert len(some.subset(np.int64(1))) == 1


def test_alignment_says_that_covariances_are_lost():
    vectors = Vectors(np.eye(3), Vocabulary(["a", "b", "c"]), extras={"variances": np.ones((3, 3))})
    with pytest.warns(UserWarning, match="aligned vectors have no covariances"):
        assert "variances" not in vectors.align_to(vectors).vectors.extras


@pytest.mark.filterwarnings("ignore:aligned vectors")
@pytest.mark.parametrize("change", ["normalized", "align_to", "without_top_components", "combined"])
def test_no_new_eigenvalue_power_where_dimensions_are_not_those_of_the_decomposition(
    vectors: Vectors, change: str
) -> None:
    given = {"align_to": (vectors,), "without_top_components": (1,), "combined": ("u+c",)}.get(change, ())
    changed = getattr(vectors, change)(*given)
    with pytest.raises(FirthianError, match="no longer those of the decomposition"):
        (changed.vectors if change == "align_to" else changed).with_eigenvalue_power(1.0)
    vectors.subset(9).centered().with_eigenvalue_power(0.25).with_eigenvalue_power(1.0)


def test_the_eigenvalue_power_of_trained_vectors_can_be_changed() -> None:
    counts = ft.count(["a b c d e", "b d a c", "e a d c b a"] * 9, min_count=1)
    half, whole = (ft.train(counts, "svd", vector_size=3, eigenvalue_power=power) for power in (0.5, 1.0))
    np.testing.assert_allclose(half.with_eigenvalue_power(1.0).matrix, whole.matrix, atol=1e-6)
    with pytest.raises(FirthianError, match="no eigenvalues"):
        ft.train(counts, "cca", vector_size=3).with_eigenvalue_power(1.0)


def test_words_without_a_direction_have_not_moved(vectors: Vectors) -> None:
    here, there = vectors.matrix.copy(), vectors.matrix.copy()
    here[[4, 5]], there[[4, 6]] = 0, 0
    found = Vectors(here, vectors.vocabulary).align_to(Vectors(there, vectors.vocabulary), topn=60)
    assert {"w4", "w5", "w6"}.isdisjoint(word for word, _ in found.moved)
    assert (len(found.moved), found.shared) == (57, 60)


@pytest.mark.parametrize(
    ("words", "core"),
    [(7, 7), (50, 40), (["w3", "w1", "w50"], 2), (["w50", "w3"], None), (["w50"], 0), (1000, 40)],
)
def test_a_subset_knows_its_core(vectors: Vectors, words: object, core: int | None) -> None:
    vectors.state = {"core": 40, "kappa": 1.0}
    assert vectors.subset(words).state == {"core": core, "kappa": 1.0}
    assert vectors.state["core"] == 40
    again = vectors.subset(words).subset(1).state["core"]
    assert again == (core if core is None else min(core, 1))
