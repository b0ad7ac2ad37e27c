"""Task-adapted word vectors: scikit-learn text classifiers that fine-tune the word vectors they use.

texts --documents--> word counts --> weighted examples --learner (kernels/adapt.py)--> classifier, re-embedded words
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from firthian.adapt.estimators import PAClassifier, RPAClassifier
    from firthian.adapt.search import search_parameters
    from firthian.adapt.store import load
    from firthian.adapt.vectorizer import TextVectorizer

#: Public names and their modules; scikit-learn is imported on first use.
_HOMES = {
    "PAClassifier": "firthian.adapt.estimators",
    "RPAClassifier": "firthian.adapt.estimators",
    "TextVectorizer": "firthian.adapt.vectorizer",
    "load": "firthian.adapt.store",
    "search_parameters": "firthian.adapt.search",
}

__all__ = ["PAClassifier", "RPAClassifier", "TextVectorizer", "load", "search_parameters"]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'firthian.adapt' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return __all__
