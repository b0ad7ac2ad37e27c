"""All notebooks: stored clean, and run by Jupyter on text that the notebook makes or fetches."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from firthian.datasets import locate
from firthian.errors import FirthianError
from tests.notebook.test_tutorial import NOTEBOOK, cells, run

NOTEBOOKS = [NOTEBOOK, *sorted((NOTEBOOK.parent / "notebooks").glob("*.ipynb"))]

every_notebook = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)


@pytest.fixture
def posts() -> None:
    try:
        locate("20newsgroups")
    except FirthianError as error:
        pytest.skip(str(error))


@every_notebook
def test_it_is_stored_without_outputs(notebook: Path) -> None:
    for cell in cells(notebook):
        if cell["cell_type"] == "code":
            ast.parse("".join(cell["source"]))
            assert (cell["outputs"], cell["execution_count"]) == ([], None)


def names_of(stem: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for cell in cells(NOTEBOOK.parent / "notebooks" / f"{stem}.ipynb"):
        if cell["cell_type"] == "code":
            run("".join(cell["source"]), names)
    return names


@pytest.mark.slow
@pytest.mark.usefixtures("posts")
def test_they_show_what_they_say() -> None:
    change = names_of("change")
    table = change["table"].set_index("word")["distance_debiased"]
    assert min(table["bus"], table["drive"]) > max(table[["time", "price", "because", "question"]])
    assert {"mouse", "pc"} & set(change["word"].lost)
    assert change["written"] == ["change.csv", "change.html"]
    groups = names_of("groups")
    assert {"gun", "guns"} & set(groups["key"].to_pandas()["word"][:8])
    assert groups["answer"].to_pandas()["p"][0] < 0.05
    assert groups["weat"].effect_size > 1
    search = names_of("search")
    assert search["shares"]["hybrid"] >= 0.8
    assert search["accuracy"] > 0.85
    assert len(search["twins"]) > 10


@pytest.mark.slow
@pytest.mark.usefixtures("posts")
@every_notebook
def test_jupyter_runs_it(notebook: Path) -> None:
    client = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    import nbformat

    book = nbformat.read(notebook, as_version=4)
    nbformat.validate(book)
    client.NotebookClient(book, timeout=600, kernel_name="python3").execute()
    rich = [
        output for cell in book.cells for output in cell.get("outputs", []) if "text/html" in output.get("data", {})
    ]
    assert len(rich) >= 2
