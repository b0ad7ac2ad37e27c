"""Search: the right documents come first, words that are not known are told, damaged and moved things are refused."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

import firthian as ft
from firthian import FirthianError, Index, Vectors, Vocabulary
from firthian.kernels import postings as kernels
from firthian.texts import building
from firthian.texts.index import FUSION, K1, USUAL_FUSION, B, fuse
from firthian.texts.methods import METHODS
from firthian.texts.snippets import snippet
from firthian.vectors.subwords import Subwords
from tests.reference import postings as slow

TOPICS = {
    "sea": "ship sail wave harbor captain",
    "tea": "cup kettle leaf sugar pot",
    "law": "court judge trial appeal jury",
}


def make_vectors(folder: Path, subwords: bool = False) -> Path:
    """Vectors in which the words of a topic are near each other."""
    draw = np.random.default_rng(5)
    words, rows = [], []
    for topic, listed in TOPICS.items():
        center = draw.normal(size=16)
        for word in [topic, *listed.split()]:
            words.append(word)
            rows.append(center + 0.4 * draw.normal(size=16))
    table = None
    if subwords:
        table = Subwords(np.arange(64, dtype=np.uint32), draw.normal(size=(64, 16)).astype(np.float32), buckets=64)
    vectors = Vectors(np.array(rows), Vocabulary(words, np.arange(100, 100 - len(words), -1)), subwords=table)
    vectors.save(folder / "vectors")
    return folder / "vectors"


def make_texts(number: int = 60) -> list[str]:
    draw = np.random.default_rng(6)
    topics = [f"{topic} {words}".split() for topic, words in TOPICS.items()]
    return [
        f"Text {n}: " + " ".join(str(word) for word in draw.choice(topics[n % 3], size=8)) + f" and extra{n}"
        for n in range(number)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("search")
    (folder / "texts.txt").write_text("\n".join(make_texts()) + "\n")
    ft.index(make_vectors(folder), folder / "texts.txt", folder / "index")
    return folder


@pytest.fixture
def opened(folder: Path) -> Index:
    return Index.load(folder / "index", verify=True)


def test_postings_agree_with_the_slow_ones() -> None:
    draw = np.random.default_rng(1)
    documents = [draw.integers(0, 7, size).tolist() for size in (0, 1, 20, 400, 5)]
    ids = np.array([term for document in documents for term in document], np.int32)
    starts = np.cumsum([0, *map(len, documents)])
    sizes = np.zeros(8, np.int64)
    kernels.posting_sizes(ids, starts, sizes)
    expected = slow.postings(documents, 8)
    assert sizes.tolist() == [len(listed) for listed in expected]
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    found, times = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.uint8)
    kernels.fill_postings(ids, starts, indptr, found, times)
    flat = [(n, min(t, kernels.MOST_TIMES)) for listed in expected for n, t in listed]
    assert list(zip(found.tolist(), times.tolist(), strict=True)) == flat


def test_words_are_ranked_by_bm25(opened: Index) -> None:
    documents = [opened.encoder._pool.tokenizer.tokens(text) for text in make_texts()]
    for query in (["tea", "cup"], ["extra7", "ship", "ship"], ["nothing"]):
        np.testing.assert_allclose(opened.word_scores(query), slow.bm25(documents, query, K1, B), rtol=1e-5)


def test_vectors_are_ranked_by_cosine(opened: Index) -> None:
    rows = opened.encoder.encode(make_texts())
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    query = opened.encoder.encode(["kettle"])[0]
    np.testing.assert_allclose(opened.vector_scores(["kettle"]), rows @ query / np.linalg.norm(query), atol=0.01)


@pytest.mark.parametrize("method", ["hybrid", "vectors", "words"])
def test_documents_of_the_topic_come_first(opened: Index, method: str) -> None:
    found = opened.search("the judge and the jury", topn=10, method=method)
    assert len(found) == 10
    assert {hit.document % 3 for hit in found} == {2}
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


def test_vectors_find_documents_without_the_word(opened: Index) -> None:
    without = [n for n, text in enumerate(make_texts()) if n % 3 == 1 and "kettle" not in text]
    found = {hit.document for hit in opened.search("kettle", topn=20, method="vectors")}
    assert found == set(range(1, 60, 3))
    assert without
    assert not {hit.document for hit in opened.search("kettle", topn=20, method="words")} & set(without)


def test_snippets_mark_the_words(opened: Index) -> None:
    hit = opened.search("extra17 CUP", method="words").hits[0]
    assert hit.document == 17
    marked = {hit.snippet[begin:end] for begin, end in hit.matches}
    assert "extra17" in marked
    assert marked <= {"extra17", "cup"}
    assert opened.text(17) == make_texts()[17]


def test_misspelled_words_are_corrected_and_told(opened: Index) -> None:
    found = opened.search("kettel")
    assert found.notes == ["'kettel' is not known: searched for 'kettle'"]
    assert found.hits[0].document % 3 == 1
    found = opened.search("kettle qqqq")
    assert found.notes == ["'qqqq' is not known: left out"]
    with pytest.raises(FirthianError, match="no word of the query is known"):
        opened.search("qqqq zzzz")


def test_unknown_words_are_composed_where_there_are_ngrams(tmp_path: Path) -> None:
    index = ft.index(make_vectors(tmp_path, subwords=True), make_texts(), tmp_path / "index")
    found = index.search("qqqq", method="vectors")
    assert found.notes == ["'qqqq' is not known: its vector is composed of parts"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "the query has no words"),
        (" \n?!", "the query has no words"),
        (3, "expected a query"),
        (None, "expected a query"),
    ],
)
def test_queries_that_are_none(opened: Index, query: object, message: str) -> None:
    with pytest.raises(FirthianError, match=message):
        opened.search(query)


def test_a_query_of_a_megabyte(opened: Index) -> None:
    found = opened.search(" ".join(f"w{n} tea" for n in range(100_000)))
    assert found.hits[0].document % 3 == 1
    assert found.notes[0].startswith("the query has 100,001 different words; searched for the first 1,000")
    assert found.notes[-1] == "979 more words are not known: left out"


def test_added_documents_give_the_scores_of_one_index(folder: Path, tmp_path: Path, monkeypatch) -> None:
    texts = make_texts()
    vectors = make_vectors(tmp_path)
    ft.index(vectors, texts[:35], tmp_path / "index")
    added = ft.index(vectors, texts[35:], tmp_path / "index", add=True)
    assert len(added) == 60
    assert len(added.segments) == 2
    whole = Index.load(folder / "index")
    np.testing.assert_allclose(added.word_scores(["tea", "cup"]), whole.word_scores(["tea", "cup"]), rtol=1e-6)
    assert added.text(50) == texts[50]
    with pytest.raises(FirthianError, match="no documents to add"):
        ft.index(vectors, [], tmp_path / "index", add=True)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_makes_an_index_that_opens(tmp_path: Path, method: str) -> None:
    vectors, texts = make_vectors(tmp_path), make_texts()
    ft.index(vectors, texts[:40], tmp_path / "index", method=method)
    index = ft.index(vectors, texts[40:], tmp_path / "index", add=True)
    assert {hit.document % 3 for hit in index.search("judge jury", topn=5, method="vectors")} == {2}
    # Words that the vectors lack have vectors only where the index has learned its own.
    own = (tmp_path / "index" / "encoder").exists()
    assert own == (method == "topics") == ("text" in index.encoder.vectors.vocabulary)
    if own:
        (tmp_path / "vectors").rename(tmp_path / "elsewhere")
        assert Index.load(tmp_path / "index").search("judge").hits, "it needs no other vectors"
        Vectors(np.eye(2), Vocabulary(["tea", "cup"], [2, 1])).save(tmp_path / "vectors")
        with pytest.raises(FirthianError, match="are not those that made"):
            ft.index(vectors, texts, tmp_path / "index", add=True)


def test_same_bytes_with_any_number_of_workers_and_after_an_interruption(tmp_path, folder_bytes, monkeypatch) -> None:
    monkeypatch.setattr(building, "SEGMENT_DOCUMENTS", 20)
    vectors, texts = make_vectors(tmp_path), make_texts()
    for workers in (1, 3):
        ft.index(vectors, texts, tmp_path / f"index{workers}", workers=workers)
    assert folder_bytes(tmp_path / "index1") == folder_bytes(tmp_path / "index3")
    build, built = building.build_segment, []

    def killed(block, encoder, run):
        if len(built) == 2:
            raise KeyboardInterrupt
        built.append(block[0])
        return build(block, encoder, run)

    monkeypatch.setattr(building, "build_segment", killed)
    with pytest.raises(KeyboardInterrupt):
        ft.index(vectors, texts, tmp_path / "again")
    assert not (tmp_path / "again").exists()
    with pytest.raises(FirthianError, match="unfinished run"):
        ft.index(vectors, texts, tmp_path / "again")
    rest = []
    monkeypatch.setattr(
        building, "build_segment", lambda block, *others: rest.append(block[0]) or build(block, *others)
    )
    ft.index(vectors, texts, tmp_path / "again", resume=True)
    assert rest == [texts[40]], "finished segments are not built again"
    assert folder_bytes(tmp_path / "again") == folder_bytes(tmp_path / "index1")


def test_near_duplicates_are_grouped(tmp_path: Path) -> None:
    texts = make_texts(30)
    # The same words in another order, twice; and a pair.
    texts += [" ".join(reversed(texts[4].split())), texts[4], texts[9].replace("Text", "text")]
    index = ft.index(make_vectors(tmp_path), texts, tmp_path / "index")
    groups = index.dedupe(0.9999)
    assert [4, 30, 31] in groups
    assert [9, 32] in groups
    assert groups[0] == [4, 30, 31]
    for wrong in (0.2, 1.5, "x"):
        with pytest.raises(FirthianError, match=r"threshold must be a number from 0\.5 to 1"):
            index.dedupe(wrong)


def test_two_rankings_are_fused() -> None:
    fused = fuse([(1, 0.9), (2, 0.8), (3, 0.1)], [(3, 9.0), (2, 3.0)], k=10, share=0.5)
    assert [n for n, _ in fused] == [3, 2, 1]
    assert fused[0][1] == pytest.approx(0.5 / 13 + 0.5 / 11)


def test_vectors_that_moved_or_changed_are_refused(folder: Path, tmp_path: Path, firth) -> None:
    for name in ("vectors", "index"):
        shutil.copytree(folder / name, tmp_path / name)
    assert Index.load(tmp_path / "index").search("tea").hits, "both may move together"
    (tmp_path / "vectors").rename(tmp_path / "elsewhere")
    firth("search", tmp_path / "index", "tea").complains("are no longer at", "--vectors")
    assert firth("search", tmp_path / "index", "tea", "-v", tmp_path / "elsewhere").code == 0
    Vectors(np.eye(2), Vocabulary(["tea", "cup"])).save(tmp_path / "vectors")
    firth("search", tmp_path / "index", "tea").complains("are not those that made", "build the index again")
    firth("search", tmp_path / "elsewhere", "tea").complains("is not an index")


def test_damaged_files_are_refused(folder: Path, tmp_path: Path) -> None:
    for name in ("segment-0.safetensors", "index.safetensors", "index.json"):
        shutil.copytree(folder, tmp_path / name)
        file = tmp_path / name / "index" / name
        file.write_bytes(file.read_bytes()[:-3])
        with pytest.raises(FirthianError, match="damaged"):
            Index.load(file.parent)
    shutil.copytree(folder, tmp_path / "missing")
    (tmp_path / "missing" / "index" / "segment-0.safetensors").unlink()
    with pytest.raises(FirthianError, match="no such file"):
        Index.load(tmp_path / "missing" / "index")


def test_commands(tmp_path: Path, firth) -> None:
    vectors = make_vectors(tmp_path)
    rows = [{"id": n, "body": text} for n, text in enumerate(make_texts(30))]
    (tmp_path / "texts.jsonl").write_text("\n".join(map(json.dumps, rows)))
    made = firth("index", vectors, tmp_path / "texts.jsonl", "--text-column", "body", "-o", tmp_path / "index")
    assert made.code == 0
    assert "30 documents" in made.out
    found = firth("search", tmp_path / "index", "kettel", "leaf", "--topn", 3)
    assert len(found.out.splitlines()) == 3
    assert "*leaf*" in found.out
    assert found.err == "firth: 'kettel' is not known: searched for 'kettle'\n"
    shown = json.loads(firth("search", tmp_path / "index", "leaf", "--json").out)
    assert set(shown["results"][0]) == {"document", "score", "snippet", "matches"}
    firth("search", tmp_path / "index", "").complains("the query has no words")
    more = firth(
        "index", vectors, tmp_path / "texts.jsonl", "--text-column", "body", "-o", tmp_path / "index", "--add", "--json"
    )
    assert json.loads(more.out)["documents"] == 60
    assert (
        "30 of 60 documents repeat"
        in firth("dedupe", tmp_path / "index", "--threshold", 1, "-o", tmp_path / "d.txt").out
    )
    assert len((tmp_path / "d.txt").read_text().splitlines()) == 30
    (tmp_path / "empty.txt").write_text("")
    firth("index", vectors, tmp_path / "empty.txt", "-o", tmp_path / "other").complains("no documents to index")
    firth("index", vectors, tmp_path / "texts.jsonl", "-o", tmp_path / "index").complains("already exists")
    firth("index", tmp_path / "no", tmp_path / "texts.jsonl", "-o", tmp_path / "other").complains("does not exist")
    assert not (tmp_path / "other").exists()


def test_texts_without_known_words_are_found_by_their_words(tmp_path: Path) -> None:
    index = ft.index(make_vectors(tmp_path), ["", "foo bar", "tea cup", "\x00 é"], tmp_path / "index")
    assert [hit.document for hit in index.search("foo")] == [1]
    assert [hit.document for hit in index.search("é", method="words")] == [3]
    assert index.dedupe() == []
    with pytest.raises(FirthianError, match="there is no document 4"):
        index.text(4)
    assert index.encoder.options["method"] == "sif", "the texts have no spans to learn from"
    with pytest.raises(FirthianError, match="no text has two spans of 4 words"):
        ft.index(tmp_path / "vectors", ["foo bar", "tea cup"], tmp_path / "other", method="spans")


def test_few_texts_are_not_enough_to_learn_from_spans(tmp_path: Path) -> None:
    vectors, texts = make_vectors(tmp_path), make_texts(250)
    methods = [
        ft.index(vectors, some, tmp_path / f"index{len(some)}").encoder.options["method"]
        for some in (texts[:100], texts)
    ]
    assert methods == ["sif", "spans"]


def test_constants_of_fusion_are_those_of_the_benchmark() -> None:
    rows = json.loads((Path(__file__).parents[2] / "benchmarks" / "results" / "search.json").read_text())["rows"]
    for method in ("spans", "topics"):
        row = rows[f"retrieval {method}"]
        assert FUSION.get(method, USUAL_FUSION) == (row["k"], row["share"])
        for kind in ("posting", "subject"):
            assert row[kind]["hybrid"] > row[kind]["words"]


def test_a_document_of_one_endless_word_has_a_snippet_in_time() -> None:
    for text in ("tea-" * 500_000, "tea " * 500_000):
        before = time.process_time()
        shown, spans = snippet(text, ["tea"])
        assert time.process_time() - before < 10
        assert len(shown) < 200
        assert spans
