"""Small models that fastText itself trains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def train(corpus: Path, text: str, **settings: Any) -> Any:
    """Train on a small text; fastText reads memory before it is set, and now and then finds NaN there."""
    fasttext = pytest.importorskip("fasttext", reason="package fasttext-numpy2-wheel")
    corpus.write_text(text)
    for attempt in range(5):
        try:
            return fasttext.train_unsupervised(str(corpus), minCount=1, epoch=1, thread=1, verbose=0, **settings)
        except RuntimeError:
            if attempt == 4:
                raise
    return None
