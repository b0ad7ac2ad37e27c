"""Small models that fastText itself trains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def train(corpus: Path, text: str, **settings: Any) -> Any:
    """Train on a small text, with 12 threads: each sets a tenth of a matrix, and with fewer than 10 some memory stays unset."""
    fasttext = pytest.importorskip("fasttext", reason="package fasttext-numpy2-wheel")
    corpus.write_text(text)
    return fasttext.train_unsupervised(str(corpus), dim=10, minCount=1, epoch=1, thread=12, verbose=0, **settings)
