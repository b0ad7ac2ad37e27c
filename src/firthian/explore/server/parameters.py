"""Query parameters of the API, declared once with their limits, for the checks and the OpenAPI description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firthian.errors import FirthianError, suggest

#: The longest accepted text parameter.
LONGEST_WORD = 200


@dataclass(frozen=True)
class Text:
    """A short text, such as a word."""

    description: str
    required: bool = True
    default: str = ""
    choices: tuple[str, ...] = ()

    def read(self, name: str, text: str) -> str:
        """Parse and check a value."""
        if len(text) > LONGEST_WORD:
            raise FirthianError(f"{name} has {len(text):,} characters", hint=f"use at most {LONGEST_WORD}")
        if self.required and not text:
            raise FirthianError(f"{name} is empty", hint=f"add {name}=…")
        if self.choices and text not in self.choices:
            raise FirthianError(f"{name} cannot be {text!r}", hint=suggest(text, self.choices))
        return text

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema."""
        base: dict[str, Any] = {"type": "string", "maxLength": LONGEST_WORD}
        if self.required:
            base["minLength"] = 1
        if self.choices:
            base["enum"] = list(self.choices)
        return base if self.required else {**base, "default": self.default}


@dataclass(frozen=True)
class Whole:
    """An integer between two limits."""

    description: str
    default: int
    low: int
    high: int
    required: bool = False

    def read(self, name: str, text: str) -> int:
        """Parse and check a value."""
        digits = text.removeprefix("-")
        # Length first: int() is slow on a million digits.
        if not digits.isascii() or not digits.isdigit() or len(digits) > 12:
            raise FirthianError(f"{name} must be an integer, got {text[:40]!r}", hint=self._hint())
        number = int(text)
        if not self.low <= number <= self.high:
            raise FirthianError(f"{name} is out of range, got {number}", hint=self._hint())
        return number

    def _hint(self) -> str:
        return f"use {self.low} to {self.high}"

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema."""
        return {"type": "integer", "minimum": self.low, "maximum": self.high, "default": self.default}


Parameters = Mapping[str, Text | Whole]


def read_parameters(declared: Parameters, given: list[tuple[str, str]]) -> dict[str, Any]:
    """Check a query against the declared parameters: none unknown, none repeated, all within their limits.

    >>> declared = {"word": Text("the word"), "topn": Whole("how many", 10, 1, 1000)}
    >>> read_parameters(declared, [("word", "tea")])
    {'word': 'tea', 'topn': 10}
    >>> read_parameters(declared, [("word", "tea"), ("topn", "-1")])
    Traceback (most recent call last):
    ...
    firthian.errors.FirthianError: topn is out of range, got -1: use 1 to 1000
    """
    values: dict[str, Any] = {}
    for name, text in given:
        if name not in declared:
            raise FirthianError(f"unknown parameter {name[:40]!r}", hint=suggest(name[:40], declared))
        if name in values:
            raise FirthianError(f"{name} is repeated", hint="pass it once")
        values[name] = declared[name].read(name, text)
    for name, parameter in declared.items():
        if name not in values:
            if parameter.required:
                raise FirthianError(f"{name} is missing", hint=f"add {name}=…")
            values[name] = parameter.default
    return {name: values[name] for name in declared}
