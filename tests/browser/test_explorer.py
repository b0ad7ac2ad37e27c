"""The explorer in a real browser: Debian's chromium, driven by Playwright. Screenshots are kept in build/screenshots."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from firthian import Vectors, Vocabulary, count, index
from tests.explore.planted import HOSTILE, Served, planted, save

ROOT = Path(__file__).resolve().parents[2]
SHOTS = ROOT / "build" / "screenshots"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

for _module in ("playwright", "starlette", "uvicorn"):
    if importlib.util.find_spec(_module) is None:
        pytest.skip(f"{_module} is not installed: pip install playwright 'firthian[web]'", allow_module_level=True)
if CHROMIUM is None:
    pytest.skip("chromium is not on PATH: apt install chromium", allow_module_level=True)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    place = tmp_path_factory.mktemp("browser")
    save(planted(), place / "first")
    save(planted(seed=2, noise=0.9, uncertain=True), place / "second")
    text = ["hot tea with milk", "cold tea with milk", "hot coffee with sugar", "the king and the queen"] * 9
    count(text, place / "counts", min_count=1, window=2)
    (place / "text.txt").write_text("\n".join(text))
    index(place / "first", text, place / "index", method="mean")
    layers = ("--counts", place / "counts", "--corpus", place / "text.txt", "--index", place / "index")
    with Served(place / "first", place / "second", *layers) as server:
        yield server


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    # WebGL in software: there is no graphics card here.
    options = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        yield browser
        browser.close()


class Visit:
    """A page, and all it said and asked for."""

    def __init__(self, browser: Any, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def open(self, url: str, ready: str = "#map[data-ready]") -> Any:
        self.page.goto(url)
        self.page.wait_for_selector(ready)
        return self.page

    def shoot(self, name: str) -> None:
        SHOTS.mkdir(parents=True, exist_ok=True)
        self.page.wait_for_timeout(300)
        self.page.screenshot(path=SHOTS / f"{name}.png")

    def check(self, url: str) -> None:
        """Nothing was complained about, and nobody else was asked."""
        assert self.said == []
        assert [asked for asked in self.asked if not asked.startswith(url)] == []


@pytest.fixture
def visit(chromium: Any) -> Iterator[Visit]:
    one = Visit(chromium)
    yield one
    one.context.close()


def words_of(page: Any) -> list[str]:
    return page.locator("#panel .bars button.word").all_inner_texts()


def test_type_a_word_and_see_neighbors(visit: Visit, served: Served) -> None:
    page = visit.open(served.url)
    page.keyboard.press("/")
    page.keyboard.type("su")
    # The words with "s" may be shown first.
    page.wait_for_function("() => document.querySelectorAll('[role=option]').length === 2")
    assert page.locator("[role=option]").all_inner_texts() == ["sun", "sunset"]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel h2:text-is('sun')")
    assert set(words_of(page)[:7]) == {"moon", "star", "cloud", "rain", "comet", "planet", "sunset"}
    assert "word=sun" in page.url
    visit.shoot("neighbors")
    page.locator("#panel button.word", has_text="moon").first.click()
    page.wait_for_selector("#panel h2:text-is('moon')")
    page.go_back()
    page.wait_for_selector("#panel h2:text-is('sun')")
    visit.check(served.url)


def draw_lasso(page: Any) -> None:
    """Draw a lasso around most of the map; the mouse stays down."""
    page.get_by_role("button", name="Select words with a lasso").click()
    box = page.locator("#map").bounding_box()
    left, right = box["x"] + 5, box["x"] + box["width"] - 5
    # Below the buttons; round everything else.
    top, bottom = box["y"] + 60, box["y"] + box["height"] - 5
    page.mouse.move(left, bottom)
    page.mouse.down()
    for corner in ((left, top), (right, top), (right, bottom), (left + 5, bottom)):
        page.mouse.move(*corner, steps=3)


def test_click_a_point_and_circle_some(visit: Visit, served: Served) -> None:
    page = visit.open(served.url + "#limit=1000")
    assert page.evaluate("document.querySelector('#map canvas').getContext('webgl2') !== null")
    # The page does not give its map away: the place of a word is computed from the same answer.
    place = page.evaluate(
        """async () => {
          const data = await (await fetch("api/map?model=first&method=pca&limit=35")).json();
          const ends = (v) => { const s = Float32Array.from(v).sort(); return [s[0], s[s.length - 1]]; };
          const box = document.querySelector("#map").getBoundingClientRect();
          const [l, r] = ends(data.x), [b, t] = ends(data.y);
          const scale = 0.92 * Math.min(box.width / (r - l), box.height / (t - b));
          const i = data.words.indexOf("violin");
          return [box.left + (data.x[i] - (l + r) / 2) * scale + box.width / 2,
                  box.top + box.height / 2 - (data.y[i] - (b + t) / 2) * scale];
        }"""
    )
    page.mouse.move(*place)
    page.wait_for_selector(".tip:not([hidden])")
    page.mouse.click(*place)
    page.wait_for_selector("#panel h2:text-is('violin')")
    assert "guitar" in words_of(page)
    page.get_by_role("button", name="Zoom to the marked words").click()
    page.get_by_role("button", name="Show all of the map").click()
    draw_lasso(page)
    page.mouse.up()
    page.wait_for_selector("#panel h2:has-text('selected')")
    assert "violin" in page.locator("#panel .cloud").inner_text()
    visit.shoot("lasso")
    visit.check(served.url)


def test_analogy_pair_and_contexts(visit: Visit, served: Served) -> None:
    page = visit.open(served.url)
    page.get_by_role("tab", name="Analogy").click()
    for name, word in (("a", "man"), ("b", "king"), ("c", "woman")):
        page.get_by_label(name, exact=True).fill(word)
    page.get_by_role("button", name="what?").click()
    page.wait_for_selector("#panel .bars")
    assert words_of(page)[0] == "queen"
    visit.shoot("analogy")
    page.goto(served.url + "#tab=pair&word=tea&with=coffee")
    page.wait_for_selector("#panel .figure")
    assert "cosine of tea and coffee" in page.locator(".figure").inner_text()
    visit.shoot("pair")
    page.goto(served.url + "#tab=contexts&word=tea")
    page.wait_for_selector("#panel .bars")
    assert {"hot", "cold", "milk"} <= set(words_of(page))
    visit.check(served.url)


def test_documents_are_searched(visit: Visit, served: Served) -> None:
    page = visit.open(served.url + "#tab=documents")
    page.get_by_label("Search documents").fill("cold tea")
    page.get_by_role("button", name="Search").click()
    page.wait_for_selector(".examples li mark")
    assert page.locator(".examples li").first.inner_text() == "line 2: cold tea with milk"
    assert page.locator(".examples li").first.locator("mark").all_inner_texts() == ["cold", "tea"]
    page.get_by_label("Rank by").select_option("vectors")
    page.wait_for_function("location.hash.includes('rank=vectors')")
    page.wait_for_selector("#panel[aria-busy=false]")
    assert page.locator(".examples li").count() > 9, "by meaning, documents without the words are found too"
    visit.shoot("documents")


def test_switch_and_compare_models(visit: Visit, served: Served) -> None:
    page = visit.open(served.url + "#word=king")
    before = words_of(page)
    page.get_by_label("Model").select_option("second")
    page.wait_for_selector(".whisker")
    assert words_of(page) != before
    assert "model=second" in page.url
    visit.shoot("intervals")
    page.get_by_role("tab", name="Two models").click()
    page.wait_for_selector("#panel .sides")
    assert "neighbors are the same" in page.locator(".figure").inner_text()
    visit.shoot("models")
    page.get_by_role("tab", name="Certainty").click()
    page.wait_for_selector(".hinton")
    visit.shoot("certainty")
    visit.check(served.url)


def test_a_link_brings_everything_back(visit: Visit, served: Served) -> None:
    page = visit.open(served.url)
    page.get_by_label("Model").select_option("second")
    page.locator("#method").select_option("tsne")
    page.get_by_role("tab", name="Two words").click()
    page.get_by_label("One word").fill("tea")
    page.get_by_label("Another word").fill("coffee")
    page.get_by_role("button", name="Compare").click()
    page.wait_for_selector("#panel .figure")
    said, link = page.locator(".figure").inner_text(), page.url
    page.goto("about:blank")
    page = visit.open(link, "#panel .figure")
    assert page.locator(".figure").inner_text() == said
    assert page.locator("#model").input_value() == "second"
    assert page.locator("#method").input_value() == "tsne"
    visit.check(served.url)


def test_light_and_dark_are_remembered(visit: Visit, served: Served) -> None:
    page = visit.open(served.url)
    ground = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(ground)
    page.get_by_role("button", name="Switch between light and dark").click()
    changed = page.evaluate(ground)
    assert changed != before
    page.reload()
    page.wait_for_selector("#map[data-ready]")
    assert page.evaluate(ground) == changed


def test_what_is_being_typed_stays(visit: Visit, served: Served) -> None:
    """Facts come from the server while somebody types; they must not wipe the field."""
    page, held, released = visit.page, [], []
    page.route("**/api/models*", lambda route: route.continue_() if released else held.append(route))
    page.goto(served.url)
    page.locator("#word").fill("su")
    while not held:
        page.wait_for_timeout(20)
    released.append(True)
    for route in held:
        route.continue_()
    page.wait_for_selector("#map[data-ready]")
    assert page.locator("#word").input_value() == "su"


def test_markup_in_words_is_text(visit: Visit, served: Served) -> None:
    page = visit.open(served.url)
    for word in HOSTILE:
        page.goto(f"{served.url}#word={quote(word)}")
        page.wait_for_function("word => document.querySelector('#panel h2')?.textContent === word", arg=word)
    page.goto(f"{served.url}#word={quote('<b id=planted>bold</b>')}")
    page.wait_for_selector(".problem")
    page.locator("#word").fill("<img")
    page.wait_for_selector("[role=option]")
    assert page.locator("[role=option]").all_inner_texts() == [HOSTILE[0]]
    assert page.evaluate("window.hacked === undefined && !document.querySelector('#planted, #panel img')")
    # The console may say only that the unknown word was not found.
    assert all("404" in line for line in visit.said), visit.said


def test_an_unknown_word_is_explained(visit: Visit, served: Served) -> None:
    page = visit.open(served.url + "#word=coffe")
    page.locator(".problem button.word", has_text="coffee").click()
    page.wait_for_selector("#panel h2:text-is('coffee')")


def test_on_a_phone_in_the_dark(chromium: Any, served: Served) -> None:
    visit = Visit(chromium, viewport={"width": 390, "height": 844}, color_scheme="dark", has_touch=True)
    page = visit.open(served.url + "#word=piano")
    page.wait_for_selector("#panel .bars")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    visit.shoot("phone")
    visit.check(served.url)
    visit.context.close()


AXE = Path(os.environ.get("AXE_CORE") or ROOT / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js")

#: Every tab, with and without an answer, and the errors.
STATES = (
    "", "#word=king", "#tab=analogy", "#tab=analogy&a=man&b=king&c=woman", "#tab=pair", "#tab=pair&word=tea&with=coffee",
    "#tab=models&word=king", "#tab=contexts&word=tea", "#tab=documents&query=tea",
    "#tab=certainty&model=second", "#word=king&model=second", "#tab=evaluation", "#word=coffe", "#limit=1000&map=tsne&word=tea",
)  # fmt: skip


@pytest.mark.skipif(not AXE.is_file(), reason=f"axe-core is not at {AXE}; make browser fetches it where npm is here")
@pytest.mark.parametrize(("scheme", "width", "height"), [("light", 1280, 800), ("dark", 390, 844)])
def test_no_violation_of_accessibility(chromium: Any, served: Served, scheme: str, width: int, height: int) -> None:
    # The policy of the page keeps every foreign script out, also this one; only this visit lets it in.
    visit = Visit(chromium, color_scheme=scheme, bypass_csp=True, viewport={"width": width, "height": height})
    visit.context.add_init_script(path=AXE)
    violations = []
    for state in STATES:
        # From another page: a new address with the same path would not be loaded, and the old answer be looked at.
        visit.page.goto("about:blank")
        page = visit.open(served.url + state, "#panel[aria-busy=false]")
        violations += found_by_axe(page, state)
    page.locator("#word").fill("s")
    page.wait_for_selector("[role=option]")
    page.keyboard.press("ArrowDown")
    violations += found_by_axe(page, "completion")
    assert violations == []
    visit.context.close()


def found_by_axe(page: Any, state: str) -> list[tuple[str, str, str]]:
    """What axe-core holds against the page as it is."""
    found = page.evaluate("axe.run({ resultTypes: ['violations'] }).then((result) => result.violations)")
    return [(state, one["id"], node["html"]) for one in found for node in one["nodes"]]


def test_every_field_has_a_name_and_the_keyboard_reaches_all(visit: Visit, served: Served) -> None:
    page = visit.open(served.url + "#tab=analogy")
    page.wait_for_selector("#panel form")
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("input, select, button")].filter((one) =>
             !(one.labels?.length || one.getAttribute("aria-label") || one.textContent.trim())).map((one) => one.outerHTML)"""
    )
    assert nameless == []
    reached = set()
    for _ in range(25):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {"word", "model", "theme", "tab-analogy", "method", "limit", "CANVAS"} <= reached


def test_the_map_page_stands_alone(visit: Visit, firth: Any, tmp_path: Path) -> None:
    save(planted(), tmp_path / "v")
    assert firth("map", tmp_path / "v", "-o", tmp_path / "map.html", "--method", "pca").code == 0
    page = visit.open((tmp_path / "map.html").as_uri(), ready="#map canvas")
    page.locator("#find").fill("tea")
    page.wait_for_function("document.querySelector('#status').textContent.startsWith('cluster')")
    visit.shoot("map-page")
    assert page.evaluate("window.hacked === undefined")
    visit.check("file:")


def test_the_map_page_finds_a_word_behind_many_that_begin_with_it(visit: Visit, firth: Any, tmp_path: Path) -> None:
    words = [*(f"teapot{number}" for number in range(40)), "tea", "Tea", "sun", "moon"]
    directions = np.repeat(np.eye(3), (40, 1, 3), axis=0) + 0.01 * np.random.default_rng(0).normal(size=(44, 3))
    Vectors(directions, Vocabulary(words)).save(tmp_path / "v")
    made = firth("map", tmp_path / "v", "-o", tmp_path / "map.html", "--method", "pca", "--clusters", "3")
    assert made.code == 0
    page = visit.open((tmp_path / "map.html").as_uri(), ready="#map canvas")
    for typed in ("tea", "Tea"):
        page.locator("#find").fill(typed)
        # its group is named by its words, and tea is alone in its own
        page.wait_for_function("word => document.querySelector('#status').textContent.includes(word)", arg=typed)
