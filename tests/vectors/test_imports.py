"""Folders that model2vec, sentence-transformers and spaCy wrote themselves, read as vectors."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from firthian import FirthianError, Vectors, Vocabulary, load
from firthian.vectors.formats import read_vectors, sniff, write_vectors


def matrix_for(number: int, dimensions: int = 4) -> np.ndarray:
    return np.random.default_rng(number).normal(size=(number, dimensions)).astype(np.float32)


# model2vec and sentence-transformers


def foreign(folder: Path, kind: str, dtype: str = "float32") -> tuple[object, list[str]]:
    """Save a model of model2vec with a tokenizer of Hugging Face; give the model and the names we expect."""
    library = pytest.importorskip("model2vec")
    tokenizers = pytest.importorskip("tokenizers")
    from tokenizers import decoders, models, pre_tokenizers

    if kind == "wordpiece":
        pieces = ["[PAD]", "[UNK]", "tea", "##s", "cup", "café"]
        made = tokenizers.Tokenizer(models.WordPiece({p: i for i, p in enumerate(pieces)}, unk_token="[UNK]"))
        made.pre_tokenizer = pre_tokenizers.Whitespace()
        names = pieces
    elif kind == "unigram":
        pieces = ["[PAD]", "[UNK]", "▁tea", "s", "▁cup", "▁café", "tea"]
        made = tokenizers.Tokenizer(models.Unigram([(p, -float(i)) for i, p in enumerate(pieces)], unk_id=1))
        made.pre_tokenizer = pre_tokenizers.Metaspace()
        names = ["[PAD]", "[UNK]", "tea", "##s", "cup", "café", "##tea"]
    else:
        byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
        pieces = ["[PAD]", "[UNK]", *(byte_level.pre_tokenize_str(p)[0][0] for p in (" tea", "s", " cup", " café"))]
        made = tokenizers.Tokenizer(
            models.BPE({p: i for i, p in enumerate(pieces)}, [], unk_token="[UNK]", ignore_merges=True)
        )
        made.pre_tokenizer = byte_level
        made.decoder = decoders.ByteLevel()
        names = ["[PAD]", "[UNK]", "tea", "##s", "cup", "café"]
    made.add_special_tokens(["[PAD]", "[UNK]"])
    model = library.StaticModel(matrix_for(len(pieces)).astype(dtype), made, normalize=False)
    model.save_pretrained(folder)
    return model, names


@pytest.mark.parametrize("kind", ["wordpiece", "unigram", "bytes"])
def test_a_model_of_model2vec(kind: str, tmp_path: Path) -> None:
    model, names = foreign(tmp_path / "m", kind)
    assert sniff(tmp_path / "m").name == "model2vec"
    vectors = load(tmp_path / "m")
    assert isinstance(vectors, Vectors)
    assert vectors.vocabulary.words == names
    np.testing.assert_array_equal(vectors.matrix, model.embedding)
    # A text of one word is encoded there by the vector that the word has here.
    for word in ("tea", "cup", "café"):
        np.testing.assert_allclose(model.encode(f" {word}"), vectors[word], rtol=1e-6)
    assert vectors.provenance.source == {"file": "m", "format": "model2vec"}


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8"])
def test_other_types_of_numbers(dtype: str, tmp_path: Path) -> None:
    model, _ = foreign(tmp_path / "m", "wordpiece", dtype)
    vectors = read_vectors(tmp_path / "m")
    assert vectors.matrix.dtype == np.float32
    np.testing.assert_array_equal(vectors.matrix, model.embedding.astype(np.float32))


def test_weights_and_quantized_vocabularies(tmp_path: Path) -> None:
    library = pytest.importorskip("model2vec")
    model, names = foreign(tmp_path / "m", "wordpiece")
    weights = np.linspace(0.5, 2, len(names)).astype(np.float32)
    mapping = np.array([0, 0, 1, 2, 1, 2])
    few = matrix_for(3)
    other = library.StaticModel(few, model.tokenizer, normalize=False, weights=weights, token_mapping=mapping)
    other.save_pretrained(tmp_path / "q")
    vectors = read_vectors(tmp_path / "q")
    np.testing.assert_allclose(vectors.matrix, few[mapping] * weights[:, None], rtol=1e-6)
    np.testing.assert_allclose(other.encode("cup"), vectors["cup"], rtol=1e-6)


def test_the_folder_of_a_module(tmp_path: Path) -> None:
    """Newer releases of sentence-transformers keep the module in a folder of its own; rows may be without a token."""
    from firthian.disk.tensors import write_tensors

    model, names = foreign(tmp_path / "m", "wordpiece")
    module = tmp_path / "s" / "0_StaticEmbedding"
    module.mkdir(parents=True)
    (tmp_path / "s" / "config_sentence_transformers.json").write_text("{}")
    (tmp_path / "m" / "tokenizer.json").rename(module / "tokenizer.json")
    padded = np.vstack([model.embedding, np.zeros((2, 4), dtype=np.float32)])
    write_tensors(module / "model.safetensors", {"embedding.weight": padded})
    assert sniff(tmp_path / "s").name == "sentence-transformers"
    vectors = load(tmp_path / "s")
    assert vectors.vocabulary.words == names
    np.testing.assert_array_equal(vectors.matrix, model.embedding)
    assert vectors.provenance.source["repaired"] == {"vectors_without_a_word": 2}


def test_what_is_no_static_model(tmp_path: Path) -> None:
    from firthian.disk.tensors import write_tensors

    foreign(tmp_path / "m", "wordpiece")
    tokenizer = tmp_path / "m" / "tokenizer.json"
    described = json.loads(tokenizer.read_text())

    def complain(why: str, **tensors: np.ndarray) -> None:
        write_tensors(tmp_path / "m" / "model.safetensors", tensors)
        with pytest.raises(FirthianError, match=why):
            read_vectors(tmp_path / "m")

    full = matrix_for(6)
    complain("no static embeddings", **{"encoder.layer.0.weight": full})
    complain("numbers words up to 5, but there are 3 vectors", embeddings=full[:3])
    complain(
        "word 'cup': it has a number that is not finite", embeddings=np.where(np.arange(6)[:, None] == 4, np.nan, full)
    )
    complain("numbers for the tokens", embeddings=full, weights=np.ones(2, dtype=np.float32))
    complain("numbers for the tokens", embeddings=full, weights=np.array(1.0))
    complain("but there are 6 vectors", embeddings=full, mapping=np.full(6, 9))
    for changed, why in (
        ({"vocab": {"a": 0, "b": 0}}, "two words have the same number"),
        ({"vocab": {"a": "0"}}, "texts with numbers"),
        ({"vocab": {"a": -1}}, "texts with numbers"),
        ({"vocab": {"a": 2**70}}, "texts with numbers"),
        ({"vocab": 3}, "no vocabulary"),
        ({}, "no vocabulary"),
    ):
        tokenizer.write_text(json.dumps({**described, "added_tokens": [], "model": changed}))
        complain(why, embeddings=full)
    tokenizer.write_text("[" * 100_000)
    complain("not JSON", embeddings=full)


def test_a_type_that_is_not_read(tmp_path: Path) -> None:
    foreign(tmp_path / "m", "wordpiece")
    path = tmp_path / "m" / "model.safetensors"
    path.write_bytes(path.read_bytes().replace(b'"F32"', b'"F8X"', 1))
    with pytest.raises(FirthianError, match=r"of type F8X.*float32"):
        read_vectors(tmp_path / "m")


def test_what_we_wrote_keeps_its_provenance_and_state(tmp_path: Path) -> None:
    import firthian as ft

    counts = ft.count(["Tea 7 cup", "ball ▁goal x▁y"] * 9, min_count=1, tokenizer="whitespace")
    vectors = ft.train(counts, "svd", vector_size=2)
    for format in ("model2vec", "sentence-transformers", "spacy"):
        if format == "spacy":
            pytest.importorskip("spacy")
        write_vectors(vectors, tmp_path / format, format)
        again = read_vectors(tmp_path / format)
        assert again.vocabulary.words == vectors.vocabulary.words
        assert replace(again.provenance, source={}) == vectors.provenance
        assert again.state == vectors.state
        # The state says how text was tokenized, so that texts have the same vectors.
        np.testing.assert_array_equal(again.document_vector("Tea ▁goal,"), vectors.document_vector("Tea ▁goal,"))


# spaCy


def pipeline(words: list[str], matrix: np.ndarray) -> object:
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    for word, row in zip(words, matrix, strict=True):
        nlp.vocab.set_vector(word, row)
    return nlp


#: Among them a symbol of spaCy, whose key is no hash.
SPACY_WORDS = ["tea", "NOUN", "café", "New York", "cup", "ball"]


def test_a_pipeline_of_spacy(tmp_path: Path) -> None:
    nlp = pipeline(SPACY_WORDS, matrix_for(6))
    nlp.to_disk(tmp_path / "p")
    nlp.vocab.vectors.to_disk(tmp_path / "t")
    for folder in (tmp_path / "p", tmp_path / "p" / "vocab", tmp_path / "t"):
        assert sniff(folder).name == "spacy"
        vectors = load(folder)
        assert sorted(vectors.vocabulary.words) == sorted(SPACY_WORDS)
        for word in SPACY_WORDS:
            np.testing.assert_array_equal(vectors[word], nlp.vocab.get_vector(word))
    with pytest.raises(FirthianError, match="not a spaCy folder"):
        read_vectors(tmp_path, "spacy")


def test_pruned_words_share_a_vector(tmp_path: Path) -> None:
    nlp = pipeline(SPACY_WORDS, matrix_for(6))
    nlp.vocab.prune_vectors(3)
    nlp.to_disk(tmp_path / "p")
    vectors = read_vectors(tmp_path / "p")
    assert len(vectors) == 6
    assert len(np.unique(vectors.matrix, axis=0)) == 3
    for word in SPACY_WORDS:
        np.testing.assert_array_equal(vectors[word], nlp.vocab.get_vector(word))


def test_what_spacy_cannot_give(tmp_path: Path) -> None:
    nlp = pipeline(SPACY_WORDS, matrix_for(6))
    nlp.to_disk(tmp_path / "p")
    vocab = tmp_path / "p" / "vocab"
    (vocab / "vectors.cfg").write_text('{"mode": "floret"}')
    with pytest.raises(FirthianError, match="floret"):
        read_vectors(tmp_path / "p")
    (vocab / "vectors.cfg").unlink()
    strings = json.loads((vocab / "strings.json").read_text())
    (vocab / "strings.json").write_text(json.dumps([one for one in strings if one != "tea"]))
    assert read_vectors(tmp_path / "p").provenance.source["repaired"] == {"vectors_without_a_word": 1}
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    (tmp_path / "objects.npy").rename(vocab / "vectors")
    with pytest.raises(FirthianError, match="not an array of numbers"):
        read_vectors(tmp_path / "p")


def test_the_command_converts_foreign_folders(firth, tmp_path: Path) -> None:
    foreign(tmp_path / "m", "unigram")
    outcome = firth("convert", tmp_path / "m", tmp_path / "v")
    assert outcome.code == 0, outcome.err
    assert "7 words × 4 dimensions" in outcome.out
    np.testing.assert_array_equal(Vectors.load(tmp_path / "v")["tea"], read_vectors(tmp_path / "m")["tea"])


def test_words_that_share_vectors_may_not_fill_memory(tmp_path: Path) -> None:
    from firthian.disk.tensors import write_tensors

    folder = tmp_path / "m"
    folder.mkdir()
    vocabulary = {f"w{number}": number for number in range(20_000)}
    (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocabulary}}))
    tensors = {"embeddings": np.ones((1, 100_000), dtype=np.float32), "mapping": np.zeros(20_000, dtype=np.int64)}
    write_tensors(folder / "model.safetensors", tensors)
    with pytest.raises(FirthianError, match="20,000 words share 1 vectors"):
        read_vectors(folder)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"provenance": {}},
        {"provenance": 3, "state": {}},
        {"provenance": {"transforms": 5}, "state": {}},
        {"provenance": {"transforms": ["x"]}, "state": {}},
        {"provenance": {"counts": [1]}, "state": {}},
        {"provenance": {"recipe": 1}, "state": {}},
        {"provenance": {"other": 1}, "state": {}},
        {"provenance": {}, "state": {"core": [1]}},
        {"provenance": {}, "state": [1]},
    ],
)
def test_a_note_of_ours_that_says_nothing(body: dict[str, object], tmp_path: Path) -> None:
    from firthian.disk.artifact import write_manifest

    Vectors(matrix_for(3), Vocabulary(["a", "b", "c"])).to_model2vec(tmp_path / "m")
    write_manifest(tmp_path / "m" / "firthian.json", "export", body)
    with pytest.raises(FirthianError, match="has no valid provenance"):
        read_vectors(tmp_path / "m")
