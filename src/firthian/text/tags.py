"""The tags of web pages, as browsers see them: one pass, in time that grows with the page, whatever is wrong with it.

Not ``html.parser``, whose time grows with the square of some pages: a hostile one of 100 kB would take minutes.
"""

from __future__ import annotations

import codecs
import html
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

#: Elements whose content has no tags; in the first ones, no character references either.
_RAW, _WITHOUT_TAGS = ("script", "style", "xmp", "iframe", "noembed", "noframes"), ("title", "textarea")

_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
#: A page declares its encoding within this many bytes.
_DECLARED_BYTES = 2048
#: Encodings that pages use. Python also has codecs that are not encodings of text or take quadratic time (``punycode``).
_ENCODINGS = re.compile(
    "ascii|big5.*|cp[0-9]+|euc_.*|gb[0-9k]+|hz|iso2022_.*|iso8859-.*|koi8.*|mac.*|shift_jis.*|tis.*"
)

#: Maximum attributes of a tag; further ones are ignored.
_MOST_ATTRIBUTES = 1000

_NAME = re.compile(r"[^\s/>]*+", re.ASCII)
#: An attribute, and how its value begins.
_ATTRIBUTE = re.compile(r"[\s/]*+([^\s/>=]?[^\s/>=]*+)(?:\s*+(=)\s*+([\"']?))?", re.ASCII)
_UNQUOTED = re.compile(r"[^\s>]*+", re.ASCII)
#: References beyond the last code point; Python refuses to convert numbers of thousands of digits.
_NO_CHARACTER = re.compile("&#(?:0*+[0-9]{8,}+|[0-9]{4000,}+);?")


class Tag(NamedTuple):
    """A tag: its name in lower case, whether it opens and closes its element, and its attributes."""

    name: str
    opens: bool
    closes: bool
    attributes: dict[str, str]


def decode_page(data: bytes) -> str:
    """Decode a page as it declares; UTF-8 otherwise, whose invalid bytes become surrogates.

    >>> decode_page(b'<meta charset=iso-8859-2><p>sz\\xf5l\\xf5')
    '<meta charset=iso-8859-2><p>szőlő'
    """
    declared = _CHARSET.search(data[:_DECLARED_BYTES])
    if declared is not None:
        try:
            name = codecs.lookup(declared[1].decode()).name
            if _ENCODINGS.fullmatch(name):
                return data.decode(name)
        except (LookupError, ValueError):
            pass
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")


def scan_page(page: str) -> Iterator[str | Tag]:
    """Yield the texts and tags of a page, without comments and declarations.

    >>> list(scan_page("a &lt; b<BR/><!-- c --><p lang=en>d</p >"))
    ['a < b', Tag(name='br', opens=True, closes=True, attributes={}),
     Tag(name='p', opens=True, closes=False, attributes={'lang': 'en'}), 'd',
     Tag(name='p', opens=False, closes=True, attributes={})]
    """
    at = start = 0
    while (at := page.find("<", at)) >= 0:
        closing = page.startswith("/", at + 1)
        first = page[at + 1 + closing : at + 2 + closing]
        is_tag = first.isascii() and first.isalpha()
        if not (is_tag or closing or first in ("!", "?")) or not first:
            # A less-than sign, not a tag.
            at += 1
            continue
        if start < at:
            yield _characters(page[start:at])
        if not is_tag:
            at = start = _after_comment(page, at)
            continue
        at, tag = _read_tag(page, at + 1 + closing, closing)
        start = at
        if tag is None:
            continue
        yield tag
        if tag.opens and not tag.closes and tag.name in (*_RAW, *_WITHOUT_TAGS):
            end = _end_of(tag.name).search(page, at)
            at = end.start() if end else len(page)
            if start < at:
                yield page[start:at] if tag.name in _RAW else _characters(page[start:at])
            start = at
    if start < len(page):
        yield _characters(page[start:])


def _characters(text: str) -> str:
    """Resolve character references."""
    return html.unescape(_NO_CHARACTER.sub("\ufffd", text)) if "&" in text else text


def _after_comment(page: str, at: int) -> int:
    """Return where a comment ends that begins at ``<``; one that is never closed lasts to the end."""
    mark = ">"
    if page.startswith("<!--", at):
        # An empty comment may be <!-->.
        at, mark = at + 2, "-->"
    end = page.find(mark, at)
    return end + len(mark) if end >= 0 else len(page)


def _read_tag(page: str, at: int, closing: bool) -> tuple[int, Tag | None]:
    """Read a tag from its name on; return where it ends, and None if it never does."""
    name = _match(_NAME, page, at)
    at = name.end()
    attributes: dict[str, str] = {}
    while not page.startswith(">", at):
        found = _match(_ATTRIBUTE, page, at)
        at, quote = found.end(), found[3]
        if quote:
            stop = page.find(quote, at)
            value, at = page[at:stop], stop + 1
        else:
            unquoted = _match(_UNQUOTED, page, at) if found[2] else None
            value, at = (unquoted[0], unquoted.end()) if unquoted else ("", at)
            stop = at
        if stop < 0 or at >= len(page):
            return len(page), None
        if len(attributes) < _MOST_ATTRIBUTES:
            attributes.setdefault(found[1].lower(), _characters(value))
    attributes.pop("", None)
    return at + 1, Tag(name[0].lower(), not closing, closing or page.startswith("/", at - 1), attributes)


def _match(pattern: re.Pattern[str], page: str, at: int) -> re.Match[str]:
    found = pattern.match(page, at)
    assert found is not None
    return found


@cache
def _end_of(name: str) -> re.Pattern[str]:
    return re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE | re.ASCII)
