"""What can be asked of vectors: every suite by name. A new suite is one row here and one function elsewhere.

The function is called as ``function(vectors, options, run)`` and gives a dictionary: name of a set or task -> its figures,
either as a plain dictionary or as an object with ``to_dict()``. Where such an object also has ``compare(other, run)``,
two models are compared by it: it gives a dictionary with a ``p_value``, or with one such dictionary for each measure.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from firthian.errors import FirthianError, suggest


@dataclass(frozen=True)
class Suite:
    """A suite: its name, the ``module:function`` that runs it, and the further options it understands."""

    name: str
    home: str
    options: tuple[str, ...] = ()

    def load(self) -> Callable[..., Mapping[str, Any]]:
        """Import the function, only now."""
        module, _, function = self.home.partition(":")
        loaded: Callable[..., Mapping[str, Any]] = getattr(importlib.import_module(module), function)
        return loaded


SUITES = {
    suite.name: suite
    for suite in (
        Suite("similarity", "firthian.evaluate.similarity:suite"),
        Suite("analogy", "firthian.evaluate.analogy:suite"),
        Suite("classification", "firthian.evaluate.classification:suite", ("tasks", "methods", "cv", "grid")),
        Suite("chunking", "firthian.evaluate.chunking:suite", ("l2", "style", "train_sentences", "test_sentences")),
    )
}

#: What is asked when the user names no suite.
DEFAULT_SUITES = "similarity,analogy"


def find_suites(names: str) -> list[Suite]:
    """Read a list of suites, as ``similarity,analogy``.

    >>> [suite.name for suite in find_suites("analogy, similarity")]
    ['analogy', 'similarity']
    """
    wanted = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not wanted:
        raise FirthianError("no suite is named", hint=f"known are {', '.join(SUITES)}")
    for name in wanted:
        if name not in SUITES:
            raise FirthianError(f"there is no suite {name!r}", hint=suggest(name, SUITES))
    return [SUITES[name] for name in wanted]


def check_options(suites: list[Suite], options: Mapping[str, Any]) -> None:
    """Say which option no suite understands."""
    known = {name for suite in suites for name in suite.options}
    for name in options:
        if name not in known:
            hint = suggest(name, sorted(known)) if known else "leave it out"
            raise FirthianError(f"no chosen suite has an option {name}", hint=hint)
