"""The classifiers on texts: planted topics found, equal answers by different roads, streams, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from firthian.adapt import PAClassifier, RPAClassifier
from firthian.adapt.checks import ParameterError
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.rows import dense_rows
from firthian.vectors.vectors import Vectors
from tests.adapt.conftest import COMMON, TOPICS
from tests.reference import adapt as slow

KINDS = [
    pytest.param(lambda: RPAClassifier("random:20"), id="rpa"),
    pytest.param(lambda: RPAClassifier("random:20", inner="walking", averaged=False), id="rpa-walking"),
    pytest.param(lambda: RPAClassifier("random:20", multi_class="shared"), id="rpa-shared"),
    pytest.param(lambda: RPAClassifier("random:20", one_hot=1.0, weighting="binary"), id="rpa-one-hot"),
    pytest.param(lambda: PAClassifier("onehot"), id="pa-one-hot"),
    pytest.param(lambda: PAClassifier("onehot", multi_class="shared"), id="pa-shared"),
]


@pytest.mark.parametrize("make", KINDS)
def test_planted_topics_are_found(make, two_topics, three_topics):
    for texts, labels, test, truth in (two_topics, three_topics):
        model = make().fit(texts, labels)
        assert model.score(test, truth) > 0.95
        assert model.classes_.tolist() == sorted(set(labels))


@pytest.mark.parametrize("make", KINDS)
def test_texts_tokens_and_counts_give_the_same(make, three_topics):
    texts, labels, test, _ = three_topics
    model = make().fit(texts, labels)
    expected = model.decision_function(test)
    by_tokens = make().fit([text.split() for text in texts], labels)
    np.testing.assert_array_equal(by_tokens.decision_function([text.split() for text in test]), expected)
    index = model.vocabulary_.index

    def counts(documents):
        table = np.zeros((len(documents), len(index)))
        for row, document in enumerate(documents):
            for word in document.split():
                table[row, index[word]] += 1
        return table

    params = {} if model.weighting != "auto" else {"weighting": "tfidf"}
    by_counts = make().set_params(**params).fit(counts(texts), labels)
    np.testing.assert_allclose(by_counts.decision_function(counts(test)), expected, rtol=1e-5, atol=1e-5)
    by_sparse = make().set_params(**params).fit(csr_array(counts(texts)), labels)
    np.testing.assert_array_equal(
        by_sparse.decision_function(csr_array(counts(test))), by_counts.decision_function(counts(test))
    )


def test_the_estimator_is_the_algorithm(two_topics, vectors):
    """Against the plain loop: 0/1 bags, scaled by 1 / |Phi_0 x|, one pass in the given order."""
    texts, labels, _, _ = two_topics
    model = RPAClassifier(vectors, weighting="binary", passes=1, shuffle=False, C=0.5, lam=0.1, tol=1e-10).fit(
        texts, labels
    )
    words = model.vocabulary_.words
    X = np.array([[word in text.split() for word in words] for text in texts], dtype=float)
    base = np.array(
        [vectors.matrix[vectors.vocabulary[word]] if word in vectors.vocabulary else np.zeros(12) for word in words]
    )
    X /= np.linalg.norm(X @ base, axis=1, keepdims=True)
    y = np.where(np.array(labels) == model.classes_[1], 1.0, -1.0)
    expected = slow.rpa(X, y, base.T, 0.5, 0.1)
    np.testing.assert_allclose(model.embedding_.matrix, expected["mean_phi"].T, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(
        model.decision_function(texts), X @ expected["mean_phi"].T @ expected["mean_w"], rtol=1e-3, atol=1e-3
    )
    assert model.n_unknown_words_ == sum(word not in vectors.vocabulary for word in words)


def test_frozen_rpa_is_pa(two_topics, vectors):
    texts, labels, test, _ = two_topics
    frozen = RPAClassifier(vectors, lam=np.inf, C=0.1).fit(texts, labels)
    plain = PAClassifier(vectors).fit(texts, labels)
    np.testing.assert_allclose(frozen.decision_function(test), plain.decision_function(test), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(frozen.embedding_.matrix, frozen.base_)
    assert frozen.moved_words() == []


def test_pa_agrees_with_the_plain_loop(two_topics):
    texts, labels, test, _ = two_topics
    model = PAClassifier("onehot", weighting="binary", passes=1, shuffle=False, averaged=False, C=2.0).fit(
        texts, labels
    )
    y = np.where(np.array(labels) == model.classes_[1], 1.0, -1.0)
    weights, _ = slow.pa(model.transform(texts).toarray().astype(float), y, 2.0)
    np.testing.assert_allclose(model.decision_function(test), model.transform(test) @ weights, rtol=1e-4, atol=1e-5)


def test_words_of_the_topics_move_most_and_towards_their_topic(three_topics):
    texts, labels, _, _ = three_topics
    moved = RPAClassifier("random:20").fit(texts, labels).moved_words(topn=12)
    assert len(moved) == 12
    assert not {entry["word"] for entry in moved} & set(COMMON)
    assert all(entry["word"] in TOPICS[entry["towards"]] for entry in moved)


def test_blocks_of_classes(three_topics):
    texts, labels, test, _ = three_topics
    model = RPAClassifier("random:20").fit(texts, labels)
    assert model.embedding_.matrix.shape == (len(model.vocabulary_), 60)
    assert model.transform(test).shape == (60, 60)
    one = model.embedding_of("colors").matrix
    np.testing.assert_array_equal(model.embedding_.matrix[:, 20:40], one)
    np.testing.assert_array_equal(model.transform(test, "colors"), model.transform(test)[:, 20:40])
    shared = RPAClassifier("random:20", multi_class="shared").fit(texts, labels)
    assert shared.embedding_.matrix.shape == (len(shared.vocabulary_), 20)
    with pytest.raises(ParameterError, match="unknown class 'colour': did you mean colors"):
        model.embedding_of("colour")


def test_only_moved_rows_are_kept(two_topics, vectors):
    texts, labels, _, _ = two_topics
    more = Vectors(
        np.vstack([vectors.matrix, np.ones((500, 12))]),
        Vocabulary([*vectors.vocabulary, *(f"x{n}" for n in range(500))]),
    )
    model = RPAClassifier(more, unseen="vectors").fit(texts, labels)
    learner = model.ensemble_.learners[0]
    assert len(model.vocabulary_) > 500
    assert learner.phi.rows.shape[0] < 60
    np.testing.assert_array_equal(model.embedding_.matrix[-500:], more.matrix[-500:].astype(np.float32))
    # A word that only the vectors know has a say.
    assert model.decision_function(["x3"])[0] != 0
    assert RPAClassifier(more).fit(texts, labels).decision_function(["x3"])[0] == 0


def test_workers_change_nothing(three_topics):
    texts, labels, test, _ = three_topics
    one = RPAClassifier("random:20", n_jobs=1).fit(texts, labels).decision_function(test)
    for jobs in (3, -1):
        more = RPAClassifier("random:20", n_jobs=jobs).fit(texts, labels)
        np.testing.assert_array_equal(more.decision_function(test), one)


def test_seeds_decide(two_topics):
    texts, labels, test, _ = two_topics
    a, b, c = (RPAClassifier("random:20", random_state=s).fit(texts, labels).decision_function(test) for s in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert (a != c).any()


def test_class_weights_raise_the_say_of_the_rare(two_topics):
    texts, labels, test, truth = two_topics
    first = sorted(set(labels))[0]
    few = [n for n, label in enumerate(labels) if label != first or n % 12 == 0]
    texts, labels = [texts[n] for n in few], [labels[n] for n in few]

    def recall(**params):
        found = RPAClassifier("random:20", C=0.001, passes=1, **params).fit(texts, labels).predict(test)
        return np.mean(found[np.array(truth) == first] == first)

    assert recall(class_weight="balanced") > recall()
    assert recall(class_weight={first: 50.0}) > recall()


# Neighboring words


@pytest.mark.parametrize(
    "make", [lambda v, n: RPAClassifier(v, ngrams=n), lambda v, n: PAClassifier("onehot", ngrams=n)]
)
def test_only_ngrams_see_the_order_of_words(make, vectors):
    random = np.random.default_rng(0)
    labels = random.choice(["for", "against"], 120).tolist()
    texts = [
        " ".join([*random.choice(COMMON, 3), *(("cat", "dog") if label == "for" else ("dog", "cat")), "the"])
        for label in labels
    ]
    assert make(vectors, 1).fit(texts[:80], labels[:80]).score(texts[80:], labels[80:]) < 0.8
    model = make(vectors, 2).fit(texts[:80], labels[:80])
    assert model.score(texts[80:], labels[80:]) == 1.0
    assert {"cat dog", "dog cat", "<s> the"} <= set(model.vocabulary_.words)


def test_ngrams_are_no_words_to_others(two_topics, vectors):
    texts, labels, _, _ = two_topics
    plain, model = (RPAClassifier(vectors, ngrams=n).fit(texts, labels) for n in (1, 3))
    assert len(model.vocabulary_) > len(plain.vocabulary_)
    assert sorted(model.embedding_.vocabulary.words) == sorted(plain.vocabulary_.words)
    assert model.n_unknown_words_ == plain.n_unknown_words_ > 0
    assert model.vocabulary_.counts[[" " in word for word in model.vocabulary_.words]].min() >= 2
    moved = model.moved_words(topn=len(model.vocabulary_))
    row = {word: n for n, word in enumerate(model.embedding_.vocabulary.words)}
    for entry in moved:
        if entry["word"] in row:
            before = model.base_[model.vocabulary_[entry["word"]]]
            after = model.embedding_.matrix[row[entry["word"]]]
            assert entry["moved"] == pytest.approx(np.linalg.norm(after - before), rel=1e-4)


def test_a_matrix_has_no_neighbors():
    with pytest.raises(ParameterError, match="n-grams need texts or tokens"):
        RPAClassifier("random:3", ngrams=2).fit(np.eye(4), [0, 1, 0, 1])


# Streams


@pytest.mark.parametrize("make", KINDS)
def test_a_stream_in_pieces_is_one_pass(make, three_topics):
    """idf and random vectors come from the first piece, so the pieces share a first piece that has every word."""
    texts, labels, test, _ = three_topics
    whole = make().set_params(passes=1, shuffle=False, weighting="binary").fit(texts, labels)
    stream = make().set_params(weighting="binary")
    stream.partial_fit(texts[:150], labels[:150], classes=np.unique(labels))
    assert len(stream.vocabulary_) == len(whole.vocabulary_)
    order = [whole.vocabulary_[word] for word in stream.vocabulary_.words]
    if stream.base_.shape[1]:
        # The same words, but numbered by other counts: give the stream the vectors of the whole.
        known = Vectors(whole.base_[order], stream.vocabulary_)
        stream = make().set_params(weighting="binary", vectors=known)
        whole = make().set_params(passes=1, shuffle=False, weighting="binary", vectors=known).fit(texts, labels)
        stream.partial_fit(texts[:150], labels[:150], classes=np.unique(labels))
    for text, label in zip(texts[150:], labels[150:], strict=True):
        stream.partial_fit([text], [label])
    np.testing.assert_allclose(stream.decision_function(test), whole.decision_function(test), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("make", KINDS)
def test_classes_and_words_grow(make, three_topics):
    texts, labels, test, truth = three_topics
    order = np.argsort(labels, kind="stable")
    model = make()
    model.partial_fit([texts[n] for n in order[:3]], [labels[n] for n in order[:3]])
    with pytest.raises(ParameterError, match="only one class"):
        model.predict(test)
    words = len(model.vocabulary_)
    for _ in range(3):
        for first in range(0, len(order), 25):
            some = order[first : first + 25]
            model.partial_fit([texts[n] for n in some], [labels[n] for n in some])
    model.partial_fit(texts, labels)
    assert len(model.vocabulary_) > words
    assert model.classes_.tolist() == sorted(TOPICS)
    assert model.score(test, truth) > 0.9


def test_growing_from_two_classes_keeps_what_was_learned(two_topics):
    texts, labels, test, _ = two_topics
    model = RPAClassifier("random:20").partial_fit(texts, labels)
    before = model.decision_function(test)
    model.partial_fit(["entirely new words"], ["zebra"])
    after = model.decision_function(test)
    assert after.shape == (60, 3)
    np.testing.assert_allclose(after[:, 1], before, rtol=1e-3, atol=2e-2)
    np.testing.assert_allclose(after[:, 0], -before, rtol=1e-3, atol=2e-2)


def test_named_classes_are_final(two_topics):
    texts, labels, _, _ = two_topics
    model = RPAClassifier().partial_fit(texts, labels, classes=["animals", "colors"])
    words = len(model.vocabulary_)
    with pytest.raises(ParameterError, match="label 'plants' is not one of the classes"):
        model.partial_fit(["a rose"], ["plants"])
    with pytest.raises(ParameterError, match="classes differ"):
        model.partial_fit(["a brown fox"], ["animals"], classes=["animals", "plants"])
    assert len(model.vocabulary_) == words
    fresh = RPAClassifier()
    with pytest.raises(ParameterError, match="label 'animals' is not one of the classes"):
        fresh.partial_fit(texts, labels, classes=["plants", "colors"])
    assert fresh.partial_fit(texts, labels).classes_.tolist() == ["animals", "colors"]
    with pytest.raises(ParameterError, match="expected two or more classes, got 1"):
        RPAClassifier().partial_fit(texts, labels, classes=["animals"])
    with pytest.raises(ParameterError, match="balanced"):
        RPAClassifier(class_weight="balanced").partial_fit(texts, labels)


@pytest.mark.parametrize("number", [np.float32, np.float64, int])
def test_numbers_of_any_kind_are_numbers(two_topics, number):
    texts, labels, test, _ = two_topics
    model, plain = (RPAClassifier("random:10", C=kind(1), lam=kind(1)).fit(texts, labels) for kind in (number, float))
    np.testing.assert_array_equal(model.decision_function(test), plain.decision_function(test))


# As part of scikit-learn


def test_in_a_pipeline_and_a_grid(two_topics):
    texts, labels, test, truth = two_topics
    line = make_pipeline(RPAClassifier("random:10"), PAClassifier())
    assert line.fit(texts, labels).score(test, truth) > 0.9
    grid = GridSearchCV(RPAClassifier("random:10"), {"C": [1e-9, 0.1]}, cv=3).fit(texts, labels)
    assert grid.best_params_ == {"C": 0.1}
    copy = clone(grid.best_estimator_)
    assert copy.get_params()["C"] == 0.1
    assert not hasattr(copy, "classes_")


# Bad input


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"C": 0}, "C must be larger than 0"),
        ({"C": np.inf}, "hard margin"),
        ({"C": 1e-320}, "C must be from 1e-20 to 1e20, got 1e-320"),
        ({"C": 1e300}, "C must be from 1e-20 to 1e20"),
        ({"C": np.nan}, "C must be larger than 0, got nan"),
        ({"lam": 0.0}, "lam must be larger than 0, got 0.0: auto is a good start"),
        ({"lam": -3}, "lam must be larger than 0, got -3"),
        ({"lam": np.nan}, "lam must be "),
        ({"lam": 1e-320}, "lam must be from 1e-20 to 1e20, got 1e-320"),
        ({"lam": "stiff"}, "lam must be a number or auto, got 'stiff'"),
        ({"passes": 0}, "passes must be"),
        ({"inner": "ankored"}, "did you mean anchored"),
        ({"weighting": "bm25"}, "weighting must be one of"),
        ({"multi_class": "ovo"}, "multi_class must be one of"),
        ({"one_hot": -1.0}, "one_hot must be"),
        ({"ngrams": 0}, "ngrams must be an integer from 1 to 5"),
        ({"ngrams": 1.5}, "ngrams must be an integer from 1 to 5"),
        ({"class_weight": "even"}, "class_weight must be"),
        ({"class_weight": {"plants": 2.0}}, "class_weight names an unknown class, 'plants'"),
        ({"class_weight": {"animals": 0.0}}, "class_weight must be a number above 0, got 0.0 for 'animals'"),
        ({"class_weight": {"animals": np.inf}}, "class_weight must be a number above 0, got inf"),
        ({"class_weight": {"animals": "much"}}, "class_weight must be a number above 0, got 'much'"),
        ({"vectors": "onehot"}, "no vectors to re-embed"),
        ({"vectors": "random:no"}, "has no dimension"),
        ({"vectors": "nowhere"}, "neither vectors nor random"),
        ({"tokenizer": "nope"}, "unknown tokenizer 'nope'"),
        ({"tokenizer": None}, "tokenizer must be a name or a Tokenizer, got None"),
        ({"one_hot": "yes"}, "one_hot must be"),
        ({"min_count": "2"}, "min_count must be an integer of at least 1, got '2'"),
        ({"max_inner": 1.5}, "max_inner must be an integer of at least 1, got 1.5"),
        ({"tol": "small"}, "tol must be a number of at least 0, got 'small'"),
        ({"n_jobs": "2"}, "n_jobs must be"),
    ],
)
def test_bad_parameters(two_topics, change, says):
    from firthian.errors import FirthianError

    with pytest.raises(FirthianError, match=says):
        RPAClassifier().set_params(**change).fit(two_topics[0], two_topics[1])


@pytest.mark.parametrize(
    ("X", "y", "says"),
    [
        (["a text", "another"], ["same", "same"], "only one class, .*same"),
        (["a text", 3.5], ["a", "b"], "document 2 is a float"),
        ([["a"], ["b", 7]], ["a", "b"], "document 2 contains a int"),
        ("a text", ["a"], "expected a list of texts, got one string"),
        (["", "..."], ["a", "b"], r"no usable words \(0 distinct"),
        (["a", "b", "c"], ["x", "y"], "inconsistent numbers of samples"),
        ([], [], "there are no documents"),
    ],
)
def test_bad_documents(X, y, says):
    with pytest.raises(Exception, match=says) as caught:
        RPAClassifier().fit(X, y)
    assert isinstance(caught.value, ValueError) or "no usable" in says


def test_no_documents_are_no_matrix(two_topics):
    with pytest.raises(ParameterError, match="there are no documents"):
        PAClassifier("onehot").fit(two_topics[0], two_topics[1]).predict([])


@pytest.mark.parametrize("method", ["predict", "decision_function"])
def test_a_refused_start_leaves_nothing_fitted(two_topics, method):
    texts, labels, _, _ = two_topics
    streamed, refitted = PAClassifier("onehot"), PAClassifier("onehot").fit(texts, labels)
    with pytest.raises(ParameterError, match="is not one of the classes"):
        streamed.partial_fit(texts, labels, classes=["x", "y"])
    with pytest.raises(ParameterError, match="only one class"):
        refitted.fit(texts, ["same"] * len(texts))
    for model in (streamed, refitted):
        with pytest.raises(NotFittedError):
            getattr(model, method)(texts)


def test_texts_after_a_matrix_have_no_columns(two_topics):
    model = PAClassifier("onehot").fit(np.eye(4), [0, 1, 0, 1])
    assert model.n_features_in_ == 4
    model.fit(two_topics[0], two_topics[1])
    assert not hasattr(model, "n_features_in_")


def test_sparse_vectors_are_looked_up_in_blocks(monkeypatch, two_topics, vectors):
    texts, labels, test, _ = two_topics
    sparse = Vectors(csr_array(vectors.matrix), vectors.vocabulary)
    monkeypatch.setattr("firthian.adapt.vectors.BLOCK_ROWS", 3)
    looked_up = []

    def watched(matrix, ids):
        looked_up.append(len(ids))
        return dense_rows(matrix, ids)

    monkeypatch.setattr("firthian.adapt.vectors.dense_rows", watched)
    one, other = (RPAClassifier(given).fit(texts, labels).decision_function(test) for given in (sparse, vectors))
    np.testing.assert_array_equal(one, other)
    assert max(looked_up) == 3


def test_vectors_and_matrix_of_different_sizes(vectors):
    with pytest.raises(ParameterError, match="the matrix has 3 columns, but there are vectors of 20 words"):
        RPAClassifier(vectors).fit(np.eye(3), [0, 1, 0])


def test_vectors_that_know_no_word():
    from firthian.errors import FirthianError

    strange = Vectors(np.ones((1, 3), np.float32), Vocabulary(["zzz"]))
    with pytest.raises(FirthianError, match="Remark 1"):
        RPAClassifier(strange).fit(["a b", "c d"], ["x", "y"])


def test_the_scale_of_the_vectors_does_not_matter(two_topics, vectors):
    texts, labels, test, _ = two_topics
    one, large = (
        RPAClassifier(Vectors(scale * vectors.matrix, vectors.vocabulary)).fit(texts, labels).decision_function(test)
        for scale in (1, 64)
    )
    np.testing.assert_allclose(one, large, rtol=1e-3, atol=1e-3)


def test_texts_for_a_classifier_of_matrices(two_topics):
    model = RPAClassifier().fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(ParameterError, match="fitted on matrix"):
        model.predict(two_topics[0])


@pytest.mark.parametrize("make", KINDS)
def test_empty_documents_are_counted_and_fall_to_the_first_class(make, three_topics):
    texts, labels, _, _ = three_topics
    model = make().fit([*texts, "", "?!"], [*labels, "colors", "numbers"])
    assert model.n_empty_ == 2
    scores = model.decision_function(["", "unheard-of"])
    assert not scores.any()
    assert model.predict([""]).tolist() == ["animals"]
