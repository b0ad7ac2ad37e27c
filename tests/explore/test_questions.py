"""Questions of the page about lists of words and about a table: the answers are those of the functions."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import firthian as ft
from tests.ask.planted import documents
from tests.explore.planted import Served, planted, save

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("starlette") is None or importlib.util.find_spec("uvicorn") is None,
    reason="starlette and uvicorn are not installed (firthian[web])",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("questions")
    save(planted(), place / "first")
    table = documents(1)
    rows = list(zip(table["group"], table["sex"], table["text"], strict=True))
    years = {"a": 1900, "b": 1950}
    lines = [f"{years[group] + n % 40}\t{sex}\t{text}\n" for n, (group, sex, text) in enumerate(rows)]
    (place / "table.tsv").write_text("year\tsex\ttext\n" + "".join(lines))
    ft.train([text for *_, text in rows], "sgns", vector_size=5, counting={"min_count": 2}).save(place / "sgns")
    return place


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    with Served(folder / "first", folder / "sgns", "--table", folder / "table.tsv") as server:
        yield server


def patient(served: Served, path: str, **query: Any) -> Any:
    """Ask until the job is done."""
    for _ in range(600):
        status, _, body = served.get(f"/api/{path}", query)
        if status != 202:
            assert status == 200, body
            return served.ask(path, **query)
        time.sleep(0.1)
    raise AssertionError("the job does not end")


def test_lists(served: Served, folder: Path) -> None:
    assert served.ask("models")["columns"] == ["year", "sex"]
    targets, others, axis = "king,prince,boy", "queen,princess,girl", "man:woman"
    found = served.ask("lists", targets=targets, others=others, axis=axis)
    own = ft.associate(folder / "first", [targets.split(","), others.split(",")], axis=axis)
    assert (found["measure"], found["effect_size"], found["p"]) == ("WEAT", pytest.approx(own.effect_size), own.p)
    assert [one["word"] for one in found["words"]] == [one.word for one in own.words]
    alone = served.ask("lists", targets=targets, axis="man,king:woman,queen", status=400)
    assert "share king" in alone["error"]
    assert "no word lists" in served.ask("lists", status=400)["error"]
    assert "have vectors" in served.ask("lists", published="weat2", status=400)["error"]


def test_change(served: Served, folder: Path) -> None:
    found = patient(served, "change", word="bank", by="year", cuts="1945", model="sgns")
    own = ft.change(folder / "table.tsv", by="year", cuts=[1945], words=["bank"], vectors=folder / "sgns")["bank"]
    assert (found["p"], found["distance"]) == (own.test.p, pytest.approx(own.test.distance))
    assert [one["name"] for one in found["slices"]] == [one.name for one in own.slices]
    assert [one["neighbors"] for one in found["slices"]] == [one.neighbors for one in own.slices]
    assert [one["word"] for one in found["contexts"]][:5] == [context for context, *_ in own.contexts][:5]
    assert np.isfinite([point[1:] for point in found["path"] + found["near"]]).all()
    # Without vectors to measure with, some are trained on the table.
    other = patient(served, "change", word="bank", by="sex", model="first")
    assert [one["name"] for one in other["slices"]] == ["F", "M"]


def test_groups(served: Served, folder: Path) -> None:
    found = patient(served, "regress", word="bank", formula="sex", model="sgns")
    own = ft.regress(folder / "table.tsv", "bank", "sex", folder / "sgns")
    assert found["coefficients"].keys() == own.coefficients.keys()
    for name, one in found["coefficients"].items():
        assert one["p"] == own.coefficients[name].p
        assert one["norm2"] == pytest.approx(own.coefficients[name].norm2)
    assert found["cells"]["sex_F"]["sentences"]


@pytest.mark.parametrize(
    ("path", "query", "error"),
    [
        ("change", {"word": "bank", "by": "yaer"}, "no column 'yaer'"),
        ("change", {"word": "bank", "by": "year", "cuts": "x"}, "expected numbers, got 'x'"),
        ("change", {"word": "zebra", "by": "sex"}, "zebra"),
        ("regress", {"word": "bank", "formula": "sex +* year"}, "cannot read the formula"),
        ("regress", {"word": "zzzz", "formula": "sex"}, "'zzzz' does not occur"),
        ("regress", {"word": "bank"}, "formula is missing"),
    ],
)
def test_mistakes_are_explained(served: Served, path: str, query: dict[str, str], error: str) -> None:
    for _ in range(600):
        status, _, body = served.get(f"/api/{path}", {**query, "model": "sgns"})
        if status != 202:
            break
        time.sleep(0.1)
    assert status in (400, 404)
    assert error in body.decode()


def test_without_a_table(folder: Path, firth: Any) -> None:
    with Served(folder / "first") as server:
        assert server.ask("models")["columns"] == []
        assert "no table is open" in server.ask("change", word="tea", by="year", status=400)["error"]
    firth("explore", folder / "first", "--table", folder / "missing.tsv").complains("missing.tsv does not exist")
