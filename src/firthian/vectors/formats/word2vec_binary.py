"""word2vec's binary format: a header line, then for each word its bytes, a space, and little-endian floats."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from firthian.arrays import Array
from firthian.disk.atomic import new_file
from firthian.errors import FirthianError
from firthian.text.files import open_bytes
from firthian.vectors.formats.base import Format, damaged, finish, join_blocks
from firthian.vectors.formats.text import detect_kind
from firthian.vectors.vectors import Vectors

NAME = "word2vec-bin"

_HEADER = re.compile(rb"[ \t]*([0-9]{1,12})[ \t]+([0-9]{1,7})[ \t]*\r?\n")
_PIECE = 16 * 2**20
_MAX_WORD = 2**16


def read(path: Path, duplicates: str) -> Vectors:
    """Read piece by piece: memory grows with the content, not with what the header claims."""
    from firthian.kernels import floats as kernel

    blocks: list[Array | None] = []
    words: list[str] = []
    with open_bytes(str(path)) as stream:
        header = _HEADER.fullmatch(stream.readline(64))
        if header is None:
            raise damaged(path, "it does not begin with the number of words and of dimensions")
        number, columns = int(header[1]), int(header[2])
        if columns == 0:
            raise damaged(path, "its header says 0 dimensions")
        carry = b""
        while len(words) < number:
            data = stream.read(_PIECE)
            carry += data
            room = min(number - len(words), len(carry) // (4 * columns + 1))
            values = np.empty((room, 4 * columns), dtype=np.uint8)
            names = np.empty(len(carry), dtype=np.uint8)
            ends = np.zeros(room + 1, dtype=np.int64)
            rows, used = kernel.parse_entries(
                np.frombuffer(carry, dtype=np.uint8), room, columns, values, names, ends[1:]
            )
            block = values[:rows].view("<f4").astype(np.float32)
            _check_finite(path, block, len(words))
            joined = names.tobytes()
            words += [joined[ends[row] : ends[row + 1]].decode("utf-8", "replace") for row in range(rows)]
            blocks.append(block)
            carry = carry[used:]
            if not data and len(words) < number:
                raise damaged(path, f"it ends in word {len(words) + 1:,} of {number:,}")
            if rows == 0 and len(carry) > 4 * columns + 1 + _MAX_WORD:
                raise damaged(path, f"word {len(words) + 1:,} has more than {_MAX_WORD:,} bytes")
        if (carry + stream.read(1)).strip(b"\n"):
            raise damaged(path, f"it continues after its {number:,} words")
    matrix = join_blocks(blocks, len(words), columns)
    broken = next((row for row, word in enumerate(words) if "\n" in word), None)
    if broken is not None:
        raise damaged(path, f"word {broken + 1:,} contains a line break")
    repaired = {"words_not_utf8": sum("\ufffd" in word for word in words)}
    return finish(path, NAME, matrix, words, duplicates, place=lambda row: f"word {row + 1}", repaired=repaired)


def _check_finite(path: Path, block: Array, before: int) -> None:
    finite = np.isfinite(block).all(axis=1)
    if not finite.all():
        raise FirthianError(
            f"{path}, word {before + int(np.argmin(finite)) + 1}: it has a number that is not finite",
            hint="create the file again; words with spaces break this format",
        )


def write(vectors: Vectors, path: Path, force: bool) -> None:
    """Write as word2vec does, with a line feed after each entry."""
    with new_file(path, force) as file:
        file.write(f"{len(vectors)} {vectors.vector_size}\n".encode())
        for word, row in zip(vectors.vocabulary.words, vectors.matrix, strict=True):
            file.write(word.encode() + b" " + row.astype("<f4").tobytes() + b"\n")


FORMAT = Format(
    NAME, "word2vec binary", (".bin",), read, write, lambda path, head: detect_kind(path, head) == NAME, spaces=False,
    counts=False,
)  # fmt: skip
