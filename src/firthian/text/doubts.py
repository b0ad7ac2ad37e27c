"""Signs that a corpus is not what its reader takes it for: markup, scripts without spaces, one endless document."""

from __future__ import annotations

import re

from firthian.text.readers import Corpus, Files

#: Bytes at the beginning of a corpus that are looked at.
SAMPLE = 2**20

#: A document with more tokens is a whole corpus on one line; documents are compared in texts of at most this many bytes.
_LONG, _COMPARED = 200_000, 2**25

#: The share of a text that no document of an ordinary corpus has.
_MOST = 0.5

_TAG = re.compile(r"</?[A-Za-z][\w:.-]*(?:\s[^<>]{0,300})?/?>|&(?:[a-z]{2,8}|#\d{1,6});")

#: Elements that TEI has and HTML has not.
_TEI = re.compile(r"<(?:TEI|teiHeader|lg|lb|pb|hi|sp)\b")

#: Han, kana, Thai, Lao, Burmese and Khmer: scripts that put no spaces between words.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]"
)


def doubts_about(text: str, tokenizer: str | None = None) -> list[str]:
    """Return what is odd about a text that is read as running words, a line each with the remedy.

    >>> doubts_about("<p>Tea &amp; <hi>cake</hi></p>" * 50)[0]
    '70 % of the text is markup, such as <p>, whose names are counted as words: use `format=tei`, or strip the tags'
    >>> doubts_about("茶は美味しい" * 99, "unicode")[0]
    'the text has no spaces between words, so whole phrases are counted as words: use `tokenizer=icu`'
    """
    found = []
    tags = _TAG.findall(text)
    share = sum(map(len, tags)) / max(1, len(text))
    if len(tags) >= 20 and share > 0.01:
        found.append(
            f"{100 * share:.0f} % of the text is markup, such as {tags[0][:20]}, whose names are counted as words: "
            f"use `format={'tei' if _TEI.search(text) else 'html'}`, or strip the tags"
        )
    letters = sum(map(str.isalpha, text))
    if tokenizer in ("unicode", "whitespace") and letters >= 50 and len(_UNSPACED.findall(text)) > letters / 3:
        found.append("the text has no spaces between words, so whole phrases are counted as words: use `tokenizer=icu`")
    return found


def doubts(corpus: Corpus, tokenizer: str | None, documents: int, tokens: int) -> list[str]:
    """Return what is odd about a corpus that was counted: its beginning is read again, unless it was a pipe."""
    found = []
    if documents == 1 and tokens > _LONG:
        found.append(
            f"all {tokens:,} tokens are one document: put each text on its own line, or pass a folder of files"
        )
    if isinstance(corpus, Files) and corpus.size() is None:
        return found
    sample = bytearray()
    longest = current = size = 0
    for piece in corpus.pieces():
        sample += piece.text[: SAMPLE - len(sample)]
        size += len(piece.text)
        if size > _COMPARED or (tokens <= _LONG and len(sample) >= SAMPLE):
            break
        first, *others = map(len, piece.text.split(b"\n"))
        longest = max(longest, current + first, *others)
        current = others[-1] if others else current + first
    else:
        if documents > 1 and tokens > _LONG and longest > _MOST * size:
            found.append(f"one document is {100 * longest / size:.0f} % of the text: put each text on its own line")
    return doubts_about(sample.decode("utf-8", "replace"), tokenizer) + found
