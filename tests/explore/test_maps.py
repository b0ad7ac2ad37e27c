"""Projections, groups, labels, clouds, and the pictures that ``firth map`` writes."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from firthian import FirthianError, Vectors, Vocabulary, count
from firthian.disk.tensors import write_tensors
from firthian.explore.labels import place_labels
from firthian.explore.map_plot import map_page
from firthian.explore.projection import ProjectionOptions, exact_neighbors, project, unit_rows
from firthian.explore.word_map import DEVIATIONS, find_clusters, make_map
from tests.explore.planted import HOSTILE, TOPICS, planted, save

needs_matplotlib = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed (firthian[viz])"
)
needs_tsne = pytest.mark.skipif(
    importlib.util.find_spec("openTSNE") is None, reason="openTSNE is not installed (firthian[viz])"
)
TOPIC_WORDS = sum(len(text.split()) for text in TOPICS.values())


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRTHIAN_CACHE", str(tmp_path / "cache"))


def test_pca_is_that_of_the_singular_vectors() -> None:
    vectors = planted()
    found = project(vectors, np.arange(len(vectors)), ProjectionOptions("pca"))
    rows = unit_rows(vectors, np.arange(len(vectors))).astype(np.float64)
    left, values, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(np.abs(found.points), np.abs(left[:, :2] * values[:2]), atol=1e-5)


def test_exact_neighbors_are_the_nearest() -> None:
    rows = np.random.default_rng(1).standard_normal((60, 5)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    neighbors, distances = exact_neighbors(rows, 7)
    all_distances = np.linalg.norm(rows[:, None] - rows[None], axis=2)
    np.fill_diagonal(all_distances, np.inf)
    np.testing.assert_allclose(distances, np.sort(all_distances, axis=1)[:, :7], atol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(all_distances, neighbors, axis=1), distances, atol=1e-5)


@needs_tsne
def test_tsne_keeps_topics_together_and_is_kept(tmp_path: Path) -> None:
    vectors = planted()
    folder = save(vectors, tmp_path / "v")
    numbers = np.arange(TOPIC_WORDS)
    options = ProjectionOptions("tsne", perplexity=5)
    made = project(vectors, numbers, options, folder=folder, workers=1).points
    assert topics_are_apart(made)
    kept = list((folder / "maps").glob("tsne-*.safetensors"))
    assert len(kept) == 1
    # What is read back is the file, not the same computation: a changed file shows.
    write_tensors(kept[0], {"points": made + 1})
    np.testing.assert_array_equal(project(vectors, numbers, options, folder=folder).points, made + 1)
    kept[0].write_bytes(b"damaged")
    np.testing.assert_array_equal(project(vectors, numbers, options, folder=folder, workers=2).points, made)


def topics_are_apart(points: np.ndarray) -> bool:
    """Whether the middles of all topics are further from each other than any word is from its own."""
    topics = points.reshape(len(TOPICS), -1, 2).astype(np.float64)
    centers = topics.mean(axis=1)
    spread = np.linalg.norm(topics - centers[:, None], axis=2).max()
    apart = np.linalg.norm(centers[:, None] - centers[None], axis=2)[~np.eye(len(TOPICS), dtype=bool)].min()
    return bool(apart > spread)


@pytest.mark.slow  # It compiles for half a minute on its first run.
@pytest.mark.skipif(importlib.util.find_spec("umap") is None, reason="umap-learn is not installed (firthian[umap])")
def test_umap_keeps_topics_together_and_is_kept(firth, tmp_path: Path) -> None:
    vectors = planted()
    folder = save(vectors, tmp_path / "v")
    numbers = np.arange(TOPIC_WORDS)
    made = project(vectors, numbers, ProjectionOptions("umap"), folder=folder).points
    assert topics_are_apart(made)
    np.testing.assert_array_equal(project(vectors, numbers, ProjectionOptions("umap"), keep=False).points, made)
    (kept,) = (folder / "maps").glob("umap-*.safetensors")
    write_tensors(kept, {"points": made + 1})
    np.testing.assert_array_equal(project(vectors, numbers, ProjectionOptions("umap"), folder=folder).points, made + 1)
    assert firth("map", folder, "-o", tmp_path / "m.html", "--method", "umap").code == 0


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for method, module in (("umap", "umap"), ("tsne", "openTSNE")):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(FirthianError, match=r"pip install 'firthian\[(umap|viz)\]'"):
            project(planted(), np.arange(9), ProjectionOptions(method), keep=False)


def test_bad_options() -> None:
    with pytest.raises(FirthianError, match="did you mean tsne"):
        ProjectionOptions("tsn")
    for wrong in ({"perplexity": 0.0}, {"perplexity": float("nan")}, {"seed": -1}):
        with pytest.raises(FirthianError):
            ProjectionOptions(**wrong)
    with pytest.raises(FirthianError, match="at least 4"):
        project(planted(), np.arange(3), ProjectionOptions("tsne"))
    broken = planted()
    broken.matrix[2, 0] = np.nan
    with pytest.raises(FirthianError, match="'milk' is not finite"):
        project(broken, np.arange(5), ProjectionOptions("pca"))


def test_sparse_vectors_have_a_map() -> None:
    import scipy.sparse

    dense = planted()
    matrix = scipy.sparse.csr_array(np.maximum(dense.matrix, 0))
    made = make_map(
        Vectors(matrix, dense.vocabulary),
        words=["tea", "coffee", "sun", "moon", "rain"],
        options=ProjectionOptions("pca"),
    )
    assert made.points.shape == (5, 2)
    assert np.isfinite(made.points).all()


def test_clusters_find_the_topics() -> None:
    rows = unit_rows(planted(), np.arange(TOPIC_WORDS))
    found = find_clusters(rows, len(TOPICS))
    groups = found.labels.reshape(len(TOPICS), -1)
    assert (groups == groups[:, :1]).all()
    assert len(set(groups[:, 0])) == len(TOPICS)
    # Each row is with the nearest center, and each center is the direction of its rows.
    np.testing.assert_array_equal((rows @ found.centers.T).argmax(axis=1), found.labels)
    for group, center in enumerate(found.centers):
        total = rows[found.labels == group].sum(axis=0)
        np.testing.assert_allclose(center, total / np.linalg.norm(total), atol=1e-5)
    assert find_clusters(rows[:3], 10).labels.max() <= 2
    assert len(find_clusters(np.zeros((5, 2), dtype=np.float32), 2).labels) == 5


def test_labels_do_not_overlap() -> None:
    random = np.random.default_rng(3)
    points = random.uniform(0, 300, (200, 2))
    sizes = np.column_stack([random.uniform(10, 60, 200), np.full(200, 10.0)])
    placed = place_labels(points, sizes, (0, 0, 300, 300))
    assert placed[0][0] == 0
    assert len(placed) < 200
    boxes = [(left, bottom, left + sizes[i, 0], bottom + sizes[i, 1]) for i, left, bottom in placed]
    for i, (a, b, c, d) in enumerate(boxes):
        assert a >= 0
        assert b >= 0
        assert c <= 300
        assert d <= 300
        assert not any(a < g and e < c and b < h and f < d for e, f, g, h in boxes[:i])
    assert len(place_labels(points, sizes, (0, 0, 300, 300), most=5)) == 5


def test_labels_leave_marks_free_where_they_can() -> None:
    # A second point stands where the first one's label would: to its right.
    points, sizes, bounds = np.array([[50.0, 50.0], [60.0, 50.0]]), np.full((2, 2), 12.0), (0, 0, 100, 100)
    (_, left, _), *_ = place_labels(points, sizes, bounds)
    assert left == 52
    for _, left, bottom in place_labels(points, sizes, bounds, gap=4, mark=3):
        for x, y in points:
            assert left >= x + 3 or left + 12 <= x - 3 or bottom >= y + 3 or bottom + 12 <= y - 3
    # Where marks are everywhere, labels are written all the same.
    crowd = np.array([[x, y] for x in range(5, 100, 5) for y in range(5, 100, 5)], dtype=float)
    assert len(place_labels(crowd, np.full((len(crowd), 2), 12.0), bounds, gap=4, mark=3)) > 10


def test_ellipses_are_those_of_draws() -> None:
    """The ellipse of a word covers the directions of draws from its posterior as far as promised: about 90 %."""
    vectors = planted(uncertain=True)
    made = make_map(vectors, limit=TOPIC_WORDS, options=ProjectionOptions("pca"))
    found = project(vectors, np.arange(TOPIC_WORDS), ProjectionOptions("pca"))
    random = np.random.default_rng(5)
    word = 3
    mean = vectors.matrix[word].astype(np.float64)
    draws = mean + np.sqrt(0.002) * random.standard_normal((4000, mean.size))
    points = (draws / np.linalg.norm(draws, axis=1, keepdims=True) - mean / np.linalg.norm(mean)) @ found.axes
    width, height, angle = made.ellipses[word]
    turn = np.radians(angle)
    along = points @ [np.cos(turn), np.sin(turn)]
    across = points @ [-np.sin(turn), np.cos(turn)]
    inside = (along / width) ** 2 + (across / height) ** 2 <= 1
    assert np.exp(-(DEVIATIONS**2) / 2) == pytest.approx(0.1, abs=1e-3)
    assert inside.mean() == pytest.approx(0.9, abs=0.03)
    assert width >= height > 0


def test_named_words_and_too_few(firth, tmp_path: Path) -> None:
    made = make_map(planted(), words=["tea", "sun", "tea"], options=ProjectionOptions("pca"), clusters=2)
    assert made.words == ["tea", "sun"]
    folder = save(planted(), tmp_path / "v")
    out = tmp_path / "m.html"
    firth("map", folder, "-o", out, "--words", "tea,sunn").complains(
        "'sunn' is not in the vocabulary", "did you mean sun"
    )
    firth("map", folder, "-o", out, "--words", "tea").complains("a map needs two words or more, got 1")
    firth("map", folder, "-o", tmp_path / "m.gif").complains("not a supported picture format", ".html or .png or .svg")
    firth("map", folder, "-o", out, "--method", "tsn").complains("did you mean tsne")
    firth("map", folder, "-o", tmp_path / "no" / "m.png").complains("not a folder")
    out.write_text("mine")
    firth("map", folder, "-o", out, "--method", "pca").complains("already exists", "--force")
    assert out.read_text() == "mine"
    (tmp_path / "words.txt").write_text("tea\nmilk\n\nsun\n")
    shown = firth("map", folder, "-o", out, "--method", "pca", "--words", tmp_path / "words.txt", "--force").out
    assert "3 words" in shown


def test_the_page_holds_its_data_and_asks_nobody() -> None:
    made = make_map(planted(), options=ProjectionOptions("pca"))
    page = map_page(made, "a </title><b>")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, flags=re.DOTALL).group(1))
    assert data["words"] == made.words
    assert set(HOSTILE) <= set(data["words"])
    assert "<script>window.hacked" not in page
    assert "</title><b>" not in page
    # The name of SVG's namespace is no address that anything is loaded from.
    assert not re.search(r"https?://", page.replace("http://www.w3.org/2000/svg", ""))
    assert not re.search(r"^import ", page, flags=re.MULTILINE)


@needs_matplotlib
def test_pictures_are_the_same_every_time(firth, tmp_path: Path) -> None:
    folder = save(planted(uncertain=True), tmp_path / "v")
    for suffix, start in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        files = [tmp_path / f"{name}.{suffix}" for name in "ab"]
        for file in files:
            outcome = firth("map", folder, "-o", file, "--method", "pca", "--size", "4")
            assert outcome.code == 0, outcome.err
            assert "35 words" in outcome.out
        assert files[0].read_bytes().startswith(start)
        assert files[0].read_bytes() == files[1].read_bytes()
    assert not list(tmp_path.glob(".*new*"))


@needs_matplotlib
def test_a_cloud_of_few_words_has_a_page_that_fits(tmp_path: Path) -> None:
    from matplotlib.image import imread

    from firthian.explore.contexts import plot_cloud

    few = count(["tea with milk and sugar"] * 9, min_count=1)
    many = count([f"tea {' '.join(f'remarkably{n}{k}' for k in 'abcd')}" for n in range(20)] * 9, min_count=1)
    assert sorted(plot_cloud(few, "tea", tmp_path / "few.png", min_count=1).drawn) == ["and", "milk", "sugar", "with"]
    crowded = plot_cloud(many, "tea", tmp_path / "many.png", min_count=1)
    # eighty long words are more than a page holds: those that found no place are told
    assert crowded.left_out
    assert len({*crowded.drawn, *crowded.left_out}) == len(crowded.drawn) + len(crowded.left_out) == 80
    assert imread(tmp_path / "few.png").shape[1] < 0.7 * imread(tmp_path / "many.png").shape[1]


def test_frequent_words_can_be_left_out_of_contexts() -> None:
    from firthian.counts.contexts import context_words

    counts = count(["the tea with the milk", "the cup of tea the", "the tea and tea"], window=5, min_count=1)
    everything = {one.word for one in context_words(counts, "tea", min_count=0)}
    # "the" is seen five times, "tea" four times, all others once.
    assert everything == {"the", "tea", "with", "milk", "cup", "of", "and"}
    for number, first in enumerate(("the", "tea"), 1):
        everything.remove(first)
        assert {one.word for one in context_words(counts, "tea", min_count=0, skip_frequent=number)} == everything
    assert context_words(counts, "tea", min_count=0, skip_frequent=99) == []


@needs_matplotlib
def test_cloud(firth, tmp_path: Path) -> None:
    text = ["hot tea with milk and sugar", "cold tea with lemon", "the $math$ of tea _x^2"] * 6
    count(text, tmp_path / "counts", min_count=1, window=3)
    outcome = firth("map", tmp_path / "counts", "--cloud", "tea", "-o", tmp_path / "c.png", "--min-count", "1")
    assert outcome.code == 0, outcome.err
    assert re.search(r": (\d+) contexts of tea", outcome.out)
    assert int(outcome.out.split(": ")[1].split()[0]) >= 6
    firth(
        "map", tmp_path / "counts", "--cloud", "tea", "-o", tmp_path / "d.png", "--min-count", "1", "--skip-frequent", "99"
    ).complains("beside the 99 most frequent words")  # fmt: skip
    firth("map", tmp_path / "counts", "--cloud", "te", "-o", tmp_path / "d.png").complains("not in the vocabulary")
    firth("map", tmp_path / "counts", "--cloud", "tea", "-o", tmp_path / "d.png", "--min-count", "999").complains(
        "no context counted"
    )
    firth("map", tmp_path / "counts", "-o", tmp_path / "d.png").complains("counts, not vectors")
    firth("map", tmp_path / "counts", "--cloud", "tea", "-o", tmp_path / "d.png", "--order", "x").complains("ordered")


def test_words_without_counts_have_a_map() -> None:
    vectors = Vectors(np.eye(4), Vocabulary(list("abcd")))
    assert make_map(vectors, options=ProjectionOptions("pca"), clusters=2).to_dict()["counts"] == [0, 0, 0, 0]


def test_a_map_of_named_words_composes_the_unknown_ones() -> None:
    from tests.vectors.test_subwords import known

    vectors = known()
    drawn = make_map(
        vectors, words=["tea", "teapots", "happy"], options=ProjectionOptions("pca"), clusters=1, keep=False
    )
    assert drawn.words == ["tea", "teapots", "happy"]
    assert np.isfinite(drawn.points).all()
    with pytest.raises(FirthianError, match="'qqq' is not in the vocabulary"):
        make_map(vectors, words=["tea", "qqq"], options=ProjectionOptions("pca"), keep=False)
