"""Static embedding models, as model2vec and sentence-transformers keep them: a matrix and a ``tokenizer.json``.

Encoding a text gives the mean vector of its known words, as ``Vectors.document_vector`` does. Both libraries read either
layout; each is written as its own library writes it.

Words of a folder that we wrote come back unchanged. A foreign tokenizer may split words into pieces, and marks either those
that begin a word or those that continue one. Here a piece that begins a word is named by its letters, and one that continues a
word by ``##`` and its letters, as in WordPiece, whatever mark the tokenizer has.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from firthian.arrays import Array
from firthian.disk.tensors import read_foreign_tensors, write_tensors
from firthian.errors import FirthianError
from firthian.text.tokenizer import Tokenizer
from firthian.vectors.cards import model_card
from firthian.vectors.documents import phrase_passes, tokenizer_of
from firthian.vectors.formats import base
from firthian.vectors.formats.tokenizer_json import MARK, tokenizer_json, unmark
from firthian.vectors.vectors import Vectors

WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"

#: Where the files are: beside the settings, or in the folder of the first module.
_PLACES = (".", "0_StaticEmbedding")

#: The matrix, as model2vec and as sentence-transformers call it.
_MATRICES = ("embeddings", "embedding.weight")

#: The file by which sentence-transformers is recognized.
_SENTENCE_CONFIG = "config_sentence_transformers.json"

_CONTINUES = "##"

#: Words that never occur in a text, named in the card.
_NAMED = 8

_MODULES = [{"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"}]


# Writing


def write_model2vec(vectors: Vectors, path: Path, force: bool, **options: Any) -> None:
    """Write a folder for ``model2vec.StaticModel.from_pretrained``."""
    # Without max_length, only the first 512 tokens of a text would count.
    config = {
        "model_type": "model2vec", "architectures": ["StaticModel"], "hidden_dim": vectors.vector_size,
        "normalize": False, "max_length": None, "embedding_dtype": "float32",
    }  # fmt: skip
    _write(vectors, path, force, "model2vec", "embeddings", {"config.json": config}, **options)


def write_sentence_transformers(vectors: Vectors, path: Path, force: bool, **options: Any) -> None:
    """Write a folder with one ``StaticEmbedding`` module."""
    config: dict[str, Any] = {
        "model_type": "SentenceTransformer", "prompts": {}, "default_prompt_name": None, "similarity_fn_name": "cosine"
    }  # fmt: skip
    _write(vectors, path, force, "sentence-transformers", "embedding.weight", {_SENTENCE_CONFIG: config}, **options)


def _write(
    vectors: Vectors,
    path: Path,
    force: bool,
    library: str,
    tensor: str,
    configs: dict[str, Any],
    *,
    tokenizer: Tokenizer | str | None = None,
    **card: Any,
) -> None:
    """Write the matrix under the name ``tensor``, the tokenizer, ``configs`` by file name, and a model card."""
    if tokenizer is None or isinstance(tokenizer, str):
        tokenizer = tokenizer_of(vectors, tokenizer)
    described = tokenizer_json(vectors, tokenizer)
    text = model_card(vectors, library, **card, remarks=_remarks(vectors, tokenizer))
    with base.new_export(vectors, path, force, library) as folder:
        write_tensors(folder / WEIGHTS, {tensor: vectors.matrix})
        base.write_json(folder / TOKENIZER, described)
        for name, config in {**configs, "modules.json": _MODULES}.items():
            base.write_json(folder / name, config, indent=2)
        (folder / "README.md").write_text(text, encoding="utf-8", newline="\n")


def never_in_texts(vectors: Vectors, tokenizer: Tokenizer) -> list[str]:
    """Return the words that the tokenizer never yields, because of spaces, capitals or punctuation.

    >>> import numpy as np
    >>> from firthian import Vocabulary
    >>> never_in_texts(Vectors(np.eye(3), Vocabulary(["tea", "New York", "</s>"])), Tokenizer())
    ['New York', '</s>']
    """
    # With a number, so that the token for numbers is found if they are folded.
    tokens = set(tokenizer.tokens("\n".join(["0", *vectors.vocabulary.words])))
    return [word for word in vectors.vocabulary.words if word not in tokens]


def _remarks(vectors: Vectors, tokenizer: Tokenizer) -> tuple[str, ...]:
    case = "kept" if tokenizer.keep_case else "lowered"
    remarks = [f"Text is tokenized by Firthian's tokenizer {tokenizer.name}, case {case}; unknown words are skipped."]
    if phrase_passes(vectors):
        remarks.append("Phrases are found only where a text writes them as one word, such as new_york.")
    missed = never_in_texts(vectors, tokenizer)
    if missed:
        named = ", ".join(missed[:_NAMED]) + (", …" if len(missed) > _NAMED else "")
        remarks.append(f"{len(missed):,} words never occur in a text as it is tokenized: {named}.")
    return tuple(remarks)


# Reading


def find_static(path: Path) -> Path | None:
    """Return the folder with matrix and tokenizer, or None."""
    for name in _PLACES:
        if (path / name / WEIGHTS).is_file() and (path / name / TOKENIZER).is_file():
            return path / name
    return None


def read_static(path: Path, duplicates: str, name: str) -> Vectors:
    """Read a folder of either library, a row for each entry of its tokenizer; ``name`` is the format for provenance."""
    place = find_static(path)
    if place is None:
        raise FirthianError(f"{path} is not a folder of {name}", hint=f"it has no {WEIGHTS} with a {TOKENIZER}")
    tensors = read_foreign_tensors(place / WEIGHTS)
    stored = next((tensors[key] for key in _MATRICES if key in tensors), None)
    if stored is None or stored.ndim != 2:
        message = f"{place / WEIGHTS} has no static embeddings (it has {', '.join(sorted(tensors)[:5])})"
        raise FirthianError(message, hint="distill static vectors from a transformer with model2vec")
    tokens = _tokens(place / TOKENIZER, base.is_ours(path))
    ids = np.array([number for number, _ in tokens], dtype=np.int64)
    # Quantized models have fewer rows than tokens, and a mapping; some have a factor for each token.
    rows = _of_tokens(place, tensors["mapping"], ids, "iu") if "mapping" in tensors else ids
    if rows.size and not 0 <= rows.min() <= rows.max() < len(stored):
        raise base.damaged(
            place / TOKENIZER, f"it numbers words up to {rows.max()}, but there are {len(stored)} vectors"
        )
    matrix = base.chosen_rows(place / WEIGHTS, stored, rows)
    if "weights" in tensors:
        matrix = matrix * _of_tokens(place, tensors["weights"], ids, "f").astype(np.float32)[:, None]
    base.check_finite(path, matrix, lambda row: f"word {tokens[row][1]!r}", "create the model again")
    return base.finish(
        path, name, matrix, [word for _, word in tokens], duplicates,
        place=lambda row: f"token {tokens[row][0]}",
        repaired={"vectors_without_a_word": len(stored) - len(np.unique(rows))},
    )  # fmt: skip


def _of_tokens(place: Path, values: Array, ids: Array, kinds: str) -> Array:
    """Return the entries of an array that has one number per token."""
    if values.ndim != 1 or values.dtype.kind not in kinds or (ids.size and ids.max() >= len(values)):
        raise base.damaged(place / WEIGHTS, f"{values.size:,} numbers for the tokens up to {ids.max(initial=-1)}")
    return np.asarray(values[ids])


def _tokens(path: Path, ours: bool) -> list[tuple[int, str]]:
    """Return the numbers and names of all tokens, ordered by number."""
    described = base.read_json(path)
    try:
        vocabulary = described["model"]["vocab"]
        # Unigram models have a list of pieces with their scores, all others a table.
        pieces = [piece for piece, _ in vocabulary] if isinstance(vocabulary, list) else list(vocabulary)
        numbers = range(len(pieces)) if isinstance(vocabulary, list) else list(vocabulary.values())
        naming = unmark if ours else _naming(described)
        names = {number: naming(piece) for number, piece in zip(numbers, pieces, strict=True)}
        if len(names) != len(pieces):
            raise base.damaged(path, "two words have the same number")
        # Special tokens such as [UNK] are not split, so not marked.
        names |= {token["id"]: token["content"] for token in described.get("added_tokens") or []}
        if not all(type(number) is int and 0 <= number < 2**63 and type(name) is str for number, name in names.items()):
            raise base.damaged(path, "words must be texts with numbers")
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise base.damaged(path, "it has no vocabulary") from error
    return sorted(names.items())


def _naming(described: Any) -> Callable[[str], str]:
    """Return the function that names a piece, by how the tokenizer marks the beginnings of words."""
    kinds = _kinds(described.get("pre_tokenizer")) | _kinds(described.get("decoder"))
    if "ByteLevel" in kinds:
        table = _byte_table()
        return lambda piece: _named(_from_bytes(piece, table), " ")
    if "Metaspace" in kinds:
        return lambda piece: _named(piece, MARK)
    return lambda piece: piece


def _kinds(part: Any) -> set[str]:
    """Return the types of a step and of its substeps."""
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
    return piece[1:].replace(mark, " ") if piece.startswith(mark) else _CONTINUES + piece.replace(mark, " ")


def _byte_table() -> dict[str, int]:
    """Return the byte of each character of a byte-level vocabulary.

    Printable bytes of Latin-1 are their own characters; the others are, in order, the characters from 256 on.
    """
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    rest = [byte for byte in range(256) if byte not in set(plain)]
    return {chr(byte): byte for byte in plain} | {chr(256 + place): byte for place, byte in enumerate(rest)}


def _from_bytes(piece: str, table: dict[str, int]) -> str:
    """Return the text of a byte-level piece; a part of a character, which is not text, stays as written.

    >>> _from_bytes("Ġcaf" + "Ã©", _byte_table())
    ' café'
    """
    try:
        return bytes(table[character] for character in piece).decode()
    except (KeyError, UnicodeDecodeError):
        return piece


def _row(name: str, write: Callable[..., None], for_sentences: bool) -> base.Format:
    return base.Format(
        name, f"a folder for {name}", (), lambda path, duplicates: read_static(path, duplicates, name), write,
        lambda path, _: find_static(path) is not None and (path / _SENTENCE_CONFIG).is_file() == for_sentences,
        counts=False, forbidden="", options=("tokenizer", "name", "language", "license", "scores"),
    )  # fmt: skip


MODEL2VEC = _row("model2vec", write_model2vec, False)
SENTENCE_TRANSFORMERS = _row("sentence-transformers", write_sentence_transformers, True)
