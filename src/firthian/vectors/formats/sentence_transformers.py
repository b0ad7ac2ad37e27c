"""sentence-transformers: ``SentenceTransformer(folder).encode(text)`` gives the mean vector of the known words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from firthian.text.tokenizer import Tokenizer
from firthian.vectors.formats.base import Format
from firthian.vectors.formats.static import OPTIONS, write_static
from firthian.vectors.formats.static_reading import read_static
from firthian.vectors.vectors import Vectors

NAME = "sentence-transformers"


def read(path: Path, duplicates: str) -> Vectors:
    """Read a folder, a row for each entry of its tokenizer."""
    return read_static(path, duplicates, NAME)


def write(vectors: Vectors, path: Path, force: bool, *, tokenizer: Tokenizer | str | None = None, **card: Any) -> None:
    """Write a folder with one ``StaticEmbedding`` module."""
    config: dict[str, Any] = {
        "model_type": "SentenceTransformer",
        "prompts": {},
        "default_prompt_name": None,
        "similarity_fn_name": "cosine",
    }
    write_static(
        vectors, path, force, library=NAME, tensor="embedding.weight",
        configs={"config_sentence_transformers.json": config}, tokenizer=tokenizer, card=card,
    )  # fmt: skip


FORMAT = Format(
    NAME, "a folder for sentence-transformers", (), read, write, counts=False, forbidden="", options=OPTIONS
)
