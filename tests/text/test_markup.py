"""TEI and HTML: text without tags, and what the header says."""

from __future__ import annotations

import html
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import firthian as ft
from firthian.ask.corpus import read_table
from firthian.text.readers import Files
from firthian.text.tags import Tag, decode_page, scan_page

NOVEL = """<?xml version="1.0" encoding="UTF-8"?>
<?xml-model href="eltec.rng"?>
<!DOCTYPE TEI SYSTEM "tei.dtd">
<TEI xmlns="http://www.tei-c.org/ns/1.0" xml:id="ENG1" xml:lang="en"><teiHeader><fileDesc>
 <titleStmt><title>The  Mill</title><title>2</title><author>Eliot, <hi>George</hi></author><author>Lewes</author></titleStmt>
 <publicationStmt><date>2019</date></publicationStmt>
 <sourceDesc><bibl type="digitalSource"><date>2012</date></bibl><bibl type="firstEdition"><date>YEAR</date></bibl></sourceDesc>
</fileDesc></teiHeader>
<text><body><head>One</head>
<p>It <hi>w</hi>as the best&nbsp;of &amp; tea.<lb/>The <choice><sic>teh</sic><corr>king</corr></choice>
dr<lb break="no"/>ank<note>a note</note>.</p><p>Second</p><fw>running head</fw><del>deleted</del></body></text></TEI>
"""

PAGE = """<!DOCTYPE html><!-- a page --><html lang=hu><head><title>Tea &amp; cake</title>
<meta name="date" content="2021-03-04"><meta name="author" content="Anna"><style>p{}</style><script>
x="<p>no</p>"</script></head>
<body><![if !x]><nav>menu</nav><p>Hot <b>te</b>a<br>now<p>never closed <div>kávé &eacute;s</div>"""


def rows(path: Path, format: str = "auto") -> list[dict[str, object]]:
    return [dict(record.values) for table in Files([str(path)], format).tables() for record in table.read(None)]


def test_a_novel_has_its_text_and_the_date_of_its_first_edition(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(NOVEL.replace("YEAR", "1860"))
    assert rows(tmp_path) == [
        {
            "text": "One It was the best of & tea. The king drank a note . Second", "title": "The Mill",
            "author": "Eliot, George; Lewes", "date": "1860", "year": "1860", "language": "en", "id": "ENG1",
        }
    ]  # fmt: skip


def test_a_date_of_writing_comes_first_and_attributes_before_text(tmp_path: Path) -> None:
    written = '<profileDesc><creation><date when="1859-02">winter</date></creation></profileDesc></teiHeader>'
    (tmp_path / "a.tei").write_text(NOVEL.replace("</teiHeader>", written).replace("YEAR", "1860"))
    assert [(row["date"], row["year"]) for row in rows(tmp_path)] == [("1859-02", "1859")]


def test_a_corpus_of_several_texts_and_one_without_text(tmp_path: Path) -> None:
    texts = "".join(f"<TEI><teiHeader/><text><p>{text}</p></text></TEI>" for text in ("hot tea", "", "cold tea"))
    path = tmp_path / "corpus.xml"
    path.write_text(f"<teiCorpus><teiHeader/>{texts}</teiCorpus>")
    counts = ft.count(path, format="tei", min_count=1)
    assert set(counts.vocabulary) == {"hot", "cold", "tea"}
    assert (counts.record["corpus"]["documents"], counts.record["corpus"]["rows_without_text"]) == (2, 1)


def test_folders_are_tables_with_columns(tmp_path: Path) -> None:
    for year in (1850, 1860, 1870):
        (tmp_path / f"{year}.xml").write_text(NOVEL.replace("YEAR", str(year)))
    table = read_table(tmp_path)
    assert table.covariate("year").levels == ["1850", "1860", "1870"]
    counts = ft.count(tmp_path, where={"year": 1860}, min_count=1)
    assert (counts.record["corpus"]["documents"], counts.record["corpus"]["rows_excluded"]) == (1, 2)
    (tmp_path / "odd.csv").write_text("text\nx\n")
    with pytest.raises(ft.FirthianError, match="different columns"):
        read_table(tmp_path)


def test_a_page_has_its_text_and_what_its_head_says(tmp_path: Path) -> None:
    (tmp_path / "page").write_text(PAGE, encoding="utf-8")
    assert rows(tmp_path) == [
        {
            "text": "Hot tea now never closed kávé és", "title": "Tea & cake", "author": "Anna", "date": "2021-03-04",
            "year": "2021", "language": "hu", "id": None,
        }
    ]  # fmt: skip
    old = tmp_path / "old.htm"
    old.write_bytes('<meta charset="iso-8859-2"><p>szőlő'.encode("iso-8859-2"))
    assert rows(old)[0]["text"] == "szőlő"
    unknown = tmp_path / "bad.htm"
    unknown.write_bytes(b'<meta charset="rot13"><p>caf\xe9')
    assert ft.count(unknown, min_count=1).record["corpus"]["undecodable_bytes"] == 1


ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 30}">' if n else f'<!ENTITY e0 "{"a" * 50}">' for n in range(6))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<TEI><a></b></TEI>", "line 1: not well-formed XML .mismatched tag.: fix the file"),
        ("<TEI>\n<text>", "line 2: not well-formed"),
        ("", "not well-formed XML .no element found"),
        ("<html></html>", "has no <TEI> element"),
        (f"<!DOCTYPE TEI [{ENTITIES}]><TEI><text>&e5;</text></TEI>", "amplification"),
    ],
)
def test_markup_that_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "novel.xml"
    path.write_text(text)
    with pytest.raises(ft.FirthianError, match=message):
        ft.count(path, format="tei", min_count=1)


def test_nothing_outside_the_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    path = tmp_path / "novel.xml"
    path.write_text(f'<!DOCTYPE TEI [<!ENTITY s SYSTEM "{tmp_path}/secret.txt">]><TEI><text>tea &s; tea</text></TEI>')
    assert rows(path)[0]["text"] == "tea tea"


def test_deep_nesting_is_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / "deep.xml"
    path.write_text(f"<TEI><text>{'<div>' * 50_000}tea{'</div>' * 50_000}</text></TEI>")
    assert rows(path)[0]["text"] == "tea"
    page = tmp_path / "deep.html"
    page.write_text("<html>" + "<svg>" * 50_000 + "tea" + "</svg>" * 50_000 + "cake")
    assert rows(page)[0]["text"] == "cake"


def _seconds(function: Callable[[], object]) -> float:
    before = time.process_time()
    function()
    return time.process_time() - before


SIGNS = (
    "<!--", "<a ", "<![", "<!x", "</a ", "<?", "<a x='", '<a "', "& ", "&#9", "<", "<script>", "</script", "<a/", "<title>",
    "a=b ", "<a =", "&lt", "--", "<textarea", "]]>",
)  # fmt: skip


@pytest.mark.parametrize("sign", SIGNS)
def test_time_to_read_a_page_grows_with_its_size_whatever_is_wrong(sign: str) -> None:
    """The parser of the standard library takes minutes for 100 kB of some of these."""
    for begin in ("", "<!--", "<a ", "<script>", "<a x='", "<title>", "<p>"):
        page = begin + sign * (300_000 // len(sign))
        assert _seconds(lambda page=page: list(scan_page(page))) < 5, (begin, sign)  # type: ignore[misc]


@given(st.text(alphabet="<>/!-?='\"&;#x ap\n", max_size=40))
def test_tags_are_read_as_the_standard_library_does_where_pages_are_well_formed(text: str) -> None:
    """Of any text: no error. Of escaped text between tags, attributes and comments: the same text and tags."""
    assert all(isinstance(item, str) or item.name for item in scan_page(text))
    page = f"<p a=\"{html.escape(text)}\" B='{html.escape(text)}' c>{html.escape(text)}<!-- a --><br/></p>"
    found = list(scan_page(page))
    inner = [text] if text else []
    assert found == [
        Tag("p", True, False, {"a": text, "b": text, "c": ""}), *inner, Tag("br", True, True, {}), Tag("p", False, True, {}),
    ]  # fmt: skip


def test_encodings_that_are_none_are_not_used() -> None:
    """Decoding punycode takes quadratic time."""
    for name in ("punycode", "idna", "unicode_escape", "utf-7", "undefined", "x" * 40):
        page = f"<meta charset={name}>" + "a" * 400_000 + "-b"
        assert decode_page(page.encode()) == page
    assert decode_page("<meta charset=shift_jis>茶".encode("shift_jis")) == "<meta charset=shift_jis>茶"


def test_numbers_of_characters_may_have_any_length() -> None:
    assert list(
        scan_page("a&#" + "9" * 5000 + ";b&#x" + "f" * 5000 + ";&#" + "0" * 500 + "65;&#" + "0" * 5000 + ";")
    ) == ["a\ufffdb\ufffdA\ufffd"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "<!DOCTYPE TEI [" + "".join(f"<!ENTITY e{n} '&e{n + 1};'>" for n in range(50_000)) + "]><TEI>&e0;</TEI>",
            "more than 100 entities",
        ),
        ("<TEI a='" + "x" * (20 << 20), "a tag or comment of more than 16 MB"),
        (f"<TEI xmlns='{'x' * 2000}'/>", "name of a namespace"),
        ("<TEI>" + f"<{'a' * 1000}>" * 20_000, "nested too deeply"),
        ("<?xml version='1.0' encoding='shift_jis'?><TEI/>", "multi-byte encodings"),
    ],
)
def test_hostile_markup_takes_neither_memory_nor_the_process(tmp_path: Path, text: str, message: str) -> None:
    """Expat overflows its stack where entities refer to each other 50,000 deep."""
    (tmp_path / "a.tei").write_text(text)
    with pytest.raises(ft.FirthianError, match=message):
        rows(tmp_path / "a.tei")


def test_time_to_read_tei_grows_with_its_size(tmp_path: Path) -> None:
    for begin, repeated in (("<TEI><del>", "<a>"), ("<TEI><teiHeader><titleStmt>", "<author>abcdef</author>")):
        (tmp_path / "a.tei").write_text(begin + repeated * 200_000)
        with pytest.raises(ft.FirthianError, match="no element found"):
            rows(tmp_path / "a.tei")
    defaults = f"<!DOCTYPE TEI [<!ATTLIST a b CDATA '{'x' * 1_000_000}'>]><TEI>tea{'<a/>' * 100_000}</TEI>"
    (tmp_path / "a.tei").write_text(defaults)
    assert _seconds(lambda: rows(tmp_path / "a.tei")) < 10
