"""The slow, obvious way to read a line of text vectors and word2vec's binary entries."""

from __future__ import annotations

import numpy as np


def read_number(text: str) -> np.float32:
    with np.errstate(over="ignore"):
        return np.float32(text)


def read_lines(text: str, columns: int) -> tuple[list[str], np.ndarray]:
    words, rows = [], []
    for line in text.split("\n"):
        if line.strip():
            word, *fields = line.rstrip().rsplit(" ", columns)
            words.append(word)
            rows.append([read_number(field) for field in fields])
    return words, np.array(rows, dtype=np.float32).reshape(-1, columns)


def read_entries(data: bytes, columns: int) -> tuple[list[bytes], np.ndarray]:
    words, rows, at = [], [], 0
    while at < len(data):
        word, _, _ = data[at:].partition(b" ")
        at += len(word) + 1
        rows.append(np.frombuffer(data[at : at + 4 * columns], dtype="<f4"))
        words.append(word.removeprefix(b"\n"))
        at += 4 * columns
        if data[at:] == b"\n":
            break
    return words, np.array(rows).reshape(-1, columns)
