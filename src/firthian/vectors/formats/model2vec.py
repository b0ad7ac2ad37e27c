"""model2vec: ``StaticModel.from_pretrained(folder).encode(text)`` gives the mean vector of the known words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from firthian.text.tokenizer import Tokenizer
from firthian.vectors.formats.base import Format
from firthian.vectors.formats.static import OPTIONS, write_static
from firthian.vectors.formats.static_reading import read_static
from firthian.vectors.vectors import Vectors

NAME = "model2vec"


def read(path: Path, duplicates: str) -> Vectors:
    """Read a folder, a row for each entry of its tokenizer."""
    return read_static(path, duplicates, NAME)


def write(vectors: Vectors, path: Path, force: bool, *, tokenizer: Tokenizer | str | None = None, **card: Any) -> None:
    """Write a folder that model2vec opens."""
    config = {
        "model_type": "model2vec",
        "architectures": ["StaticModel"],
        "hidden_dim": vectors.vector_size,
        "normalize": False,
        # Texts of any length; without this only the first 512 tokens count.
        "max_length": None,
        "embedding_dtype": "float32",
    }
    write_static(
        vectors, path, force, library=NAME, tensor="embeddings", configs={"config.json": config}, tokenizer=tokenizer,
        card=card,
    )  # fmt: skip


FORMAT = Format(NAME, "a folder for model2vec", (), read, write, counts=False, forbidden="", options=OPTIONS)
