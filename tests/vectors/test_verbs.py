from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from firthian import Counts, FirthianError, Vectors, Vocabulary, count, load, merge, train
from firthian.disk.artifact import write_manifest
from firthian.vectors.likelihood import TextModel
from firthian.vectors.provenance import Provenance, counting_state


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    matrix = np.array([[1, 0.1], [1, 0.2], [0, 1], [-1, 0.5]])
    words = Vocabulary(["tea", "coffee", "New York", "rain"], [9, 5, 3, 1])
    Vectors(matrix, words, provenance=Provenance(recipe="test")).save(tmp_path / "v")
    return tmp_path / "v"


def test_neighbors(firth, folder: Path) -> None:
    outcome = firth("neighbors", folder, "tea", "New York", "--topn", "2", "--json")
    first, second = json.loads(outcome.out)
    assert first["word"] == "tea"
    assert [near["word"] for near in first["neighbors"]] == ["coffee", "New York"]
    assert first["neighbors"][0]["score"] == pytest.approx(0.9952, abs=1e-4)
    assert len(second["neighbors"]) == 2
    assert "0.9952  coffee" in firth("neighbors", folder, "tea").out
    firth("neighbors", folder, "coffe").complains("'coffe' is not in the vocabulary", "did you mean coffee?")
    outcome = firth("neighbors", folder, "coffe", "--json")
    assert outcome.code == 2
    assert set(json.loads(outcome.err)) == {"error", "hint"}


def test_an_unknown_word_does_not_take_the_others_answers(firth, folder: Path) -> None:
    outcome = firth("neighbors", folder, "tea", "xyz", "coffe")
    assert outcome.code == 2
    assert "0.9952  coffee" in outcome.out
    assert "'xyz' is not in the vocabulary" in outcome.err
    assert "did you mean coffee?" in outcome.err
    assert len(outcome.err.splitlines()) == 1
    outcome = firth("neighbors", folder, "tea", "xyz", "--json")
    assert [item["word"] for item in json.loads(outcome.out)] == ["tea"]
    assert "xyz" in json.loads(outcome.err)["error"]


def test_several_models_side_by_side(firth, folder: Path, tmp_path: Path) -> None:
    load(folder).subset(["tea", "New York"]).save(tmp_path / "two")
    shown = firth("neighbors", folder, "tea", "coffee", "--with", tmp_path / "two")
    assert shown.code == 2
    first = next(line for line in shown.out.splitlines() if "0.9952" in line)
    assert "coffee" in first
    assert "New York" in first
    assert f"{tmp_path / 'two'}: 'coffee' is not in the vocabulary" in shown.err
    records = json.loads(firth("neighbors", folder, "tea", "--with", tmp_path / "two", "--json").out)
    assert [Path(item["vectors"]).name for item in records] == ["v", "two"]


def test_words_are_looked_up_as_the_corpus_was_tokenized(firth, folder: Path, tmp_path: Path) -> None:
    load(folder).subset(["tea", "coffee"]).save(tmp_path / "lower")
    shown = firth("neighbors", tmp_path / "lower", "Tea")
    assert shown.code == 0
    assert "looked up 'Tea' as 'tea'" in shown.err
    assert firth("similarity", tmp_path / "lower", "TEA", "Coffee").out == "0.9952\n"
    # A vocabulary that keeps case is asked as typed.
    firth("neighbors", folder, "Tea").complains("'Tea' is not in the vocabulary")


def test_analogy_and_similarity(firth, folder: Path) -> None:
    shown = json.loads(firth("analogy", folder, "tea", "coffee", "rain", "--json").out)
    assert [answer["word"] for answer in shown["answers"]] == ["New York"]
    assert "as rain is to" in firth("analogy", folder, "tea", "coffee", "rain", "--method", "3cosmul").out
    firth("analogy", folder, "tea", "coffee", "rain", "--method", "3cosad").complains("did you mean 3cosadd")
    shown = json.loads(firth("similarity", folder, "tea", "coffee", "--json").out)
    assert shown == {"a": "tea", "b": "coffee", "similarity": pytest.approx(0.9952, abs=1e-4)}
    assert firth("similarity", folder, "tea", "coffee").out == "0.9952\n"


def test_convert_there_and_back(firth, folder: Path, tmp_path: Path) -> None:
    firth("convert", folder, tmp_path / "v.vec").complains("cannot hold words with spaces", "--replace-spaces")
    assert firth("convert", folder, tmp_path / "v.vec", "--replace-spaces", "_").code == 0
    shown = json.loads(firth("convert", tmp_path / "v.vec", tmp_path / "again", "--json").out)
    assert shown == {"path": str(tmp_path / "again"), "format": "folder", "shape": [4, 2], "repaired": {}}
    np.testing.assert_array_equal(load(tmp_path / "again").matrix, load(folder).matrix)
    firth("convert", folder, tmp_path / "v.vec").complains("already exists")
    firth("convert", folder, tmp_path / "v.xyz").complains("is not clear from its name", "choose from: folder")
    firth("convert", folder, tmp_path / "v.xyz", "--to", "glov").complains("did you mean glove?")
    (tmp_path / "bad.txt").write_text("a 1 2\nb 3\nc 1 2\n")
    firth("convert", tmp_path / "bad.txt", tmp_path / "out").complains("bad.txt, line 2:")
    assert not (tmp_path / "out").exists()
    (tmp_path / "double.txt").write_text("a 1 2\nb 3 4\na 3 4\n")
    outcome = firth("convert", tmp_path / "double.txt", tmp_path / "out", "--duplicates", "first")
    assert "repaired in" in outcome.out
    assert "double words (1)" in outcome.out


def test_any_file_is_vectors_and_counts_are_not(firth, folder: Path, tmp_path: Path) -> None:
    assert firth("convert", folder, tmp_path / "v.npz").code == 0
    assert firth("similarity", tmp_path / "v.npz", "tea", "coffee").out == "0.9952\n"
    count(["a b a b"], tmp_path / "counts", min_count=1)
    firth("neighbors", tmp_path / "counts", "a").complains("counts, not vectors", "firth train")


def test_info_of_vectors(firth, folder: Path, tmp_path: Path) -> None:
    facts = json.loads(firth("info", folder, "--json").out)
    assert (facts["kind"], facts["shape"], facts["format"]) == ("vectors", [4, 2], "folder")
    assert facts["provenance"] == {"recipe": "test"}
    (tmp_path / "v.txt").write_text("1 2\na 1 2\n")
    assert json.loads(firth("info", tmp_path / "v.txt", "--json").out)["format"] == "word2vec"
    (tmp_path / "none").mkdir()
    firth("info", tmp_path / "none").complains("none is not a folder of vectors", "vectors.json")
    write_manifest(tmp_path / "none" / "model.json", "a classifier", {})
    firth("info", tmp_path / "none").complains("none holds a classifier, not counts or vectors")


def test_neighbors_are_at_least_one(firth, folder: Path) -> None:
    firth("neighbors", folder, "tea", "--topn", "0").complains("--topn")
    firth("analogy", folder, "tea", "coffee", "rain", "--topn", "-1").complains("--topn")


def test_targets_that_are_files_are_refused_before_the_work(firth, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "essay.txt").write_text("mine")
    firth("add", folder, folder, "-o", tmp_path / "essay.txt", "--force").complains("is a file, not a folder")


def test_sparse_learns_from_one_source_and_counts_nothing(firth, folder: Path, tmp_path: Path) -> None:
    command = ("train", "-m", "sparse", "-o", tmp_path / "s", folder)
    firth(*command, folder).complains("takes one set of vectors, got 2")
    firth(*command, "--window", "3").complains("counting options (--window) do not apply to vectors")


@pytest.fixture(scope="module")
def psd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Vectors of merged counts, whose words were cut at white space."""
    place = tmp_path_factory.mktemp("psd")
    text = ["tea with milk !", "coffee with milk !", "tea with sugar !"] * 9
    for name in ("one", "two"):
        count(text, place / name, min_count=1, window=2, tokenizer="whitespace")
    merge([place / "one", place / "two"], place / "both")
    train(Counts.load(place / "both"), "psd", vector_size=2, workers=1).save(place / "v")
    return place / "v"


def test_score(firth, psd: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("tea with milk !\n\nplum with sugar\n")
    first, second = map(json.loads, firth("score", psd, tmp_path / "text.txt", "--json").out.splitlines())
    assert (first["document"], first["tokens"], first["unknown"]) == (1, 4, 0)
    assert (second["document"], second["tokens"], second["unknown"]) == (2, 3, 1)
    for record, known in ((first, 4), (second, 2)):
        assert record["perplexity"] == pytest.approx(math.exp(-record["log_likelihood"] / known))
        assert record["unigram_perplexity"] == pytest.approx(math.exp(-record["unigram_log_likelihood"] / known))
    drawn = firth("score", psd, "--sample", "6", "--seed", "2").out
    assert set(drawn.split()) <= set(Vectors.load(psd).vocabulary.words)
    assert len(drawn.split()) == 6
    assert json.loads(firth("score", psd, "--sample", "6", "--seed", "2", "--json").out)["words"] == drawn.split()
    firth("score", psd, tmp_path / "text.txt", "--sample", "6").complains("--sample draws text and scores none")
    firth("score", psd, tmp_path / "text.txt", "--link", "raw").complains("--link must be calibrated or paper")
    firth("score", psd).complains("no corpus")
    shown = firth("score", psd, tmp_path / "text.txt", "--tokenizer", "unicode", "--topn", "0").out.splitlines()
    assert [line.split()[:3] for line in shown[1:]] == [["1", "3", "0"], ["2", "3", "1"]]
    (tmp_path / "strange.txt").write_text("plum pear\n")
    assert firth("score", psd, tmp_path / "strange.txt").out.splitlines()[1].split() == [
        "1",
        "2",
        "2",
        "0.00",
        "-",
        "-",
    ]
    firth("score", psd, tmp_path / "none.txt").complains("none.txt does not exist")
    (tmp_path / "empty.txt").write_text("\n \n")
    firth("score", psd, tmp_path / "empty.txt").complains("no documents to score")
    (tmp_path / "latin1.txt").write_bytes(b"tea with caf\xe9 !\n")
    done = firth("score", psd, tmp_path / "latin1.txt")
    assert (done.code, done.err) == (0, "replaced 1 bytes that are not UTF-8\n")


def test_score_calls_no_function_that_only_a_file_names(firth, psd: Path, tmp_path: Path) -> None:
    vectors = Vectors.load(psd)
    vectors.state["tokenizer"] = "tests.text.my_tokenizer:letters"
    vectors.save(tmp_path / "foreign")
    (tmp_path / "text.txt").write_text("tea with milk\n")
    firth("score", tmp_path / "foreign", tmp_path / "text.txt").complains("my_tokenizer:letters", "--tokenizer")
    named = ("--tokenizer", "tests.text.my_tokenizer:letters", "--json")
    assert json.loads(firth("score", tmp_path / "foreign", tmp_path / "text.txt", *named).out)["tokens"] == 11


@pytest.mark.parametrize("name", ["kappa", "cut_root", "window", "core", "eigenvalue_power"])
def test_a_state_of_the_wrong_type_is_an_error(psd: Path, name: str) -> None:
    vectors = Vectors.load(psd)
    vectors.state[name] = "many"
    with pytest.raises(FirthianError, match=f"the vectors lack {name}"):
        TextModel(vectors)


def test_another_tokenizer_treats_case_and_numbers_as_the_corpus_did(firth, tmp_path: Path) -> None:
    text = ["Tea at 5 with milk", "Coffee at 7 with milk"] * 9
    counts = count(text, min_count=1, window=2, tokenizer="whitespace", fold_numbers=True, keep_case=True)
    train(counts, "psd", vector_size=2, workers=1).save(tmp_path / "v")
    (tmp_path / "text.txt").write_text("Tea, at 1984\n")
    shown = firth("score", tmp_path / "v", tmp_path / "text.txt", "--tokenizer", "unicode", "--json").out
    assert json.loads(shown)["unknown"] == 0
    assert firth("convert", tmp_path / "v", tmp_path / "m", "--to", "model2vec", "--tokenizer", "unicode").code == 0
    assert "Lowercase" not in (tmp_path / "m" / "tokenizer.json").read_text()
    assert "<number>" in json.dumps(json.loads((tmp_path / "m" / "tokenizer.json").read_text())["normalizer"])


def test_text_is_joined_to_phrases_as_the_corpus_was(firth, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    places = ["new york", "rio de janeiro", "tea", "milk", "sugar", "rain"]
    text = [" and ".join(random.permutation(places)) for _ in range(60)]
    counts = count(text, min_count=5, window=2, phrases="npmi", phrase_threshold=0.6, phrase_passes=2)
    assert {"new_york", "rio_de_janeiro"} <= set(counts.vocabulary.words)
    assert "rio_de" not in counts.vocabulary
    vectors = train(counts, "psd", vector_size=2, workers=1)
    vectors.save(tmp_path / "v")
    said = "New York and rio de Janeiro and sugar"
    np.testing.assert_array_equal(
        vectors.document_vector(said),
        vectors.document_vector(["new_york", "and", "rio_de_janeiro", "and", "sugar"]),
    )
    (tmp_path / "text.txt").write_text(said + "\n")
    shown = json.loads(firth("score", tmp_path / "v", tmp_path / "text.txt", "--json").out)
    assert (shown["tokens"], shown["unknown"]) == (5, 0)
    assert firth("convert", tmp_path / "v", tmp_path / "m", "--to", "model2vec").code == 0
    assert "Phrases are found only where" in (tmp_path / "m" / "README.md").read_text()
    again = load(tmp_path / "m")
    np.testing.assert_allclose(again.document_vector(said), vectors.document_vector(said), rtol=1e-6)


def test_a_record_that_says_anything_of_phrases_joins_nothing() -> None:
    for said in (3, {"passes": "many"}, {"passes": -1}, {}):
        state = counting_state({"tokenizer": "unicode", "phrases": said}, window=5)
        vectors = Vectors(np.eye(3), Vocabulary(["new", "york", "new_york"]), state=state)
        np.testing.assert_array_equal(vectors.document_vector("new york"), [0.5, 0.5, 0])


def test_the_size_of_a_folder_is_that_of_all_its_files(firth, folder: Path, tmp_path: Path) -> None:
    (folder / "cache").mkdir()
    (folder / "cache" / "map").write_bytes(bytes(5000))
    size = sum(item.stat().st_size for item in folder.rglob("*") if item.is_file())
    assert json.loads(firth("info", folder, "--json").out)["bytes"] == size
