"""How good vectors are: similarity, analogies, and whatever other suite is registered.

The package can be called: ``firthian.evaluate(vectors)`` is ``firthian.evaluate.run.evaluate``. (A function of a package's
own name would be hidden by the package as soon as that is imported.)
"""

from __future__ import annotations

import sys
from types import ModuleType

from firthian.datasets.word_tasks import Pairs, Questions
from firthian.evaluate.analogy import compare_analogy
from firthian.evaluate.report import Evaluation
from firthian.evaluate.run import evaluate
from firthian.evaluate.sets import open_set
from firthian.evaluate.similarity import compare_similarity
from firthian.evaluate.suites import SUITES, Suite

__all__ = [
    "SUITES",
    "Evaluation",
    "Pairs",
    "Questions",
    "Suite",
    "compare_analogy",
    "compare_similarity",
    "evaluate",
    "open_set",
]


class _Evaluate(ModuleType):
    """A package that is called like its main function."""

    __call__ = staticmethod(evaluate)


sys.modules[__name__].__class__ = _Evaluate
