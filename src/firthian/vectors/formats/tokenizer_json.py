"""A ``tokenizer.json`` for Hugging Face's ``tokenizers`` that tokenizes text as ours does and skips unknown words.

Its steps are those of ``firthian.text.tokenizer``: normalize (NFC), replace typographic apostrophes and hyphens, lower-case,
find words. The two agree on every character of Python's Unicode version.

The model is a BPE without merges. With ``ignore_merges`` a word of the vocabulary becomes its number; any other is split into
characters, which are dropped because they have no number. Words begin with the mark ``▁``, as in SentencePiece, so that no
entry is a single character. A word-level model would be simpler, but needs a number for unknown words, which libraries that
compute means would count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firthian.errors import FirthianError
from firthian.text.tokenizer import NUMBER, Tokenizer

if TYPE_CHECKING:
    from firthian.vectors.vectors import Vectors

MARK = "▁"

#: Without the supplementary variation selectors, marks that our tables omit.
_LETTER = r"[\p{L}\p{M}\p{N}&&[^\x{E0100}-\x{E01EF}]]"
_JOINER = "['\\-_·\u200c\u200d]"

#: A capital sigma at the end of a word: after a cased letter and before none, with any marks between. Python's lower()
#: handles it; theirs works character by character. A lookbehind must have a bounded length: up to 4 marks.
_BEHIND = "|".join(r"\p{Cased}" + r"\p{Case_Ignorable}" * marks for marks in range(5))
_LAST_SIGMA = rf"(?<={_BEHIND})Σ(?!\p{{Case_Ignorable}}*\p{{Cased}})"

#: The last white space character of Unicode.
_LAST_SPACE = 0x3000

Json = dict[str, Any]


def tokenizer_json(vectors: Vectors, tokenizer: Tokenizer) -> Json:
    """Return the description of a tokenizer whose numbers are the rows of ``vectors``."""
    if tokenizer.name == "unicode":
        normalizers, words = _unicode(tokenizer.fold_numbers)
    elif tokenizer.name == "whitespace":
        normalizers, words = _whitespace(tokenizer.fold_numbers)
    else:
        raise FirthianError(
            f"a tokenizer.json cannot tokenize text as {tokenizer.name} does",
            hint="export with `tokenizer=whitespace`, and encode text with spaces between words",
        )
    lower = [] if tokenizer.keep_case else [_replace({"Regex": _LAST_SIGMA}, "ς"), {"type": "Lowercase"}, _NFC]
    marked = {"type": "Metaspace", "replacement": MARK, "prepend_scheme": "always", "split": False}
    split = {"type": "Split", "pattern": {"Regex": words}, "behavior": "Removed", "invert": True}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": [_NFC, *normalizers[0], *lower, *normalizers[1]]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, marked]},
        "post_processor": None,
        "decoder": marked,
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": True,
            "vocab": {mark(word): number for word, number in vectors.vocabulary.index.items()}, "merges": [],
        },
    }  # fmt: skip


def mark(word: str) -> str:
    """Return a word as in the vocabulary; its own marks are doubled, so that no two words become equal.

    >>> mark("tea"), mark("▁tea")
    ('▁tea', '▁▁tea')
    """
    doubled = word.replace(MARK, 2 * MARK)
    return doubled if doubled.startswith(MARK) else MARK + doubled


def unmark(marked: str) -> str:
    """Return the word that ``mark`` encoded.

    >>> [unmark(mark(word)) for word in ("tea", "▁tea", "a▁", "▁")]
    ['tea', '▁tea', 'a▁', '▁']
    """
    first = len(marked) - len(marked.lstrip(MARK))
    return marked[first % 2 :].replace(2 * MARK, MARK)


_NFC: Json = {"type": "NFC"}


def _replace(pattern: Json, content: str) -> Json:
    return {"type": "Replace", "pattern": pattern, "content": content}


def _unicode(fold_numbers: bool) -> tuple[tuple[list[Json], list[Json]], str]:
    """Return the steps before and after lower-casing, and the pattern of a word."""
    before = [_replace({"Regex": "[\u2019\u02bc]"}, "'"), _replace({"Regex": "[\u2010\u2011]"}, "-")]
    word = f"{_LETTER}+(?:{_JOINER}{_LETTER}+)*"
    if not fold_numbers:
        return (before, []), word
    digits = r"\p{Nd}"
    number = f"(?<!{_LETTER})(?<!{_LETTER}{_JOINER}){digits}+(?:{_JOINER}{digits}+)*(?!{_LETTER})(?!{_JOINER}{_LETTER})"
    # The token for numbers must not occur in a text: what looks like it is removed first.
    return (before, [_replace({"String": "<"}, " "), _replace({"Regex": number}, NUMBER)]), f"{NUMBER}|{word}"


def _whitespace(fold_numbers: bool) -> tuple[tuple[list[Json], list[Json]], str]:
    spaces = "".join(rf"\x{{{code:X}}}" for code in range(_LAST_SPACE + 1) if chr(code).isspace())
    after = [_replace({"String": MARK}, 2 * MARK)]
    if fold_numbers:
        after.append(_replace({"Regex": f"(?<![^{spaces}])[0-9]+(?![^{spaces}])"}, NUMBER))
    return ([], after), f"[^{spaces}]+"
