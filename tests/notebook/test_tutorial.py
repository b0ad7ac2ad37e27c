"""The tutorial notebook runs from top to bottom, and shows what it says."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "tutorial.ipynb"


def cells(notebook: Path = NOTEBOOK) -> list[dict[str, Any]]:
    return json.loads(notebook.read_text("utf-8"))["cells"]


def run(source: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does: all of it, and the value of its last line where that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None


@pytest.fixture(scope="module")
def shown() -> tuple[dict[str, Any], list[Any]]:
    names: dict[str, Any] = {}
    return names, [run("".join(cell["source"]), names) for cell in cells() if cell["cell_type"] == "code"]


def test_it_shows_what_it_promises(shown: tuple[dict[str, Any], list[Any]]) -> None:
    names, values = shown
    topic_of = {word: topic for topic, words in names["topics"].items() for word in words}
    neighbors = names["vectors"].most_similar("tea", topn=5)
    assert [topic_of.get(word) for word, _ in neighbors] == ["drinks"] * 5
    near, far = next(value for value in values if isinstance(value, tuple))
    assert near > far + 0.3
    assert "violin" in [value for value in values if isinstance(value, str)]
    assert all(topic_of[one] == topic_of[two] for one, two, _, _ in names["counts"].strongest_pairs(topn=5))
    assert names["found"].notes == ["'cofee' is not known: searched for 'coffee'"]
    assert all({topic_of.get(word) for word in hit.snippet.split()} & {"drinks"} for hit in names["found"])
    assert names["scores"].to_dict()["similarity"]["topics"]["spearman"] > 0.5
    assert {"model/tokenizer.json", "model/README.md", "projector/vectors.tsv"} <= set(names["written"])
    assert values[-1] is True


def test_everything_with_a_picture_gives_html(shown: tuple[dict[str, Any], list[Any]]) -> None:
    names, _ = shown
    for name in ("counts", "vectors", "scores"):
        assert "<table>" in names[name]._repr_html_()


def test_tables_and_pictures(shown: tuple[dict[str, Any], list[Any]]) -> None:
    names, values = shown
    topic_of = {word: topic for topic, words in names["topics"].items() for word in words}
    frame = next(value for value in values if hasattr(value, "columns") and "llr" in value.columns)
    assert {topic_of[word] for word in frame["word"]} == {"drinks"}
    assert any(hasattr(value, "_repr_png_") for value in values)
    (drawn,) = [value for value in values if hasattr(value, "to_pandas") and hasattr(value, "regions")]
    assert drawn._repr_html_().startswith("<iframe")
