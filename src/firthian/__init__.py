"""Firthian: count a corpus once, then get word vectors from every kind of count-based model.

text --corpus--> ids + Vocabulary --cooccurrence--> Counts --models x solvers--> Vectors --> evaluate, adapt, explore

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
    from firthian.cooccurrence.counting import count
    from firthian.cooccurrence.counts import Counts
    from firthian.cooccurrence.merging import merge
    from firthian.corpus.tokenizer import Tokenizer
    from firthian.corpus.vocabulary import Vocabulary
    from firthian.errors import FirthianError
    from firthian.evaluate.run import evaluate
    from firthian.training import train
    from firthian.vectors.loading import load
    from firthian.vectors.vectors import Vectors

#: Public names and where they live; a name is imported when it is first used, so that ``import firthian`` stays quick.
_HOMES = {
    "Counts": "firthian.cooccurrence.counts",
    "FirthianError": "firthian.errors",
    "Tokenizer": "firthian.corpus.tokenizer",
    "Vocabulary": "firthian.corpus.vocabulary",
    "count": "firthian.cooccurrence.counting",
    "evaluate": "firthian.evaluate",
    "load": "firthian.vectors.loading",
    "merge": "firthian.cooccurrence.merging",
    "train": "firthian.training",
    "Vectors": "firthian.vectors.vectors",
}

__all__ = [
    "Counts",
    "FirthianError",
    "Tokenizer",
    "Vectors",
    "Vocabulary",
    "__version__",
    "count",
    "evaluate",
    "load",
    "merge",
    "train",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'firthian' has no attribute {name!r}")
    module = importlib.import_module(home)
    # The package ``evaluate`` is called itself: importing it makes it the attribute of this name, once and for all.
    return module if home == f"firthian.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return __all__
