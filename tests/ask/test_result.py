"""Every answer: one page with everything, a folder, frames; and no text of a user acts on the page."""

from __future__ import annotations

import json
from typing import Any

import pytest

from firthian.ask.result import Result
from firthian.disk.atomic import kind_of
from firthian.errors import FirthianError
from firthian.runtime.table import Column, Table


class Answer(Result):
    """The smallest answer."""

    title = "Who says <tea>?"
    notes = ("p by documents, 3 dropped",)

    @property
    def settings(self) -> dict[str, Any]:
        return {"seed": 1, "target": "<script>"}

    @property
    def tables(self) -> dict[str, Table]:
        words = Table("Words", (Column("word"), Column("p", float, "p")), [("<b>tea</b>", 0.5)])
        return {"words": words, "more": Table("More", (Column("word"),), [("cup",)])}

    def to_dict(self) -> dict[str, Any]:
        return {"words": self.table.to_dict()}

    def figure(self, **options: Any) -> Any:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(2, 1))
        figure.subplots().plot([0, 1])
        return figure


def test_a_page_has_tables_notes_figure_and_settings_and_loads_nothing(tmp_path):
    Answer().report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    for part in ("Words", "More", "p by documents, 3 dropped", "data:image/png;base64,", "seed"):
        assert part in page
    assert "<script" not in page
    assert "<b>tea" not in page
    assert "http" not in page
    with pytest.raises(FirthianError, match="already exists"):
        Answer().report(tmp_path / "page.html")


def test_a_folder_holds_everything_and_can_be_replaced(tmp_path):
    folder = tmp_path / "out"
    Answer().save(folder)
    assert {path.name for path in folder.iterdir()} == {
        "report.html", "report.json", "words.csv", "more.csv", "plot.png", "plot.svg",
    }  # fmt: skip
    record = json.loads((folder / "report.json").read_text())
    assert record["answer"] == Answer().to_dict()
    assert kind_of(folder) == "answer"
    first = {path.name: path.read_bytes() for path in folder.iterdir()}
    Answer().save(folder, force=True)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == first


def test_pictures_are_checked_and_written(tmp_path):
    for name in ("a.png", "a.svg", "a.pdf"):
        Answer().plot(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 500
    with pytest.raises(FirthianError, match="not a supported picture format"):
        Answer().plot(tmp_path / "a.bmp")
    assert Answer().plot() is not None


def test_tables_by_name():
    assert Answer().to_csv("more") == "word\ncup\n"
    assert Answer().to_pandas()["p"].tolist() == [0.5]
    assert "<b>tea" in str(Answer())
    assert "3 dropped" in str(Answer())
