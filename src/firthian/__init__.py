"""Firthian: count a corpus once, then train word vectors with any count-based model.

text --text--> ids + Vocabulary --counts--> Counts --learn--> Vectors --> evaluate, compare, adapt, explore

>>> import firthian as ft
>>> counts = ft.count(["the cat sat on the mat", "the dog sat on the mat"], min_count=1)
>>> counts
<Counts: 6 words, 29 pairs, window 5>
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from firthian._version import __version__

if TYPE_CHECKING:
    from firthian.ask.associate import associate
    from firthian.ask.change import Comparison, change
    from firthian.ask.keyness import keyness
    from firthian.ask.regress import regress
    from firthian.counts.counting import count
    from firthian.counts.counts import Counts
    from firthian.counts.merging import merge
    from firthian.errors import FirthianError
    from firthian.evaluate import Evaluate
    from firthian.learn.train import train
    from firthian.text.tokenizer import Tokenizer
    from firthian.text.vocabulary import Vocabulary
    from firthian.texts.building import index
    from firthian.texts.encoder import Encoder
    from firthian.texts.index import Index
    from firthian.vectors.formats import load
    from firthian.vectors.vectors import Vectors

    evaluate: Evaluate

if sys.byteorder != "little" or sys.maxsize < 2**32:
    # Files are mapped into memory as they are, and corpora have more bytes than 32 bits can number.
    raise ImportError("a 64-bit Python on a little-endian processor is needed")

#: Public names and their modules; each is imported on first use, so that ``import firthian`` stays fast.
_HOMES = {
    "Comparison": "firthian.ask.change",
    "Counts": "firthian.counts.counts",
    "Encoder": "firthian.texts.encoder",
    "FirthianError": "firthian.errors",
    "Index": "firthian.texts.index",
    "Tokenizer": "firthian.text.tokenizer",
    "Vocabulary": "firthian.text.vocabulary",
    "associate": "firthian.ask.associate",
    "change": "firthian.ask.change",
    "count": "firthian.counts.counting",
    "evaluate": "firthian.evaluate",
    "index": "firthian.texts.building",
    "keyness": "firthian.ask.keyness",
    "load": "firthian.vectors.formats",
    "merge": "firthian.counts.merging",
    "regress": "firthian.ask.regress",
    "train": "firthian.learn.train",
    "Vectors": "firthian.vectors.vectors",
}

__all__ = [
    "Comparison", "Counts", "Encoder", "FirthianError", "Index", "Tokenizer", "Vectors", "Vocabulary", "__version__",
    "associate", "change", "count", "evaluate", "index", "keyness", "load", "merge", "regress", "train",
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
