"""Read test files: word pairs with a human score, or analogy questions, in the usual formats.

Every file is taken for hostile: it must be text of a sane size, and each error names the file and the line.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from firthian.arrays import Array
from firthian.errors import FirthianError
from firthian.text.files import whole_text

#: The largest test file that is read; the common ones are below a megabyte.
LARGEST_BYTES = 64 * 2**20

_PAIRS = "a pair is two words and a number, as: tea coffee 8.5"
_QUESTION = "a question is four words, as: man king woman queen"


@dataclass(frozen=True)
class Pairs:
    """Pairs of words and what people said of their similarity."""

    name: str
    words: list[tuple[str, str]]
    scores: Array

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True)
class Questions:
    """Analogies ``a : b = c : d``, and the section each belongs to.

    ``sections[number]`` is a section's name, ``semantic[number]`` says what it asks (None where nobody knows),
    ``section_of`` gives each question's section.
    """

    name: str
    words: list[tuple[str, str, str, str]]
    sections: list[str]
    semantic: list[bool | None]
    section_of: Array

    def __len__(self) -> int:
        return len(self.words)


def read(path: Path, kind: str | None = None, name: str | None = None) -> Pairs | Questions:
    """Read a test file; without a ``kind`` (``similarity`` or ``analogy``) its first lines say what it is."""
    name = name or path.name.partition(".")[0] or path.name
    lines = list(_lines(path))
    if not lines:
        raise FirthianError(f"{path} is empty", hint=_PAIRS)
    if (kind or _sniff(path, lines)) == "similarity":
        return _pairs(path, name, lines)
    return _questions(path, name, lines)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Return the lines that say something, with their numbers; ``#`` begins a comment."""
    for number, raw in enumerate(whole_text(str(path), LARGEST_BYTES).split(b"\n"), start=1):
        try:
            line = raw.decode().strip()
        except UnicodeDecodeError:
            raise _wrong(path, number, "is not UTF-8", "convert the file to UTF-8, e.g. with iconv") from None
        if "\0" in line:
            raise _wrong(path, number, "holds a NUL", "give a text file")
        if line and not line.startswith("#"):
            yield number, line


def _wrong(path: Path, number: int, what: str, hint: str) -> FirthianError:
    return FirthianError(f"{path}, line {number} {what}", hint)


def _separator(line: str) -> str | None:
    """Say what stands between columns: a tab, a comma, a semicolon, or (None) any white space."""
    for mark in "\t", ",", ";":
        if line.count(mark) >= 2:
            return mark
    return None


def _columns(line: str, separator: str | None) -> list[str]:
    if separator is None:
        return line.split()
    if separator == "\t":
        return [field.strip() for field in line.split("\t")]
    try:
        return [field.strip() for field in next(csv.reader([line], delimiter=separator))]
    except csv.Error:
        return []


def _number(text: str) -> float:
    """Read a number; NaN where it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _score_column(fields: list[str]) -> int:
    """Find the first number after the two words (files such as SimLex have other columns before it); -1 for none."""
    return next((place for place, field in enumerate(fields) if place >= 2 and not math.isnan(_number(field))), -1)


def _sniff(path: Path, lines: list[tuple[int, str]]) -> str:
    """Tell pairs from analogies: pairs have a number, if not in the first line (a header) then in the second."""
    number, first = lines[0]
    if first.startswith(":"):
        return "analogy"
    separator = _separator(first)
    beginning = [_columns(line, separator) for _, line in lines[:2]]
    for fields in beginning:
        # Four columns that do not end in a number are a question, also when one of its words is a number.
        if _score_column(fields) >= 0 and not (len(fields) == 4 and math.isnan(_number(fields[3]))):
            return "similarity"
    if len(beginning[0]) == 4:
        return "analogy"
    raise _wrong(path, number, "is neither a pair nor an analogy", f"{_PAIRS}; {_QUESTION}")


def _pairs(path: Path, name: str, lines: list[tuple[int, str]]) -> Pairs:
    separator = _separator(lines[0][1])
    column = _score_column(_columns(lines[0][1], separator))
    if column < 0 and len(lines) > 1:
        # A first line of three columns or more without a number is a header.
        column = _score_column(_columns(lines[1][1], separator))
        if column >= 0 and len(_columns(lines[0][1], separator)) > column:
            lines = lines[1:]
    words: list[tuple[str, str]] = []
    scores = np.empty(len(lines), dtype=np.float64)
    for row, (number, line) in enumerate(lines):
        fields = _columns(line, separator)
        if len(fields) < 3 or len(fields) <= column or not (fields[0] and fields[1]):
            raise _wrong(path, number, f"has {len(fields)} columns" if len(fields) < 3 else "is not a pair", _PAIRS)
        scores[row] = _number(fields[column])
        if column < 0 or not math.isfinite(scores[row]):
            raise _wrong(path, number, f"has the score {fields[column][:40]!r}, not a finite number", _PAIRS)
        words.append((fields[0], fields[1]))
    return Pairs(name, words, scores)


def _questions(path: Path, name: str, lines: list[tuple[int, str]]) -> Questions:
    separator = _separator(next((line for _, line in lines if not line.startswith(":")), ""))
    words: list[tuple[str, str, str, str]] = []
    places_of: dict[str, int] = {}
    section_of: list[int] = []
    for number, line in lines:
        if line.startswith(":"):
            title = line.lstrip(":").strip()
            if not title:
                raise _wrong(path, number, "begins a section without a name", "write it as: : capitals")
            current = places_of.setdefault(title, len(places_of))
            continue
        fields = _columns(line, separator)
        if len(fields) != 4 or not all(fields):
            raise _wrong(path, number, f"has {len(fields)} columns", _QUESTION)
        words.append((fields[0], fields[1], fields[2], fields[3]))
        section_of.append(current if places_of else -1)
    if not words:
        raise FirthianError(f"{path} holds no questions", hint=_QUESTION)
    sections, places = list(places_of), np.array(section_of, dtype=np.int64)
    if places.min() < 0 and sections:
        # Questions before the first section line are a section of their own.
        sections, places = ["(no section)", *sections], places + 1
    return Questions(name, words, sections, _kinds(sections), np.maximum(places, 0))


def _kinds(sections: list[str]) -> list[bool | None]:
    """Tell semantic from syntactic sections where the file follows Google's names: ``gram...`` is syntactic."""
    google = any(section.startswith("gram") for section in sections)
    return [not section.startswith("gram") if google else None for section in sections]
