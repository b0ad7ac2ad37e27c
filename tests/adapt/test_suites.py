"""The suites classification and chunking: small made data, F1 beside seqeval, and real scores where the data are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

pytest.importorskip("sklearn")
from firthian.errors import FirthianError
from firthian.evaluate import chunk_features, chunking, classification, evaluate
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.vectors import Vectors
from tests.adapt.conftest import COMMON, TOPICS

labels = st.sampled_from(["O", "B-NP", "I-NP", "B-VP", "I-VP"])


@given(st.lists(st.lists(st.tuples(labels, labels), min_size=1, max_size=9), min_size=1, max_size=6))
def test_f1_is_seqevals(sentences):
    seqeval = pytest.importorskip("seqeval.metrics")
    truth = [[gold for gold, _ in sentence] for sentence in sentences]
    guess = [[marked for _, marked in sentence] for sentence in sentences]
    assert chunking.chunk_f1(truth, guess) == pytest.approx(float(seqeval.f1_score(truth, guess, zero_division=0)))


def made_sentences(number: int, seed: int) -> str:
    """Noun and verb phrases whose kind only the word tells, for the tags all look alike."""
    random = np.random.default_rng(seed)
    lines = []
    for _ in range(number):
        for kind in random.choice(["N", "V"], 5):
            lines += [
                f"{kind.lower()}{random.integers(0, 300)} X B-{kind}P",
                f"{kind.lower()}{random.integers(0, 300)} X I-{kind}P",
            ]
        lines.append("")
    return "\n".join(lines)


@pytest.fixture
def made_data(tmp_path, monkeypatch):
    for part, number in (("train", 60), ("test", 40)):
        (tmp_path / part).write_text(made_sentences(number, number))
    monkeypatch.setattr(chunking, "locate", lambda name: tmp_path / name.rpartition("-")[2])
    return tmp_path


def knowing(sparse: bool) -> Vectors:
    """Vectors that tell the two kinds of words apart."""
    words = [f"{kind}{n}" for kind in "nv" for n in range(300)]
    plain = np.repeat([[1.0, -1.0, 0], [-1.0, 1.0, 0]], 300, axis=0)
    if sparse:
        return Vectors(csr_array(np.maximum(plain, 0)), Vocabulary(words))
    return Vectors(plain + 0.05 * np.random.default_rng(0).normal(size=(600, 3)), Vocabulary(words))


@pytest.mark.parametrize(
    ("style", "sparse"), [("auto", False), ("clusters", False), ("extremes", False), ("dense", False), ("auto", True)]
)
def test_vectors_that_know_the_answer_help(made_data, style, sparse):
    pytest.importorskip("pycrfsuite")
    found = chunking.run(knowing(sparse), l2="1,0.01", style=style)
    assert found["with_vectors"]["f1"] > found["baseline"]["f1"] + 0.05
    assert set(found["baseline"]["tried"]) == {"0.01", "1"}


def test_the_weight_is_sought_outwards_until_it_gets_worse(made_data):
    pytest.importorskip("pycrfsuite")
    tried = chunking.run(None, l2=(0.001, 0.01, 0.1, 1, 10, 100, 1000))["baseline"]["tried"]
    weights = sorted(tried, key=float)
    best = max(weights, key=lambda weight: tried[weight])
    assert "1" in weights
    assert [tried[w] for w in weights[: weights.index(best)]] == sorted(
        tried[w] for w in weights[: weights.index(best)]
    )
    assert "1000" not in weights


def test_sentences_that_chose_the_weight_teach_too(made_data):
    pytest.importorskip("pycrfsuite")
    (made_data / "test").write_text((made_data / "train").read_text())
    found = chunking.run(None, l2=(1e-3,))["baseline"]
    assert found["development_f1"] < 0.95
    assert found["f1"] > 0.99


def test_names_of_extremes_and_columns():
    table = Vectors(np.array([[3.0, -1.0], [1.0, -3.0], [0.0, 2.0]]), Vocabulary(["a", "b", "c"]))
    # Positive values of the first column have the mean 2, negative ones of the second -2.
    assert chunk_features.extreme_names(table, "abc").table == {"a": ["+0"], "b": ["-1"], "c": ["+1"]}
    assert chunk_features.column_names(table, "abc").table == {"a": ["0", "1"], "b": ["0", "1"], "c": ["1"]}
    names = chunk_features.Names({"a": ["x", "y"], "b": ["p", "q"]}, paired=True)
    first, second = names(chunk_features.Sentence(["A", "b"], ["T", "T"], ["O", "O"]))
    assert first[-6:] == ["c0=x", "c0=y", "c1=p", "c1=q", "c0=x|p", "c0=y|q"]
    assert second[-6:] == ["c-1=x", "c-1=y", "c0=p", "c0=q", "c-1=x|p", "c-1=y|q"]


def test_columns_of_sparse_vectors_stay_sparse(monkeypatch):
    table = csr_array((np.array([1.0, 2.0, 0.0, 3.0]), np.array([5, 2, 0, 1]), np.array([0, 3, 3, 4])), shape=(3, 6))
    monkeypatch.setattr(csr_array, "toarray", None)
    names = chunk_features.column_names(Vectors(table, Vocabulary(["a", "b", "c"])), "cab").table
    assert names == {"c": ["1"], "a": ["2", "5"], "b": []}


@pytest.mark.parametrize("style", chunk_features.STYLES)
def test_words_are_spelled_as_the_vectors_spell_them(style):
    sentence = chunk_features.Sentence(["May", "sleeps"], ["N", "V"], ["O", "O"])
    for words, found in ((["May", "sleeps"], 2), (["may", "Sleeps"], 0), (["may", "sleeps"], 2), (["may", "x"], 1)):
        vectors = Vectors(np.eye(2), Vocabulary(words))
        looked_up = list(chunk_features.spelled_words(vectors, [sentence]))
        assert sum(word in vectors for word in looked_up) == found
        if found:
            made = chunk_features.STYLES[style](vectors, looked_up)
            plain = chunk_features.word_features(sentence)
            assert [len(more) > len(less) for more, less in zip(made(sentence), plain, strict=True)] == [True, True]


@pytest.mark.slow
@pytest.mark.realdata
def test_the_baseline_is_the_published_one():
    from firthian.datasets import data_folder

    pytest.importorskip("pycrfsuite")
    folder = data_folder()
    if folder is None or not (folder / "chunking" / "conll2000-train.txt").is_file():
        pytest.skip("the folder of real data is not here (set FIRTHIAN_DATA)")
    # Turian et al. (2010): 93.79. Without weights for labels that a feature never occurs with it is 93.6.
    assert chunking.run(None, l2="0.5")["baseline"]["f1"] > 0.937


def test_chunking_says_what_is_wrong(made_data):
    with pytest.raises(FirthianError, match="unknown style 'cluster': did you mean clusters"):
        chunking.run(None, style="cluster")
    with pytest.raises(FirthianError, match="none of the words"):
        chunking.run(Vectors(np.ones((1, 2)), Vocabulary(["zzz"])))
    (made_data / "train").write_text("a b\n")
    with pytest.raises(FirthianError, match="line 1: not word, tag, chunk"):
        chunking.run(None)


def test_classification_on_a_made_task(tmp_path, monkeypatch, two_topics, vectors):
    texts, given_labels, test, truth = two_topics
    rows = [f"train\t{label}\t{text}" for text, label in zip(texts, given_labels, strict=True)]
    rows += [f"test\t{label}\t{text}" for text, label in zip(test, truth, strict=True)]
    (tmp_path / "a.tsv").write_text("\n".join(rows))
    monkeypatch.setattr(classification, "locate", lambda name: tmp_path / "a.tsv")
    found = classification.run(vectors, tasks="comp", cv=3, grid={"C": [0.03, 0.3], "lam": [0.01], "passes": [1, 5]})
    assert list(found) == ["comp"]
    assert list(found["comp"]) == ["pa", "rpa", "pa_single_pass", "rpa_single_pass"]
    for method, result in found["comp"].items():
        assert result["accuracy"] > (0.9 if "rpa" in method else 0.5), method
        assert 0 < result["macro_f1"] <= 1
        assert result["params"]["passes"] == 1 or "single" not in method
    with pytest.raises(FirthianError, match="unknown task 'sport': did you mean sports"):
        classification.run(vectors, tasks="sport")


@pytest.mark.realdata
def test_defaults_reach_the_paper_on_trec():
    from firthian.datasets import data_folder

    folder = data_folder()
    if folder is None or not (folder / "classification" / "trec.tsv.xz").is_file():
        pytest.skip("the folder of real data is not here (set FIRTHIAN_DATA)")
    # Random vectors, no search; the paper's searched row has 88.2 with the vocabulary of both parts.
    found = [classification.run("random:100", tasks="trec", methods="rpa", seed=seed) for seed in (1, 2, 3)]
    assert np.mean([result["trec"]["rpa"]["accuracy"] for result in found]) > 0.86


def test_suites_have_options_of_their_own(made_data, tmp_path, monkeypatch, two_topics):
    pytest.importorskip("pycrfsuite")
    texts, given_labels, test, truth = two_topics
    rows = [f"train\t{label}\t{text}" for text, label in zip(texts, given_labels, strict=True)]
    rows += [f"test\t{label}\t{text}" for text, label in zip(test, truth, strict=True)]
    (tmp_path / "a.tsv").write_text("\n".join(rows))
    monkeypatch.setattr(classification, "locate", lambda name: tmp_path / "a.tsv")
    suites = "classification:tasks=comp+trec:methods=rpa:cv=2,chunking:l2=1"
    chunks = knowing(sparse=False)
    words = [*chunks.vocabulary.words, *COMMON, *TOPICS["animals"]]
    more = np.random.default_rng(1).normal(size=(len(words) - len(chunks.vocabulary), 3))
    both = Vectors(np.concatenate([chunks.matrix, more]), Vocabulary(words))
    found = evaluate(both, suites, test_sentences=10, grid={"C": [0.1], "lam": [0.01]}).to_dict()
    assert {task: list(methods) for task, methods in found["classification"].items()} == {
        "comp": ["rpa"],
        "trec": ["rpa"],
    }
    assert set(found["classification"]["comp"]["rpa"]) >= {"accuracy", "macro_f1", "params"}
    assert 0 <= found["chunking"]["baseline"]["f1"] <= found["chunking"]["with_vectors"]["f1"] <= 1
    for wrong, says in (
        ("chunking:tasks=comp", "no chosen suite has an option tasks"),
        ("chunking:l2", "expected option=value"),
        ("chunking:l2=x", "l2 must be numbers"),
        ("chunking:states=some", "unknown states 'some'"),
        ("chunking:train_sentences=few", "train_sentences must be an integer"),
        ("classification:cv=much", "cv must be an integer"),
        ("classification:grid=huge", "unknown grid 'huge'"),
    ):
        with pytest.raises(FirthianError, match=says):
            evaluate(knowing(sparse=False), wrong)
