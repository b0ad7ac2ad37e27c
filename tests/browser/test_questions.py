"""The explorer's pages on lists of words, slices and groups, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.ask.planted import documents, vectors
from tests.browser.test_explorer import Visit, chromium, visit, words_of
from tests.explore.planted import Served, planted, save

__all__ = ["chromium", "visit"]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    place: Path = tmp_path_factory.mktemp("asked")
    table = documents(1)
    rows = zip(table["group"], table["sex"], table["text"], strict=True)
    lines = [f"{group}\t{sex}\t{text}\n" for group, sex, text in rows]
    (place / "table.tsv").write_text("group\tsex\ttext\n" + "".join(lines))
    save(planted(), place / "first")
    save(vectors(), place / "second")
    with Served(place / "first", place / "second", "--table", place / "table.tsv") as server:
        yield server


def test_lists(visit: Visit, asked: Served) -> None:
    page = visit.open(asked.url + "#tab=lists")
    page.fill("#ask-targets", "king, prince, boy")
    page.fill("#ask-others", "queen, princess, girl")
    page.fill("#ask-axis", "man:woman")
    page.click("#panel .asking button")
    page.wait_for_selector("#panel .figure")
    # All six words divide as planted: one of 20 divisions.
    assert page.locator("#panel .figure").inner_text().endswith("p = 0.050")
    assert set(words_of(page)) == {"king", "prince", "boy", "queen", "princess", "girl"}
    assert "targets=king" in page.url
    visit.shoot("lists")
    page.locator("#panel button.word", has_text="prince").first.click()
    page.wait_for_selector("#panel h2:text-is('prince')")
    visit.check(asked.url)


def test_change_and_groups(visit: Visit, asked: Served) -> None:
    page = visit.open(asked.url + "#tab=change&model=second&word=bank")
    page.select_option("#ask-by", "group")
    page.click("#panel .asking button")
    page.wait_for_selector("#panel svg.plane circle.own")
    assert page.locator("#panel svg.plane circle.own").count() == 2
    assert page.locator("#panel h3").all_inner_texts()[:2] == ["a", "b"]
    visit.shoot("change")
    # The next word needs no click; groups are asked about with a formula.
    page.click("#tab-groups")
    page.fill("#ask-formula", "group")
    page.click("#panel .asking button")
    page.wait_for_selector("#panel .ranges")
    assert "group_b (p < 0.0" in page.locator("#panel .ranges").inner_text()
    assert page.locator("#panel .examples li").count() >= 2
    visit.shoot("groups")
    visit.check(asked.url)


def test_mistakes_leave_the_form(visit: Visit, asked: Served) -> None:
    page = visit.open(
        asked.url + "#" + urlencode({"tab": "groups", "model": "second", "word": "bank", "formula": "nothing"})
    )
    page.wait_for_selector("#panel .problem")
    assert "no column 'nothing'" in page.locator("#panel .problem").inner_text()
    assert page.input_value("#ask-formula") == "nothing"
