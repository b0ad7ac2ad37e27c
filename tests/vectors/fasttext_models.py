"""Small models that fastText itself trains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def train(corpus: Path, text: str, **settings: Any) -> Any:
    """Train on a small text, in 10 dimensions: fastText sets tenths of a matrix, but not what is left over."""
    fasttext = pytest.importorskip("fasttext", reason="package fasttext-numpy2-wheel")
    corpus.write_text(text)
    return fasttext.train_unsupervised(str(corpus), dim=10, minCount=1, epoch=1, thread=1, verbose=0, **settings)
