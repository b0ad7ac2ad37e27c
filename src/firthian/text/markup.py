"""TEI and HTML as tables: a row per document, with its text without tags, and what the markup says about it.

Markup may be hostile: nothing outside the file is read, entities cannot multiply (Expat limits that), and no step recurses.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from html.entities import html5
from html.parser import HTMLParser
from itertools import chain
from typing import Any
from xml.parsers import expat

from firthian.errors import FirthianError
from firthian.text.compression import CHUNK_BYTES
from firthian.text.files import LARGEST_LINE, chunks
from firthian.text.records import Record, Records

COLUMNS = ("text", "title", "author", "date", "year", "language", "id")

#: Elements inside a word or a phrase: their tags are not spaces.
_INLINE_TEI = frozenset(
    ("abbr", "add", "anchor", "c", "choice", "corr", "damage", "distinct", "emph", "ex", "expan", "foreign", "forename", "g",
     "gap", "hi", "ident", "mentioned", "name", "num", "orig", "persName", "placeName", "ref", "reg", "rs", "s", "seg", "sic",
     "soCalled", "subst", "supplied", "surname", "term", "unclear")
)  # fmt: skip
_INLINE_HTML = frozenset(
    ("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins", "kbd",
     "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr")
)  # fmt: skip

#: Elements without text of the author: running heads, deleted words, scripts.
_LEFT_OUT_TEI = frozenset(("del", "fw", "teiHeader"))
_LEFT_OUT_HTML = frozenset(("iframe", "nav", "noscript", "object", "script", "style", "svg", "template"))

#: Of alternative spellings, those left out: the corrected, regularized and expanded ones stand beside them.
_ALTERNATIVES = frozenset(("abbr", "orig", "sic"))

_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_DATES_HTML = ("article:published_time", "datepublished", "date", "dc.date", "dcterms.date", "dcterms.created")


def open_tei(path: str, header: bool = True) -> Records:
    """Open a TEI file: a row per ``<TEI>``."""
    return Records(path, list(COLUMNS), lambda columns: _read_tei(path, columns), unit="document")


def open_html(path: str, header: bool = True) -> Records:
    """Open a web page: one row."""
    return Records(path, list(COLUMNS), lambda columns: _read_html(path, columns), unit="document")


def _row(columns: Sequence[str] | None, found: Mapping[str, str | None]) -> dict[str, str | None]:
    year = _YEAR.search(found.get("date") or "")
    every = {**found, "year": year and year[0]}
    return {name: " ".join((every.get(name) or "").split()) or None for name in columns or COLUMNS}


class _Text:
    """Text between tags, with a limit."""

    def __init__(self, path: str) -> None:
        self._path, self._parts, self._size = path, list[str](), 0

    def add(self, text: str) -> None:
        self._parts.append(text)
        self._size += len(text)
        if self._size > LARGEST_LINE:
            raise FirthianError(f"{self._path}: a document of more than {LARGEST_LINE >> 20} MB", hint="divide it")

    def taken(self) -> str:
        text = "".join(self._parts)
        self._parts, self._size = [], 0
        return text


# TEI


def _read_tei(path: str, columns: Sequence[str] | None) -> Iterator[Record]:
    number, reader = 0, _TEI(path)
    for data in chain(chunks(path), [b""]):
        reader.parse(data)
        for found in reader.documents():
            number += 1
            yield Record(number, _row(columns, found))
    if not number:
        raise FirthianError(f"{path} has no <TEI> element", hint="set another `format`")


class _TEI:
    """Collects documents while a file is parsed."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._parser = parser = expat.ParserCreate(namespace_separator="}")
        parser.buffer_text = True
        # A text may use entities of an external DTD, which is never read; those of HTML are known.
        parser.UseForeignDTD(True)
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler, parser.SkippedEntityHandler = self._characters, self._entity
        self._stack: list[str] = []
        self._silent = self._deep = 0
        self._text, self._fact = _Text(path), _Text(path)
        self._facts: dict[str, str] = {}
        #: The rank of the date found; the field that is being read, and its depth.
        self._rank, self._field, self._first = 9, "", False
        self._done: list[dict[str, str]] = []

    def parse(self, data: bytes) -> None:
        """Parse some bytes; none at the end of the file."""
        hint = "fix the file, or set another `format`"
        try:
            self._parser.Parse(data, not data)
        except expat.ExpatError as error:
            what = f"{self._path}, line {error.lineno}: not well-formed XML ({expat.ErrorString(error.code)})"
            raise FirthianError(what, hint) from None
        except (LookupError, UnicodeError) as error:
            raise FirthianError(f"{self._path}: {error}", hint) from None

    def documents(self) -> Iterator[dict[str, str]]:
        """Yield the documents that have ended, once."""
        done, self._done = self._done, []
        return iter(done)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition("}")[2]
        parent = self._stack[-1] if self._stack else ""
        self._stack.append(name)
        if name in ("TEI", "TEI.2"):
            self._facts, self._rank, self._first = {}, 9, False
            self._known("id", attributes.get("http://www.w3.org/XML/1998/namespace}id"))
            self._known("language", attributes.get("http://www.w3.org/XML/1998/namespace}lang"))
            self._text.taken()
        if name == "bibl":
            self._first = attributes.get("type") == "firstEdition"
        if self._silent or name in _LEFT_OUT_TEI or (parent == "choice" and name in _ALTERNATIVES):
            self._silent += 1
            if not self._field and "teiHeader" in self._stack:
                self._header(name, parent, attributes)
        elif name not in _INLINE_TEI and attributes.get("break") != "no":
            self._text.add(" ")

    def _known(self, field: str, value: str | None) -> None:
        if value:
            self._facts.setdefault(field, value)

    def _header(self, name: str, parent: str, attributes: dict[str, str]) -> None:
        """Note what the header says: the first title, all authors, and the date nearest to the writing."""
        if name == "language":
            self._known("language", attributes.get("ident"))
        elif (name, parent) in (("title", "titleStmt"), ("author", "titleStmt"), ("idno", "publicationStmt")):
            self._field = name
        elif name == "date":
            places = [place for place in ("creation", "sourceDesc", "publicationStmt") if place in self._stack]
            if places:
                rank = {"creation": 0, "sourceDesc": 1 if self._first else 2, "publicationStmt": 3}[places[0]]
                if rank < self._rank:
                    self._rank, self._field = rank, "date"
                    self._facts["date"] = next(
                        (
                            attributes[key]
                            for key in ("when", "notBefore", "from", "notAfter", "to")
                            if key in attributes
                        ),
                        "",
                    )
        if self._field:
            self._deep = len(self._stack)

    def _end(self, tag: str) -> None:
        name = self._stack.pop()
        if self._field and len(self._stack) < self._deep:
            self._end_field()
        if self._silent:
            self._silent -= 1
        elif name not in _INLINE_TEI and name not in ("lb", "pb", "cb"):
            self._text.add(" ")
        if name in ("TEI", "TEI.2"):
            self._done.append({**self._facts, "text": self._text.taken()})

    def _end_field(self) -> None:
        field, value = self._field, " ".join(self._fact.taken().split())
        self._field = ""
        if field == "author" and value:
            self._facts["author"] = "; ".join(filter(None, (self._facts.get("author"), value)))
        elif field == "date":
            self._facts["date"] = self._facts["date"] or value
        else:
            self._known("id" if field == "idno" else field, value)

    def _characters(self, text: str) -> None:
        if self._field:
            self._fact.add(text)
        elif not self._silent:
            self._text.add(text)

    def _entity(self, name: str, is_parameter: bool) -> None:
        if not is_parameter:
            self._characters(html5.get(f"{name};", " "))


# HTML


def _read_html(path: str, columns: Sequence[str] | None) -> Iterator[Record]:
    data = bytearray()
    for part in chunks(path):
        data += part
        if len(data) > LARGEST_LINE:
            raise FirthianError(f"{path}: a page of more than {LARGEST_LINE >> 20} MB", hint="divide it")
    page = _HTML(path)
    page.feed(_decoded(bytes(data)))
    page.close()
    yield Record(1, _row(columns, {**page.facts, "text": page.text.taken()}))


def _decoded(data: bytes) -> str:
    """Decode a page as it declares; UTF-8 otherwise, whose invalid bytes are counted later."""
    declared = _CHARSET.search(data[:CHUNK_BYTES][:2048])
    if declared is not None:
        try:
            found = codecs.lookup(declared[1].decode())
            if found.name != "utf-8" and found._is_text_encoding:
                return data.decode(found.name)
        except (LookupError, UnicodeError, ValueError):
            pass
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")


class _HTML(HTMLParser):
    """Collects the text of a page; tags that are never closed do no harm."""

    def __init__(self, path: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text, self.facts = _Text(path), dict[str, str]()
        self._title = _Text(path)
        #: The element that is left out, and how many of its kind are open.
        self._silent, self._open = "", 0
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag says about the page."""
        values: Mapping[str, Any] = dict(attrs)
        if tag == "title" and "title" not in self.facts:
            self._in_title = True
        elif self._silent or tag in _LEFT_OUT_HTML:
            self._silent = self._silent or tag
            self._open += tag == self._silent
        elif tag == "html" and values.get("lang"):
            self.facts.setdefault("language", values["lang"])
        elif tag == "time" and values.get("datetime"):
            self.facts.setdefault("date", values["datetime"])
        elif tag == "meta" and values.get("content"):
            name = str(values.get("name") or values.get("property") or values.get("itemprop") or "").lower()
            if name in _DATES_HTML:
                self.facts.setdefault("date", values["content"])
            elif name in ("author", "dc.creator"):
                self.facts.setdefault("author", values["content"])
        if tag not in _INLINE_HTML:
            self.text.add(" ")

    def handle_endtag(self, tag: str) -> None:
        """Leave an element."""
        if tag == "title" and self._in_title:
            self._in_title = False
            self.facts["title"] = self._title.taken()
        if tag == self._silent:
            self._open -= 1
            self._silent = tag if self._open else ""
        if tag not in _INLINE_HTML:
            self.text.add(" ")

    def parse_marked_section(self, i: int, report: int = 1) -> int:
        """Skip ``<![...>`` as browsers do; the library refuses some."""
        return self.parse_bogus_comment(i)

    def handle_data(self, data: str) -> None:
        """Keep text."""
        if self._in_title:
            self._title.add(data)
        elif not self._silent:
            self.text.add(data)
