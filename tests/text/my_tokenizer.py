"""A user's tokenizer."""

from __future__ import annotations


def letters(text: str) -> list[str]:
    return [character for character in text if character.isalpha()]


def pairs(text: str) -> list[str]:
    words = text.split()
    return [f"{a} {b}" for a, b in zip(words[::2], words[1::2], strict=False)]


def numbers(text: str) -> list[int]:
    return [len(text)]


def broken(text: str) -> list[str]:
    return [text.split()[9]]


not_a_function = 3
