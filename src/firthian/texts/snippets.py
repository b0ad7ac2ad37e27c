"""Snippets: the part of a document with the most words of a query, and where these are in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import islice

_WORD = re.compile(r"\w+(?:['’-]\w+)*")

#: Words of a document that are looked at, and characters before the first match of a snippet.
_MOST_WORDS, _BEFORE = 20_000, 40


def snippet(text: str, words: Iterable[str], length: int = 160) -> tuple[str, list[tuple[int, int]]]:
    """Return a part of a text of about ``length`` characters, and the spans of the matched words in it.

    >>> snippet("A cup of Tea, please", ["tea"])
    ('A cup of Tea, please', [(9, 12)])
    """
    wanted = frozenset(words)
    found: list[tuple[int, int]] = []
    for number, match in enumerate(_WORD.finditer(text)):
        if max(number, len(found)) >= _MOST_WORDS:
            break
        whole = match[0].lower()
        if match[0] in wanted or whole in wanted:
            found.append(match.span())
        elif not whole.isalnum():
            pieces = islice(re.finditer(r"\w+", match[0]), _MOST_WORDS)
            found += [(match.start() + p.start(), match.start() + p.end()) for p in pieces if p[0].lower() in wanted]
    best, most = 0, -1
    for first, (begin, _) in enumerate(found):
        inside = {text[a:b].lower() for a, b in found[first : first + 50] if b <= begin - _BEFORE + length}
        if len(inside) > most:
            best, most = begin, len(inside)
    begin = max(0, best - _BEFORE)
    if begin:
        space = text.find(" ", begin, best)
        begin = space + 1 if space >= 0 else begin
    end = min(len(text), begin + length)
    if end < len(text):
        space = text.rfind(" ", begin + length // 2, end)
        end = space if space > 0 else end
    head, tail = "… " if begin else "", " …" if end < len(text) else ""
    # One character stands for one, so that spans stay.
    shown = "".join(c if c.isprintable() else " " for c in text[begin:end])
    shift = len(head) - begin
    return head + shown + tail, [(a + shift, b + shift) for a, b in found if begin <= a and b <= end]


def mark(text: str, spans: Iterable[tuple[int, int]], how: Callable[[str], str]) -> str:
    """Return a text with its spans marked.

    >>> mark("a cup of tea", [(9, 12)], "*{}*".format)
    'a cup of *tea*'
    """
    parts, at = [], 0
    for begin, end in spans:
        parts += [text[at:begin], how(text[begin:end])]
        at = end
    return "".join([*parts, text[at:]])
