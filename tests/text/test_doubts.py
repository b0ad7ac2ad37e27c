"""Input that is probably wrong is told, and ordinary text is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from firthian.text.doubts import doubts_about

#: An ordinary text, also about code and prices, in several languages.
PLAIN = [
    "The king drank tea & coffee, 3 < 4 and 5 > 4, then left. " * 100,
    "Árvíztűrő tükörfúrógép, mondta a király. " * 100,
    "Use <b> for bold. " + "Nothing else is markup in this text. " * 200,
    "서울은 한국의 수도이다. " * 100,
    "他 says hello to everyone in the long English text. " * 50,
    "",
]


@pytest.mark.parametrize("text", PLAIN)
def test_ordinary_text_raises_no_doubt(text: str) -> None:
    assert doubts_about(text, "unicode") == []


def test_markup_and_scripts_without_spaces_are_told() -> None:
    (markup,) = doubts_about('<div type="chapter"><p>It was the best of times.</p></div>\n' * 30, "unicode")
    assert "<div" in markup
    for text in ("我喜欢喝茶。他喜欢咖啡。" * 20, "ฉันชอบดื่มชาเขาชอบกาแฟ" * 20, "わたしはお茶が好きです。" * 20):
        (found,) = doubts_about(text, "unicode")
        assert "tokenizer=icu" in found
        assert doubts_about(text, "icu:zh") == []


def test_the_command_line_tells(firth, tmp_path: Path) -> None:
    tei = tmp_path / "novel.txt"
    tei.write_text("<p>the king drank tea</p>\n" * 60)
    for arguments in (["count", tei, "-o", tmp_path / "c"], ["train", tei, "-o", tmp_path / "v", "--dim", "2"]):
        outcome = firth(*arguments, "--min-count", "1", "--sample", "0")
        assert outcome.code == 0
        assert "is markup, such as <p>" in outcome.err
    line = tmp_path / "line.txt"
    line.write_text("tea and coffee " * 70_000)
    assert "are one document" in firth("count", line, "-o", tmp_path / "l", "--max-vocab", "10").err
    line.write_text("tea and coffee\n" * 90 + "tea and coffee " * 70_000 + "\nmilk")
    assert "one document is 100 % of the text" in firth("count", line, "-o", tmp_path / "m", "--max-vocab", "10").err
    line.write_text("\n".join(["tea and coffee " * 25_000] * 3))
    assert "document" not in firth("count", line, "-o", tmp_path / "n", "--max-vocab", "10").err
    chinese = tmp_path / "zh.txt"
    chinese.write_text("我喜欢喝茶。他喜欢咖啡。\n" * 40, encoding="utf-8")
    assert "--tokenizer icu" in firth("count", chinese, "-o", tmp_path / "z", "--min-count", "1").err
