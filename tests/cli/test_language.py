"""Languages: their rules for case, and their stop words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import firthian as ft

TURKISH = "ISPARTA'da IŞIK ve İyi bir gün. Işık iyi."


def test_turkish_letters_keep_their_dots(firth: Any, tmp_path: Path) -> None:
    (tmp_path / "tr.txt").write_text(f"{TURKISH}\nKISA IRMAK\n" * 9, encoding="utf-8")
    done = firth("train", tmp_path / "tr.txt", "--language", "tr", "-o", tmp_path / "v", "--dim", "3", "--sample", "0")
    assert done.code == 0, done.err
    vectors = ft.load(tmp_path / "v")
    # also in a line of ASCII letters alone
    assert {"ışık", "iyi", "kısa", "ırmak", "ısparta'da"} <= set(vectors)
    done = firth("neighbors", tmp_path / "v", "IŞIK")
    assert done.code == 0
    assert "looked up 'IŞIK' as 'ışık'" in done.err
    assert vectors.document_vector("IŞIK").any()


def test_word_lists_follow_the_language() -> None:
    counts = ft.count([TURKISH] * 9, language="tr", stop_words=["IŞIK"])
    assert "iyi" in counts.vocabulary
    assert "ışık" not in counts.vocabulary


def test_other_languages_keep_the_general_rules() -> None:
    assert ft.count(["Idő İ"], language="hu", min_count=1).record["settings"]["tokenizer"] == "unicode"
    for settings, message in (
        ({"language": "Turkish"}, "must be a code such as tr"),
        ({"language": "tr", "tokenizer": "whitespace"}, "has no effect on the tokenizer whitespace"),
        ({"language": "tr", "tokenizer": ft.Tokenizer()}, "has no effect on a Tokenizer"),
    ):
        with pytest.raises(ft.FirthianError, match=message):
            ft.count(["x"], min_count=1, **settings)


def test_stop_words_of_a_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("stopwordsiso")
    counts = ft.count(["Az ember és a kutya, de nem a macska"], stop_words="hu", min_count=1)
    assert set(counts.vocabulary) == {"ember", "kutya", "macska"}
    with pytest.raises(ft.FirthianError, match="there are no stop words for 'xx', and no file of that name"):
        ft.count(["x"], stop_words="xx", min_count=1)
    monkeypatch.chdir(tmp_path)
    Path("hu").write_text("kutya\n")
    assert "és" in ft.count(["kutya és"], stop_words="hu", min_count=1).vocabulary
