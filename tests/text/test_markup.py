"""TEI and HTML: text without tags, and what the header says."""

from __future__ import annotations

from pathlib import Path

import pytest

import firthian as ft
from firthian.ask.corpus import read_table
from firthian.text.readers import Files

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
