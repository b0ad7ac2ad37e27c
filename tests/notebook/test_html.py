"""What a notebook shows of counts and vectors."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import firthian as ft
from firthian import Vectors, Vocabulary
from firthian.vectors.provenance import Provenance


class Tags(HTMLParser):
    """Collects tags and checks that they close."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def tags(text: str) -> set[str]:
    parser = Tags()
    parser.feed(text)
    parser.close()
    assert not parser.open
    return parser.seen


HOSTILE = "<script>alert(1)</script>"


@pytest.mark.parametrize("sparse", [False, True])
def test_vectors(sparse: bool) -> None:
    matrix = np.arange(200.0).reshape(20, 10)
    words = [HOSTILE, "x" * 1000, "\u202e\n", *(f"w{i}" for i in range(17))]
    given = scipy.sparse.csr_array(matrix) if sparse else matrix
    vectors = Vectors(given, Vocabulary(words, np.arange(20) + 1000), provenance=Provenance(recipe=HOSTILE, seed=1))
    text = vectors._repr_html_()
    assert tags(text) <= {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td", "details", "summary"}
    assert "20 words × 10 dimensions" in text
    assert "… and 12 more words" in text
    assert "1,000" in text
    assert len(text) < 5000
    assert "\u202e" not in text


def test_small_vectors_show_everything() -> None:
    text = Vectors(np.array([[3.0, 4.0]]), Vocabulary(["a"]))._repr_html_()
    assert re.findall(r"<td>(.*?)</td>", text) == ["5.000", "3.000", "4.000"]
    assert "more words" not in text
    assert "count" not in text
    assert "<table>" in Vectors(np.zeros((0, 0)), Vocabulary([]))._repr_html_()


def test_counts() -> None:
    counts = ft.count(["to be or not to be"] * 5, window=2, weighting="flat")
    text = counts._repr_html_()
    tags(text)
    assert "4 words" in text
    rows = re.findall(r"<tr><th [^>]*>(\w+)</th><td>10</td>(.*?)</tr>", text)
    assert [word for word, _ in rows] == ["be", "to"]
    shown = re.findall(r"<td>(.*?)</td>", rows[1][1])
    assert shown == [f"{counts['to', other]:g}" for other in counts.vocabulary.words]


def test_the_explorer_writes_nowhere_that_a_file_names(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    for recipe in (str(tmp_path / "evil"), "../../evil", "..", "a\0b", "svd"):
        vectors = Vectors(np.eye(4), Vocabulary(list("abcd")), provenance=Provenance(recipe=recipe))
        shown = vectors.explore()
        shown.close()
    assert not list(tmp_path.iterdir())
