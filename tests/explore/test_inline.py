"""Pictures and the explorer in a notebook."""

from __future__ import annotations

import re
import sys
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import firthian as ft
from firthian.runtime.progress import NotebookBar, Silent, usual_progress
from tests.explore.planted import planted

pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRTHIAN_CACHE", str(tmp_path / "cache"))


def test_a_map_shows_itself_and_writes_itself(tmp_path: Path) -> None:
    made = planted().map(method="pca", groups={"sun": "sky", "moon": "sky", "tea": "drinks"})
    assert made._repr_html_().startswith("<iframe srcdoc=")
    assert made.to_pandas()["group_name"].tolist() == ["sky", "sky", "drinks"]
    made.save(tmp_path / "map.svg", title="Sky")
    assert ">Sky</text>" in (tmp_path / "map.svg").read_text()
    assert made.plot()._repr_png_().startswith(b"\x89PNG")
    assert repr(made) == "<Map of 3 words by pca>"


def test_a_plot_of_a_word_shows_its_neighbors() -> None:
    figure = planted().plot("sun", topn=5)
    texts = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert "sun" in texts
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert planted().plot(["sun", "tea", "milk"]).axes


def test_the_explorer_runs_in_a_frame() -> None:
    pytest.importorskip("uvicorn")
    shown = planted().explore()
    try:
        assert shown.url in shown._repr_html_()
        with urllib.request.urlopen(shown.url, timeout=30) as answer:
            assert "X-Frame-Options" not in answer.headers
            policy = answer.headers["Content-Security-Policy"]
        assert re.search(r"frame-ancestors http://localhost:\* ", policy)
    finally:
        shown.close()


def test_the_selection_on_the_map_comes_back_as_a_frame() -> None:
    pytest.importorskip("uvicorn")
    pytest.importorskip("pandas")
    shown = planted().explore()
    try:
        assert shown.selection().empty
        urllib.request.urlopen(f"{shown.url}api/selection?words=tea%20sun%20gone", timeout=30).close()
        assert shown.selection()["word"].tolist() == ["tea", "sun"]
        assert shown.selection()["count"].tolist() == [
            planted().vocabulary.counts[planted().vocabulary[word]] for word in ("tea", "sun")
        ]
        urllib.request.urlopen(f"{shown.url}api/selection?words=king&add=true", timeout=30).close()
        assert shown.selection()["word"].tolist() == ["tea", "sun", "king"]
        urllib.request.urlopen(f"{shown.url}api/selection", timeout=30).close()
        assert shown.selection().empty
        with pytest.raises(urllib.error.HTTPError, match="400"):
            urllib.request.urlopen(f"{shown.url}api/selection?words={'a' * 8001}", timeout=30)
    finally:
        shown.close()


def test_a_comparison_is_a_table_and_a_figure() -> None:
    from firthian.compare.comparison import compare_recipes

    pairs = ft.evaluate.Pairs("mine", [("tea", "milk"), ("tea", "sun"), ("sun", "moon")], np.array([9.0, 2, 8]))
    text = ["hot tea milk", "cold tea milk", "hot sun moon", "cold sun moon"] * 10
    made = compare_recipes(text, ["svd", "ppmi"], vector_size=3, sets=[pairs], counting={"min_count": 1, "sample": 0})
    frame = made.to_pandas()
    assert set(frame["vectors"]) == {"svd", "ppmi"}
    assert (frame["training_seconds"] >= 0).all()
    assert len(repr(made)) < 3000
    figure = made.plot()
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["mine, spearman"]
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_progress_is_shown_in_notebooks_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(usual_progress(), Silent)
    shown: list[str] = []

    class Handle:
        def update(self, data: dict[str, str], raw: bool) -> None:
            shown.append(data["text/html"])

    def display(data: dict[str, str], **_: Any) -> Handle:
        shown.append(data["text/html"])
        return Handle()

    shell = SimpleNamespace(kernel=object())
    module = SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    bar = usual_progress()
    assert isinstance(bar, NotebookBar)
    bar.start("counting <b>", 4)
    for _ in range(4):
        bar.advance(1, "loss 0.5")
    assert "counting &lt;b&gt;" in shown[0]
    assert 'value="1.000"' in shown[-1]
    assert "loss 0.5" in shown[-1]
