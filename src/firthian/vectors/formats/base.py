"""What a format is, and what all of them share: targets, words, sources, double words."""

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
from firthian.errors import FirthianError, from_os_error
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.provenance import Provenance, check_state
from firthian.vectors.vectors import Vectors

#: What to do where a file holds a word twice, with different vectors.
DUPLICATES = ("error", "first")

#: Sparse vectors are filled up with zeros for formats that need them dense, and words that share a vector get one each, if
#: they then take no more than this.
MAX_DENSE_BYTES = 2**30

#: Names a folder for another tool as ours, and keeps the record of the vectors.
EXPORT_KIND, EXPORT_MANIFEST = "export", "firthian.json"

#: What a few bytes of a file become may be so many times as large, past what is harmless; more is made to fill memory.
MAX_EXPANSION, SMALL_BYTES = 100, 2**26

_SPACES = " \t\n\r"

#: Characters by which a file is known not to be text.
CONTROL = "".join(map(chr, (*range(0x09), *range(0x0E, 0x20))))

#: JSON and arrays can spell half a character, which is no text.
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


@dataclasses.dataclass(frozen=True)
class Format:
    """A way to keep vectors in a file: how to read and write it, and what it can hold."""

    name: str
    summary: str
    suffixes: tuple[str, ...]
    #: From a path and a choice of DUPLICATES; None where the format is never read.
    read: Callable[[Path, str], Vectors] | None
    #: To a path that may be written, replacing what is there only on request; takes ``options`` by name.
    write: Callable[..., None]
    #: Whether words may hold spaces, rows may be sparse, and frequencies of words are kept.
    spaces: bool = True
    sparse: bool = False
    counts: bool = True
    #: Characters no word may hold, besides spaces where these may not be; None where any word goes, the empty one too.
    forbidden: str | None = None
    #: What else ``write`` may be told.
    options: tuple[str, ...] = ()

    def check(self, vectors: Vectors) -> None:
        """Say what of these vectors the format cannot hold."""
        if not self.sparse and not isinstance(vectors.matrix, np.ndarray):
            size = 4 * len(vectors) * vectors.vector_size
            if size > MAX_DENSE_BYTES:
                raise FirthianError(
                    f"the format {self.name} holds no sparse vectors, and dense they would take {size:,} bytes",
                    hint="keep them as a folder, keep fewer words (--limit), or reduce them by svd",
                )
        forbidden = self.forbidden if self.spaces else _SPACES + (self.forbidden or "")
        if forbidden is not None:
            for word in vectors.vocabulary.words:
                if not word or not word.isascii() or not word.isprintable() or " " in word:
                    _check_word(word, self.name, forbidden)


def _check_word(word: str, name: str, forbidden: str) -> None:
    if not word:
        raise FirthianError(f"the format {name} holds no empty word", hint="leave it out, or use a folder")
    odd = next((character for character in word if character in forbidden), None)
    if odd is not None:
        spaces = "spaces" if " " in forbidden else "tabs or line breaks"
        what, remedy = (
            (spaces, "replace the spaces (--replace-spaces _)")
            if odd in _SPACES
            else ("control characters", "rename it")
        )
        raise FirthianError(
            f"the format {name} holds no words with {what}, such as {word!r}",
            hint=f"{remedy}, or choose npz, parquet or a folder",
        )
    try:
        word.encode()
    except UnicodeEncodeError:
        raise FirthianError(f"the word {word!r} is not valid text", hint="rename it") from None


@contextmanager
def new_export(vectors: Vectors, target: Path, force: bool, name: str) -> Iterator[Path]:
    """Return a folder to fill for another tool; it appears whole at the end, with a note of ours on where it is from."""
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
    """Return whether a folder for another tool was written by us."""
    return (folder / EXPORT_MANIFEST).is_file()


def read_json(path: Path) -> Any:
    """Read JSON that anybody may have written."""
    try:
        return json.loads(path.read_bytes().decode())
    except OSError as error:
        raise from_os_error(error) from error
    except (ValueError, RecursionError) as error:
        raise damaged(path, "it is not JSON") from error


def write_json(path: Path, value: Any, indent: int | None = None) -> None:
    """Write JSON in UTF-8."""
    path.write_bytes((json.dumps(value, ensure_ascii=False, indent=indent) + "\n").encode())


def uncertainty_column(vectors: Vectors) -> dict[str, Array]:
    """Return the column ``uncertainty`` of a table, the relative error of each vector; nothing for vectors that are points."""
    from firthian.vectors.uncertainty import has_uncertainty, uncertainties

    return {"uncertainty": uncertainties(vectors)["relative"].astype(np.float32)} if has_uncertainty(vectors) else {}


def chosen_rows(path: Path, stored: Array, rows: Array) -> Array:
    """Return rows of a matrix in single precision; many words may share a row, but not so many as only to fill memory."""
    room = 4 * rows.size * stored.shape[1]
    if room > MAX_DENSE_BYTES and rows.size > MAX_EXPANSION * len(stored):
        raise damaged(path, f"{rows.size:,} words share {len(stored):,} vectors and would take {room:,} bytes")
    # All rows in their order stay mapped where they are.
    everything = rows.size == len(stored) and np.array_equal(rows, np.arange(rows.size))
    with np.errstate(over="ignore"):
        # What single precision cannot hold becomes infinite, which all who read refuse.
        return np.asarray(stored if everything else stored[rows], dtype=np.float32)


def damaged(path: Path, why: str) -> FirthianError:
    """Build the error for a file that is not what it says."""
    return FirthianError(f"{path} is damaged ({why})", hint="fetch or make it again")


def join_blocks(blocks: list[Array | None], rows: int, columns: int) -> Array:
    """Put blocks of rows together; each is dropped as it is copied, so that memory holds the matrix once."""
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
    """Make vectors of what a file held; ``place`` says where a row stood, for the error about a double word."""
    repaired = {what: times for what, times in (repaired or {}).items() if times}
    halves = [row for row, word in enumerate(words) if not word.isascii() and _HALF_CHARACTER.search(word)]
    if halves:
        words = list(words)
        for row in halves:
            words[row] = _HALF_CHARACTER.sub("\ufffd", words[row])
        repaired["words_not_utf8"] = repaired.get("words_not_utf8", 0) + len(halves)
    keep = _without_duplicates(path, matrix, words, duplicates, place)
    if keep is not None:
        repaired["double_words"] = len(words) - len(keep)
        matrix, words = matrix[keep], [words[i] for i in keep]
        counts = None if counts is None else counts[keep]
    source: dict[str, Any] = {"file": printable(path.name), "format": name}
    if repaired:
        source["repaired"] = repaired
    # A folder of ours for another tool still knows where its vectors come from.
    provenance, state = Provenance(), {}
    if is_ours(path):
        note = read_manifest(path / EXPORT_MANIFEST, EXPORT_KIND)
        try:
            provenance, state = Provenance.from_dict(note.get("provenance")), check_state(note.get("state"))
        except ValueError as error:
            raise damaged(path / EXPORT_MANIFEST, "it does not say where the vectors come from") from error
    return Vectors(
        matrix, Vocabulary(words, counts), provenance=dataclasses.replace(provenance, source=source), state=state
    )


def _without_duplicates(
    path: Path, matrix: Array, words: Sequence[str], duplicates: str, place: Callable[[int], str]
) -> list[int] | None:
    """Return the rows to keep, or None for all. A word twice with the same vector is one word; else the user decides."""
    if len(set(words)) == len(words):
        return None
    first: dict[str, int] = {}
    keep: list[int] = []
    for row, word in enumerate(words):
        earlier = first.setdefault(word, row)
        if earlier == row:
            keep.append(row)
        elif duplicates == "error" and not np.array_equal(matrix[earlier], matrix[row]):
            raise FirthianError(
                f"{path}, {place(row)}: the word {word!r} is there already ({place(earlier)}), with another vector",
                hint="keep the first of each with duplicates='first' (--duplicates first)",
            )
    return keep
