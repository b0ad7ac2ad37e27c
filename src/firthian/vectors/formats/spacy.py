"""spaCy: a pipeline folder with nothing but a tokenizer and vectors; ``spacy.load`` opens it, ``--vectors`` takes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from firthian.errors import FirthianError, require
from firthian.vectors.formats.base import Format, new_export, write_json
from firthian.vectors.formats.model_card import model_card
from firthian.vectors.vectors import Vectors

NAME = "spacy"

#: spaCy's own name for no language in particular.
_ANY_LANGUAGE = "xx"


def to_spacy(vectors: Vectors, language: str | None = None) -> Any:
    """Give a blank spaCy pipeline with these vectors; ``language`` (``en``, ``de``, …) chooses how it cuts text.

    Where no word has a capital, the vectors are looked up by lower-cased words, so that *Tea* finds *tea*.
    """
    spacy, tables = require("spacy", "export"), require("spacy.vectors", "export")
    words = vectors.vocabulary.words
    try:
        pipeline = spacy.blank(language or _ANY_LANGUAGE)
    except ImportError:
        raise FirthianError(
            f"spaCy does not know the language {language!r}", hint="give a code such as --language en, or none"
        ) from None
    strings = pipeline.vocab.strings
    keys = [strings.add(word) for word in words]
    attribute = "LOWER" if all(word == word.lower() for word in words) else "ORTH"
    pipeline.vocab.vectors = tables.Vectors(
        strings=strings, data=vectors.matrix, keys=keys, name="firthian", attr=attribute
    )
    return pipeline


def write(vectors: Vectors, path: Path, force: bool, *, language: str | None = None, **card: Any) -> None:
    """Write through spaCy."""
    pipeline = to_spacy(vectors, language)
    text = model_card(vectors, NAME, language=language, **card)
    with new_export(vectors, path, force, NAME) as folder:
        pipeline.to_disk(folder)
        # spaCy reads from this file how to look words up, but does not write it there.
        write_json(folder / "vocab" / "vectors.cfg", {"mode": "default", "attr": pipeline.vocab.vectors.attr})
        (folder / "README.md").write_text(text, encoding="utf-8", newline="\n")


FORMAT = Format(
    NAME, "a spaCy pipeline (written only)", (), None, write, forbidden="",
    options=("name", "language", "license", "scores"),
)  # fmt: skip
