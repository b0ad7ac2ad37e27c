"""Sixty calls that users of gensim, numpy, pandas and scikit-learn make, from the documentation of those libraries.

Each is typed as its own library has it, and gives what that library gives for the same words and vectors; those that
cannot work fail with the right call in the message.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import firthian as ft

WORDS = ["the", "king", "queen", "man", "woman", "tea", "coffee", "river"]
CORPUS = [["hot", "tea", "now"], ["cold", "tea", "later"], ["hot", "sun", "now"]] * 10


@pytest.fixture(scope="module")
def vectors() -> ft.Vectors:
    matrix = np.random.default_rng(5).normal(size=(len(WORDS), 6)).astype(np.float32)
    return ft.Vectors(matrix, ft.Vocabulary(WORDS, list(range(80, 0, -10))))


@pytest.fixture(scope="module")
def gensim(vectors: ft.Vectors) -> Any:
    return pytest.importorskip("gensim.models") and vectors.to_gensim()


#: Calls of gensim's KeyedVectors, which must give the same there and here.
KEYED: dict[str, Callable[[Any], Any]] = {
    "len": len,
    "in": lambda kv: ("tea" in kv, "milk" in kv),
    "word": lambda kv: kv["tea"],
    "words": lambda kv: kv[["tea", "river"]],
    "index_to_key": lambda kv: kv.index_to_key,
    "key_to_index": lambda kv: kv.key_to_index,
    "vectors": lambda kv: kv.vectors,
    "vector_size": lambda kv: kv.vector_size,
    "get_vector": lambda kv: kv.get_vector("tea"),
    "get_vector norm": lambda kv: kv.get_vector("tea", norm=True),
    "get_normed_vectors": lambda kv: kv.get_normed_vectors(),
    "get_index": lambda kv: (kv.get_index("tea"), kv.get_index("milk", -1)),
    "has_index_for": lambda kv: (kv.has_index_for("tea"), kv.has_index_for("milk")),
    "get_vecattr": lambda kv: kv.get_vecattr("tea", "count"),
    "get_mean_vector": lambda kv: kv.get_mean_vector(["tea", "coffee", "milk"]),
    "get_mean_vector weighted": lambda kv: kv.get_mean_vector(["tea", "man"], weights=[2, -1], post_normalize=True),
    "most_similar": lambda kv: kv.most_similar("tea", topn=3),
    "most_similar positional": lambda kv: kv.most_similar(["king", "woman"], ["man"]),
    "most_similar keywords": lambda kv: kv.most_similar(positive=["king", "woman"], negative=["man"], topn=2),
    "most_similar weights": lambda kv: kv.most_similar(positive=[("king", 2.0), "woman"], negative="man"),
    "most_similar vector": lambda kv: kv.most_similar(positive=[kv["tea"]], topn=3),
    "most_similar restricted": lambda kv: kv.most_similar("tea", restrict_vocab=4),
    "most_similar all": lambda kv: kv.most_similar("tea", topn=None),
    "similar_by_word": lambda kv: kv.similar_by_word("tea"),
    "similar_by_key": lambda kv: kv.similar_by_key("tea", 2),
    "similar_by_vector": lambda kv: kv.similar_by_vector(kv["tea"], topn=2),
    "most_similar_cosmul": lambda kv: [word for word, _ in kv.most_similar_cosmul(["king", "woman"], ["man"], topn=3)],
    "most_similar_to_given": lambda kv: kv.most_similar_to_given("tea", ["king", "coffee", "river"]),
    "closer_than": lambda kv: kv.closer_than("tea", "river"),
    "rank": lambda kv: kv.rank("tea", "river"),
    "rank_by_centrality": lambda kv: [word for _, word in kv.rank_by_centrality(["tea", "coffee", "king"])],
    "similarity": lambda kv: kv.similarity("tea", "coffee"),
    "distance": lambda kv: kv.distance("tea", "coffee"),
    "distances": lambda kv: kv.distances("tea"),
    "distances to some": lambda kv: kv.distances("tea", ["coffee", "king"]),
    "n_similarity": lambda kv: kv.n_similarity(["tea", "coffee"], ["king", "queen"]),
    "cosine_similarities": lambda kv: kv.cosine_similarities(kv["tea"], kv[["king", "queen"]]),
    "relative_cosine_similarity": lambda kv: kv.relative_cosine_similarity("tea", "coffee", topn=5),
    "doesnt_match": lambda kv: kv.doesnt_match(["king", "queen", "tea"]),
    "vectors_for_all": lambda kv: kv.vectors_for_all(["river", "tea", "milk"]).index_to_key,
}  # fmt: skip


def same(ours: Any, theirs: Any) -> None:
    first = theirs[0] if isinstance(theirs, list) and theirs else theirs
    if isinstance(theirs, list) and isinstance(first, tuple):
        assert [word for word, _ in ours] == [word for word, _ in theirs]
        ours, theirs = (np.array([score for _, score in items]) for items in (ours, theirs))
    if isinstance(theirs, np.ndarray | np.floating | float):
        np.testing.assert_allclose(ours, theirs, atol=2e-6)
    else:
        assert ours == theirs


@pytest.mark.parametrize("name", KEYED)
@pytest.mark.filterwarnings("ignore::DeprecationWarning:gensim")
def test_keyed_vectors(name: str, vectors: ft.Vectors, gensim: Any) -> None:
    same(KEYED[name](vectors), KEYED[name](gensim))


def test_files_of_word2vec(vectors: ft.Vectors, gensim: Any, tmp_path: Path) -> None:
    for binary in (False, True):
        vectors.save_word2vec_format(str(tmp_path / "ours"), binary=binary)
        vectors.save_word2vec_format(str(tmp_path / "ours"), binary=binary)
        read = type(gensim).load_word2vec_format(str(tmp_path / "ours"), binary=binary)
        assert read.index_to_key == WORDS
        gensim.save_word2vec_format(str(tmp_path / "theirs"), binary=binary)
        again = ft.Vectors.load_word2vec_format(str(tmp_path / "theirs"), binary=binary, limit=3)
        assert list(again) == WORDS[:3]
        np.testing.assert_allclose(again["king"], vectors["king"], rtol=1e-6)


def test_save_and_load(vectors: ft.Vectors, tmp_path: Path) -> None:
    vectors.save(tmp_path / "model")
    assert list(ft.Vectors.load(tmp_path / "model").wv) == WORDS


#: Calls of gensim's Word2Vec.
TRAINED: dict[str, Callable[[], ft.Vectors]] = {
    "sentences": lambda: ft.train(CORPUS, vector_size=4, window=2, min_count=1, sample=0, workers=1),
    "sentences by name": lambda: ft.train(sentences=CORPUS, vector_size=4, window=2, min_count=1, sample=0, workers=1),
    "skip-gram": lambda: ft.train(CORPUS, vector_size=4, min_count=1, sg=1, hs=0, negative=5, sample=0, seed=2),
    "CBOW": lambda: ft.train(CORPUS, vector_size=4, min_count=1, sg=0, negative=5, sample=0, epochs=2, alpha=0.05),
    "sampling": lambda: ft.train(CORPUS, vector_size=4, min_count=1, sample=0.1, ns_exponent=0.75),
}


@pytest.mark.parametrize("name", TRAINED)
def test_word2vec(name: str) -> None:
    trained = TRAINED[name]()
    assert trained.wv["tea"].shape == (4,)
    assert trained.provenance.recipe == ("sgns-sgd" if name == "CBOW" else "sgns")


def test_windows_and_counts_reach_the_counting() -> None:
    trained = ft.train(CORPUS, vector_size=2, window=1, min_count=15, sample=0)
    assert set(trained) == {"hot", "tea", "now"}
    assert trained.provenance.counts["options"]["window"] == 1


def test_names_of_other_tools_find_what_they_mean(firth: Any, tmp_path: Path) -> None:
    """``word2vec``, ``skipgram``, ``lsi``, ``cbow`` and ``fasttext`` in Python and on the command line."""
    meant = {"word2vec": "sgns-sgd", "skipgram": "sgns", "lsi": "lsa", "cbow": "sgns-sgd", "fasttext": "sgns"}
    for name, recipe in meant.items():
        trained = ft.train(CORPUS, name, vector_size=2, min_count=1, sample=0)
        assert trained.provenance.recipe == recipe
        assert trained.provenance.options.get("cbow", False) == (name == "cbow")
        assert (trained.subwords is not None) == (name == "fasttext")
    (tmp_path / "text.txt").write_text("\n".join(map(" ".join, CORPUS)))
    done = firth("train", tmp_path / "text.txt", "-m", "fasttext", "--dim", "2", "--sample", "0", "-o", tmp_path / "v")
    assert done.code == 0
    assert "n-grams" in done.out


def test_context_vectors_can_be_left_out(firth: Any, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("\n".join(map(" ".join, CORPUS)))
    for flags in ([], ["--no-contexts"]):
        folder = tmp_path / f"v{len(flags)}"
        assert firth("train", tmp_path / "text.txt", "--dim", "2", "--sample", "0", "-o", folder, *flags).code == 0
    whole, less = ft.load(tmp_path / "v0"), ft.load(tmp_path / "v1")
    assert whole.contexts is not None
    assert less.contexts is None
    np.testing.assert_array_equal(whole.matrix, less.matrix)


#: numpy, pandas, scikit-learn and dictionaries.
ARRAYS: dict[str, Callable[[ft.Vectors], Any]] = {
    "iterate": lambda v: list(v) == list(iter(v)) == WORDS,
    "asarray": lambda v: np.asarray(v) is v.matrix and np.array(v, dtype=float).dtype == float,
    "shape": lambda v: v.shape == (8, 6),
    "numpy": lambda v: np.array_equal(np.mean(v, axis=0), v.matrix.mean(axis=0)),
    "to_numpy": lambda v: np.array_equal(v.to_numpy(), v.matrix),
    "dict": lambda v: np.array_equal(dict(v)["tea"], v["tea"]),
    "get": lambda v: v.get("milk") is None and v.get("tea") is not None,
    "items": lambda v: [word for word, _ in v.items()] == WORDS,
    "DataFrame": lambda v: frame().DataFrame(v, index=v.index_to_key).shape == (8, 6),
    "to_pandas": lambda v: np.array_equal(v.to_pandas().loc["tea"], v["tea"]),
    "neighbors frame": lambda v: list(v.most_similar("tea", topn=2).to_pandas().columns) == ["word", "score"],
    "neighbors CSV": lambda v: v.most_similar("tea").to_csv().startswith("word,score\n"),
    "PCA": lambda v: sklearn("decomposition").PCA(2).fit_transform(v).shape == (8, 2),
    "KMeans": lambda v: len(sklearn("cluster").KMeans(2, n_init=1, random_state=0).fit(v).labels_) == len(v),
    "cosine_similarity": lambda v: sklearn("metrics.pairwise").cosine_similarity(v[["tea"]], v).shape == (1, 8),
}  # fmt: skip


def frame() -> Any:
    return pytest.importorskip("pandas")


def sklearn(module: str) -> Any:
    return pytest.importorskip(f"sklearn.{module}")


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_and_frames(name: str, vectors: ft.Vectors) -> None:
    assert ARRAYS[name](vectors)


def assign(vectors: ft.Vectors) -> None:
    vectors["tea"] = np.zeros(6)


#: What cannot work: the call, and what its message says to write.
REFUSED: dict[str, tuple[Callable[[ft.Vectors], Any], str]] = {
    "vocab": (lambda v: v.vocab, "key_to_index"),
    "init_sims": (lambda v: v.init_sims(), "normalized"),
    "add_vector": (lambda v: v.add_vector("milk", np.zeros(6)), "Vocabulary"),
    "assign": (assign, "Vocabulary"),
    "wmdistance": (lambda v: v.wmdistance(["tea"], ["coffee"]), "document_vector"),
    "evaluate": (lambda v: v.evaluate_word_pairs("pairs.tsv"), "firthian.evaluate"),
    "loc": (lambda v: v.loc["tea"], "to_pandas"),
    "hs": (lambda v: ft.train(CORPUS, hs=1), "negative"),
    "size": (lambda v: ft.train(CORPUS, size=50), "vector_size"),
    "corpus_file": (lambda v: ft.train(corpus_file="text.txt"), "no corpus"),
    "nothing": (lambda v: ft.train(vector_size=5), "train"),
    "twice": (lambda v: ft.train(CORPUS, window=2, counting={"window": 3}), "given twice"),
    "misspelled": (lambda v: ft.train(CORPUS, windw=2), "did you mean window"),
    "recipe and sg": (lambda v: ft.train(CORPUS, "svd", sg=1), "one of the two"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_work_names_the_right_call(name: str, vectors: ft.Vectors) -> None:
    call, remedy = REFUSED[name]
    with pytest.raises((ft.FirthianError, AttributeError), match=remedy):
        call(vectors)


def test_the_list_has_sixty_calls_of_which_fifty_five_work() -> None:
    working = len(KEYED) + len(TRAINED) + len(ARRAYS) + 3
    assert working >= 55
    assert working + len(REFUSED) >= 60


def test_contexts_of_a_word_are_ranked_four_ways() -> None:
    counts = ft.count([" ".join(line) for line in CORPUS], min_count=1, window=1)
    assert {one.word for one in counts.contexts("tea", "pmi")} == {"hot", "cold", "now", "later"}
    for order in ("pmi", "llr", "log_odds", "count"):
        found = [getattr(one, order) for one in counts.contexts("tea", order)]
        assert found == sorted(found, reverse=True)
    assert counts.contexts("tea", "llr").to_pandas()["word"][0] in ("cold", "later")
    with pytest.raises(ft.FirthianError, match="did you mean llr"):
        counts.contexts("tea", "llrr")


def test_the_log_likelihood_ratio_is_that_of_a_two_by_two_table() -> None:
    stats = pytest.importorskip("scipy.stats")
    from firthian.counts.contexts import association

    table = np.array([[30.0, 70.0], [20.0, 880.0]])
    expected = stats.chi2_contingency(table, correction=False, lambda_="log-likelihood").statistic
    found = association(table[:1, 0], table[0].sum(), table[:, 0].sum()[None], table.sum())
    assert found["llr"][0] == pytest.approx(expected)
    assert found["log_odds"][0] == pytest.approx(np.log(30.5 * 880.5 / (70.5 * 20.5)))


def test_representations_fit_a_screen(vectors: ft.Vectors) -> None:
    pairs = ft.evaluate.Pairs("mine", [("tea", "coffee"), ("tea", "king"), ("man", "woman")], np.array([9.0, 2, 7]))
    scores = ft.evaluate(vectors, sets=[pairs])
    assert len(repr(scores)) < 2000
    assert scores.to_pandas()["name"].tolist() == ["mine"]
    assert len(repr(vectors)) < 80


def test_answers_fit_a_screen_too() -> None:
    random = np.random.default_rng(0)
    drinks, tools = (
        ["tea", "coffee", "cup", "mug", "hot", "sugar"],
        ["mouse", "screen", "keyboard", "click", "disk", "cable"],
    )
    rows = [
        {"text": " ".join(random.choice([*(drinks if row % 2 else tools), "the", "thing"], 12)), "year": 1850 + row % 2}
        for row in range(60)
    ]
    vectors = ft.train(rows, text_column="text", vector_size=4, min_count=1, sample=0)
    answers = [
        ft.change(rows, by="year", min_count=1, sample=0, vector_size=4, min_occurrences=5, permutations=50),
        ft.keyness(rows, by="year", permutations=20),
        ft.regress(rows, "thing", "year", vectors, permutations=20),
        ft.associate(vectors, targets=[drinks[:3], tools[:3]], attributes=[drinks[3:], tools[3:]]),
    ]
    for answer in answers:
        assert 100 < len(repr(answer)) < 4000
        assert len(repr(answer).splitlines()) < 50
        assert "<table" in answer._repr_html_()


def test_an_option_of_change_that_does_not_exist() -> None:
    with pytest.raises(ft.FirthianError, match="change has no option 'windw': did you mean window"):
        ft.change(["a b"], ["b a"], windw=3)
