"""Exports, opened in the libraries they are made for. What needs torch is in test_exports_heavy.py."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import firthian as ft
from firthian import FirthianError, Vectors, Vocabulary
from firthian.text.tokenizer import Tokenizer
from firthian.vectors.cards import model_card
from firthian.vectors.formats import read_vectors, write_vectors
from firthian.vectors.formats.static import never_in_texts
from firthian.vectors.formats.tokenizer_json import mark, tokenizer_json
from firthian.vectors.provenance import Provenance

STATIC = ("model2vec", "sentence-transformers")

TEXTS = [
    "Tea and milk’s cup, the WELL‑KNOWN cup of tea!",
    "unknown words only: zebra quagga",
    "",
    "a b c a b a",
    "ΣΑΣ σας ΟΔΟΣ. naïve NAI\u0308VE",
    "tea " * 2000 + "cup " * 2000,
    "tea\ncup\tmilk's\r\n-tea- 'cup' tea--cup",
]


def make(
    words: list[str], dimensions: int = 5, state: dict[str, object] | None = None, **provenance: object
) -> Vectors:
    matrix = np.random.default_rng(len(words)).normal(size=(len(words), dimensions)).astype(np.float32)
    return Vectors(
        matrix, Vocabulary(words, np.arange(len(words), 0, -1)), provenance=Provenance(**provenance), state=state
    )


@pytest.fixture
def vectors() -> Vectors:
    words = ["the", "tea", "cup", "milk's", "well-known", "a", "b", "σας", "οδος", "naïve", "zero", "New York", "</s>"]
    made = make(words)
    made.matrix[words.index("zero")] = 0
    return made


# The tokenizer


def library_tokenizer(tokenizer: Tokenizer, vocabulary: list[str]):
    library = pytest.importorskip("tokenizers")
    return library.Tokenizer.from_str(json.dumps(tokenizer_json(make(vocabulary), tokenizer)))


@functools.cache
def cutter(name: str, keep_case: bool, fold_numbers: bool):
    """A function from a text to its marked words, by Hugging Face's library; its patterns take long to compile."""
    theirs = library_tokenizer(Tokenizer(name, keep_case, fold_numbers), ["x"])
    return lambda text: [
        word for word, _ in theirs.pre_tokenizer.pre_tokenize_str(theirs.normalizer.normalize_str(text))
    ]


CHARACTERS = st.one_of(
    st.sampled_from(list("aAbBzZ09 \n\t\x1f''-_.,<>▁·’ʼ‐‑ΣσςÉé́İıßǅ٣²日본\u200c\u200d\u00a0\ufe0f\U000e0100")),
    st.characters(exclude_categories=["Cs", "Cn"]),
)


@pytest.mark.parametrize("fold_numbers", [False, True])
@pytest.mark.parametrize("keep_case", [False, True])
@pytest.mark.parametrize("name", ["unicode", "whitespace"])
@settings(max_examples=100)
@given(text=st.text(CHARACTERS, max_size=40))
@example(text="ΑΣ Σ ΑΣ́ ΑΣ'Α Α.Σ ΣΣ")
@example(text="12 1-2 a12 12a 1-a a-1 1--2 3' '4 <number> number")
@example(text="▁a ▁ ▁▁a a▁ a")
def test_their_tokenizer_cuts_as_ours(name: str, keep_case: bool, fold_numbers: bool, text: str) -> None:
    ours = Tokenizer(name, keep_case, fold_numbers).tokens(text)
    assert cutter(name, keep_case, fold_numbers)(text) == [mark(word) for word in ours]


def test_unknown_words_leave_nothing_even_of_known_letters() -> None:
    theirs = library_tokenizer(Tokenizer(), ["a", "b", "ab", "New York"])
    assert theirs.encode("ab abb ba a New York", add_special_tokens=False).ids == [2, 0]
    assert theirs.decode([2, 0]) == "ab a"


def test_no_two_words_have_one_mark() -> None:
    words = ["a", "▁a", "▁▁a", "▁", "▁▁", "a▁", "a▁▁", "▁a▁"]
    marked = [mark(word) for word in words]
    assert len(set(marked)) == len(words)
    assert all(len(one) > 1 for one in marked), "a single character would be found inside unknown words"


@pytest.mark.parametrize("name", ["icu", "sys:intern"])
def test_tokenizers_that_cannot_be_described(name: str, tmp_path: Path) -> None:
    if name == "icu":
        pytest.importorskip("icu4py")
    vectors = make(["a"], state={"tokenizer": name})
    with pytest.raises(FirthianError, match=r"tokenize"):
        vectors.to_model2vec(tmp_path / "v")
    assert not list(tmp_path.iterdir())
    vectors.to_model2vec(tmp_path / "v", tokenizer="whitespace")
    assert (tmp_path / "v" / "tokenizer.json").is_file()


# model2vec and sentence-transformers


@pytest.mark.parametrize("format", STATIC)
def test_model2vec_encodes_as_document_vector(format: str, vectors: Vectors, tmp_path: Path) -> None:
    library = pytest.importorskip("model2vec")
    write_vectors(vectors, tmp_path / "v", format)
    # Its own layout says that texts of any length count; the other cannot.
    more = {} if format == "model2vec" else {"max_length": None}
    model = library.StaticModel.from_pretrained(tmp_path / "v", **more)
    expected = np.array([vectors.document_vector(text) for text in TEXTS])
    np.testing.assert_allclose(model.encode(TEXTS), expected, rtol=1e-4, atol=1e-6)
    assert not expected[1].any()
    assert not expected[2].any()
    np.testing.assert_array_equal(model.encode("tea"), vectors["tea"])


@pytest.mark.parametrize("settings", [{"tokenizer": "whitespace"}, {"tokenizer": "unicode", "fold_numbers": True}])
def test_text_is_cut_as_the_corpus_was(settings: dict[str, object], tmp_path: Path) -> None:
    library = pytest.importorskip("model2vec")
    vectors = make(["tea", "tea,", "<number>", "Tea"], state=settings)
    vectors.to_model2vec(tmp_path / "v")
    model = library.StaticModel.from_pretrained(tmp_path / "v")
    for text in ("tea, tea 12", "Tea 12,5 <number> x"):
        np.testing.assert_allclose(model.encode(text), vectors.document_vector(text), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("format", STATIC)
def test_the_matrix_is_ours_bit_for_bit(format: str, vectors: Vectors, tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    write_vectors(vectors, tmp_path / "v", format)
    (matrix,) = load_file(tmp_path / "v" / "model.safetensors").values()
    np.testing.assert_array_equal(matrix, vectors.matrix)
    vocabulary = json.loads((tmp_path / "v" / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    assert list(vocabulary) == [mark(word) for word in vectors.vocabulary.words]
    assert list(vocabulary.values()) == list(range(len(vectors)))


def test_words_that_no_text_holds_are_kept_and_named(vectors: Vectors, tmp_path: Path) -> None:
    assert never_in_texts(vectors, Tokenizer()) == ["New York", "</s>"]
    assert never_in_texts(make(["7", "<number>"]), Tokenizer(fold_numbers=True)) == ["7"]
    vectors.to_model2vec(tmp_path / "v")
    card = (tmp_path / "v" / "README.md").read_text("utf-8")
    assert "2 words never occur in a text" in card
    assert r"New York, \</s\>" in card


@pytest.mark.parametrize("format", [*STATIC, "spacy", "projector"])
def test_words_that_are_refused(format: str, tmp_path: Path) -> None:
    for word, why in (("", "an empty word"), ("\ud800", "not valid text")):
        with pytest.raises(FirthianError, match=why):
            write_vectors(make(["a", word]), tmp_path / "v", format)
    assert not list(tmp_path.iterdir())


def test_writing_needs_no_other_library(vectors: Vectors, tmp_path: Path, monkeypatch) -> None:
    for module in ("tokenizers", "model2vec", "sentence_transformers", "safetensors", "torch", "huggingface_hub"):
        monkeypatch.setitem(sys.modules, module, None)
    vectors.to_model2vec(tmp_path / "m")
    vectors.to_sentence_transformers(tmp_path / "s")
    vectors.to_projector(tmp_path / "p")


@pytest.mark.parametrize(("module", "format"), [("spacy", "spacy"), ("pyarrow", "atlas"), ("gensim.models", "gensim")])
def test_a_missing_library_is_named(module: str, format: str, vectors: Vectors, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(FirthianError, match=r"pip install 'firthian\[export\]'"):
        write_vectors(vectors, tmp_path / "v", format)
    assert not list(tmp_path.iterdir())


# spaCy


def test_spacy_opens_the_folder(vectors: Vectors, tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    vectors = vectors.subset([word for word in vectors.vocabulary.words if word != "New York"])
    vectors.to_spacy(tmp_path / "v", language="en")
    nlp = spacy.load(tmp_path / "v")
    assert nlp.lang == "en"
    assert nlp.vocab.vectors.shape == vectors.matrix.shape
    for word in vectors.vocabulary.words:
        np.testing.assert_array_equal(nlp.vocab.get_vector(word), vectors[word])
    tokens = nlp("Tea zebra CUP")
    np.testing.assert_array_equal(tokens[0].vector, vectors["tea"])
    assert [token.has_vector for token in tokens] == [True, False, True]
    assert tokens[0].similarity(tokens[2]) == pytest.approx(vectors.similarity("tea", "cup"), abs=1e-6)
    keys, _, scores = nlp.vocab.vectors.most_similar(vectors["tea"][None], n=3)
    expected = [("tea", 1.0), *vectors.most_similar("tea", topn=2)]
    assert [nlp.vocab.strings[key] for key in keys[0]] == [word for word, _ in expected]
    np.testing.assert_allclose(scores[0], [score for _, score in expected], atol=2e-4)


def test_spacy_trains_with_the_folder_and_reads_our_text(vectors: Vectors, tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    from spacy.training.initialize import convert_vectors, load_vectors_into_model

    vectors.to_spacy(tmp_path / "v")
    blank = spacy.blank("xx")
    load_vectors_into_model(blank, tmp_path / "v")
    np.testing.assert_array_equal(blank.vocab.get_vector("tea"), vectors["tea"])
    # What `spacy init vectors` calls.
    write_vectors(vectors, tmp_path / "v.txt", replace_spaces="_")
    blank = spacy.blank("en")
    convert_vectors(blank, tmp_path / "v.txt", truncate=-1, prune=-1)
    np.testing.assert_array_equal(blank.vocab.get_vector("tea"), vectors["tea"])


def test_spacy_and_capitals(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    vectors = make(["Tea", "tea"])
    vectors.to_spacy(tmp_path / "v")
    nlp = spacy.load(tmp_path / "v")
    np.testing.assert_array_equal(nlp("Tea")[0].vector, vectors["Tea"])
    assert not nlp("TEA")[0].has_vector
    with pytest.raises(FirthianError, match="does not know the language 'qq'"):
        vectors.to_spacy(tmp_path / "w", language="qq")


# Projector and atlas


def test_projector_files(vectors: Vectors, tmp_path: Path) -> None:
    vectors.to_projector(tmp_path / "v")
    np.testing.assert_array_equal(
        np.loadtxt(tmp_path / "v/vectors.tsv", delimiter="\t", dtype=np.float32), vectors.matrix
    )
    head, *lines = (tmp_path / "v/metadata.tsv").read_text("utf-8").splitlines()
    assert head == "word\tcount"
    assert lines == [f"{word}\t{len(vectors) - number}" for number, word in enumerate(vectors.vocabulary.words)]
    # Without counts there is one column, and then the projector expects no line of names.
    Vectors(vectors.matrix, Vocabulary(vectors.vocabulary.words)).to_projector(tmp_path / "w")
    assert (tmp_path / "w/metadata.tsv").read_text("utf-8").splitlines() == vectors.vocabulary.words


@pytest.mark.parametrize("word", ["a\tb", "a\nb", "a\rb"])
def test_projector_words_stay_on_their_line(word: str, tmp_path: Path) -> None:
    with pytest.raises(FirthianError, match="cannot hold words with tabs or line breaks"):
        make([word]).to_projector(tmp_path / "v")
    make([word]).to_projector(tmp_path / "v", replace_spaces="_")
    assert (tmp_path / "v/metadata.tsv").read_text("utf-8") == "word\tcount\na_b\t1\n"


def test_atlas_file(vectors: Vectors, tmp_path: Path) -> None:
    table = pytest.importorskip("pyarrow.parquet")
    vectors.to_atlas(tmp_path / "v.parquet")
    rows = table.read_table(tmp_path / "v.parquet")
    assert rows.column_names == ["word", "vector", "count", "x", "y"]
    places = np.column_stack([rows["x"].to_numpy(), rows["y"].to_numpy()])
    centered = vectors.matrix.astype(np.float64) - vectors.matrix.mean(axis=0, dtype=np.float64)
    left, values, _ = np.linalg.svd(centered, full_matrices=False)
    np.testing.assert_allclose(np.abs(places), np.abs(left[:, :2] * values[:2]), atol=1e-5)
    again = read_vectors(tmp_path / "v.parquet")
    np.testing.assert_array_equal(again.matrix, vectors.matrix)
    assert again.vocabulary == vectors.vocabulary
    given_places = np.arange(2 * len(vectors), dtype=np.float64).reshape(-1, 2)
    vectors.to_atlas(tmp_path / "w.parquet", coordinates=given_places)
    np.testing.assert_array_equal(table.read_table(tmp_path / "w.parquet")["y"].to_numpy(), given_places[:, 1])
    for wrong in (given_places[1:], given_places * np.nan):
        with pytest.raises(FirthianError, match="two finite numbers per word"):
            vectors.to_atlas(tmp_path / "x.parquet", coordinates=wrong)


# Cards, and what all exports share

SCORES = {
    "vectors": "v",
    "similarity": {"ws353": {"spearman": 0.61, "ci95": [0.5, 0.7], "pairs": 353, "covered": 350}},
    "analogy": {"google": {"3cosadd": 0.4, "3cosmul": None, "questions": 10, "covered": 8, "sections": {}}},
    "notes": ["one"],
}


def test_hugging_face_reads_the_card() -> None:
    hub = pytest.importorskip("huggingface_hub")
    name = 'Tea: "vectors" | <b>#1</b> --- ünï'
    made = make(["a"], recipe="svd", options={"x|y": "<i>\n# no title"}, seed=3)
    text = model_card(made, "model2vec", name=name, language="en", license="cc-by-4.0", scores=SCORES)
    data = hub.ModelCard(text).data
    assert (data.language, data.license, data.library_name) == ("en", "cc-by-4.0", "model2vec")
    assert data.model_name == name
    found = {(one.task_type, one.dataset_type, one.metric_type): one.metric_value for one in data.eval_results}
    assert found == {("similarity", "ws353", "spearman"): 0.61, ("analogy", "google", "3cosadd"): 0.4}
    assert "| similarity: ws353 | spearman | 0.610 \\[0.50, 0.70\\] | 350 of 353 |" in text
    body = text.split("---\n", 2)[2]
    assert "<b>" not in body.replace("\\<b\\>", "")
    assert [line for line in body.splitlines() if line.startswith("# ")] == [
        '# Tea: "vectors" \\| \\<b\\>\\#1\\</b\\> --- ünï'
    ]


def test_a_card_tells_of_a_real_training() -> None:
    vectors = ft.train(ft.count(["tea cup milk", "ball goal kick"] * 10, window=3), "svd", vector_size=2, seed=4)
    card = vectors.normalized().model_card()
    for part in ("| recipe | svd |", "| seed | 4 |", "window 3", "| tokens | 60 |", "name normalized"):
        assert part in card
    assert card == vectors.normalized().model_card()


@pytest.mark.parametrize(
    "provenance",
    [{"counts": {"corpus": []}}, {"counts": {"settings": 3}}, {"transforms": [{}]}, {"source": {"file": []}}],
)
def test_provenance_from_elsewhere_may_hold_anything(provenance: dict[str, object]) -> None:
    vectors = make(["a"], **provenance)
    assert "# Word vectors" in vectors.model_card()
    assert vectors._repr_html_()


@pytest.mark.parametrize("scores", [3, {"similarity": 3}, {"results": []}])
def test_scores_that_are_none(scores: object) -> None:
    with pytest.raises(FirthianError, match="not the scores of one set of vectors"):
        make(["a"]).model_card(scores=scores)


def test_options_that_a_format_does_not_take(vectors: Vectors, tmp_path: Path) -> None:
    with pytest.raises(FirthianError, match="projector has no option language"):
        write_vectors(vectors, tmp_path / "v", "projector", language="en")


def test_force_replaces_only_what_we_wrote(vectors: Vectors, tmp_path: Path) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "config.json").write_text("{}")
    with pytest.raises(FirthianError, match="Firthian did not write"):
        vectors.to_model2vec(tmp_path / "v", force=True)
    (tmp_path / "v" / "config.json").unlink()
    for _ in range(2):
        vectors.to_model2vec(tmp_path / "v", force=True)


def test_the_command(firth, vectors: Vectors, tmp_path: Path) -> None:
    vectors.save(tmp_path / "v")
    (tmp_path / "scores.json").write_text(json.dumps(SCORES))
    told = (
        "--language",
        "en",
        "--license",
        "mit",
        "--name",
        "Mine",
        "--scores",
        tmp_path / "scores.json",
        "--limit",
        "3",
    )
    outcome = firth("convert", tmp_path / "v", tmp_path / "m", "--to", "model2vec", *told, "--json")
    assert json.loads(outcome.out)["shape"] == [3, 5]
    card = (tmp_path / "m" / "README.md").read_text("utf-8")
    assert "# Mine" in card
    assert "350 of 353" in card
    firth("convert", tmp_path / "v", tmp_path / "m", "--to", "model2vec").complains("already exists")
    assert firth("convert", tmp_path / "v", tmp_path / "m", "--to", "model2vec", "--force").code == 0
    assert firth("convert", tmp_path / "v", tmp_path / "p", "--to", "projector").code == 0
    firth("convert", tmp_path / "v", tmp_path / "q", "--to", "projector", "--language", "en").complains(
        "no option --language"
    )
    firth("convert", tmp_path / "v", tmp_path / "q", "--to", "spacey").complains("did you mean spacy?")
    firth("convert", tmp_path / "v", tmp_path / "q", "--to", "npz", "--limit", "0").complains("limit")
    (tmp_path / "scores.json").write_text("[")
    firth("convert", tmp_path / "v", tmp_path / "q", "--to", "model2vec", *told).complains("is not JSON")
    assert "cup" in firth("neighbors", tmp_path / "m", "tea").out
    firth("neighbors", tmp_path / "p", "tea").complains("is an export")
