"""Firthian: count a corpus once, then train word vectors with any count-based model.

text --text--> ids + Vocabulary --counts--> Counts --learn--> Vectors --> evaluate, compare, adapt, explore

>>> import firthian as ft
>>> counts = ft.count(["the cat sat on the mat", "the dog sat on the mat"], min_count=1)
>>> counts
<Counts: 6 words, 29 pairs, window 5>
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from firthian._version import __version__

if TYPE_CHECKING:
    from firthian.counts.counting import count
    from firthian.counts.counts import Counts
    from firthian.counts.merging import merge
    from firthian.errors import FirthianError
    from firthian.evaluate.run import evaluate
    from firthian.learn.train import train
    from firthian.text.tokenizer import Tokenizer
    from firthian.text.vocabulary import Vocabulary
    from firthian.vectors.formats import load
    from firthian.vectors.vectors import Vectors

#: Public names and their modules; each is imported on first use, so that ``import firthian`` stays fast.
_HOMES = {
    "Counts": "firthian.counts.counts",
    "FirthianError": "firthian.errors",
    "Tokenizer": "firthian.text.tokenizer",
    "Vocabulary": "firthian.text.vocabulary",
    "count": "firthian.counts.counting",
    "evaluate": "firthian.evaluate",
    "load": "firthian.vectors.formats",
    "merge": "firthian.counts.merging",
    "train": "firthian.learn.train",
    "Vectors": "firthian.vectors.vectors",
}

__all__ = [
    "Counts", "FirthianError", "Tokenizer", "Vectors", "Vocabulary", "__version__", "count", "evaluate", "load", "merge",
    "train",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'firthian' has no attribute {name!r}")
    module = importlib.import_module(home)
    # The package ``evaluate`` is itself callable; importing it binds this attribute.
    return module if home == f"firthian.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return __all__
