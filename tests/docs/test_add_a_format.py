"""The page that adds a format is a program: what it shows must work as it stands."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pytest

import firthian as ft
from firthian.vectors import formats

PAGE = Path(__file__).parents[2] / "docs" / "add_a_format.md"


@pytest.fixture(autouse=True)
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    names: dict[str, object] = {}
    exec(compile(code, "json_lines.py", "exec"), names)
    monkeypatch.setattr(formats, "FORMATS", (names["FORMAT"], *formats.FORMATS))


def test_the_format_is_written_recognized_and_read(tmp_path: Path) -> None:
    vectors = ft.Vectors(np.array([[0.25, -1.5], [1e-8, 3]]), ft.Vocabulary(["tea", "New York"], [12, 3]))
    path = tmp_path / "v.jsonl"
    assert formats.write_vectors(vectors, path).name == "json-lines"
    (tmp_path / "packed").write_bytes(gzip.compress(path.read_bytes()))
    for source in (path, tmp_path / "packed"):
        again = ft.load(source)
        assert again.vocabulary.words == ["tea", "New York"]
        np.testing.assert_array_equal(again.vocabulary.counts, [12, 3])
        np.testing.assert_array_equal(again.matrix, vectors.matrix)
        assert again.provenance.source["format"] == "json-lines"


@pytest.mark.parametrize(
    "line", ['{"word": "a"}', '{"word": "a", "vector": [1]}', '{"word": "a", "vector": [1, NaN]}', "["]
)
def test_damaged_files_are_errors(line: str, tmp_path: Path) -> None:
    (tmp_path / "v.jsonl").write_text('{"word": "tea", "vector": [1, 2]}\n' + line + "\n")
    with pytest.raises(ft.FirthianError, match="is damaged"):
        ft.load(tmp_path / "v.jsonl")
