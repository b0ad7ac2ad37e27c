"""What a format is, and what all formats share: words they can hold, new files, duplicate words, JSON."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.disk.artifact import printable, read_manifest, write_manifest
from firthian.disk.atomic import new_folder
from firthian.disk.opening import read_regular
from firthian.errors import FirthianError, from_os_error
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.provenance import Provenance, check_state
from firthian.vectors.vectors import Vectors

#: What to do if a file has a word twice, with different vectors.
DUPLICATES = ("error", "first")

#: Sparse vectors are made dense for formats that need it, and words that share a vector get one each, up to this size.
MAX_DENSE_BYTES = 2**30

#: The file that marks an export as ours, with the provenance and state of the vectors.
EXPORT_KIND, EXPORT_MANIFEST = "export", "firthian.json"

#: Compressed data may grow by this factor, or to this size; anything beyond is meant to fill memory.
MAX_EXPANSION, SMALL_BYTES = 100, 2**26

_SPACES = " \t\n\r"

#: Characters that no text file has.
CONTROL = "".join(map(chr, (*range(0x09), *range(0x0E, 0x20))))

#: JSON and arrays can hold lone surrogates, which are not text.
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclasses.dataclass(frozen=True)
class Format:
    """A file format of vectors: how to recognize, read and write it, and what it can hold."""

    name: str
    summary: str
    suffixes: tuple[str, ...]
    #: Called with a path and one of DUPLICATES; None if the format is only written.
    read: Callable[[Path, str], Vectors] | None
    #: Called with the vectors, a path, whether to replace an existing target, and ``options`` by name.
    write: Callable[..., None]
    #: Whether a file or folder has this format, from its path and its first bytes, decompressed (none for a folder).
    detect: Callable[[Path, bytes], bool] | None = None
    #: Whether words may contain spaces, rows may be sparse, and word counts are kept.
    spaces: bool = True
    sparse: bool = False
    counts: bool = True
    #: Characters no word may contain, besides spaces if these are not allowed; None if any word, even empty, is valid.
    forbidden: str | None = None
    #: Names of further arguments of ``write``.
    options: tuple[str, ...] = ()

    def check(self, vectors: Vectors) -> None:
        """Raise if the format cannot hold these vectors."""
        if not self.sparse and not isinstance(vectors.matrix, np.ndarray):
            size = 4 * len(vectors) * vectors.vector_size
            if size > MAX_DENSE_BYTES:
                raise FirthianError(
                    f"the format {self.name} cannot hold sparse vectors, and dense they would take {size:,} bytes",
                    hint="use a folder, keep fewer words with `limit`, or reduce the dimensions by svd",
                )
        forbidden = self.forbidden if self.spaces else _SPACES + (self.forbidden or "")
        if forbidden is not None:
            for word in vectors.vocabulary.words:
                if not word or not word.isascii() or not word.isprintable() or " " in word:
                    _check_word(word, self.name, forbidden)


def _check_word(word: str, name: str, forbidden: str) -> None:
    if not word:
        raise FirthianError(f"the format {name} cannot hold an empty word", hint="remove it, or use a folder")
    odd = next((character for character in word if character in forbidden), None)
    if odd is not None:
        spaces = "spaces" if " " in forbidden else "tabs or line breaks"
        what, remedy = (
            (spaces, "replace them with `replace_spaces=_`") if odd in _SPACES else ("control characters", "rename it")
        )
        message = f"the format {name} cannot hold words with {what}, such as {word!r}"
        raise FirthianError(message, hint=f"{remedy}, or use npz, parquet or a folder")
    try:
        word.encode()
    except UnicodeEncodeError:
        raise FirthianError(f"the word {word!r} is not valid text", hint="rename it") from None


@contextmanager
def new_export(vectors: Vectors, target: Path, force: bool, name: str) -> Iterator[Path]:
    """Create a folder for another tool; it appears when it is complete, with the provenance of the vectors."""
    with new_folder(target, force) as folder:
        yield folder
        note = {
            "format": name,
            "shape": [len(vectors), vectors.vector_size],
            "provenance": vectors.provenance.to_dict(),
            "state": vectors.state,
        }
        write_manifest(folder / EXPORT_MANIFEST, EXPORT_KIND, note)


def is_ours(folder: Path) -> bool:
    """Return whether a folder for another tool was written by Firthian."""
    return (folder / EXPORT_MANIFEST).is_file()


def read_json(path: Path) -> Any:
    """Read JSON that any program may have written."""
    try:
        return json.loads(read_regular(path).decode())
    except OSError as error:
        raise from_os_error(error) from error
    except (ValueError, RecursionError) as error:
        raise damaged(path, "it is not JSON") from error


def write_json(path: Path, value: Any, indent: int | None = None) -> None:
    """Write JSON in UTF-8."""
    path.write_bytes((json.dumps(value, ensure_ascii=False, indent=indent) + "\n").encode())


def uncertainty_column(vectors: Vectors) -> dict[str, Array]:
    """Return a column ``uncertainty`` for tables, the relative error of each vector; empty without uncertainty."""
    from firthian.vectors.uncertainty import has_uncertainty, uncertainties

    return {"uncertainty": uncertainties(vectors)["relative"].astype(np.float32)} if has_uncertainty(vectors) else {}


def chosen_rows(path: Path, stored: Array, rows: Array) -> Array:
    """Return rows of a matrix in single precision; raise if words that share rows would fill memory."""
    room = 4 * rows.size * stored.shape[1]
    if room > MAX_DENSE_BYTES and rows.size > MAX_EXPANSION * len(stored):
        raise damaged(path, f"{rows.size:,} words share {len(stored):,} vectors and would take {room:,} bytes")
    # All rows in order stay memory-mapped.
    everything = rows.size == len(stored) and np.array_equal(rows, np.arange(rows.size))
    with np.errstate(over="ignore"):
        # Numbers beyond single precision become infinite, which every reader refuses.
        return np.asarray(stored if everything else stored[rows], dtype=np.float32)


def damaged(path: Path, why: str) -> FirthianError:
    """Return the error for a file that contradicts itself."""
    return FirthianError(f"{path} is damaged ({why})", hint="download or create it again")


def check_finite(path: Path, matrix: Array, place: Callable[[int], str], hint: str) -> None:
    """Raise if a row has a number that is not finite; ``place`` names the row."""
    finite = np.isfinite(matrix).all(axis=1)
    if not finite.all():
        raise FirthianError(f"{path}, {place(int(np.argmin(finite)))}: it has a number that is not finite", hint=hint)


def join_blocks(blocks: list[Array | None], rows: int, columns: int) -> Array:
    """Concatenate blocks of rows; each is freed once copied, so that memory holds the matrix once."""
    matrix = np.empty((rows, columns), dtype=np.float32)
    at = 0
    for number, block in enumerate(blocks):
        assert block is not None
        matrix[at : at + len(block)] = block
        at += len(block)
        blocks[number] = None
    return matrix


def finish(
    path: Path,
    name: str,
    matrix: Array,
    words: list[str],
    duplicates: str,
    *,
    place: Callable[[int], str],
    counts: Array | None = None,
    repaired: dict[str, int] | None = None,
) -> Vectors:
    """Build vectors from the content of a file; ``place`` names the place of a row in errors."""
    repaired = {what: times for what, times in (repaired or {}).items() if times}
    broken = [row for row, word in enumerate(words) if not word.isascii() and _SURROGATE.search(word)]
    if broken:
        words = list(words)
        for row in broken:
            words[row] = _SURROGATE.sub("\ufffd", words[row])
        repaired["words_not_utf8"] = repaired.get("words_not_utf8", 0) + len(broken)
    keep = _without_duplicates(path, matrix, words, duplicates, place)
    if keep is not None:
        repaired["double_words"] = len(words) - len(keep)
        matrix, words = matrix[keep], [words[i] for i in keep]
        counts = None if counts is None else counts[keep]
    source: dict[str, Any] = {"file": printable(path.name), "format": name}
    if repaired:
        source["repaired"] = repaired
    # An export keeps the provenance of its vectors.
    provenance, state = Provenance(), {}
    if is_ours(path):
        note = read_manifest(path / EXPORT_MANIFEST, EXPORT_KIND)
        try:
            provenance, state = Provenance.from_dict(note.get("provenance")), check_state(note.get("state"))
        except ValueError as error:
            raise damaged(path / EXPORT_MANIFEST, "it has no valid provenance") from error
    return Vectors(
        matrix, Vocabulary(words, counts), provenance=dataclasses.replace(provenance, source=source), state=state
    )


def _without_duplicates(
    path: Path, matrix: Array, words: Sequence[str], duplicates: str, place: Callable[[int], str]
) -> list[int] | None:
    """Return the rows to keep, or None for all; raise if a word has two vectors, unless ``duplicates`` is ``first``."""
    if len(set(words)) == len(words):
        return None
    first: dict[str, int] = {}
    keep: list[int] = []
    for row, word in enumerate(words):
        earlier = first.setdefault(word, row)
        if earlier == row:
            keep.append(row)
        elif duplicates == "error" and not np.array_equal(matrix[earlier], matrix[row]):
            message = f"{path}, {place(row)}: the word {word!r} has another vector already ({place(earlier)})"
            raise FirthianError(message, hint="keep the first with `duplicates=first`")
    return keep
