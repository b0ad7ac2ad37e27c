"""Static embedding models, as model2vec and sentence-transformers keep them: a matrix and a ``tokenizer.json``.

Encoding a text gives the mean vector of its known words, as ``Vectors.document_vector`` does. Both libraries read
either layout; each is written as its own library writes it. Nothing but JSON and safetensors is needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from firthian.disk.tensors import write_tensors
from firthian.text.tokenizer import Tokenizer
from firthian.vectors.documents import phrase_passes, tokenizer_of
from firthian.vectors.formats.base import new_export, write_json
from firthian.vectors.formats.model_card import model_card
from firthian.vectors.formats.tokenizer_json import tokenizer_json
from firthian.vectors.vectors import Vectors

#: What a card may say, and the tokenizer to use in place of the corpus's own.
OPTIONS = ("tokenizer", "name", "language", "license", "scores")

#: How many words that no text holds are named in the card.
_NAMED = 8

_MODULES = [{"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"}]


def write_static(
    vectors: Vectors,
    path: Path,
    force: bool,
    *,
    library: str,
    tensor: str,
    configs: dict[str, Any],
    tokenizer: Tokenizer | str | None,
    card: dict[str, Any],
) -> None:
    """Write the matrix under the name ``tensor``, the tokenizer, ``configs`` by file name, and a model card."""
    if tokenizer is None or isinstance(tokenizer, str):
        tokenizer = tokenizer_of(vectors, tokenizer)
    described = tokenizer_json(vectors, tokenizer)
    text = model_card(vectors, library, **card, remarks=_remarks(vectors, tokenizer))
    with new_export(vectors, path, force, library) as folder:
        write_tensors(folder / "model.safetensors", {tensor: vectors.matrix})
        write_json(folder / "tokenizer.json", described)
        for name, config in {**configs, "modules.json": _MODULES}.items():
            write_json(folder / name, config, indent=2)
        (folder / "README.md").write_text(text, encoding="utf-8", newline="\n")


def never_in_texts(vectors: Vectors, tokenizer: Tokenizer) -> list[str]:
    """Return the words that no text is cut into, because they hold spaces, capitals or marks; their rows are kept.

    >>> import numpy as np
    >>> from firthian import Vocabulary
    >>> never_in_texts(Vectors(np.eye(3), Vocabulary(["tea", "New York", "</s>"])), Tokenizer())
    ['New York', '</s>']
    """
    # With a number, so that the sign for numbers is found where they are folded.
    found = set(tokenizer.tokens("\n".join(["0", *vectors.vocabulary.words])))
    return [word for word in vectors.vocabulary.words if word not in found]


def _remarks(vectors: Vectors, tokenizer: Tokenizer) -> tuple[str, ...]:
    case = "kept" if tokenizer.keep_case else "lowered"
    remarks = [
        f"Text is cut into words by Firthian's tokenizer {tokenizer.name}, case {case}; unknown words are left out."
    ]
    if phrase_passes(vectors):
        remarks.append(
            "Phrases are found only where a text writes them as one word, such as new_york: none are joined."
        )
    missed = never_in_texts(vectors, tokenizer)
    if missed:
        named = ", ".join(missed[:_NAMED]) + (", …" if len(missed) > _NAMED else "")
        remarks.append(f"{len(missed):,} of the words are never found in a text, because it is cut otherwise: {named}.")
    return tuple(remarks)
