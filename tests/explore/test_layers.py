"""Names of regions, axes between poles, examples from a corpus, and counts that belong to their model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from firthian import FirthianError, Vectors, Vocabulary, count, index
from firthian.explore.concordance import concordance
from firthian.explore.regions import name_regions
from firthian.explore.server import api
from firthian.explore.server.state import ExplorerState
from firthian.explore.word_map import map_axes
from tests.explore.planted import planted, save


def test_regions_are_named_by_their_words() -> None:
    random = np.random.default_rng(4)
    topics = np.repeat(np.arange(4), 100)
    order = random.permutation(400)
    topics = topics[order]
    rows = (np.eye(8)[topics] + 0.1 * random.normal(size=(400, 8))).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    corners = np.array([[0, 0], [0, 9], [9, 0], [9, 9]])
    points = (corners[topics] + random.normal(size=(400, 2))).astype(np.float32)
    words = [f"{'abcd'[topic]}{at}" for at, topic in enumerate(topics)]
    (level,) = name_regions(points, rows, words, (4,))
    assert len(level) == 4
    for x, y, name in level:
        topic = int(np.abs(corners - [x, y]).sum(axis=1).argmin())
        assert {part[0] for part in name.split(", ")} == {"abcd"[topic]}
    assert name_regions(points, rows, words, (4,)) == [level]
    assert name_regions(points[:10], rows[:10], words[:10]) == []


def test_axes_are_cosines_with_the_difference_of_poles() -> None:
    vectors = planted()
    made = map_axes(vectors, "man:woman", "tea,coffee:king,queen", 100)
    unit = vectors.get_normed_vectors()
    at = vectors.key_to_index
    expected = unit @ (unit[at["woman"]] - unit[at["man"]])
    assert np.corrcoef(made.points[:, 0], expected)[0, 1] == pytest.approx(1, abs=1e-6)
    for bad in ("man", "man:", "a:b:c"):
        with pytest.raises(FirthianError, match="two poles"):
            map_axes(vectors, bad, "tea:king", 100)
    with pytest.raises(FirthianError, match="not in the vocabulary"):
        map_axes(vectors, "man:xyz", "tea:king", 100)


def test_examples_stand_in_their_lines(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("Hot TEA with milk.\nteapots are no tea.\nNew York is far\ncold tea at night\n")
    found = concordance([str(text)], "tea")
    assert found.complete
    assert found.lines == [
        ("Hot ", "TEA", " with milk."),
        ("teapots are no ", "tea", "."),
        ("cold ", "tea", " at night"),
    ]
    assert [line[1] for line in concordance([str(text)], "new_york").lines] == ["New York"]
    assert concordance([str(text)], "tea", beside="milk").lines == found.lines[:1]
    assert not concordance([str(text)], "tea", topn=1).complete
    with pytest.raises(FirthianError, match="no word"):
        concordance([str(text)], " ")


def test_examples_are_not_cut_within_words(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text(f"{'abcdefghi ' * 9}tea{' jklmnopqr' * 9}\n{'x' * 90} tea\n")
    long, single = concordance([str(text)], "tea").lines
    assert long == ("abcdefghi " * 6, "tea", " jklmnopqr" * 6)
    assert single == (f"{'x' * 69} ", "tea", "")


def test_documents_are_searched(tmp_path: Path) -> None:
    save(planted(), tmp_path / "first")
    index(tmp_path / "first", ["hot tea with milk", "the king and the queen"], tmp_path / "index", method="mean")
    found = api.search(ExplorerState([tmp_path / "first"], index=tmp_path / "index"), "TEA milkk", method="words")
    assert found["results"][0]["document"] == 0
    assert found["results"][0]["snippet"] == ["hot ", "tea", " with ", "milk", ""]
    assert found["notes"] == ["'milkk' is not known: searched for 'milk'"]
    without = ExplorerState([tmp_path / "first"])
    assert api.models(without)["documents"] == 0
    with pytest.raises(FirthianError, match="no index is open"):
        api.search(without, "tea")


def test_contexts_belong_to_their_model(tmp_path: Path) -> None:
    save(planted(), tmp_path / "old")
    save(planted(seed=2), tmp_path / "new")
    count(["hot tea"] * 6, tmp_path / "c1", min_count=1)
    count(["cold tea"] * 6, tmp_path / "c2", min_count=1)
    state = ExplorerState([tmp_path / "old", tmp_path / "new"], [tmp_path / "c1", tmp_path / "c2"])
    for model, counts, word in (("old", "c1", "hot"), ("new", "c2", "cold")):
        found = api.contexts(state, "tea", model=model, order="llr")
        assert (found["counts"], [one["word"] for one in found["contexts"]]) == (counts, [word])
    shared = ExplorerState([tmp_path / "old", tmp_path / "new"], tmp_path / "c1")
    assert api.contexts(shared, "tea", model="new")["counts"] == "c1"
    with pytest.raises(FirthianError, match="2 counts folders for 1 models"):
        ExplorerState([tmp_path / "old"], [tmp_path / "c1", tmp_path / "c2"])


def test_a_projection_that_is_not_installed_says_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(planted(), tmp_path / "v")
    monkeypatch.setattr(api, "find_spec", lambda name: None)
    missing = {method["name"]: method["missing"] for method in api.models(ExplorerState([tmp_path / "v"]))["methods"]}
    assert missing == {"pca": "", "tsne": "pip install 'firthian[viz]'", "umap": "pip install 'firthian[umap]'"}


def test_every_question_spells_words_as_the_corpus_does(tmp_path: Path) -> None:
    vectors = planted()
    words = [word for word in vectors if word.islower()]
    save(vectors.subset(words), tmp_path / "v")
    count(["hot tea with milk"] * 9, tmp_path / "counts", min_count=1, window=2)
    state = ExplorerState([tmp_path / "v"], tmp_path / "counts")
    assert api.similarity(state, "Tea", "COFFEE")["similarity"] == api.similarity(state, "tea", "coffee")["similarity"]
    assert (
        api.analogy(state, "Man", "King", "Woman")["answers"] == api.analogy(state, "man", "king", "woman")["answers"]
    )
    assert api.compare(state, "Tea", "v", "v")["sides"] == api.compare(state, "tea", "v", "v")["sides"]
    assert api.contexts(state, "Tea", min_count=1) == api.contexts(state, "tea", min_count=1)


def test_words_to_begin_with_are_those_of_the_model(tmp_path: Path) -> None:
    names = {
        "english": ["music", "river", "king"],
        "magyar": [f"szó{chr(97 + at % 26)}{chr(97 + at // 26)}" for at in range(600)],
    }
    for name, words in names.items():
        save(Vectors(np.eye(4)[np.arange(len(words)) % 4], Vocabulary(words)), tmp_path / name)
    found = api.models(ExplorerState([tmp_path / name for name in names]))["models"]
    assert found[0]["examples"] == ["music", "river", "king"]
    assert len(found[1]["examples"]) == 4
    assert set(found[1]["examples"]) <= set(names["magyar"])
