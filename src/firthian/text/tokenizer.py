"""Tokenizers: tables for the scanning kernel, or a Python function for everything else."""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
import re
import sys
import traceback
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError, os_errors, require, suggest
from firthian.text.readers import TOKEN_SEPARATOR

#: The classes of the scanning kernel (kernels/tokens.py), repeated here so that importing this does not import numba.
WORD, JOINER, DIGIT, ENDS_DOCUMENT = 1, 2, 4, 8

#: Replaces every number with ``fold_numbers``.
NUMBER = "<number>"

NAMES = ("unicode", "whitespace", "icu")


def is_builtin(name: str) -> bool:
    """Return whether a tokenizer comes with Firthian, so that a name found in a file may be loaded.

    >>> [is_builtin(name) for name in ("icu:zh", "unicode:tr", "unicode:f", "whitespace:f")]
    [True, True, False, False]
    """
    kind, _, language = name.partition(":")
    return name in NAMES or kind == "icu" or (kind == "unicode" and bool(_LANGUAGE.fullmatch(language)))


def of_language(name: str, language: str | None) -> str:
    """Return the name of a tokenizer for a language: rules for case, and for ``icu`` also for words.

    >>> of_language("unicode", "tr"), of_language("unicode", "hu"), of_language("icu", "zh")
    ('unicode:tr', 'unicode', 'icu:zh')
    """
    if language is None:
        return name
    if not _LANGUAGE.fullmatch(language):
        raise FirthianError(f"`language` must be a code such as tr, got {language!r}", hint="see ISO 639")
    if name == "icu" or (name == "unicode" and language in _DOTLESS):
        return f"{name}:{language}"
    if name != "unicode":
        raise FirthianError(f"`language` has no effect on the tokenizer {name}", hint="omit it")
    return name


_LANGUAGE = re.compile("[a-z]{2,3}")
#: Languages in which I is the capital of a dotless letter, and i that of a dotted one.
_DOTLESS = ("az", "tr")

#: Kept inside a word: apostrophe, hyphen, underscore, middle dot (Catalan), and the joiners of Persian and Indic scripts.
_JOINERS = "'-_·\u200c\u200d"
#: Typographic forms of the first two.
_SAME_AS = {"\u2019": "'", "\u02bc": "'", "\u2010": "-", "\u2011": "-"}

_SPACES = "".join(character for character in map(chr, range(0x3001)) if character.isspace())

_SURROGATES = re.compile("[\udc80-\udcff]")
#: Maximum combining marks on one character; no language needs ten.
_MOST_MARKS = 30
#: No character past this one is a letter, mark or digit, save a block of variation selectors.
_LAST_CODE = 0x323B0
#: Characters of a document shown in an error.
_SHOWN_LETTERS = 40


@functools.cache
def _unicode_classes(codes: int = _LAST_CODE) -> Array:
    """Classes by code point, of the first ones: letters, marks and digits are words."""
    table = np.zeros(codes, dtype=np.uint8)
    for code in range(codes):
        kind = unicodedata.category(chr(code))
        if kind[0] in "LM":
            table[code] = WORD
        elif kind[0] == "N":
            table[code] = WORD | DIGIT if kind == "Nd" else WORD
        if chr(code) in _JOINERS:
            table[code] = JOINER
    table[10] = ENDS_DOCUMENT
    return table


@functools.cache
def _all_but(separators: str) -> Array:
    """Classes by code point, where everything but separators is a word."""
    table = np.full(sys.maxunicode + 1, WORD, dtype=np.uint8)
    table[[ord(character) for character in separators]] = 0
    table[48:58] |= DIGIT
    table[10] = ENDS_DOCUMENT
    return table


#: No combining mark comes before U+0300. A search for this range is much faster than one for the marks.
_PERHAPS_MARKS = re.compile(f"[\u0300-\U0010ffff]{{{_MOST_MARKS + 1},}}")


@functools.cache
def _crowded_marks() -> re.Pattern[str]:
    """Return a pattern of the maximum number of combining marks, followed by one more."""
    codes = [code for code in range(0x300, _LAST_CODE) if unicodedata.combining(chr(code))]
    marks = "".join(map(chr, codes))
    return re.compile(f"([{marks}]{{{_MOST_MARKS}}})(?=[{marks}])")


def decode(text: bytes) -> tuple[str, int]:
    """Decode UTF-8; return the text with invalid bytes replaced, and the number of those.

    >>> decode(b"caf\\xe9")
    ('caf\ufffd', 1)
    """
    try:
        return text.decode(), 0
    except UnicodeDecodeError:
        return _SURROGATES.subn("\ufffd", text.decode("utf-8", "surrogateescape"))


def composed(text: str) -> str:
    """Normalize to NFC.

    Sorting marks takes quadratic time, and a hostile text has millions on one letter. So a joiner, which ends the sorting,
    is inserted after every thirtieth, as in Unicode's stream-safe format (UAX #15, 13).

    >>> composed("e\u0301") == "\u00e9", composed("e" + 31 * "\u0316").count("\u034f")
    (True, 1)
    """
    return _normalized(_thinned(text) if _perhaps_crowded(text.encode("utf-8", "surrogatepass")) else text)


def _perhaps_crowded(text: bytes) -> bool:
    """Return quickly whether there may be a run of too many marks: a mark has at least two bytes.

    Of a run of 62 high bytes, seven lie at multiples of eight.
    """
    high = np.frombuffer(text, dtype=np.uint8)[::8] >= 0x80
    six = high.size - 5
    return six > 0 and bool(np.logical_and.reduce([high[first : first + six] for first in range(6)]).any())


def _thinned(text: str) -> str:
    return _PERHAPS_MARKS.sub(lambda run: _crowded_marks().sub("\\1\u034f", run[0]), text)


def _normalized(text: str) -> str:
    return text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)


def _fold_table(lower: bool) -> Array:
    table = np.arange(256, dtype=np.uint8)
    if lower:
        table[ord("A") : ord("Z") + 1] += 32
    return table


@dataclass(frozen=True)
class Prepared:
    """Bytes ready for the scanning kernel, with the tables to scan them by."""

    text: bytes
    #: Classes of characters, bytes to store, and what replaces numbers.
    rules: tuple[Array, Array, Array]
    undecodable: int = 0


@dataclass(frozen=True)
class Tokenizer:
    """Splits text into words.

    ``name`` is ``unicode`` (letters, marks, digits, with apostrophes and hyphens inside), ``whitespace``, ``icu``, or
    ``module:function`` for a Python function from a text to its tokens. A language may follow: ``icu:zh``, ``unicode:tr``.

    >>> Tokenizer().tokens("Don’t feed the well-known cat, it's 42!")
    ["don't", 'feed', 'the', 'well-known', 'cat', "it's", '42']
    >>> Tokenizer("whitespace", keep_case=True).tokens("A tokenized text .")
    ['A', 'tokenized', 'text', '.']
    >>> Tokenizer(fold_numbers=True).tokens("In 1984")
    ['in', '<number>']
    """

    name: str = "unicode"
    keep_case: bool = False
    fold_numbers: bool = False
    function: Callable[[str], Iterable[str]] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.function is None:
            object.__setattr__(self, "function", _find_function(self.name))

    def lower(self, text: str) -> str:
        """Lower-case a text by the rules of the language.

        >>> Tokenizer("unicode:tr").tokens("IŞIK İyi"), Tokenizer().lower("IŞIK")
        (['ışık', 'iyi'], 'işik')
        """
        if self._dotless:
            text = text.replace("I", "ı").replace("İ", "i")
        return text.lower()

    @property
    def _dotless(self) -> bool:
        kind, _, language = self.name.partition(":")
        return kind in NAMES and language in _DOTLESS

    def describe(self) -> dict[str, Any]:
        """Return the settings by name, for the record."""
        return {"tokenizer": self.name, "keep_case": self.keep_case, "fold_numbers": self.fold_numbers}

    def file_hash(self) -> str | None:
        """Return the checksum of the file of a user's function: if it changes, words may change."""
        module = sys.modules.get(self.name.partition(":")[0])
        file = getattr(module, "__file__", None)
        if self.function is None or is_builtin(self.name) or file is None:
            return None
        with os_errors():
            return hashlib.sha256(Path(file).read_bytes()).hexdigest()

    def prepare(self, text: bytes, tokenized: bool = False) -> Prepared:
        """Decode, normalize (NFC) and lower-case a text of whole lines, and choose the tables to scan it by."""
        number = np.frombuffer(NUMBER.encode(), dtype=np.uint8) if self.fold_numbers else np.empty(0, dtype=np.uint8)
        plain = self.function is None or tokenized
        if plain and text.isascii() and (not self._dotless or self.keep_case or tokenized):
            return Prepared(
                text, (self._classes(tokenized, 128), _fold_table(not (self.keep_case or tokenized)), number)
            )
        decoded, undecodable = decode(text)
        decoded = _normalized(_thinned(decoded) if _perhaps_crowded(text) else decoded)
        if self.function is not None and not tokenized:
            decoded = "\n".join(map(self._call, decoded.split("\n")))
        elif self.name != "whitespace" and not tokenized:
            for form, same in _SAME_AS.items():
                decoded = decoded.replace(form, same)
        if not (self.keep_case or tokenized):
            # Lower-casing may uncover a pair that composes: J with caron has no capital of its own.
            decoded = _normalized(self.lower(decoded))
        rules = (self._classes(tokenized), _fold_table(False), number)
        return Prepared(decoded.encode("utf-8", "replace"), rules, undecodable)

    def _classes(self, tokenized: bool, codes: int = _LAST_CODE) -> Array:
        """Return the class of each character; the full table of ``unicode`` is only built when a text needs it."""
        if tokenized or self.function is not None:
            return _all_but(TOKEN_SEPARATOR)
        return _all_but(_SPACES) if self.name == "whitespace" else _unicode_classes(codes)

    def _call(self, document: str) -> str:
        assert self.function is not None
        if not document:
            return ""
        try:
            tokens = list(self.function(document))
        except FirthianError:
            raise
        except Exception as error:
            # A user's function may raise anything; Python callers find it as the cause.
            raise FirthianError(
                f"the tokenizer {self.name} failed{_place(error)} on {_shortened(document)!r} "
                f"({type(error).__name__}: {error})",
                hint="it must take a text and return a list of strings",
            ) from error
        for token in tokens:
            if not isinstance(token, str):
                raise FirthianError(
                    f"the tokenizer {self.name} returned a {type(token).__name__}", hint="it must return strings"
                )
        return TOKEN_SEPARATOR.join(re.sub(r"[\x1f\n\t]+", " ", token).strip() for token in tokens)

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of one text, as counting does."""
        from firthian.text.segments import tokenize_text

        segment = tokenize_text(text.replace("\n", " ").encode("utf-8", "replace"), self)
        words = segment.types()
        return [words[number] for number in segment.ids]


def _place(error: Exception) -> str:
    """Return the file and line of an error, unless it is this file."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return "" if last.filename == __file__ else f" in {os.path.basename(last.filename)}, line {last.lineno},"


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN_LETTERS else text[:_SHOWN_LETTERS] + "…"


def _find_function(name: str) -> Callable[[str], Iterable[str]] | None:
    if not isinstance(name, str):
        raise FirthianError(
            f"expected the name of a tokenizer, got a {type(name).__name__}",
            hint="write module:function, so that it can be found again, or pass documents as token lists",
        )
    module, colon, function = name.partition(":")
    if is_builtin(name):
        return _icu(function or "en") if module == "icu" else None
    if not colon:
        raise FirthianError(
            f"unknown tokenizer {name!r}",
            hint=suggest(name, NAMES) + "; a function of yours is module:function",
        )
    try:
        with _search_folder(os.getcwd()):
            loaded = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError, TypeError, SyntaxError) as error:
        # Python raises ValueError or TypeError for names that no module can have.
        raise FirthianError(
            f"the tokenizer {name} cannot be loaded ({error})",
            hint="put its module in this folder or on PYTHONPATH",
        ) from None
    except Exception as error:
        # A user's module may raise anything on import; Python callers find it as the cause.
        raise FirthianError(
            f"the tokenizer {name} cannot be loaded{_place(error)} ({type(error).__name__}: {error})",
            hint="fix its module",
        ) from error
    if not callable(loaded):
        raise FirthianError(f"the tokenizer {name} is not a function", hint="write module:function")
    return loaded  # type: ignore[no-any-return]


@contextmanager
def _search_folder(folder: str) -> Iterator[None]:
    """Search a folder for modules too, after all others: a command does not search the current folder by itself."""
    sys.path.append(folder)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(folder)


def _icu(locale: str) -> Callable[[str], Iterable[str]]:
    """Words by the rules and dictionaries of ICU: for Chinese, Japanese, Thai and other scripts without spaces."""
    breakers = require("icu4py.breakers", "icu")

    def words(text: str) -> list[str]:
        return [part for part in breakers.WordBreaker(text, locale) if any(map(str.isalnum, part))]

    return words
