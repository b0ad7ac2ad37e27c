"""Evaluation of vectors: similarity, analogies, classification, chunking, and any other registered suite.

The package itself is callable: ``firthian.evaluate(vectors)`` is ``firthian.evaluate.run.evaluate``, since a function of
the same name would be shadowed as soon as the package is imported.
"""

from __future__ import annotations

import inspect
import sys
from types import ModuleType

from firthian.datasets.word_tasks import Pairs, Questions
from firthian.evaluate.analogy import compare_analogy
from firthian.evaluate.report import Evaluation
from firthian.evaluate.run import SUITES, Suite, evaluate
from firthian.evaluate.sets import open_set
from firthian.evaluate.similarity import compare_similarity

__all__ = [
    "SUITES", "Evaluation", "Pairs", "Questions", "Suite", "compare_analogy", "compare_similarity", "evaluate", "open_set",
]  # fmt: skip


class Evaluate(ModuleType):
    """A package that can be called like its main function; type checkers see the rest of it here."""

    __call__ = staticmethod(evaluate)
    Pairs = Pairs
    Questions = Questions
    open_set = staticmethod(open_set)
    compare_similarity = staticmethod(compare_similarity)
    compare_analogy = staticmethod(compare_analogy)


sys.modules[__name__].__class__ = Evaluate

#: ``help(firthian.evaluate)`` begins with how it is called.
__doc__ = f"{evaluate.__doc__}\n\nCall: evaluate{inspect.signature(evaluate)}"
