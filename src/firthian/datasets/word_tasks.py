"""Read test files: word pairs with human ratings, or analogy questions, in the usual formats.

Files are untrusted: each must be text of a sane size, and errors name the file and the line.
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

#: The largest test file; the common ones are below a megabyte.
LARGEST_BYTES = 64 * 2**20

_PAIRS = "expected two words and a number, such as: tea coffee 8.5"
_QUESTION = "expected four words, such as: man king woman queen"


@dataclass(frozen=True)
class Pairs:
    """Pairs of words and human ratings of their similarity."""

    name: str
    words: list[tuple[str, str]]
    scores: Array

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True)
class Questions:
    """Analogies ``a : b = c : d``, and the section each belongs to.

    ``sections`` are the names, ``semantic`` whether each section is semantic (None if unknown), ``section_of`` the
    section number of each question.
    """

    name: str
    words: list[tuple[str, str, str, str]]
    sections: list[str]
    semantic: list[bool | None]
    section_of: Array

    def __len__(self) -> int:
        return len(self.words)


def read(path: Path, kind: str | None = None, name: str | None = None) -> Pairs | Questions:
    """Read a test file; without a ``kind`` (``similarity`` or ``analogy``) it is recognized by its first lines."""
    name = name or path.name.partition(".")[0] or path.name
    lines = list(_lines(path))
    if not lines:
        raise FirthianError(f"{path} is empty", hint=_PAIRS)
    if (kind or _sniff(path, lines)) == "similarity":
        return _pairs(path, name, lines)
    return _questions(path, name, lines)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield numbered lines that are neither empty nor comments (``#``)."""
    for number, raw in enumerate(whole_text(str(path), LARGEST_BYTES).split(b"\n"), start=1):
        try:
            line = raw.decode().strip()
        except UnicodeDecodeError:
            raise _wrong(path, number, "is not UTF-8", "convert the file to UTF-8, e.g. with iconv") from None
        if "\0" in line:
            raise _wrong(path, number, "has a NUL byte", "pass a text file")
        if line and not line.startswith("#"):
            yield number, line


def _wrong(path: Path, number: int, what: str, hint: str) -> FirthianError:
    return FirthianError(f"{path}, line {number} {what}", hint)


def _separator(line: str) -> str | None:
    """Return the column separator: a tab, a comma, a semicolon, or None for any white space."""
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
    """Parse a number; NaN if it is not one."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _score_column(fields: list[str]) -> int:
    """Return the column of the first number after the two words (SimLex has other columns before it), or -1."""
    return next((n for n, field in enumerate(fields) if n >= 2 and not math.isnan(_number(field))), -1)


def _sniff(path: Path, lines: list[tuple[int, str]]) -> str:
    """Return whether lines are pairs or analogies: pairs have a number in the first line, or in the second after a header."""
    number, first = lines[0]
    if first.startswith(":"):
        return "analogy"
    separator = _separator(first)
    beginning = [_columns(line, separator) for _, line in lines[:2]]
    for fields in beginning:
        # Four columns that do not end in a number are a question, even if another is a number.
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
    numbers: dict[str, int] = {}
    section_of: list[int] = []
    for number, line in lines:
        if line.startswith(":"):
            title = line.lstrip(":").strip()
            if not title:
                raise _wrong(path, number, "begins a section without a name", "write it as: : capitals")
            current = numbers.setdefault(title, len(numbers))
            continue
        fields = _columns(line, separator)
        if len(fields) != 4 or not all(fields):
            raise _wrong(path, number, f"has {len(fields)} columns", _QUESTION)
        words.append((fields[0], fields[1], fields[2], fields[3]))
        section_of.append(current if numbers else -1)
    if not words:
        raise FirthianError(f"{path} has no questions", hint=_QUESTION)
    sections, section_numbers = list(numbers), np.array(section_of, dtype=np.int64)
    if section_numbers.min() < 0 and sections:
        # Questions before the first section line form their own section.
        sections, section_numbers = ["(no section)", *sections], section_numbers + 1
    return Questions(name, words, sections, _kinds(sections), np.maximum(section_numbers, 0))


def _kinds(sections: list[str]) -> list[bool | None]:
    """Return which sections are semantic, if the file follows Google's names: ``gram...`` is syntactic."""
    google = any(section.startswith("gram") for section in sections)
    return [not section.startswith("gram") if google else None for section in sections]
