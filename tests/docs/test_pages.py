"""The tutorial and the how-to pages are programs: they run from top to bottom, and show what they print."""

from __future__ import annotations

import doctest
import os
from pathlib import Path

import numpy as np
import pytest

from firthian.errors import FirthianError
from tests.docs.pages import (
    DOCS,
    PAGES,
    SESSIONS,
    Reader,
    blocks,
    hide_times,
    real_reader,
    with_output,
    write_small_files,
    write_speeches,
)

TOPICS = {
    "sport": "hockey game team playoffs puck goalie baseball season ice won",
    "space": "space nasa shuttle orbit launch moon station crew rocket lunar",
    "motor": "car bike engine road wheel driver ride fuel brakes miles",
    "desk": "windows file screen program disk keyboard mouse driver printer font",
}
COMMON = "the a of and to in it he she his her they was had lost won reached again"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small corpus with four topics, and labeled texts of two of them, in place of the real ones."""
    folder = tmp_path_factory.mktemp("data")
    draw = np.random.default_rng(7)
    documents, labeled = [], []
    for number in range(3600):
        label, words = list(TOPICS.items())[number % len(TOPICS)]
        rarer = [f"{label}{rank}" for rank in range(30)]
        text = " ".join(draw.choice(np.array([*words.split() * 4, *COMMON.split() * 2, *rarer]), size=24))
        documents.append(text)
        if number < 120:
            labeled.append(f"{'test' if number % 3 else 'train'}\t{label}\t{text}\n")
    (folder / "corpus.txt").write_text("\n".join(documents) + "\n")
    (folder / "labeled.tsv").write_text("".join(labeled))
    write_small_files(folder)
    write_speeches(folder)
    return folder


@pytest.fixture
def reader(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    """Someone in a folder with these files, to whom they are all the data sets there are."""

    def locate(name: str, progress: object = None) -> Path:
        known = {"20newsgroups-text": "corpus.txt", "ws353": "pairs.txt", "men": "pairs.txt"}
        if name not in known:
            raise FirthianError(f"{name} is not here", hint="this is a test")
        return data / known[name]

    monkeypatch.setattr("firthian.datasets.locate", locate)
    for file in data.iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return Reader()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs_from_top_to_bottom(page: Path, reader: Reader) -> None:
    text = page.read_text(encoding="utf-8")
    after = {block.span: later for block, later in zip(blocks(text), blocks(text)[1:], strict=False)}
    ran = 0
    for block, shown in reader.run(page):
        ran += 1
        if block.span in after and after[block.span].language == "text":
            assert shown.strip(), f"{page.name}, line {block.line} prints nothing"
            promised = after[block.span].code.strip()
            # What says True or False must be so on any corpus.
            if promised and set(promised.split()) <= {"True", "False"}:
                assert shown.strip() == promised
    assert ran


@pytest.mark.parametrize("page", SESSIONS, ids=lambda page: page.stem)
def test_python_sessions_show_what_they_give(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sessions = [block for block in blocks(page.read_text(encoding="utf-8")) if block.language == "pycon"]
    if any("icu" in block.code for block in sessions):
        pytest.importorskip("icu4py")
    source = "\n".join(block.code for block in sessions)
    test = doctest.DocTestParser().get_doctest(source, {}, page.name, str(page), 0)
    assert bool(test.examples) == bool(sessions)
    shown: list[str] = []
    failed = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS).run(test, out=shown.append).failed
    assert not failed, "".join(shown)


def test_every_block_has_a_language_that_is_known() -> None:
    for page in SESSIONS:
        for block in blocks(page.read_text(encoding="utf-8")):
            assert block.language in ("sh", "python", "pycon", "text"), f"{page.name}, line {block.line}"
            assert block.code.strip(), f"{page.name}, line {block.line} is empty: run make docs-output"


def test_output_takes_the_place_of_what_stood_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nprint(6 * 7)\n```\n\n```text\n41\n```\n\n```python\nx = 1\n```\n\n```text\nstays?\n```\n"
    )
    assert with_output(page, Reader()).count("42") == 1
    assert "41" not in with_output(page, Reader())
    assert hide_times("done in 1.5 s") == hide_times("done   in 22 s")


@pytest.mark.realdata
@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_show_what_the_real_corpus_gives(page: Path, real_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it takes differs from machine to machine; all else must be as printed. ``python -m tests.docs.pages`` renews it."""
    here = os.getcwd()
    try:
        try:
            reader = real_reader()
        except FirthianError as error:
            pytest.skip(str(error))
        new = with_output(page, reader)
    finally:
        os.chdir(here)
    assert hide_times(new) == hide_times(page.read_text(encoding="utf-8"))


def test_the_tutorial_leads_to_every_how_to_page() -> None:
    text = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    for page in (DOCS / "howto").glob("*.md"):
        assert f"howto/{page.name}" in text
