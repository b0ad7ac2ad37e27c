"""Texts to counts: against Counter; labeled files and their faults."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firthian.adapt import documents as module
from firthian.adapt.documents import (
    count_words,
    empty_documents,
    inverse_document_frequency,
    learn_vocabulary,
    scale,
    tokenize,
    weigh,
)
from firthian.adapt.labeled import read_labeled, read_texts
from firthian.errors import FirthianError
from firthian.text.segments import cut_segments
from firthian.text.tokenizer import Tokenizer
from firthian.text.types import TypeTable, VocabularyLimits

words = st.sampled_from(["ab", "c", "déjà", "e-f", "x"])


@given(st.lists(st.lists(words, max_size=8), min_size=1, max_size=12), st.booleans())
def test_counts_are_those_of_a_counter(texts, tokenized):
    given_texts = texts if tokenized else [" ".join(text) for text in texts]
    documents = tokenize(given_texts, Tokenizer())
    assert (documents.number, documents.tokens) == (len(texts), sum(map(len, texts)))
    known = ["x", "ab", "déjà"]
    matrix = count_words(documents, TypeTable.of_words(known))
    expected = [[Counter(text)[word] for word in known] for text in texts]
    np.testing.assert_array_equal(matrix.toarray(), expected)
    assert documents.tokens - matrix.sum() == sum(word not in known for text in texts for word in text)
    assert empty_documents(matrix) == sum(not any(row) for row in expected)
    if documents.tokens:
        vocabulary = learn_vocabulary(documents, VocabularyLimits(1))
        assert dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True)) == Counter(
            word for text in texts for word in text
        )


def test_documents_that_are_cut_apart_are_put_together(monkeypatch):
    texts = ["one two three " * 20, "", "four " * 30, "five one"]
    table = TypeTable.of_words(["one", "four", "five"])
    expected = count_words(tokenize(texts, Tokenizer()), table).toarray()
    monkeypatch.setattr(module, "cut_segments", lambda corpus: cut_segments(corpus, segment_bytes=37))
    documents = tokenize(texts, Tokenizer())
    assert len(documents.segments) > 5
    assert documents.number == 4
    np.testing.assert_array_equal(count_words(documents, table).toarray(), expected)


def test_weights_are_scikit_learns():
    text = pytest.importorskip("sklearn.feature_extraction.text")
    texts = ["a b b c", "b c d", "d d d d e", "a"]
    documents = tokenize(texts, Tokenizer())
    vocabulary = learn_vocabulary(documents, VocabularyLimits(1))
    counts = count_words(documents, TypeTable.of_words(vocabulary.words))
    weighed = weigh(counts, "tfidf", inverse_document_frequency(counts))
    ours = scale(weighed, np.empty((5, 0), np.float32), "length", 1.0)
    theirs = text.TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w", vocabulary=vocabulary.index).fit_transform(
        texts
    )
    np.testing.assert_allclose(ours.matrix.toarray(), theirs.toarray(), rtol=1e-5)
    np.testing.assert_allclose(ours.hot, 1.0)


def test_scaling():
    base = np.array([[1, 0], [-1, 0], [0, 2]], np.float32)
    from scipy.sparse import csr_array

    counts = csr_array(np.array([[1, 0, 1], [1, 1, 0], [0, 0, 0]], np.float32))
    scaled = scale(counts, base, "embedding", 2.0)
    np.testing.assert_allclose(np.linalg.norm(scaled.matrix @ base, axis=1), [1, 0, 0], atol=1e-6)
    # A document whose vector is zero is scaled by its own length.
    np.testing.assert_allclose(scaled.matrix.toarray()[1], [0.5**0.5, 0.5**0.5, 0])
    # One-hot features have the length that was asked for.
    hot = scaled.hot[:, None] * scaled.matrix.toarray()
    np.testing.assert_allclose(np.linalg.norm(hot, axis=1), [2, 2, 0], atol=1e-6)
    np.testing.assert_array_equal(scale(counts, base, "none", 0).matrix.toarray(), counts.toarray())


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("a.tsv", "pos\tgood film\nneg\tbad film\n", {}),
        ("a.tsv", "train\tpos\tgood film\ntest\tneg\tbad film\n", {}),
        ("a.tsv", "text\tlabel\ngood film\tpos\nbad film\tneg\n", {}),
        ("a.tsv", "pos\tgood film\nneg\tbad film\t\t\n", {}),
        ("a.csv", 'id,review,stars\n1,"good film",pos\n2,"bad film",neg\n', {"text_column": "review", "label_column": "stars"}),
        ("a.csv", "\ufefflabel,text\npos,good film\nneg,bad film\n", {}),
        ("a.csv", "ID, Text,Label\n1,good film,pos\n2,bad film,neg\n", {}),
        ("a.csv", "Label,review\npos,good film\nneg,bad film\n", {"text_column": "review"}),
        ("a.csv", "label,text\npos,good film\n,\nneg,bad film\n", {}),
        ("a.jsonl", '{"Label": "pos", "Text": "good film"}\n{"Label": "neg", "Text": "bad film"}\n', {}),
        ("a.jsonl", '{"label": "pos", "text": "good film"}\n\n{"label": "neg", "text": "bad film"}\n', {}),
        ("data", '{"y": "pos", "t": "good film"}\n{"y": "neg", "t": "bad film"}\n',
         {"format": "jsonl", "text_column": "t", "label_column": "y"}),
    ],
)  # fmt: skip
def test_labeled_files(tmp_path, name, content, options):
    path = tmp_path / name
    path.write_text(content)
    found = read_labeled(str(path), **options)
    assert (found.texts, found.labels) == (["good film", "bad film"], ["pos", "neg"])
    if found.splits:
        assert found.part("test") == (["bad film"], ["neg"])
    else:
        assert found.part("train") == (found.texts, found.labels)
        assert found.part("test") == ([], [])


@pytest.mark.parametrize(
    ("name", "content", "options", "says"),
    [
        ("a.tsv", "", {}, "has no examples"),
        ("a.tsv", "pos\tgood\nneg\n", {}, "line 2: only 1 columns"),
        ("a.tsv", "a\tb\tc\td\n", {}, "has 4 columns and no header"),
        ("a.tsv", "text\tlabel\nx\ty\n", {"label_column": "class"}, "no column 'class'"),
        ("a.tsv", "\tgood\n", {}, "line 1: there is no label"),
        ("a.csv", "id,Text\n1,good\n", {}, "has a header without a label: name its column with label_column"),
        ("a.csv", "text\ngood\n", {}, "has a header without a label"),
        ("a.csv", "class,review\npos,good\n", {}, "has a header without a text: name its column with text_column"),
        ("a.jsonl", '{"label": "a", "body": "b"}\n', {"text_column": "boody"}, "no field 'boody': its fields are 'label'"),
        ("a.jsonl", '{"label": 1, "text": 5}\n', {}, "is not text"),
        ("a.jsonl", '{"text": "a"}\n', {}, "no label"),
        ("a.jsonl", "[1]\n", {}, "not a JSON object"),
        ("a.jsonl", "{\n", {}, "line 1: not JSON"),
        ("a.csv", 'a,"b\n', {}, "line 1"),
        ("a.csv", 'label,text\npos,"two\nlines"\n,none\n', {}, "line 4: there is no label"),
        ("a.tsv", "a\tb\n", {"format": "xlsx"}, "unknown format 'xlsx': choose from: auto, tsv, arrow, csv"),
        ("a.tsv", "pos\tgood\nneg\tbad\tand long\n", {}, "line 2: 3 columns, but the first line has 2"),
        ("a.csv", "label,text\npos,good, so good\n", {}, "line 2: 3 columns, but the first line has 2"),
        ("a.jsonl", '{"label": "a", "text": "b", "split": "train"}\n{"label": "a", "text": "b", "split": null}\n', {},
         "only some lines have a split"),
    ],
)  # fmt: skip
def test_faults_of_labeled_files(tmp_path, name, content, options, says):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(FirthianError, match=says):
        read_labeled(str(path), **options)


def test_texts_to_classify(tmp_path):
    lines = tmp_path / "a.txt"
    lines.write_text("one text\n\nanother\n")
    assert read_texts(str(lines)) == ["one text", "", "another"]
    lines.write_bytes("a page\fbreak\r\nand a line\u2028separator".encode())
    assert read_texts(str(lines)) == ["a page\fbreak", "and a line\u2028separator"]
    table = tmp_path / "a.csv"
    table.write_text('id,body\n1,"one, text"\n')
    assert read_texts(str(table), text_column="body") == ["one, text"]


@pytest.mark.parametrize(
    ("name", "content", "texts"),
    [
        ("a.csv", "id,Text\n1,one\n", ["one"]),
        ("a.csv", "Text,stars\none,5\n", ["one"]),
        ("a.csv", 'text\none\n""\n\ntwo\n', ["one", "", "two"]),
        ("a.csv", "label,text\npos,one\n,\nneg,two\n", ["one", "", "two"]),
        ("a.csv", "class\nanother\n", ["class", "another"]),
        ("a.tsv", "pos\tone\n\nneg\t\n", ["one", ""]),
        ("a.jsonl", '{"TEXT": "one"}\n', ["one"]),
    ],
)
def test_columns_of_texts_to_classify(tmp_path, name, content, texts):
    (tmp_path / name).write_text(content)
    assert read_texts(str(tmp_path / name)) == texts


@pytest.mark.parametrize(
    ("name", "content", "options", "says"),
    [
        ("a.csv", "label,review\npos,one\n", {}, "has a header without a text: name its column with text_column"),
        (
            "a.txt",
            "one\n",
            {"text_column": "review"},
            "text_column has no effect on .*, which is read as lines",
        ),
        (
            "a.txt",
            "one\n",
            {"format": "files"},
            "unknown format 'files': choose from: auto, lines, tsv, arrow, csv",
        ),
        ("a.jsonl", '{"body": "one"}\n', {"text_column": "boody"}, "line 1: no field 'boody': its fields are 'body'"),
    ],
)
def test_faults_of_texts_to_classify(tmp_path, name, content, options, says):
    (tmp_path / name).write_text(content)
    with pytest.raises(FirthianError, match=says):
        read_texts(str(tmp_path / name), **options)


@given(st.lists(st.lists(words, max_size=8), min_size=1, max_size=8), st.integers(2, 4))
def test_ngrams_are_those_of_a_slow_loop(texts, longest):
    documents = tokenize(texts, Tokenizer(), longest)
    expected = [Counter(ngrams_of(text, longest)) for text in texts]
    together = sum(expected, Counter())
    assert documents.number == len(texts)
    if not together:
        return
    vocabulary = learn_vocabulary(documents, VocabularyLimits(1))
    assert dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True)) == together
    matrix = count_words(documents, TypeTable.of_words(vocabulary.words))
    assert matrix.toarray().tolist() == [[found[word] for word in vocabulary.words] for found in expected]
    rarer = learn_vocabulary(documents, VocabularyLimits(1), ngram_min_count=2)
    assert set(rarer.words) == {word for word in together if " " not in word or together[word] > 1}


def ngrams_of(text, longest):
    """Words, and runs of them with the start of the text before the first."""
    marked = ["<s>", *text]
    runs = [marked[n : n + size] for size in range(2, longest + 1) for n in range(len(marked) - size + 1)]
    return [*text, *(" ".join(run) for run in runs)]


def test_ngrams_of_documents_that_are_cut_apart(monkeypatch):
    texts = ["one two three " * 20, "", "four " * 30, "five one"]
    table = TypeTable.of_words(["<s> one", "two three", "<s> two", "<s> four", "<s> five", "five one"])
    whole = count_words(tokenize(texts, Tokenizer(), 2), table).toarray()
    assert whole.tolist() == [[1, 20, 0, 0, 0, 0], [0] * 6, [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 1]]
    monkeypatch.setattr(module, "cut_segments", lambda corpus: cut_segments(corpus, segment_bytes=37))
    parts = count_words(tokenize(texts, Tokenizer(), 2), table).toarray()
    # A run that the cut goes through is lost; a text still has one start.
    assert parts[:, [0, 2, 3, 4]].tolist() == whole[:, [0, 2, 3, 4]].tolist()
    assert 0 < parts[0, 1] <= 20


def test_labeled_tables_of_arrow(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = str(tmp_path / "a.parquet")
    parquet.write_table(pa.table({"Label": [1, 2], "text": ["good film", "bad film"], "stars": [5.0, None]}), path)
    found = read_labeled(path)
    assert (found.texts, found.labels) == (["good film", "bad film"], ["1", "2"])
    assert read_texts(path) == ["good film", "bad film"]
    with pytest.raises(FirthianError, match=r"a.parquet, row 2: there is no label"):
        read_labeled(path, label_column="stars")
    with pytest.raises(FirthianError, match=r"row 1: the text is missing or is not text"):
        read_labeled(path, text_column="stars")
