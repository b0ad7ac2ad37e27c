"""Files of vectors: the table of formats, which one a file has or a name means, and how to read and write any of them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from firthian.disk.atomic import is_counts_folder
from firthian.disk.opening import open_regular
from firthian.errors import FirthianError, from_os_error, suggest
from firthian.text.compression import COMPRESSED_SUFFIXES
from firthian.text.files import open_bytes
from firthian.text.vocabulary import Vocabulary
from firthian.vectors import hub
from firthian.vectors.formats import fasttext_bin, gensim, npz, parquet, spacy, static, viewers, word2vec
from firthian.vectors.formats.base import DUPLICATES, Format, is_ours
from firthian.vectors.vectors import Vectors

#: Rows that are checked at a time.
_ROWS = 1 << 16

#: Our own folder keeps everything: contexts, extras, provenance, state, sparse rows.
FOLDER = Format(
    "folder",
    "a Firthian folder",
    ("",),
    lambda path, duplicates: Vectors.load(path),
    lambda vectors, path, force: vectors.save(path, force),
    lambda path, head: (path / "vectors.json").is_file(),
    sparse=True,
)

FORMATS: tuple[Format, ...] = (
    FOLDER, word2vec.WORD2VEC, word2vec.WORD2VEC_BINARY, word2vec.GLOVE, word2vec.FASTTEXT, fasttext_bin.FORMAT,
    gensim.FORMAT, npz.FORMAT, parquet.FORMAT, spacy.FORMAT, spacy.FLORET_FORMAT, static.MODEL2VEC,
    static.SENTENCE_TRANSFORMERS, viewers.PROJECTOR, viewers.ATLAS,
)  # fmt: skip

_SPACES = re.compile(r"[ \t\n\r]")

_FROM_GENSIM = (
    "in gensim: KeyedVectors.load(FILE).save_word2vec_format('vectors.bin', binary=True), then convert that file"
)

#: Files of vectors that are not read: their first bytes, what they are, and the remedy.
_REFUSED = (
    (rb"\x80[\x02-\x05]", "is a pickle (of gensim, perhaps), which could run code when read", _FROM_GENSIM),
    (rb"\x93NUMPY", "is a numpy array without words", "save both with numpy.savez(file, words=..., matrix=...)"),
)


def find_format(name: str) -> Format:
    """Return the format with this name.

    >>> find_format("glove").summary
    'GloVe text, without a header'
    """
    for format in FORMATS:
        if format.name == name:
            return format
    raise FirthianError(f"unknown format {name!r}", hint=suggest(name, [format.name for format in FORMATS]))


def format_for(path: str | os.PathLike[str], name: str | None = None) -> Format:
    """Return the format of a target, by its own name or else by the suffix of the target; no suffix means a folder.

    >>> format_for("vectors.vec").name, format_for("vectors/").name, format_for("vectors.txt", "glove").name
    ('fasttext-vec', 'folder', 'glove')
    """
    suffix = "" if str(path).endswith(os.sep) else Path(path).suffix.lower()
    if suffix in COMPRESSED_SUFFIXES:
        message = f"{os.fspath(path)} is the name of a compressed file; vectors are written uncompressed"
        raise FirthianError(message, hint=f"drop {suffix}, and compress the file afterwards; it can be read either way")
    if name is not None:
        return find_format(name)
    for format in FORMATS:
        if suffix in format.suffixes:
            return format
    names = ", ".join(format.name for format in FORMATS)
    raise FirthianError(f"the format of {os.fspath(path)} is not clear from its name", hint=f"choose from: {names}")


def sniff(path: str | os.PathLike[str]) -> Format:
    """Return the format of a file or folder, by its content."""
    source = Path(path)
    if not source.exists():
        raise FirthianError(f"{source} does not exist", hint="check the path")
    head = b"" if source.is_dir() else _head(source)
    for format in FORMATS:
        if format.detect is not None and format.detect(source, head):
            return format
    if not source.is_dir():
        raise FirthianError(f"{source} has no known format", hint="see firth convert --help")
    if is_ours(source):
        raise FirthianError(f"{source} is an export that is never read", hint="use the vectors it was made from")
    raise FirthianError(
        f"{source} is not a folder of vectors",
        hint="use one with vectors.json, or a model of spaCy, model2vec or sentence-transformers",
    )


def _head(source: Path) -> bytes:
    """Return the first bytes of a file, decompressed; raise if it is of a kind that is not read."""
    try:
        with open_regular(source) as file:
            raw = file.read(8)
    except OSError as error:
        raise from_os_error(error) from error
    for magic, what, remedy in _REFUSED:
        if re.match(magic, raw):
            raise FirthianError(f"{source} {what}", hint=remedy)
    with open_bytes(str(source)) as stream:
        return stream.read(word2vec.HEAD_BYTES)


def load(path: str | os.PathLike[str]) -> Any:
    """Open a folder of counts or vectors, a file of vectors in any format, or ``hf://OWNER/NAME@COMMIT`` on the hub.

    Return ``Counts`` or ``Vectors``.

    >>> import firthian as ft
    >>> ft.load("nowhere")
    Traceback (most recent call last):
    ...
    firthian.errors.FirthianError: nowhere does not exist: check the path
    """
    if is_counts_folder(path):
        from firthian.counts.counts import Counts

        return Counts.load(path)
    return read_vectors(path)


def open_vectors(path: str | os.PathLike[str], verify: bool = False) -> Vectors:
    """Open vectors in any format; raise if the path holds counts."""
    refuse_counts(path)
    return read_vectors(path, verify=verify)


def refuse_counts(path: str | os.PathLike[str]) -> None:
    """Raise if a path holds counts where vectors are expected."""
    if is_counts_folder(path):
        raise FirthianError(f"{path} holds counts, not vectors", hint=f"train on them: firth train {path} -o VECTORS")


def read_vectors(
    path: str | os.PathLike[str], format: str | None = None, *, duplicates: str = DUPLICATES[0], verify: bool = False
) -> Vectors:
    """Read vectors from a file or folder in any format, or from the hub; ``format`` names it, by default its content decides.

    Text and word2vec's binary format may be compressed. Unambiguous mistakes of a file are repaired, and
    ``provenance.source["repaired"]`` counts them; others raise an error that names the place. A word with two different
    vectors is an error; with ``duplicates="first"`` its first vector is kept. ``verify`` checks every byte of a folder of
    ours, which is otherwise opened without reading it.
    """
    if duplicates not in DUPLICATES:
        raise FirthianError(f"`duplicates` cannot be {duplicates!r}", hint=suggest(duplicates, DUPLICATES))
    if hub.is_address(path):
        path, verify = hub.fetch(os.fspath(path)), True
    chosen = sniff(path) if format is None else find_format(format)
    if chosen.read is None:
        raise FirthianError(
            f"the format {chosen.name} is only written, never read",
            hint=_FROM_GENSIM if chosen is gensim.FORMAT else "use the vectors it was made from",
        )
    if chosen is FOLDER and verify:
        vectors = Vectors.load(path, verify=True)
        refuse_broken(vectors, path)
        return vectors
    return chosen.read(Path(path), duplicates)


def refuse_broken(vectors: Vectors, path: str | os.PathLike[str]) -> None:
    """Raise if a vector has a number that is not finite."""
    matrix = vectors.matrix
    values = matrix if isinstance(matrix, np.ndarray) else matrix.data
    for first in range(0, len(values), _ROWS):
        if not np.isfinite(values[first : first + _ROWS]).all():
            raise FirthianError(f"{path} has vectors with numbers that are not finite", hint="train them again")


def write_vectors(
    vectors: Vectors,
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    force: bool = False,
    replace_spaces: str | None = None,
    limit: int | None = None,
    **options: Any,
) -> Format:
    """Write vectors in a format, by default that of the target's suffix; return the format.

    ``replace_spaces`` replaces spaces in words, for formats that cannot hold them; ``limit`` keeps the first N words.
    Further options are those of the format.
    """
    chosen = format_for(path, format)
    for name in options:
        if name not in chosen.options:
            raise FirthianError(f"the format {chosen.name} has no option `{name}`", hint="omit it")
    if limit is not None:
        if limit < 1:
            raise FirthianError(f"cannot keep {limit} words", hint="`limit` must be at least 1")
        vectors = vectors.subset(limit) if limit < len(vectors) else vectors
    if replace_spaces is not None:
        words = [_SPACES.sub(lambda _: replace_spaces, word) for word in vectors.vocabulary.words]
        if len(set(words)) != len(words):
            raise FirthianError("two words are equal without spaces", hint="choose another `replace_spaces`")
        vectors = _replaced(vectors, vocabulary=Vocabulary(words, vectors.vocabulary.counts))
    chosen.check(vectors)
    if not chosen.sparse and not isinstance(vectors.matrix, np.ndarray):
        vectors = _replaced(vectors, matrix=vectors.matrix.toarray())
    chosen.write(vectors, Path(path), force, **options)
    return chosen


def _replaced(vectors: Vectors, **changes: Any) -> Vectors:
    """Return the same vectors with another matrix or vocabulary."""
    names = ("matrix", "vocabulary", "contexts", "extras", "provenance", "state")
    return Vectors(**{**{name: getattr(vectors, name) for name in names}, **changes})
