from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from firthian import FirthianError, Vectors, Vocabulary
from firthian.errors import UnknownWordError
from firthian.evaluate.analogy import METHODS, answer
from firthian.evaluate.words import Lookup
from firthian.runtime.executor import Threads
from firthian.runtime.run import Run
from firthian.vectors import rows, search
from tests.reference import neighbors as twin


def make(words: int, dimensions: int, seed: int = 0, sparse: bool = False) -> Vectors:
    matrix = np.random.default_rng(seed).normal(size=(words, dimensions)).astype(np.float32)
    if sparse:
        matrix = scipy.sparse.csr_array(np.where(np.abs(matrix) > 0.8, matrix, 0))
    return Vectors(matrix, Vocabulary([f"w{i}" for i in range(words)], range(words, 0, -1)))


def dense(vectors: Vectors) -> np.ndarray:
    return vectors.matrix if isinstance(vectors.matrix, np.ndarray) else vectors.matrix.toarray()


def check(vectors: Vectors, found: list[tuple[str, float]], expected: list[tuple[int, float]]) -> None:
    assert [word for word, _ in found] == [vectors.vocabulary.words[i] for i, _ in expected]
    np.testing.assert_allclose([score for _, score in found], [score for _, score in expected], atol=2e-6)


@pytest.fixture(params=["dense", "sparse"])
def vectors(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Vectors:
    monkeypatch.setattr(rows, "BLOCK_ROWS", 64)
    monkeypatch.setattr(search, "BLOCK_QUERIES", 7)
    return make(500, 20, sparse=request.param == "sparse")


@pytest.mark.parametrize("topn", [1, 10, 100, 499, 10_000])
def test_neighbors_are_those_of_a_full_sort(vectors: Vectors, topn: int) -> None:
    matrix = dense(vectors)
    for word in ("w0", "w63", "w64", "w499"):
        number = vectors.vocabulary[word]
        check(vectors, vectors.most_similar(word, topn=topn), twin.nearest(matrix, matrix[number], [number], topn))


def test_a_batch_agrees_with_single_questions(vectors: Vectors) -> None:
    words = vectors.vocabulary.words[3:40]
    for word, found in zip(words, vectors.most_similar_many(words, 5), strict=True):
        single = vectors.most_similar(word, topn=5)
        assert [other for other, _ in found] == [other for other, _ in single]
        np.testing.assert_allclose([s for _, s in found], [s for _, s in single], atol=1e-6)


def test_analogies(vectors: Vectors) -> None:
    matrix = dense(vectors)
    u = twin.units(matrix)
    check(vectors, vectors.analogy("w1", "w2", "w3"), twin.nearest(matrix, u[2] - u[1] + u[3], [1, 2, 3], 10))
    check(vectors, vectors.analogy("w1", "w2", "w3", method="3cosmul"), twin.three_cos_mul(matrix, 1, 2, 3, 10))
    questions = [(f"w{i}", f"w{i + 1}", f"w{i + 2}") for i in range(30)]
    answers = vectors.analogy_many(questions, method="3cosmul")
    assert [answer[0][0] for answer in answers] == [vectors.analogy(*q, method="3cosmul")[0][0] for q in questions]


def test_evaluation_answers_as_the_vectors_do(vectors: Vectors) -> None:
    for matrix in (vectors.matrix, abs(vectors.matrix)):
        some = Vectors(matrix, vectors.vocabulary)
        ids = np.arange(90).reshape(30, 3)
        answers = answer(some, ids, Lookup(some, None), Run.create())
        for column, method in enumerate(METHODS):
            named = some.analogy_many([tuple(f"w{n}" for n in row) for row in ids], method=method)
            assert [found[0][0] for found in named] == [f"w{n}" for n in answers[:, column]]


def test_the_answer_does_not_depend_on_threads(vectors: Vectors, monkeypatch: pytest.MonkeyPatch) -> None:
    words = vectors.vocabulary.words[:50]
    many = vectors.most_similar_many(words)
    monkeypatch.setattr(search, "Threads", lambda _=None: Threads(1))
    assert vectors.most_similar_many(words) == many


def test_ties_go_to_the_earlier_word_across_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "BLOCK_ROWS", 8)
    vectors = Vectors(np.tile(np.eye(2, dtype=np.float32), (20, 1)), Vocabulary([f"w{i}" for i in range(40)]))
    assert [word for word, _ in vectors.most_similar("w38", topn=5)] == ["w0", "w2", "w4", "w6", "w8"]
    zeros = Vectors(scipy.sparse.csr_array((40, 3)), vectors.vocabulary)
    assert zeros.most_similar("w3") == []


def test_the_best_places_are_those_of_a_full_sort() -> None:
    draw = np.random.default_rng(4)
    for size in (1, 7, 300, 5000):
        scores = draw.integers(-3, 4, size).astype(np.float32)
        scores[draw.random(size) < 0.2] = -np.inf
        for values in (scores, draw.normal(size=size).astype(np.float32), np.maximum(scores, 0)):
            order = np.argsort(-values, kind="stable")
            for topn in {1, min(size, 20), size}:
                for above in (-np.inf, 0):
                    expected = order[values[order] > above][:topn]
                    assert search.top_places(values, topn, above).tolist() == expected.tolist()


def test_mixed_questions_and_restriction(vectors: Vectors) -> None:
    given = vectors["w4"]
    assert vectors.nearest_to(given, topn=1)[0][0] == "w4"
    assert [row[0][0] for row in vectors.nearest_to(vectors[["w4", "w9"]], topn=1)] == ["w4", "w9"]
    assert vectors.most_similar(given, topn=1)[0][0] == "w4"
    both = vectors.most_similar(["w1", "w2"], negative="w3", topn=3)
    given_as_vector = vectors.most_similar(["w1", vectors["w2"]], ["w3"], topn=4)
    assert [word for word, _ in both] == [word for word, _ in given_as_vector if word != "w2"][:3]
    assert all(int(word[1:]) < 70 for word, _ in vectors.most_similar("w400", topn=50, restrict_vocab=70))


def test_unknown_words_are_errors_or_counted(vectors: Vectors) -> None:
    with pytest.raises(UnknownWordError, match="did you mean"):
        vectors.most_similar("w4x")
    assert "w4x" not in vectors
    assert vectors.most_similar_many(["w1", "none"], missing="skip")[1] == []
    assert vectors.most_similar(["w1", "none"], missing="skip") == vectors.most_similar("w1")
    assert vectors.similarity("w1", "none", missing="zero") == 0
    assert vectors.missed == {"none": 3}
    with pytest.raises(FirthianError, match="missing must be"):
        vectors.most_similar("w1", missing="ignore")


def test_bad_vectors_are_refused(vectors: Vectors) -> None:
    with pytest.raises(FirthianError, match="20 numbers"):
        vectors.nearest_to(np.ones(3))
    with pytest.raises(FirthianError, match="not finite"):
        vectors.nearest_to(np.full(20, np.nan))
    broken = Vectors(np.array([[1.0, 2], [np.nan, 0]]), Vocabulary(["a", "b"]))
    with pytest.raises(FirthianError, match="'b' is not finite"):
        broken.most_similar("a")


def test_what_is_no_vector() -> None:
    with pytest.raises(FirthianError, match=r"expected numbers, got 'w1': .*most_similar"):
        make(5, 3).nearest_to("w1")
    with pytest.raises(FirthianError, match="expected numbers"):
        Vectors([[1, 2], [3]], Vocabulary(["a", "b"]))
    np.testing.assert_array_equal(Vectors([[1, 2], [3, 4]], Vocabulary(["a", "b"]))["b"], [3, 4])


@pytest.mark.parametrize("word", [5, None, 2.5, [1, 2], b"w1", ["w1", 3]])
def test_what_is_no_word(word: object) -> None:
    vectors = make(5, 3)
    for ask in (vectors.__getitem__, vectors.most_similar_many):
        with pytest.raises(FirthianError, match=r"expected (a word|words), got"):
            ask(word)
    with pytest.raises(FirthianError, match=r"expected (a word|words|a vector)"):
        vectors.most_similar(word)
    assert vectors[np.array(["w1", "w2"])].shape == (2, 3)


def test_an_analogy_has_three_words() -> None:
    with pytest.raises(FirthianError, match="must have three words"):
        make(5, 3).analogy_many([("w1", "w2")])


def test_a_matrix_among_the_words_counts_with_all_its_rows() -> None:
    vectors = make(30, 4)
    rows = np.stack([vectors["w1"], vectors["w2"]])
    assert vectors.most_similar([rows, "w3"]) == vectors.most_similar([*rows, "w3"])


def test_similarity_and_the_odd_one_out() -> None:
    vectors = Vectors(np.array([[1, 0], [2, 0.1], [1, 0.2], [-1, 3]]), Vocabulary(["a", "b", "c", "odd"]))
    assert vectors.similarity("a", "a") == pytest.approx(1)
    assert vectors.similarity("a", "odd") == pytest.approx(-1 / np.sqrt(10))
    assert vectors.doesnt_match(["a", "b", "c", "odd"]) == "odd"
    assert vectors.doesnt_match(["a", "b", "odd", "unknown"], missing="skip") == "odd"


def test_agrees_with_gensim() -> None:
    pytest.importorskip("gensim")
    from firthian.vectors.formats.gensim import to_gensim

    vectors = make(300, 12, seed=3)
    keyed = to_gensim(vectors)

    def same(ours: list[tuple[str, float]], theirs: list[tuple[str, float]]) -> None:
        assert [word for word, _ in ours] == [word for word, _ in theirs]
        np.testing.assert_allclose([s for _, s in ours], [s for _, s in theirs], atol=1e-5)

    same(vectors.most_similar("w7"), keyed.most_similar("w7"))
    same(vectors.most_similar(["w1", "w2"], ["w3", "w4"]), keyed.most_similar(["w1", "w2"], ["w3", "w4"]))
    with pytest.deprecated_call():
        theirs = keyed.most_similar_cosmul(["w2", "w3"], ["w1"])
    # Scores differ: gensim takes 1e-6 for the ε that Levy and Goldberg set to 0.001.
    ours = vectors.analogy("w1", "w2", "w3", method="3cosmul")
    assert [word for word, _ in ours] == [word for word, _ in theirs]
    assert vectors.doesnt_match(["w1", "w2", "w3", "w9"]) == keyed.doesnt_match(["w1", "w2", "w3", "w9"])
    assert vectors.similarity("w1", "w2") == pytest.approx(keyed.similarity("w1", "w2"), abs=1e-6)


def test_document_vectors() -> None:
    matrix = np.array([[1, 0], [0, 1], [4, 4]])
    vectors = Vectors(matrix, Vocabulary(["the", "cat", "sat"], [90, 5, 5]))
    np.testing.assert_allclose(vectors.document_vector("The cat, the DOG"), [2 / 3, 1 / 3], rtol=1e-6)
    assert vectors.missed == {"dog": 1}
    np.testing.assert_allclose(vectors.document_vector(["cat", "dog"], missing="zero"), [0, 0.5])
    weights = 0.1 / (0.1 + np.array([0.9, 0.05]))
    expected = weights @ matrix[:2] / weights.sum()
    np.testing.assert_allclose(vectors.document_vector("the cat", weighting="sif", smoothing=0.1), expected, rtol=1e-6)
    assert not vectors.document_vector("nothing known").any()
    # a capital anywhere in the vocabulary is one
    names = Vectors(np.ones((10_002, 1)), Vocabulary([*(f"w{number}" for number in range(10_001)), "Paris"]))
    assert names.document_vector("Paris").any()


@pytest.mark.parametrize("name", ["os:system", "whitespace:f", "unicode:f", "icux:f"])
def test_no_tokenizer_is_imported_because_a_file_names_it(name: str, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / f"{name.partition(':')[0]}.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    Vectors(np.eye(2), Vocabulary(["a", "b"]), state={"tokenizer": name}).save("v")
    with pytest.raises(FirthianError, match=f"{name}, which is not loaded from a file"):
        Vectors.load("v").document_vector("a b")


@pytest.mark.parametrize("dimensions", [1, 3, 20, 301])
def test_the_kernel_for_one_query_is_its_twin(dimensions: int) -> None:
    from firthian.kernels.analogies import scaled_products

    random = np.random.default_rng(dimensions)
    matrix = random.normal(size=(50, dimensions)).astype(np.float32)
    query, inverse = random.normal(size=dimensions).astype(np.float32), random.uniform(size=50).astype(np.float32)
    out = np.empty(50, dtype=np.float32)
    # A folder that was opened is mapped, and cannot be written to.
    matrix.flags.writeable = False
    scaled_products(matrix, query, inverse, out)
    np.testing.assert_allclose(out, twin.scaled_products(matrix, query, inverse), rtol=1e-5, atol=1e-5)


def test_one_query_has_the_same_bytes_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "KERNEL_ROWS", 100)
    monkeypatch.setattr(search, "ONE_QUERY_ROWS", 64)
    vectors = make(500, 33)
    found = []
    for workers in (1, 2, 5):
        monkeypatch.setattr(search, "check_workers", lambda _, number=workers: number)
        one = Vectors(vectors.matrix, vectors.vocabulary)
        found.append(one.most_similar("w7", topn=400))
    assert found[0] == found[1] == found[2]
    check(vectors, found[0], twin.nearest(vectors.matrix, vectors.matrix[7], [7], 400))


def test_only_one_batch_of_sparse_queries_is_dense_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "BLOCK_QUERIES", 7)
    vectors = make(60, 20, sparse=True)
    held = []
    real = search.dense_rows

    def watched(matrix, ids):
        held.append(len(ids))
        return real(matrix, ids)

    monkeypatch.setattr(search, "dense_rows", watched)
    words = vectors.vocabulary.words[:30]
    alone = [found for word in words for found in vectors.most_similar_many([word], 3)]
    for found, single in zip(vectors.most_similar_many(words, 3), alone, strict=True):
        assert [word for word, _ in found] == [word for word, _ in single]
    asked = list(zip(words, words[1:], words[2:], strict=False))
    for method in METHODS:
        assert len(vectors.analogy_many(asked, 2, method)) == 28
    assert max(held) == 7


def test_a_vector_of_zeros_answers_no_analogy_by_products() -> None:
    """All other candidates have a negative cosine with b or c: moved to 0 … 1, the cosine 0 would be the best."""
    matrix = np.array([[1, 0], [0, 1], [-1, 0.1], [0, 0], [-0.9, -0.5]])
    vectors = Vectors(matrix, Vocabulary(["a", "b", "c", "zero", "d"]))
    assert [word for word, _ in vectors.analogy("a", "b", "c", method="3cosmul")] == ["d"]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda vectors: pickle.loads(pickle.dumps(vectors)), copy.copy])
def test_vectors_are_copied_after_a_question(copied, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "ONE_QUERY_ROWS", 64)
    vectors = make(200, 5)
    vectors.state = {"core": 3}
    vectors.extras = {"bias": np.zeros(200)}
    near = vectors.most_similar("w1")
    again = copied(vectors)
    assert again.most_similar("w1") == near
    assert (again.state, again.vocabulary.words) == (vectors.state, vectors.vocabulary.words)


def test_deep_copies_share_what_is_large_and_nothing_else() -> None:
    vectors = make(20, 5)
    vectors.state, vectors.extras, vectors.contexts = {"core": 3}, {"bias": np.zeros(20)}, np.ones((20, 5))
    again = copy.deepcopy([vectors, vectors])
    assert again[0] is again[1] is not vectors
    assert again[0].matrix is vectors.matrix
    assert again[0].contexts is vectors.contexts
    assert again[0].extras["bias"] is vectors.extras["bias"]
    again[0].state["core"] = 4
    again[0].extras["more"] = np.ones(1)
    assert (vectors.state, list(vectors.extras)) == ({"core": 3}, ["bias"])


def test_scikit_learn_clones_without_a_copy_of_the_vectors() -> None:
    base = pytest.importorskip("sklearn.base")
    from firthian.adapt import RPAClassifier

    vectors = make(20_000, 2)
    vectors.most_similar("w1")
    assert base.clone(RPAClassifier(vectors)).vectors.matrix is vectors.matrix


@pytest.mark.parametrize("smoothing", [0, -1, np.nan, np.inf, "much"])
def test_smoothing_that_gives_no_weights_is_refused(smoothing: object) -> None:
    vectors = Vectors(np.eye(2), Vocabulary(["a", "b"], [3, 2]))
    with pytest.raises(FirthianError, match="smoothing must be a number"):
        vectors.document_vector(["a"], weighting="sif", smoothing=smoothing)


def test_words_looked_up_in_vain_do_not_fill_memory(monkeypatch):
    monkeypatch.setattr("firthian.vectors.lookup.MOST_MISSED", 2)
    vectors = Vectors(np.eye(1), Vocabulary(["cat"]))
    vectors.numbers(["x", "y", "z", "x"], missing="skip")
    assert vectors.missed == {"x": 2, "y": 1}


def test_several_texts_are_not_taken_for_tokens():
    vectors = Vectors(np.eye(2), Vocabulary(["a", "new york"]))
    assert vectors.document_vector(["a", "new york"]).tolist() == [0.5, 0.5]
    with pytest.raises(FirthianError, match=r"one text or a list of tokens, got 'a text'.* once per text"):
        vectors.document_vector(["a text", "another"])
