"""fastText's model files (``.bin``): words and n-grams, written for fastText and gensim, and read with their subwords.

A file has the settings, the dictionary, an input matrix (a row per word, then one per bucket of n-grams) and an output matrix.
fastText's vector of a known word is the mean of its own row and its n-grams' rows, that of an unknown word the mean of its
n-grams' rows. So a word's row is written as (1 + n)·vector - (sum of the n-grams' rows), and its vector comes out the same.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from firthian.arrays import Array
from firthian.disk.atomic import new_file
from firthian.disk.opening import open_regular
from firthian.errors import FirthianError, from_os_error
from firthian.vectors.formats.base import CONTROL, Format, check_finite, damaged, finish
from firthian.vectors.subwords import Subwords
from firthian.vectors.vectors import Vectors

NAME = "fasttext-bin"

MAGIC = 793712314
VERSION = 12

_NUMBER = struct.Struct("<i")
#: After the magic number: version, dim, ws, epoch, minCount, neg, wordNgrams, loss, model, bucket, minn, maxn, lrUpdateRate, t.
_SETTINGS = struct.Struct("<13id")
#: Entries, words, labels, tokens, size of the pruning table (-1: not pruned).
_DICTIONARY = struct.Struct("<3i2q")
_ENTRY = struct.Struct("<qb")
_SHAPE = struct.Struct("<?2q")

_NEGATIVE_SAMPLING, _SKIP_GRAM, _SUPERVISED = 2, 2, 3

#: The end of a line is a word without n-grams.
_END_OF_LINE = "</s>"

_AGAIN = "train or download it again"

#: Rows that are converted together.
_ROWS = 65_536


class Header(NamedTuple):
    """What a file says before its matrices, and where these begin."""

    dimension: int
    buckets: int
    low: int
    high: int
    words: list[bytes]
    counts: list[int]
    end: int


def write(vectors: Vectors, path: Path, force: bool) -> None:
    """Write the model; its size is that of all buckets, most of them zeros that take no room on most disks."""
    vocabulary, width, table = vectors.vocabulary, vectors.vector_size, vectors.subwords
    low, high, buckets = (table.low, table.high, table.buckets) if table is not None else (0, 0, 0)
    counts = np.maximum(vocabulary.counts, 1)
    settings = (VERSION, width, 5, 5, 1, 5, 1, _NEGATIVE_SAMPLING, _SKIP_GRAM, buckets, low, high, 100)
    with new_file(path, force) as file:
        file.write(_NUMBER.pack(MAGIC) + _SETTINGS.pack(*settings, 1e-4))
        file.write(_DICTIONARY.pack(len(vectors), len(vectors), 0, int(counts.sum()), -1))
        for word, count in zip(vocabulary.words, counts.tolist(), strict=True):
            file.write(word.encode() + b"\0" + _ENTRY.pack(count, 0))
        file.write(_SHAPE.pack(False, len(vectors) + buckets, width))
        for first in range(0, len(vectors), _ROWS):
            words = vocabulary.words[first : first + _ROWS]
            numbers, sums = _ngram_sums(table, words)
            rows = (1 + numbers[:, np.newaxis]) * vectors.matrix[first : first + _ROWS] - sums
            file.write(rows.astype("<f4").tobytes())
        base = file.tell()
        for first in range(0, len(table) if table is not None else 0, _ROWS):
            assert table is not None
            rows = (table.rows[first : first + _ROWS].astype(np.float32) * np.float32(table.scale)).astype("<f4")
            for bucket, row in zip(table.ids[first : first + _ROWS].tolist(), rows, strict=True):
                file.seek(base + 4 * width * bucket)
                file.write(row.tobytes())
        file.truncate(base + 4 * width * buckets)
        file.seek(0, 2)
        file.write(_SHAPE.pack(False, len(vectors), width))
        contexts = vectors.contexts if vectors.contexts is not None else np.zeros((1, width), np.float32)
        for first in range(0, len(vectors), _ROWS):
            rows = np.broadcast_to(contexts, (len(vectors), width))[first : first + _ROWS]
            file.write(rows.astype("<f4").tobytes())


def read(path: Path, duplicates: str) -> Vectors:
    """Read words and n-grams; the rows of n-grams stay in the file until they are used."""
    try:
        with open_regular(path) as file:
            header = read_header(path, file)
        size = path.stat().st_size
        number, width = len(header.words), header.dimension
        expected = header.end + 4 * width * (number + header.buckets)
        if expected > size:
            raise damaged(path, f"it has {size:,} bytes, its matrices would end at {expected:,}")
        shape = (number + header.buckets, width)
        rows = np.memmap(path, dtype="<f4", mode="r", offset=header.end, shape=shape) if all(shape) else np.empty(shape)
    except OSError as error:
        raise from_os_error(error) from error
    words = [word.decode("utf-8", "surrogateescape") for word in header.words]
    repaired = {"words_not_utf8": sum(not _is_text(word) for word in header.words)}
    matrix = np.array(rows[:number], dtype=np.float32)
    table = None
    if header.high and header.buckets:
        for first in range(number, len(rows), _ROWS):
            check_finite(path, rows[first : first + _ROWS], lambda row: "n-grams", _AGAIN)
        ids = np.arange(header.buckets, dtype=np.uint32)
        try:
            table = Subwords(ids, rows[number:], low=header.low, high=header.high, buckets=header.buckets, power=1.0)
        except ValueError as error:
            raise damaged(path, "its n-grams have impossible lengths") from error
        for first in range(0, number, _ROWS):
            part = slice(first, first + _ROWS)
            # Sums that overflow are not finite, which is checked below.
            with np.errstate(over="ignore", invalid="ignore"):
                numbers, sums = _ngram_sums(table, words[part])
                matrix[part] = (matrix[part] + sums) / (1 + numbers[:, np.newaxis])
    check_finite(path, matrix, lambda row: f"word {row + 1}", _AGAIN)
    vectors = finish(
        path, NAME, matrix, words, duplicates, place=lambda row: f"word {row + 1}",
        counts=np.array(header.counts, np.int64), repaired=repaired,
    )  # fmt: skip
    vectors.subwords = table
    return vectors


def read_header(path: Path, file: Any) -> Header:
    """Read settings and dictionary; raise for models that are not vectors of words."""
    hint = "use the unquantized .bin of an unsupervised model, or its .vec file"
    if _take(path, file, _NUMBER) != (MAGIC,):
        raise FirthianError(f"{path} is compressed or not a fastText model", hint="decompress it, or check the format")
    version, width, *_, model, buckets, low, high, _, _ = _take(path, file, _SETTINGS)
    if version not in (11, 12):
        raise FirthianError(f"{path} has version {version} of fastText's format", hint="11 and 12 can be read")
    if model == _SUPERVISED:
        raise FirthianError(f"{path} is a supervised fastText model: a classifier, not vectors of words", hint=hint)
    entries, words, labels, _, pruned = _take(path, file, _DICTIONARY)
    if pruned >= 0:
        raise FirthianError(f"{path} is a pruned fastText model", hint=hint)
    if width < 1 or words < 0 or labels != 0 or entries != words or buckets < 0:
        raise damaged(path, "its sizes are impossible")
    names, counts = [], []
    for _ in range(words):
        name = _until_zero(path, file)
        count, kind = _take(path, file, _ENTRY)
        if kind != 0 or count < 0:
            raise damaged(path, "its dictionary has an entry that is not a word")
        names.append(name)
        counts.append(count)
    quantized, rows, columns = _take(path, file, _SHAPE)
    if quantized:
        raise FirthianError(f"{path} is a quantized fastText model (.ftz)", hint=hint)
    if (rows, columns) != (words + buckets, width):
        raise damaged(path, "its matrix does not have a row for each word and bucket")
    return Header(width, buckets, low, high, names, counts, file.tell())


def _ngram_sums(table: Subwords | None, words: list[str]) -> tuple[Array, Array]:
    """Return the number of n-grams of each word and the sums of their rows, as fastText has them."""
    if table is None:
        return np.zeros(len(words), np.float32), np.zeros((len(words), 1), np.float32)
    numbers = np.diff(table.hashed(words)[1]).astype(np.float32)
    sums = table.compose(words) * np.maximum(numbers, 1)[:, np.newaxis] ** np.float32(table.power)
    if _END_OF_LINE in words:
        place = words.index(_END_OF_LINE)
        numbers[place], sums[place] = 0, 0
    return numbers, sums


def _take(path: Path, file: Any, layout: struct.Struct) -> tuple[Any, ...]:
    data = file.read(layout.size)
    if len(data) < layout.size:
        raise damaged(path, "it is cut short")
    return layout.unpack(data)


def _until_zero(path: Path, file: Any) -> bytes:
    """Return the bytes before the next zero byte."""
    found = b""
    while True:
        ahead: bytes = file.peek(1)
        end = ahead.find(b"\0")
        found += bytes(file.read(end if end >= 0 else len(ahead)))
        if end >= 0:
            file.read(1)
            return found
        if not ahead or len(found) > 1_000_000:
            raise damaged(path, "its dictionary is cut short")


def _is_text(word: bytes) -> bool:
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True


FORMAT = Format(
    NAME, "a fastText model, with its subwords", (), read, write, lambda path, head: head.startswith(_NUMBER.pack(MAGIC)),
    spaces=False, forbidden=CONTROL,
)  # fmt: skip
