"""The page that adds a reader is a program: what it shows must work as it stands."""

from __future__ import annotations

import gzip
import re
import sys
import types
from pathlib import Path

import pytest

import firthian as ft
from firthian.text import formats, readers

PAGE = Path(__file__).parents[2] / "docs" / "add_a_reader.md"

SUBTITLES = """1
00:00:01,000 --> 00:00:02,000
The tea is ready.

2
00:00:03,000 --> 00:00:04,000
Drink the tea,
please.
"""


@pytest.fixture
def reader(monkeypatch):
    """Add the page's reader and row to the package."""
    code, row = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    assert len(code.splitlines()) + len(row.splitlines()) < 40
    module = types.ModuleType("firthian.text.subtitles")
    exec(compile(code, "subtitles.py", "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, "firthian.text.subtitles", module)
    names: dict[str, object] = {}
    exec(compile(row, "formats.py", "exec"), names)
    for holder in (formats, readers):
        monkeypatch.setattr(holder, "FORMATS", (*formats.FORMATS, names["SRT"]))


@pytest.mark.usefixtures("reader")
def test_the_reader_of_the_page_counts_files_of_its_format(tmp_path):
    (tmp_path / "film.srt").write_text(SUBTITLES)
    (tmp_path / "film.srt.gz").write_bytes(gzip.compress(SUBTITLES.encode()))
    counts = ft.count(str(tmp_path), min_count=1, window=2, weighting="flat")
    assert dict(zip(counts.vocabulary.words, counts.vocabulary.counts.tolist(), strict=True)) == {
        "tea": 4, "the": 4, "drink": 2, "is": 2, "please": 2, "ready": 2,
    }  # fmt: skip
    assert counts.record["corpus"]["documents"] == 2
    assert counts["ready", "drink"] == 2
    (tmp_path / "bad.srt").write_text("no number\n")
    with pytest.raises(ft.FirthianError, match=r"bad\.srt, line 1: expected a number: set format=lines"):
        ft.count(str(tmp_path), min_count=1)
