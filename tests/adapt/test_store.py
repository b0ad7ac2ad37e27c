"""Saved classifiers: the same answers after loading, more learning after loading, damage noticed, nothing imported."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("sklearn")
from firthian.adapt import PAClassifier, RPAClassifier, load
from firthian.disk.artifact import write_manifest
from firthian.errors import FirthianError
from firthian.text.tokenizer import Tokenizer

KINDS = [
    pytest.param(lambda v: RPAClassifier("random:8"), id="random"),
    pytest.param(lambda v: RPAClassifier(v, one_hot=1.0, class_weight={"animals": 2.0}), id="given-one-hot"),
    pytest.param(lambda v: RPAClassifier(v, multi_class="shared"), id="shared"),
    pytest.param(lambda v: RPAClassifier(v, ngrams=2), id="ngrams"),
    pytest.param(lambda v: PAClassifier(v, one_hot=0.5), id="pa"),
    pytest.param(lambda v: PAClassifier("onehot", keep_case=True, tokenizer="whitespace"), id="pa-one-hot"),
]


@pytest.mark.parametrize("make", KINDS)
def test_round_trip(tmp_path, make, three_topics, vectors):
    texts, labels, test, _ = three_topics
    model = make(vectors).fit(texts, labels)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.decision_function(test), model.decision_function(test))
    assert again.predict(test).tolist() == model.predict(test).tolist()
    assert again.history_ == model.history_
    again.partial_fit(texts[:20], labels[:20])
    model.partial_fit(texts[:20], labels[:20])
    np.testing.assert_array_equal(again.decision_function(test), model.decision_function(test))
    model.save(tmp_path / "n")
    with pytest.raises(FirthianError, match="already exists"):
        model.save(tmp_path / "n")


def test_matrices_and_numbers_as_labels(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 4))
    y = (X[:, 0] > 0).astype(int) * 3
    model = RPAClassifier("random:5").fit(X, y)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.n_features_in_ == 4
    assert again.predict(X).dtype.kind == "i"
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("fold_numbers", [False, True])
def test_a_tokenizer_comes_back_whole(tmp_path, fold_numbers):
    texts, labels = ["US Polish 1 firm", "us polish 2 nails"] * 4, ["a", "b"] * 4
    cut = Tokenizer("unicode", keep_case=True, fold_numbers=fold_numbers)
    model = PAClassifier("onehot", tokenizer=cut).fit(texts, labels)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again._tokenizer().describe() == cut.describe()
    np.testing.assert_array_equal(again.decision_function(["US Polish"]), model.decision_function(["US Polish"]))


@pytest.mark.parametrize(("seed", "kept"), [(np.int64(5), 5), (7, 7), (None, None), (np.random.RandomState(1), None)])
def test_seeds_that_are_numbers_come_back(tmp_path, two_topics, seed, kept):
    PAClassifier("onehot", random_state=seed).fit(two_topics[0], two_topics[1]).save(tmp_path / "m")
    assert load(tmp_path / "m").random_state == kept


@pytest.fixture
def saved(tmp_path, two_topics):
    RPAClassifier("random:8").fit(two_topics[0], two_topics[1]).save(tmp_path / "m")
    return tmp_path / "m"


def test_same_bytes_from_the_same_seed(saved, tmp_path, two_topics, folder_bytes):
    RPAClassifier("random:8").fit(two_topics[0], two_topics[1]).save(tmp_path / "n")
    assert folder_bytes(saved) == folder_bytes(tmp_path / "n")


@pytest.mark.parametrize("name", ["model.json", "model.safetensors", "words.txt"])
def test_damage_is_noticed(saved, name):
    path = saved / name
    data = bytearray(path.read_bytes())
    for damaged in (bytes(data[: len(data) // 2]), b"", bytes([*data[:-3], data[-3] ^ 1, *data[-2:]])):
        path.write_bytes(damaged)
        with pytest.raises(FirthianError):
            load(saved)
    path.unlink()
    with pytest.raises(FirthianError):
        load(saved)


@pytest.mark.parametrize(
    "change",
    [
        {"estimator": "Popen"},
        {"classes": ["a", "b", "c"]},
        {"learners": []},
        {"parameters": {"C": 1}},
        {"facts": None},
        {"random": None, "files": 7},
        {"files": {}},
        {"files": {"model.safetensors": {}}},
        {"words": {"number": 3}},
    ],
)
def test_a_hostile_manifest_is_refused(saved, change):
    record = json.loads((saved / "model.json").read_text())
    del record["checksum"], record["kind"], record["version"]
    write_manifest(saved / "model.json", "a classifier", record | change)
    with pytest.raises(FirthianError):
        load(saved)


@pytest.mark.parametrize("clock", [-1, 2**63, 10**400, float("inf"), float("nan")])
def test_a_clock_that_no_learning_gives_is_refused(saved, clock):
    record = json.loads((saved / "model.json").read_text())
    del record["checksum"], record["kind"], record["version"]
    record["learners"][0]["clock"] = clock
    write_manifest(saved / "model.json", "a classifier", record)
    with pytest.raises(FirthianError, match="is damaged"):
        load(saved)


def test_a_file_does_not_say_what_is_imported(saved):
    record = json.loads((saved / "model.json").read_text())
    del record["checksum"], record["kind"], record["version"]
    record["tokenizer"]["tokenizer"] = "os:system"
    write_manifest(saved / "model.json", "a classifier", record)
    with pytest.raises(FirthianError, match="a custom tokenizer, os:system"):
        load(saved)


def test_a_tokenizer_of_ones_own_is_given_again(tmp_path, two_topics):
    texts, labels, test, _ = two_topics
    own = Tokenizer("textwrap:dedent", function=lambda text: text.split())
    model = RPAClassifier("random:8", tokenizer=own).fit(texts, labels)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m", tokenizer=own)
    np.testing.assert_array_equal(again.decision_function(test), model.decision_function(test))


def test_words_that_come_after_loading(tmp_path, two_topics, vectors):
    texts, labels, _, _ = two_topics
    small = [text for text in texts if "cat" not in text.split()]
    kept = [label for text, label in zip(texts, labels, strict=True) if "cat" not in text.split()]
    model = RPAClassifier(vectors).fit(small, kept)
    model.save(tmp_path / "m")
    model.partial_fit(["the cat"], ["animals"])
    again = load(tmp_path / "m", vectors=vectors).partial_fit(["the cat"], ["animals"])
    np.testing.assert_array_equal(again.decision_function(["cat", "dog"]), model.decision_function(["cat", "dog"]))
    alone = load(tmp_path / "m").partial_fit(["the cat"], ["animals"])
    assert not alone.base_[alone.vocabulary_["cat"]].any()
    with pytest.raises(FirthianError, match="vectors of 5 dimensions for a classifier of 12"):
        load(tmp_path / "m", vectors="random:5")
