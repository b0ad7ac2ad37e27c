"""What a word is."""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import firthian as ft
from firthian import Tokenizer
from firthian.text.readers import Documents
from firthian.text.segments import SegmentText, cut_segments, tokenize_segment, tokenize_text
from firthian.vectors.documents import tokenizer_of


def slow_tokens(text: str, keep_case: bool = False) -> list[str]:
    """Words by the definition: runs of letters, marks and digits; one joiner between two such characters stays."""
    text = unicodedata.normalize("NFC", text)
    for form, same in {"\u2019": "'", "\u02bc": "'", "\u2010": "-", "\u2011": "-"}.items():
        text = text.replace(form, same)
    text = text if keep_case else unicodedata.normalize("NFC", text.lower())

    def inside(character: str) -> bool:
        return unicodedata.category(character)[0] in "LMN" and character not in "·"

    words, word = [], ""
    for number, character in enumerate(text):
        after = text[number + 1 : number + 2]
        if inside(character) or (
            word and inside(word[-1]) and character in "'-_·\u200c\u200d" and after and inside(after)
        ):
            word += character
        elif word:
            words.append(word)
            word = ""
    return [*words, word] if word else words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The cat sat.", ["the", "cat", "sat"]),
        ("rock'n'roll o'clock 'quoted' dogs'", ["rock'n'roll", "o'clock", "quoted", "dogs"]),
        ("don’t donʼt don't", ["don't"] * 3),
        ("well-known --dashed-- a--b trail-", ["well-known", "dashed", "a", "b", "trail"]),
        ("non‑breaking hyph‐en", ["non-breaking", "hyph-en"]),
        ("snake_case _x_ col·lecció", ["snake_case", "x", "col·lecció"]),
        ("cafe\u0301 café", ["café", "café"]),
        ("ΟΔΥΣΣΕΥΣ ΣΑΣ Σ", ["οδυσσευς", "σας", "σ"]),
        ("İstanbul ISPARTA ılık", ["i̇stanbul", "isparta", "ılık"]),
        ("J\u030c ǰ", ["ǰ", "ǰ"]),
        ("हिन्दी में क्‍ष", ["हिन्दी", "में", "क्\u200dष"]),
        ("العربيّة، كِتاب", ["العربيّة", "كِتاب"]),
        ("می‌خواهم", ["می\u200cخواهم"]),
        ("שָׁלוֹם עולם", [unicodedata.normalize("NFC", "שָׁלוֹם"), "עולם"]),
        ("日本語のテキスト。中文", ["日本語のテキスト", "中文"]),
        ("I 🙂 you 👨‍👩‍👧 ok", ["i", "you", "ok"]),
        ("𝒜𐐀 Straße", ["𝒜𐐨", "straße"]),
        ("3.14 1,000 ½ x² ٣٤ 10-20", ["3", "14", "1", "000", "½", "x²", "٣٤", "10-20"]),
        ("a\u00a0b\u3000c\u2028d\te", ["a", "b", "c", "d", "e"]),
        ("", []),
        (" .,;! ", []),
    ],
)
def test_unicode_words(text: str, words: list[str]) -> None:
    assert Tokenizer().tokens(text) == words
    assert slow_tokens(text) == words


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\n"), max_size=60), st.booleans())
def test_any_text(text: str, keep_case: bool) -> None:
    assert Tokenizer(keep_case=keep_case).tokens(text) == slow_tokens(text, keep_case)


@given(st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace").decode()))
def test_white_space(text: str) -> None:
    wanted = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).lower()).split()
    assert Tokenizer("whitespace").tokens(text) == wanted


def test_number_folding() -> None:
    fold = Tokenizer(fold_numbers=True)
    assert fold.tokens("in 1984, 3.14 or B2B 2nd ٣٤ 10-20") == [
        "in", "<number>", "<number>", "<number>", "or", "b2b", "2nd", "<number>", "<number>"
    ]  # fmt: skip
    assert Tokenizer("whitespace", fold_numbers=True).tokens("12 1.2 x1") == ["<number>", "1.2", "x1"]


def test_very_long_words() -> None:
    long = "x" * 10_000
    assert Tokenizer().tokens(f"a {long} b {long}é") == ["a", long, "b", long + "é"]
    counts = ft.count([f"a {long} b", f"{long} b"], min_count=1)
    assert counts[long, "b"] == pytest.approx(2.0)


def test_icu_knows_words_without_spaces() -> None:
    pytest.importorskip("icu4py")
    assert Tokenizer("icu:zh").tokens("我爱北京天安门。") == ["我", "爱", "北京", "天安门"]
    assert Tokenizer("icu").tokens("It's 5 o'clock, Anna!") == ["it's", "5", "o'clock", "anna"]
    counts = ft.count(["我爱北京", "北京很大"], tokenizer="icu:zh", min_count=2)
    assert list(counts.vocabulary) == ["北京"]


def test_a_function_of_the_user() -> None:
    assert Tokenizer("tests.text.my_tokenizer:letters").tokens("Ab 1c") == ["a", "b", "c"]
    assert Tokenizer("tests.text.my_tokenizer:pairs", keep_case=True).tokens("New York is big") == [
        "New York",
        "is big",
    ]
    counts = ft.count(["new york is big"], tokenizer="tests.text.my_tokenizer:pairs", min_count=1)
    assert counts["new york", "is big"] == 1.0


def test_a_function_in_the_folder_where_the_user_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cutting_here.py").write_text("def cut(text):\n    return text.split('-')\n")
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    assert Tokenizer("cutting_here:cut").tokens("a-b") == ["a", "b"]
    assert sys.path == before


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("unicod", "did you mean unicode?"),
        ("no_such_module:f", "cannot be loaded"),
        ("tests.text.my_tokenizer:nothing", "cannot be loaded"),
        ("tests.text.my_tokenizer:not_a_function", "is not a function"),
    ],
)
def test_tokenizers_that_are_none(name: str, message: str) -> None:
    with pytest.raises(ft.FirthianError, match=message.replace("?", r"\?")):
        Tokenizer(name)


def test_a_module_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "failing_module.py").write_text("\nx = undefined_name\ndef cut(text):\n    return text.split()\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        ft.FirthianError, match=r"failing_module.py, line 2, \(NameError: name 'undefined_name'"
    ) as caught:
        Tokenizer("failing_module:cut")
    assert caught.value.hint == "fix its module"


def test_tokens_that_were_given_are_recorded_as_such() -> None:
    """No tokenizer cut them and none lower-cased them; text for their vectors keeps its case where they do."""
    tokens = [["Paris", "is", "BIG"], ["Rome", "was", "OLD"]] * 30
    counts = ft.count(tokens, min_count=1)
    assert counts.record["settings"].items() >= {"tokenizer": None, "keep_case": None, "fold_numbers": False}.items()
    vectors = ft.train(tokens, "svd", vector_size=2, counting={"min_count": 1})
    assert tokenizer_of(vectors).tokens("Paris is BIG") == ["Paris", "is", "BIG"]
    assert len(ft.merge([counts, ft.count(tokens, min_count=1, tokenizer="whitespace")]).vocabulary) == 6
    with pytest.raises(ft.FirthianError, match="tokenizer none and unicode"):
        ft.merge([counts, ft.count(["Paris is BIG"], min_count=1)])


def test_a_function_that_gives_no_strings() -> None:
    with pytest.raises(ft.FirthianError, match="returned a int"):
        ft.count(["a b"], tokenizer="tests.text.my_tokenizer:numbers")


@pytest.mark.parametrize(
    ("name", "message"), [("json:loads", "JSONDecodeError: Expecting"), ("builtins:len", "TypeError: 'int' object")]
)
def test_a_function_that_fails_is_an_error_that_leaves_nothing(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(ft.FirthianError, match=f"the tokenizer {name} failed .*{message}"):
        ft.count(["a b"], tmp_path / "counts", tokenizer=name)
    assert list(tmp_path.iterdir()) == []


def test_a_function_that_fails_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(
        ft.FirthianError, match=r"my_tokenizer:broken failed in my_tokenizer.py, line \d+, on 'a b'"
    ) as told:
        ft.count(["a b"], tokenizer="tests.text.my_tokenizer:broken", output=tmp_path / "counts")
    assert "IndexError: list index out of range" in told.value.message
    assert isinstance(told.value.__cause__, IndexError)
    assert list(tmp_path.iterdir()) == []


def test_a_function_itself_is_refused_with_the_remedy() -> None:
    with pytest.raises(
        ft.FirthianError, match="expected the name of a tokenizer, got a function: write module:function"
    ):
        ft.count(["a b"], tokenizer=lambda text: text.split())  # type: ignore[arg-type]


def test_lists_of_tokens_are_taken_as_they_are() -> None:
    documents = [["New York", "is", "BIG", "can't!", "a\tb", "x\ny"], [], ["is", ""]]
    counts = ft.count(documents, min_count=1)
    assert set(counts.vocabulary) == {"New York", "is", "BIG", "can't!", "a b", "x y"}
    assert counts.record["corpus"]["tokens"] == 7
    assert counts["New York", "is"] == 1.0


@given(st.text(alphabet="ab éΣ日🙂'\n -", min_size=1, max_size=200), st.integers(8, 50))
def test_cuts_change_no_word(text: str, segment_bytes: int) -> None:
    if max(len(word.encode()) for word in text.split(" ")) >= segment_bytes - 4:
        return
    documents = Documents(text.split("\n"))
    whole = tokenize_text(b"".join(piece.text for piece in documents.pieces()), Tokenizer())
    words = whole.types()
    found: list[str] = []
    ends = 0
    for part in cut_segments(documents, segment_bytes=segment_bytes):
        segment = tokenize_segment(part, Tokenizer(), False, True)
        types = segment.types()
        found += [types[number] for number in segment.ids]
        ends += segment.whole_documents
    assert found == [words[number] for number in whole.ids]
    assert ends == whole.whole_documents


def test_undecodable_bytes_are_replaced_and_counted() -> None:
    segment = tokenize_text(b"caf\xe9 ol\xff\xfe ok\n", Tokenizer())
    assert segment.undecodable == 3
    assert segment.types() == ["caf", "ol", "ok"]


def test_strict_names_the_place() -> None:
    text = SegmentText(0, b"good\nbad \xff\n", [(0, "x.txt", 41)])
    with pytest.raises(ft.FirthianError, match=r"x.txt, line 42: a byte is not UTF-8"):
        tokenize_segment(text, Tokenizer(), False, True)
