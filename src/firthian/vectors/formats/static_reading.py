"""Models of model2vec and sentence-transformers as word vectors: a row for each entry of their ``tokenizer.json``.

Words of a folder that we wrote come back as they were. A foreign tokenizer may cut words into pieces, and marks either
the pieces that begin a word or those that go on with one. Here a piece that begins a word is named by its letters, and
one that goes on with a word by ``##`` and its letters, as WordPiece writes it, whatever mark the tokenizer has.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.disk.tensors import read_foreign_tensors
from firthian.errors import FirthianError
from firthian.vectors.formats.base import chosen_rows, damaged, finish, is_ours, read_json
from firthian.vectors.formats.tokenizer_json import MARK, unmark
from firthian.vectors.vectors import Vectors

WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"

#: Where the files lie: beside the settings, or in the folder of the first module.
_PLACES = (".", "0_StaticEmbedding")

#: The matrix, as model2vec and as sentence-transformers call it.
_MATRICES = ("embeddings", "embedding.weight")

_GOES_ON = "##"


def find_static(path: Path) -> Path | None:
    """Return the folder that holds matrix and tokenizer, or None."""
    for name in _PLACES:
        if (path / name / WEIGHTS).is_file() and (path / name / TOKENIZER).is_file():
            return path / name
    return None


def read_static(path: Path, duplicates: str, name: str) -> Vectors:
    """Read a folder of either library; ``name`` is the format it is said to have."""
    place = find_static(path)
    if place is None:
        raise FirthianError(f"{path} is not a folder of {name}", hint=f"it holds no {WEIGHTS} with a {TOKENIZER}")
    tensors = read_foreign_tensors(place / WEIGHTS)
    stored = next((tensors[one] for one in _MATRICES if one in tensors), None)
    if stored is None or stored.ndim != 2:
        raise FirthianError(
            f"{place / WEIGHTS} holds no static embeddings (it has {', '.join(sorted(tensors)[:5])})",
            hint="a transformer has no vectors of words: make static ones of it with model2vec",
        )
    tokens = _tokens(place / TOKENIZER, is_ours(path))
    ids = np.array([number for number, _ in tokens], dtype=np.int64)
    # Quantized models keep fewer rows than tokens, and which row is whose; some keep a factor for each token.
    rows = _of_tokens(place, tensors["mapping"], ids, "iu") if "mapping" in tensors else ids
    if rows.size and not 0 <= rows.min() <= rows.max() < len(stored):
        raise damaged(place / TOKENIZER, f"it numbers words up to {rows.max()}, and there are {len(stored)} vectors")
    single = chosen_rows(place / WEIGHTS, stored, rows)
    if "weights" in tensors:
        single = single * _of_tokens(place, tensors["weights"], ids, "f").astype(np.float32)[:, None]
    finite = np.isfinite(single).all(axis=1)
    if not finite.all():
        word = tokens[int(np.argmin(finite))][1]
        raise FirthianError(f"{path}: the vector of {word!r} is not finite", hint="make the model again")
    return finish(
        path, name, single, [word for _, word in tokens], duplicates,
        place=lambda row: f"token {tokens[row][0]}",
        repaired={"vectors_without_a_word": len(stored) - len(np.unique(rows))},
    )  # fmt: skip


def _of_tokens(place: Path, values: Array, ids: Array, kinds: str) -> Array:
    """Return the entries of an array with one number a token."""
    if values.ndim != 1 or values.dtype.kind not in kinds or (ids.size and ids.max() >= len(values)):
        raise damaged(place / WEIGHTS, f"{values.size:,} numbers for the tokens up to {ids.max(initial=-1)}")
    return np.asarray(values[ids])


def _tokens(path: Path, ours: bool) -> list[tuple[int, str]]:
    """Return the numbers and names of all tokens, in the order of numbers."""
    described = read_json(path)
    try:
        model = described["model"]
        vocabulary = model["vocab"]
        # Unigram models have a list of pieces with their scores, all others a table.
        pieces = [piece for piece, _ in vocabulary] if isinstance(vocabulary, list) else list(vocabulary)
        numbers = range(len(pieces)) if isinstance(vocabulary, list) else list(vocabulary.values())
        naming = unmark if ours else _naming(described)
        found = {number: naming(piece) for number, piece in zip(numbers, pieces, strict=True)}
        if len(found) != len(pieces):
            raise damaged(path, "two words have one number")
        # Signs of the tokenizer itself, [UNK] and the like: not cut, so not marked.
        found |= {one["id"]: one["content"] for one in described.get("added_tokens") or []}
        if not all(type(number) is int and 0 <= number < 2**63 and type(name) is str for number, name in found.items()):
            raise damaged(path, "words must be texts with numbers")
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise damaged(path, "it describes no vocabulary") from error
    return sorted(found.items())


def _naming(described: Any) -> Callable[[str], str]:
    """Return the function that names a piece, by how the tokenizer marks where words begin."""
    kinds = _kinds(described.get("pre_tokenizer")) | _kinds(described.get("decoder"))
    if "ByteLevel" in kinds:
        table = _byte_table()
        return lambda piece: _named(_from_bytes(piece, table), " ")
    if "Metaspace" in kinds:
        return lambda piece: _named(piece, MARK)
    return lambda piece: piece


def _kinds(part: Any) -> set[str]:
    """Return the types of a step and of the steps it is made of."""
    if not isinstance(part, dict):
        return set()
    inner = [*(part.get("pretokenizers") or []), *(part.get("decoders") or [])]
    return {str(part.get("type"))}.union(*map(_kinds, inner))


def _named(piece: str, mark: str) -> str:
    """Name a piece of a tokenizer that marks the beginnings of words.

    >>> _named("▁tea", "▁"), _named("ing", "▁"), _named("▁new▁york", "▁"), _named("▁", "▁")
    ('tea', '##ing', 'new york', '▁')
    """
    if piece == mark:
        return piece
    return piece[1:].replace(mark, " ") if piece.startswith(mark) else _GOES_ON + piece.replace(mark, " ")


def _byte_table() -> dict[str, int]:
    """Return the byte each character of a byte-level vocabulary stands for.

    Printable bytes of Latin-1 stand for themselves, the others in order for the characters from 256 on.
    """
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    rest = [byte for byte in range(256) if byte not in set(plain)]
    return {chr(byte): byte for byte in plain} | {chr(256 + place): byte for place, byte in enumerate(rest)}


def _from_bytes(piece: str, table: dict[str, int]) -> str:
    """Return the text of a byte-level piece; one that is no text by itself, a part of a character, stays as written.

    >>> _from_bytes("Ġcaf" + "Ã©", _byte_table())
    ' café'
    """
    try:
        return bytes(table[character] for character in piece).decode()
    except (KeyError, UnicodeDecodeError):
        return piece
