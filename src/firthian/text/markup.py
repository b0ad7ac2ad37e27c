"""TEI and HTML as tables: a row per document, with its text without tags, and what the markup says about it.

Markup may be hostile: nothing outside the file is read, entities cannot multiply (Expat limits that) nor nest deeply, memory is
bounded, and no step recurses or takes more than linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html.entities import html5
from itertools import chain
from xml.parsers import expat

from firthian.errors import FirthianError
from firthian.text.files import LARGEST_LINE, chunks
from firthian.text.records import Record, Records
from firthian.text.tags import Tag, decode_page, scan_page

COLUMNS = ("text", "title", "author", "date", "year", "language", "id")

#: Inline elements: their tags do not separate words.
_INLINE_TEI = frozenset(
    ("abbr", "add", "anchor", "c", "choice", "corr", "damage", "distinct", "emph", "ex", "expan", "foreign", "forename", "g",
     "gap", "hi", "ident", "mentioned", "name", "num", "orig", "persName", "placeName", "ref", "reg", "rs", "s", "seg", "sic",
     "soCalled", "subst", "supplied", "surname", "term", "unclear")
)  # fmt: skip
_INLINE_HTML = frozenset(
    ("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins", "kbd",
     "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr")
)  # fmt: skip

#: Elements whose content is not text of the author: running heads, deleted words, scripts.
_LEFT_OUT_TEI = frozenset(("del", "fw", "teiHeader"))
_LEFT_OUT_HTML = frozenset(("iframe", "nav", "noscript", "object", "script", "style", "svg", "template"))

#: Alternative spellings to leave out: the corrected, regularized and expanded ones stand beside them.
_ALTERNATIVES = frozenset(("abbr", "orig", "sic"))

#: Maximum entities that refer to others: Expat recurses into them, and a long chain overflows its stack.
_MOST_NESTED = 100
#: Maximum distinct names of elements and attributes; maximum length of a tag, a comment, or all open tags; of a namespace.
_MOST_NAMES, _LONGEST_TAG, _LONGEST_NAMESPACE = 1_000_000, 16 << 20, 1000

_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
#: Where a header has dates, the closest to the writing first; among sources, first editions are preferred.
_RANKS = {"creation": 0, "sourceDesc": 2, "publicationStmt": 3}
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
        if text == " " and self._parts and self._parts[-1] == " ":
            return
        self._parts.append(text)
        self._size += len(text)
        if self._size > LARGEST_LINE:
            raise FirthianError(
                f"{self._path}: a document of more than {LARGEST_LINE >> 20} MB", hint="split it into smaller ones"
            )

    def __bool__(self) -> bool:
        return bool(self._parts)

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
        self._path, self._names = path, dict[str, str]()
        self._parser = parser = expat.ParserCreate(namespace_separator="}", intern=self._names)
        parser.buffer_text = parser.specified_attributes = True
        # A text may use entities of an external DTD, which is never read; those of HTML are known.
        parser.UseForeignDTD(True)
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler, parser.SkippedEntityHandler = self._characters, self._entity
        parser.EntityDeclHandler, parser.StartNamespaceDeclHandler = self._entity_declared, self._namespace
        self._stack: list[str] = []
        #: Open elements by name, for the names that matter in a header.
        self._open = dict.fromkeys(("teiHeader", *_RANKS), 0)
        #: Bytes parsed, total length of the open tags, and entities that refer to others.
        self._parsed = self._width = self._nested = 0
        self._silent = self._deep = 0
        self._text, self._fact, self._authors = _Text(path), _Text(path), _Text(path)
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
        except (LookupError, ValueError) as error:
            raise FirthianError(f"{self._path}: {error}", hint) from None
        self._parsed += len(data)
        # Expat reads an unfinished tag again with each chunk.
        if self._parsed - self._parser.CurrentByteIndex > _LONGEST_TAG:
            raise self._refusal("a tag or comment of more than 16 MB")
        if len(self._names) > _MOST_NAMES:
            raise self._refusal(f"more than {_MOST_NAMES:,} different tags and attributes")

    def _refusal(self, what: str) -> FirthianError:
        return FirthianError(f"{self._path}, line {self._parser.CurrentLineNumber}: {what}", hint="check the file")

    def _namespace(self, prefix: str | None, name: str) -> None:
        """Refuse a long name, which would be repeated in those of all its elements."""
        if name and len(name) > _LONGEST_NAMESPACE:
            raise self._refusal(f"the name of a namespace has more than {_LONGEST_NAMESPACE:,} characters")

    def _entity_declared(self, name: str, is_parameter: bool, value: str | None, *_: object) -> None:
        """Count entities that refer to others."""
        self._nested += value is not None and ("&" in value or "%" in value)
        if self._nested > _MOST_NESTED:
            raise self._refusal(f"more than {_MOST_NESTED} entities refer to others")

    def documents(self) -> Iterator[dict[str, str]]:
        """Yield the documents that have ended, once."""
        done, self._done = self._done, []
        return iter(done)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition("}")[2]
        parent = self._stack[-1] if self._stack else ""
        self._stack.append(name)
        self._width += len(tag) + 1
        if self._width > _LONGEST_TAG:
            raise self._refusal("tags are nested too deeply")
        if name in self._open:
            self._open[name] += 1
        if name in ("TEI", "TEI.2"):
            self._facts, self._rank, self._first = {}, 9, False
            self._known("id", attributes.get("http://www.w3.org/XML/1998/namespace}id"))
            self._known("language", attributes.get("http://www.w3.org/XML/1998/namespace}lang"))
            self._text.taken()
            self._authors.taken()
        if name == "bibl":
            self._first = attributes.get("type") == "firstEdition"
        if self._silent or name in _LEFT_OUT_TEI or (parent == "choice" and name in _ALTERNATIVES):
            self._silent += 1
            if not self._field and self._open["teiHeader"]:
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
            place = next((place for place in _RANKS if self._open[place]), None)
            if place:
                rank = 1 if place == "sourceDesc" and self._first else _RANKS[place]
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
        self._width -= len(tag) + 1
        if name in self._open:
            self._open[name] -= 1
        if self._field and len(self._stack) < self._deep:
            self._end_field()
        if self._silent:
            self._silent -= 1
        elif name not in _INLINE_TEI and name not in ("lb", "pb", "cb"):
            self._text.add(" ")
        if name in ("TEI", "TEI.2"):
            authors = self._authors.taken()
            self._done.append({**({"author": authors} if authors else {}), **self._facts, "text": self._text.taken()})

    def _end_field(self) -> None:
        field, value = self._field, " ".join(self._fact.taken().split())
        self._field = ""
        if field == "author" and value:
            self._authors.add(f"; {value}" if self._authors else value)
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
            raise FirthianError(
                f"{path}: a page of more than {LARGEST_LINE >> 20} MB", hint="split it into smaller ones"
            )
    text, facts = _Text(path), dict[str, str]()
    _note_page(scan_page(decode_page(bytes(data))), text, facts)
    yield Record(1, _row(columns, {**facts, "text": text.taken()}))


def _note_page(page: Iterable[str | Tag], text: _Text, facts: dict[str, str]) -> None:
    """Collect the text of a page and what it says about itself; tags that are never closed do no harm."""
    # The element that is left out, and how many of its kind are open.
    silent, opened = "", 0
    in_title = False
    for item in page:
        if isinstance(item, str):
            if in_title:
                facts.setdefault("title", item)
            elif not silent:
                text.add(item)
            continue
        if item.opens:
            in_title = item.name == "title" and not silent
            if silent or item.name in _LEFT_OUT_HTML:
                silent = silent or item.name
                opened += item.name == silent
            else:
                _note_tag(item, facts)
        if item.closes:
            in_title = False
            opened -= item.name == silent
            silent = silent if opened else ""
        if item.name not in _INLINE_HTML:
            text.add(" ")


def _note_tag(tag: Tag, facts: dict[str, str]) -> None:
    """Note what a tag says about the page."""
    values = tag.attributes
    if tag.name == "html" and values.get("lang"):
        facts.setdefault("language", values["lang"])
    elif tag.name == "time" and values.get("datetime"):
        facts.setdefault("date", values["datetime"])
    elif tag.name == "meta" and values.get("content"):
        name = (values.get("name") or values.get("property") or values.get("itemprop") or "").lower()
        if name in _DATES_HTML:
            facts.setdefault("date", values["content"])
        elif name in ("author", "dc.creator"):
            facts.setdefault("author", values["content"])
