"""What can be asked of vectors: every suite by name. A new suite is one row here and one function elsewhere.

The function is called as ``function(vectors, options, run)`` and gives a dictionary: name of a set or task -> its figures,
either as a plain dictionary or as an object with ``to_dict()``. Where such an object also has ``compare(other, run)``,
two models are compared by it: it gives a dictionary with a ``p_value``, or with one such dictionary for each measure.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from firthian.errors import FirthianError, suggest
from firthian.evaluate.options import Options


@dataclass(frozen=True)
class Suite:
    """A suite: its name, the ``module:function`` that runs it, the further options it understands, and those given.

    ``check``, where there is one, is the ``module:function`` that is called with the further options before any work, and
    says which of them is wrong, or which data or library are not here.
    """

    name: str
    home: str
    options: tuple[str, ...] = ()
    given: Mapping[str, str] = field(default_factory=dict)
    check: str = ""

    def load(self) -> Callable[..., Mapping[str, Any]]:
        """Import the function that runs it, only now."""
        return _import(self.home)

    def check_early(self, options: Options) -> None:
        """Say before any work why the suite cannot run."""
        if self.check:
            _import(self.check)(**self.own(options).more)

    def own(self, options: Options) -> Options:
        """Return the options of an evaluation without those that other suites declare."""
        mine = {name: value for name, value in options.more.items() if name in self.options}
        return replace(options, more={**mine, **self.given})


def _import(home: str) -> Callable[..., Any]:
    module, _, function = home.partition(":")
    loaded: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return loaded


SUITES = {
    suite.name: suite
    for suite in (
        Suite("similarity", "firthian.evaluate.similarity:suite"),
        Suite("analogy", "firthian.evaluate.analogy:suite"),
        Suite(
            "classification",
            "firthian.evaluate.classification:suite",
            ("tasks", "methods", "cv", "grid"),
            check="firthian.evaluate.classification:check",
        ),
        Suite(
            "chunking",
            "firthian.evaluate.chunking:suite",
            ("l2", "style", "train_sentences", "test_sentences"),
            check="firthian.evaluate.chunking:check",
        ),
    )
}

#: What is asked when the user names no suite.
DEFAULT_SUITES = "similarity,analogy"


def find_suites(names: str) -> list[Suite]:
    """Read a list of suites, as ``similarity,analogy``; a suite's own options follow its name.

    >>> [suite.name for suite in find_suites("analogy, similarity")]
    ['analogy', 'similarity']
    >>> find_suites("classification:tasks=trec+comp:cv=5")[0].given
    {'tasks': 'trec+comp', 'cv': '5'}
    """
    wanted = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not wanted:
        raise FirthianError("no suite is named", hint=f"known are {', '.join(SUITES)}")
    return [_read(text) for text in wanted]


def _read(text: str) -> Suite:
    name, *settings = text.split(":")
    if name not in SUITES:
        raise FirthianError(f"there is no suite {name!r}", hint=suggest(name, SUITES))
    suite = SUITES[name]
    given = {}
    for setting in settings:
        option, equals, value = setting.partition("=")
        if not equals:
            raise FirthianError(
                f"{setting!r} of the suite {name} is not option=value", hint=f"write {name}:option=value"
            )
        check_options([suite], {option: value})
        given[option] = value
    return replace(suite, given=given)


def check_options(suites: list[Suite], options: Mapping[str, Any]) -> None:
    """Say which option no suite understands."""
    known = {name for suite in suites for name in suite.options}
    for name in options:
        if name not in known:
            hint = suggest(name, sorted(known)) if known else "leave it out"
            raise FirthianError(f"no chosen suite has an option {name}", hint=hint)
