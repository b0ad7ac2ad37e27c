"""spaCy: written as a pipeline of a tokenizer and vectors; read from any pipeline with vectors.

Also as floret vectors: a table without words. A word's vector is the mean of the rows of ``<word>`` and its
n-grams, each of which has ``FLORET_HASHES`` rows, by hashing. The table is fitted to the vectors by least squares.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from firthian.arrays import Array
from firthian.disk.opening import map_npy, read_regular
from firthian.errors import FirthianError, from_os_error, os_errors, require
from firthian.runtime.run import Run
from firthian.vectors.cards import model_card
from firthian.vectors.formats.base import (
    Format,
    check_finite,
    chosen_rows,
    damaged,
    finish,
    new_export,
    read_json,
    write_json,
)
from firthian.vectors.subwords import fit_rows
from firthian.vectors.vectors import Vectors

NAME, FLORET = "spacy", "floret"

#: Rows of a floret table per word, rows of each n-gram, the penalty on rows, and the steps of conjugate gradients.
FLORET_ROWS, FLORET_HASHES, FLORET_RIDGE, FLORET_STEPS = 2, 2, 1e-4, 50

#: The lengths of n-grams if the vectors have no subwords.
FLORET_NGRAMS = 3, 6

#: The files of a table of vectors: the matrix, the row of each hash, and the texts that were hashed.
_TABLE = ("vectors", "key2row", "strings.json")

#: spaCy's code for any language.
_ANY_LANGUAGE = "xx"


def to_spacy(vectors: Vectors, language: str | None = None) -> Any:
    """Return a blank spaCy pipeline with these vectors; ``language`` (``en``, ``de``, …) chooses its tokenizer.

    If no word has a capital, vectors are looked up by lower-cased words, so that *Tea* finds *tea*.
    """
    pipeline, tables = _blank(language), require("spacy.vectors", "export")
    strings = pipeline.vocab.strings
    keys = [strings.add(word) for word in vectors.vocabulary.words]
    pipeline.vocab.vectors = tables.Vectors(
        strings=strings, data=vectors.matrix, keys=keys, name="firthian", attr=_lookup_attribute(vectors)
    )
    return pipeline


def _blank(language: str | None) -> Any:
    try:
        return require("spacy", "export").blank(language or _ANY_LANGUAGE)
    except ImportError:
        raise FirthianError(
            f"spaCy does not know the language {language!r}", hint="pass a code such as `language=en`, or none"
        ) from None


def _lookup_attribute(vectors: Vectors) -> str:
    return "LOWER" if vectors.vocabulary.lowercase else "ORTH"


def to_floret(vectors: Vectors, language: str | None = None) -> Any:
    """Return a blank spaCy pipeline whose floret table approximates the vectors of known words, and composes unknown ones."""
    low, high = (vectors.subwords.low, vectors.subwords.high) if vectors.subwords is not None else FLORET_NGRAMS
    pipeline, tables = _blank(language), require("spacy.vectors", "export")
    table = tables.Vectors(
        strings=pipeline.vocab.strings, data=np.zeros((max(FLORET_ROWS * len(vectors), 1000), vectors.vector_size), "f"),
        mode=FLORET, minn=low, maxn=high, hash_count=FLORET_HASHES, name="firthian",
        attr=_lookup_attribute(vectors),
    )  # fmt: skip
    places, indptr = [], [0]
    seen: dict[str, list[int]] = {}
    for word in vectors.vocabulary.words:
        for ngram in table._get_ngrams(word):
            if ngram not in seen:
                seen[ngram] = [hash_ % len(table.data) for hash_ in table._get_ngram_hashes(ngram)]
            places += seen[ngram]
        indptr.append(len(places))
    scales = 1 / np.maximum(np.diff(indptr), 1).astype(np.float32)
    incidence = np.array(indptr), np.array(places, dtype=np.int32), scales
    weights = np.ones(len(vectors), np.float32)
    table.data[:] = fit_rows(
        incidence, weights, vectors.matrix, len(table.data), FLORET_RIDGE, FLORET_STEPS, Run.create()
    )
    pipeline.vocab.vectors = table
    return pipeline


def find_table(path: Path) -> Path | None:
    """Return the folder with a table of vectors, the vocabulary of a pipeline or the folder itself, or None."""
    places = (path / "vocab", path)
    return next((place for place in places if all((place / name).is_file() for name in _TABLE)), None)


def read(path: Path, duplicates: str) -> Vectors:
    """Read the vectors of a pipeline, or of a table that spaCy saved alone, without running any code of the pipeline.

    Words come in the order of rows. Several may share a row if vectors were pruned.
    """
    place = find_table(path)
    if place is None:
        raise FirthianError(f"{path} is not a spaCy folder with vectors", hint=f"it has no {' and '.join(_TABLE)}")
    settings = read_json(place / "vectors.cfg") if (place / "vectors.cfg").is_file() else {}
    if isinstance(settings, dict) and settings.get("mode") == "floret":
        message = f"{path} has floret vectors: sums of hashed pieces, not vectors of words"
        raise FirthianError(message, hint="in spaCy, look up the words you need and save them with numpy.savez")
    stored = _read_matrix(place / "vectors")
    owners = _read_owners(place / "key2row", len(stored))
    strings = read_json(place / "strings.json")
    if not isinstance(strings, list) or not all(type(item) is str for item in strings):
        raise damaged(place / "strings.json", "it is not a list of texts")
    # The store hashes words as spaCy did, including the names of spaCy's symbols.
    try:
        store = require("spacy.strings", "export").StringStore(strings)
    except UnicodeEncodeError as error:
        raise damaged(place / "strings.json", "it has a lone surrogate") from error
    named = sorted((row, str(store[key])) for key, row in owners.items() if key in store)
    rows = np.array([row for row, _ in named], dtype=np.int64)
    matrix = chosen_rows(place / "vectors", stored, rows)
    check_finite(path, matrix, lambda row: f"word {named[row][1]!r}", "create the vectors again")
    return finish(
        path, NAME, matrix, [word for _, word in named], duplicates, place=lambda row: f"row {named[row][0]}",
        repaired={"vectors_without_a_word": len(owners) - len(named)},
    )  # fmt: skip


def _read_matrix(path: Path) -> Array:
    with os_errors(str(path)):
        stored = map_npy(path)
    if stored is None:
        raise damaged(path, "it is not an array of numbers")
    if stored.ndim != 2 or stored.dtype.kind != "f":
        raise damaged(path, "it is not a matrix of numbers")
    return cast(Array, stored)


def _read_owners(path: Path, rows: int) -> dict[int, int]:
    """Return the row of each key; a key is the hash of a word."""
    msgpack = require("srsly", "export")
    try:
        owners = msgpack.msgpack_loads(read_regular(path))
    except OSError as error:
        raise from_os_error(error) from error
    except FirthianError:
        raise
    except Exception as error:  # The parser has its own errors, besides those of Python.
        raise damaged(path, "it is not a table") from error
    if not isinstance(owners, dict) or not all(
        type(key) is int and 0 <= key < 2**64 and type(row) is int and 0 <= row < rows for key, row in owners.items()
    ):
        raise damaged(path, f"it does not map words to rows below {rows}")
    return owners


def write(
    vectors: Vectors, path: Path, force: bool, *, language: str | None = None, kind: str = NAME, **card: Any
) -> None:
    """Write by spaCy."""
    pipeline = (to_floret if kind == FLORET else to_spacy)(vectors, language)
    text = model_card(vectors, NAME, language=language, **card)
    with new_export(vectors, path, force, kind) as folder:
        pipeline.to_disk(folder)
        if kind == NAME:
            # spaCy reads the attribute for lookups from this file, but does not write it.
            write_json(folder / "vocab" / "vectors.cfg", {"mode": "default", "attr": pipeline.vocab.vectors.attr})
        (folder / "README.md").write_text(text, encoding="utf-8", newline="\n")


FORMAT = Format(
    NAME, "a spaCy pipeline", (), read, write, lambda path, _: find_table(path) is not None, counts=False, forbidden="",
    options=("name", "language", "license", "scores"),
)  # fmt: skip

FLORET_FORMAT = Format(
    FLORET, "a spaCy pipeline with floret vectors, which have subwords (written only)", (), None,
    partial(write, kind=FLORET), counts=False, forbidden="", options=FORMAT.options,
)  # fmt: skip
