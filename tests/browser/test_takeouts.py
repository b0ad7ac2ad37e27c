"""What can be taken out of the explorer, what its address holds, and how it colors and places words."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import pytest

from firthian import Vectors, Vocabulary
from tests.browser.test_explorer import Visit, chromium, draw_lasso, served, visit
from tests.explore.planted import Served, planted, save

__all__ = ["chromium", "served", "visit"]

PAGE = Path(__file__).parents[2] / "src" / "firthian" / "explore" / "page"

#: A page must stay light for slow connections.
HEAVIEST = 300_000


def taken(page: Any, click: str) -> str:
    with page.expect_download() as waiting:
        page.click(click)
    return Path(waiting.value.path()).read_text("utf-8")


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("tab", ["neighbors", "contexts", "examples", "models", "evaluation"])
def test_from_a_word_to_a_csv_in_two_clicks(visit: Visit, served: Served, tab: str) -> None:
    """One on the tab, one on CSV."""
    page = visit.open(served.url + "#word=tea")
    if tab == "evaluation":
        pytest.skip("needs test sets")
    page.click(f"#tab-{tab}")
    page.wait_for_selector("#panel .takeout button:text-is('CSV')")
    page.wait_for_selector("#panel[aria-busy='false']")
    rows = rows_of(taken(page, "#panel .takeout button:text-is('CSV')"))
    assert rows
    assert "word" in rows[0]
    again = json.loads(taken(page, "#panel .takeout button:text-is('JSON')"))
    assert len(again) == len(rows)
    visit.shoot(f"takeout-{tab}")
    visit.check(served.url)


def test_the_map_as_picture_drawing_and_table(visit: Visit, served: Served) -> None:
    page = visit.open(served.url)
    with page.expect_download() as waiting:
        page.click("#map-png")
    assert Path(waiting.value.path()).read_bytes().startswith(b"\x89PNG")
    drawing = taken(page, "#map-svg")
    assert drawing.startswith("<svg")
    assert ">milk</text>" in drawing
    assert "<img" not in drawing
    table = rows_of(taken(page, "#map-csv"))
    assert {"tea", "moon"} <= {row["word"] for row in table}
    assert set(table[0]) == {"word", "count", "x", "y", "cluster"}
    visit.check(served.url)


def test_a_selection_is_in_the_address_and_can_be_isolated(visit: Visit, served: Served) -> None:
    page = visit.open(served.url)
    page.click("[aria-label='Select words with a lasso']")
    box = page.locator("#map").bounding_box()
    page.mouse.move(box["x"] + 8, box["y"] + 60)
    page.mouse.down()
    for across, down in ((1, 0), (1, 1), (0, 1), (0, 0)):
        page.mouse.move(
            box["x"] + 8 + across * (box["width"] - 16), box["y"] + 60 + down * (box["height"] - 70), steps=4
        )
    page.mouse.up()
    page.wait_for_selector("#panel h2:has-text('words selected')")
    selection = rows_of(taken(page, "#panel .takeout button:text-is('CSV')"))
    assert len(selection) > 20
    page.click("[aria-label='Isolate the selected words']")
    assert page.get_attribute("[aria-label='Isolate the selected words']", "aria-pressed") == "true"
    visit.shoot("isolated")
    assert "selected=" in page.url
    page.reload()
    page.wait_for_selector("#map[data-ready]")
    assert page.is_enabled("[aria-label='Isolate the selected words']")
    visit.check(served.url)


def test_an_empty_selection_and_an_address_with_words_that_are_gone(visit: Visit, served: Served) -> None:
    page = visit.open(served.url + "#selected=tea+gone+away")
    page.wait_for_selector("#notice:has-text('2 of the selected words are not on this map')")
    page.click("[aria-label='Select words with a lasso']")
    box = page.locator("#map").bounding_box()
    page.mouse.move(box["x"] + 4, box["y"] + box["height"] - 4)
    page.mouse.down()
    for step in (1, 2, 3):
        page.mouse.move(box["x"] + 4 + step, box["y"] + box["height"] - 4 - step)
    page.mouse.up()
    page.wait_for_selector("#panel h2:text-is('No words selected')")
    assert page.locator("#panel .takeout").count() == 0
    page.goto(served.url + "#word=nowhere")
    page.wait_for_selector("#panel .problem:has-text('not in the vocabulary')")
    visit.said = [line for line in visit.said if "404" not in line]
    visit.check(served.url)


def test_the_view_is_in_the_address(visit: Visit, served: Served) -> None:
    page = visit.open(served.url)
    page.click("[aria-label='Zoom in']")
    page.wait_for_function("() => location.hash.includes('at=')")
    here = page.evaluate("location.hash")
    page.reload()
    page.wait_for_selector("#map[data-ready]")
    page.wait_for_timeout(600)
    assert page.evaluate("location.hash") == here


def test_axes_between_poles(visit: Visit, served: Served) -> None:
    page = visit.open(served.url)
    page.select_option("#method", "axes")
    page.wait_for_selector("#map-status:has-text('Name two poles')")
    page.fill("#axis-x", "man:woman")
    page.fill("#axis-y", "tea:king")
    page.click("#axes button")
    page.wait_for_selector("#map-status:has-text('of 35 words')")
    table = {row["word"]: row for row in rows_of(taken(page, "#map-csv"))}
    assert float(table["queen"]["x"]) > float(table["king"]["x"])
    assert float(table["prince"]["y"]) > float(table["coffee"]["y"])
    visit.shoot("axes")
    page.fill("#axis-x", "man")
    page.click("#axes button")
    page.wait_for_selector("#map-status:has-text('must be two poles')")
    visit.said = [line for line in visit.said if "400" not in line]
    visit.check(served.url)


def test_colors_and_density(visit: Visit, served: Served) -> None:
    page = visit.open(served.url + "#model=second")
    assert page.locator("#shade option").all_inner_texts() == ["cluster", "frequency", "uncertainty"]
    page.select_option("#shade", "frequency")
    page.click("[aria-label='Density of words']")
    assert "shade=frequency" in page.url
    visit.shoot("density")
    visit.check(served.url)


def test_certainty_speaks_of_the_chosen_word(visit: Visit, served: Served) -> None:
    page = visit.open(served.url + "#model=second&word=tea&tab=certainty")
    page.wait_for_selector("#panel h2:has-text('How certain is “tea”?')")
    visit.shoot("certainty-of-a-word")
    visit.check(served.url)


def test_examples_come_from_the_corpus(visit: Visit, served: Served) -> None:
    page = visit.open(served.url + "#word=tea&tab=examples")
    page.wait_for_selector(".examples li")
    assert page.locator(".examples li").first.inner_text() == "hot tea with milk"
    page.goto(served.url + "#word=tea&tab=examples&near=cold")
    page.wait_for_function("() => document.querySelector('.examples li')?.innerText.startsWith('cold')")
    assert set(page.locator(".examples li").all_inner_texts()) == {"cold tea with milk"}
    visit.check(served.url)


def test_search_is_blind_to_accents_and_looks_inside_words(visit: Visit, tmp_path: Path) -> None:
    words = ["király", "királynő", "alkirály", "tea", "kocsma"]
    save(Vectors(np.eye(5, dtype=np.float32), Vocabulary(words, [9, 8, 7, 6, 5])), tmp_path / "v")
    with Served(tmp_path / "v") as server:
        page = visit.open(server.url)
        page.fill("#word", "")
        page.type("#word", "kiraly")
        page.wait_for_selector("[role=option]")
        page.wait_for_function("() => document.querySelectorAll('[role=option]').length === 3")
        assert page.locator("[role=option]").all_inner_texts() == ["király", "királynő", "alkirály"]


def test_on_a_phone_the_map_comes_first(chromium: Any, served: Served) -> None:
    phone = Visit(chromium, viewport={"width": 390, "height": 844}, has_touch=True)
    page = phone.open(served.url + "#word=tea")
    page.wait_for_selector("#panel .bars")
    assert page.locator("#map").bounding_box()["y"] < page.locator("#panel").bounding_box()["y"]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    phone.shoot("phone-light")
    phone.context.close()


def test_a_word_near_the_edge_gets_room_and_the_map_stays(chromium: Any, served: Served) -> None:
    visit = Visit(chromium, viewport={"width": 390, "height": 844})
    page = visit.open(served.url + "#limit=1000")
    words, x = page.evaluate("fetch('api/map?limit=35').then((one) => one.json()).then((one) => [one.words, one.x])")
    page.goto(f"{served.url}#limit=1000&word={quote(words[int(np.argmin(x))])}")
    page.wait_for_function("() => location.hash.includes('at=')")
    middle = (min(x) + max(x)) / 2
    moved = float(unquote(page.url).partition("at=")[2].partition(",")[0]) - middle
    assert 0.6 * (min(x) - middle) < moved < 0
    visit.context.close()


def test_a_notebook_receives_the_selection(visit: Visit) -> None:
    shown = planted().explore()
    try:
        page = visit.open(shown.url + "#limit=1000")
        draw_lasso(page)
        with page.expect_response("**/api/selection?*"):
            page.mouse.up()
        assert len(shown.selection()) > 20
    finally:
        shown.close()


def test_the_page_is_light(visit: Visit, served: Served) -> None:
    assert sum(file.stat().st_size for file in PAGE.iterdir()) < HEAVIEST
