"""Planted changes are found, unchanged, bursty and more frequent words are not; answers, figures and mistakes."""

from __future__ import annotations

import json

import numpy as np
import pytest

import firthian as ft
from firthian.ask.change import Comparison
from firthian.errors import FirthianError

TOPICS = {
    "nature": [f"leaf{n}" for n in range(30)],
    "city": [f"street{n}" for n in range(30)],
    "sea": [f"wave{n}" for n in range(30)],
}
FILL = [f"the{n}" for n in range(20)]


def write(generator, word, topic, size=6):
    words = list(generator.choice(TOPICS[topic], size)) + list(generator.choice(FILL, size))
    generator.shuffle(words)
    words.insert(size, word)
    return " ".join(words)


def texts(seed, changed):
    """Forty documents; ``mouse`` moves to the city if ``changed``, ``root`` stays, ``burst`` is of the sea in one document."""
    generator = np.random.default_rng(seed)
    documents = []
    for number in range(40):
        lines = [write(generator, "mouse", "city" if changed else "nature") for _ in range(2)]
        lines += [write(generator, "root", "nature") for _ in range(2)]
        # More frequent, with the same contexts.
        lines += [write(generator, "boat", "sea") for _ in range(4 if changed else 2)]
        lines += [write(generator, f"filler{generator.integers(60)}", topic) for topic in TOPICS for _ in range(25)]
        lines += [write(generator, "burst", "nature")]
        if number == 5 and changed:
            lines += [write(generator, "burst", "sea") for _ in range(40)]
        generator.shuffle(lines)
        documents.append(" ".join(lines))
    return documents


SETTINGS = {"counting": {"min_count": 5, "sample": 0}, "vector_size": 12}
WORDS = ("mouse", "root", "boat", "burst")


@pytest.fixture(scope="module")
def comparison():
    return Comparison({"old": texts(1, False), "new": texts(2, True)}, **SETTINGS)


@pytest.fixture(scope="module")
def answer(comparison):
    return comparison.ask()


def test_the_planted_change_is_found_and_nothing_else(answer):
    assert answer.changed()[0] == "mouse"
    assert answer["mouse"].q < 0.05
    assert answer["mouse"].debiased > 3 * answer["mouse"].test.se
    for word in WORDS[1:]:
        assert answer[word].test.p > 0.02, word
        assert word not in answer.changed()


def test_its_contexts_and_neighbors_say_how(answer):
    mouse = answer["mouse"]
    assert all(word.startswith("street") for word in mouse.gained[:5])
    assert all(word.startswith("leaf") for word in mouse.lost[:5])
    old, new = mouse.slices
    assert sum(word.startswith(("leaf", "root")) for word in old.neighbors) >= 6
    assert sum(word.startswith("street") for word in new.neighbors) >= 6
    assert mouse.neighbors(kept=True)
    assert set(mouse.neighbors(kept=True)) <= set(new.neighbors)
    assert sum(share for _, share, _, _ in mouse.contexts) > 0.9
    assert (old.occurrences, new.occurrences, old.units, new.units) == (80, 80, 40, 40)


def test_a_split_of_one_text_finds_nothing(comparison):
    both = texts(3, False) + texts(4, False)
    result = ft.change(both[::2], both[1::2], **SETTINGS)
    p = np.array([word.test.p for word in result.words])
    assert not result.changed()
    assert 0.3 < p.mean() < 0.7


def test_the_answer_depends_on_neither_workers_nor_other_words(answer):
    again = Comparison({"old": texts(1, False), "new": texts(2, True)}, **SETTINGS, workers=1).ask(["root", "mouse"])
    for word in ("root", "mouse"):
        assert again[word].test == answer[word].test
        assert again[word].contexts == answer[word].contexts or not answer[word].contexts


def test_three_slices_have_a_trajectory(tmp_path):
    table = {
        "text": [*texts(1, False), *texts(5, False), *texts(2, True)],
        "year": [1840] * 40 + [1860] * 40 + [1880] * 40,
    }
    result = ft.change(table, by="year", words=["mouse", "root"], **SETTINGS)
    mouse = result["mouse"]
    assert [part.name for part in mouse.slices] == ["1840", "1860", "1880"]
    assert mouse.q < 0.05 < result["root"].q
    first, second, third = (part.vector for part in mouse.slices)
    assert np.linalg.norm(third - first) > 2 * np.linalg.norm(second - first)
    result.plot(tmp_path / "path.png", word="mouse")
    assert (tmp_path / "path.png").stat().st_size > 10_000


def test_the_answer_as_json_frames_and_figures(answer, tmp_path):
    shown = json.loads(json.dumps(answer.to_dict()))["words"][0]
    assert {"word", "distance", "distance_debiased", "p", "q", "gained", "lost"} <= shown.keys()
    assert shown["word"] == "mouse"
    frame = answer.to_pandas()
    assert (frame["q"] <= 0.1).is_monotonic_decreasing
    assert len(answer.to_pandas("neighbors")) == 2 * min(20, len(frame))
    answer.save(tmp_path / "report")
    assert {file.name for file in (tmp_path / "report").iterdir()} >= {"report.html", "words.csv", "plot.png"}
    assert "permutations of the documents" in str(answer)


def test_given_vectors_are_used_as_they_are(comparison):
    other = Comparison({"old": texts(1, False), "new": texts(2, True)}, vectors=comparison.vectors)
    assert other.ask(["mouse"])["mouse"].test == comparison.ask(["mouse"])["mouse"].test


def test_distances_are_in_units_of_a_typical_unit(comparison):
    words = np.arange(len(comparison.vectors))
    spread = []
    for present, means, weights in comparison.means(words):
        if present.size >= 10:
            spread.append(weights @ np.square(means - weights @ means / weights.sum()).sum(axis=1) / weights.sum())
    assert np.mean(spread) == pytest.approx(1, rel=0.05)


@pytest.mark.parametrize(
    ("words", "settings", "message"),
    [
        (["mouze"], {}, "none of the words occurs in the corpus: mouze"),
        ([], {}, "no words"),
        (None, {"min_occurrences": 10**6}, "no word occurs 1,000,000 times"),
        (None, {"permutations": 5}, "permutations"),
        (None, {"fdr": 1.5}, "fdr"),
    ],
)
def test_questions_without_an_answer(comparison, words, settings, message):
    with pytest.raises(FirthianError, match=message):
        comparison.ask(words, **settings)


def test_a_word_of_one_slice_cannot_be_compared(comparison):
    old = [*texts(1, False)[:20], *[text + " only only only only only only" for text in texts(6, False)[:20]]]
    with pytest.raises(FirthianError, match=r"only occurs in fewer than two .* \(120, 0 occurrences by slice\)"):
        ft.change(old, texts(2, True), words=["only"], **SETTINGS)
    result = ft.change(old, texts(2, True), words=["only", "mouse"], topn=0, **SETTINGS)
    assert any("1 words are in fewer than two" in note for note in result.notes)


def test_mistakes_are_found_before_the_corpus_is_read(tmp_path):
    for name, value in (("fdr", 1.5), ("permutations", 5), ("topn", -1)):
        with pytest.raises(FirthianError, match=name):
            ft.change(tmp_path / "missing", tmp_path / "missing too", **{name: value})


def test_a_slice_without_words_is_named():
    old, new, none = texts(1, False), texts(2, True), ["?!"] * 20
    with pytest.raises(FirthianError, match="the slice slice 3 contains no words") as caught:
        ft.change(old, new, none, **SETTINGS)
    assert caught.value.hint


def test_missing_words_are_told(comparison):
    result = comparison.ask(["mouse", "zebra"])
    assert result.to_dict()["missing"] == ["zebra"]
    assert any("zebra" in note for note in result.notes)


def test_vectors_of_another_recipe_are_refused():
    vectors = ft.train(texts(1, False), "svd", vector_size=5, counting={"min_count": 5})
    with pytest.raises(FirthianError, match="recipe sgns"):
        Comparison(texts(1, False), texts(2, True), vectors=vectors)
