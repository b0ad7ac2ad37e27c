"""The table of formats; which one a file has, and which one a name asks for."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from firthian.errors import FirthianError, from_os_error, suggest
from firthian.text.files import COMPRESSED_SUFFIXES, open_bytes
from firthian.text.vocabulary import Vocabulary
from firthian.vectors.formats import (
    atlas,
    fasttext,
    folder,
    gensim,
    glove,
    model2vec,
    npz,
    parquet,
    projector,
    sentence_transformers,
    spacy,
    word2vec,
    word2vec_binary,
)
from firthian.vectors.formats.base import CONTROL, DUPLICATES, Format, is_ours
from firthian.vectors.formats.static_reading import find_static
from firthian.vectors.formats.text import numbers_in
from firthian.vectors.vectors import Vectors

FORMATS: tuple[Format, ...] = (
    folder.FORMAT,
    word2vec.FORMAT,
    word2vec_binary.FORMAT,
    glove.FORMAT,
    fasttext.FORMAT,
    gensim.FORMAT,
    npz.FORMAT,
    parquet.FORMAT,
    spacy.FORMAT,
    model2vec.FORMAT,
    sentence_transformers.FORMAT,
    projector.FORMAT,
    atlas.FORMAT,
)

_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*[0-9]+[ \t]+[0-9]+[ \t]*\r?\n")
_CONTROL = re.compile(b"[" + re.escape(CONTROL.encode()) + b"]")
_LOOK = 4096
_SPACES = re.compile(r"[ \t\n\r]")

#: Files that hold vectors but are not read: their first bytes, what they are, and what to do.
_REFUSED = (
    (
        re.compile(rb"\x80[\x02-\x05]"),
        "is a pickle (a gensim .kv or .model, perhaps), which could run code when read",
        "in gensim: KeyedVectors.load(FILE).save_word2vec_format('vectors.bin', binary=True), then convert that",
    ),
    (
        re.compile(rb"\x93NUMPY"),
        "is a bare numpy array, without words",
        "save both with numpy.savez(file, words=..., matrix=...)",
    ),
    (
        re.compile(rb"\xba\x16\x4f\x2f"),
        "is a fastText model",
        "give its .vec file, or make one with: fasttext print-word-vectors",
    ),
)


def find_format(name: str) -> Format:
    """Find a format by its name.

    >>> find_format("glove").summary
    'GloVe text, without a header'
    """
    for known in FORMATS:
        if known.name == name:
            return known
    raise FirthianError(f"there is no format {name!r}", hint=suggest(name, [known.name for known in FORMATS]))


def format_for(path: str | os.PathLike[str], name: str | None = None) -> Format:
    """Find the format of a target, by the name of the format or else by that of the target; no suffix means a folder.

    >>> format_for("vectors.vec").name, format_for("vectors/").name, format_for("vectors.txt", "glove").name
    ('fasttext-vec', 'folder', 'glove')
    """
    suffix = "" if str(path).endswith(os.sep) else Path(path).suffix.lower()
    if suffix in COMPRESSED_SUFFIXES:
        raise FirthianError(
            f"{os.fspath(path)} is the name of a compressed file, which is never written",
            hint=f"leave out {suffix}, and compress the file afterwards; it can be read either way",
        )
    if name is not None:
        return find_format(name)
    for known in FORMATS:
        if suffix in known.suffixes:
            return known
    raise FirthianError(
        f"the name {os.fspath(path)} does not say which format is meant",
        hint=f"name it with --to: {', '.join(known.name for known in FORMATS)}",
    )


def sniff(path: str | os.PathLike[str]) -> Format:
    """Tell which format a file or folder has."""
    where = Path(path)
    if where.is_dir():
        if (where / "vectors.json").is_file():
            return folder.FORMAT
        if spacy.find_table(where) is not None:
            return spacy.FORMAT
        if find_static(where) is not None:
            theirs = (where / "config_sentence_transformers.json").is_file()
            return sentence_transformers.FORMAT if theirs else model2vec.FORMAT
        if is_ours(where):
            raise FirthianError(
                f"{where} was written for another tool and is never read", hint="give the vectors it was made of"
            )
        raise FirthianError(
            f"{where} is not a folder of vectors",
            hint="give one with vectors.json, or a model of spaCy, model2vec or sentence-transformers",
        )
    if not where.exists():
        raise FirthianError(f"{where} does not exist", hint="check the path")
    try:
        with where.open("rb") as file:
            raw = file.read(8)
    except OSError as error:
        raise from_os_error(error) from error
    for magic, what, remedy in _REFUSED:
        if magic.match(raw):
            raise FirthianError(f"{where} {what}", hint=remedy)
    # All four bytes: a word of a text file may begin with PK.
    if raw.startswith(b"PK\x03\x04"):
        return npz.FORMAT
    if raw.startswith(b"PAR1"):
        return parquet.FORMAT
    with open_bytes(str(where)) as stream:
        head = stream.read(_LOOK)
    header = _HEADER.match(head)
    if header is None:
        if _CONTROL.search(head):
            raise FirthianError(f"{where} is in no format known here", hint="see firth convert --help")
        return glove.FORMAT
    line, ended, _ = head[header.end() :].partition(b"\n")
    whole = bool(ended) or len(head) < _LOOK
    if _CONTROL.search(head, header.end()) or (whole and line.strip() and not numbers_in(line)):
        return word2vec_binary.FORMAT
    plain = where.name.lower().removesuffix(".gz").removesuffix(".xz").removesuffix(".zst")
    return fasttext.FORMAT if plain.endswith(".vec") else word2vec.FORMAT


def read_vectors(
    path: str | os.PathLike[str], format: str | None = None, *, duplicates: str = DUPLICATES[0]
) -> Vectors:
    """Read vectors from a file or folder in any format; ``format`` names it where looking at the file should not.

    Text and word2vec's binary form may be compressed. What a file got wrong is put right only where there is no
    doubt, and ``provenance.source["repaired"]`` counts it; anything else is an error that says where. A word twice
    with different vectors is an error, or with ``duplicates="first"`` keeps its first vector.
    """
    if duplicates not in DUPLICATES:
        raise FirthianError(f"duplicates must be one of {', '.join(DUPLICATES)}", hint=suggest(duplicates, DUPLICATES))
    chosen = sniff(path) if format is None else find_format(format)
    if chosen.read is None:
        raise FirthianError(
            f"the format {chosen.name} is written but never read",
            hint=_REFUSED[0][2] if chosen is gensim.FORMAT else "give the vectors it was made of",
        )
    return chosen.read(Path(path), duplicates)


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
    """Write vectors in a format, by default the one the name of the target means; give that format.

    ``replace_spaces`` puts something else for spaces in words, for formats that cannot hold them; ``limit`` keeps
    only the first words. Further options are the format's own.
    """
    chosen = format_for(path, format)
    for name in options:
        if name not in chosen.options:
            raise FirthianError(f"the format {chosen.name} takes no {name}", hint="leave it out")
    if limit is not None:
        if limit < 1:
            raise FirthianError(f"cannot keep {limit} words", hint="give 1 or more")
        vectors = vectors.subset(limit) if limit < len(vectors) else vectors
    if replace_spaces is not None:
        words = [_SPACES.sub(lambda _: replace_spaces, word) for word in vectors.vocabulary.words]
        if len(set(words)) != len(words):
            raise FirthianError(
                "two words are the same once their spaces are replaced", hint="choose another --replace-spaces"
            )
        vectors = _with(vectors, vocabulary=Vocabulary(words, vectors.vocabulary.counts))
    chosen.check(vectors)
    if not chosen.sparse and not isinstance(vectors.matrix, np.ndarray):
        vectors = _with(vectors, matrix=vectors.matrix.toarray())
    chosen.write(vectors, Path(path), force, **options)
    return chosen


def _with(vectors: Vectors, **changed: Any) -> Vectors:
    """Return the same vectors but for their matrix or vocabulary."""
    same = ("matrix", "vocabulary", "contexts", "extras", "provenance", "state")
    return Vectors(**{**{name: getattr(vectors, name) for name in same}, **changed})
